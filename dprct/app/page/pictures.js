// Pictures, drawn as SVG by hand: every text is set as text, and each picture has its numbers
// next to it.

import { short } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDEST = 640, NARROWEST = 300, MARGIN = 60;
const LETTER = 7; // pixels of a letter, about
let WIDTH = WIDEST; // as wide as the window lets it be, so that text keeps its size

function drawn(kind, facts, text) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(facts || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function canvas(height, words) {
  WIDTH = Math.max(NARROWEST, Math.min(WIDEST, document.documentElement.clientWidth - MARGIN));
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, role: "img", "aria-label": words });
  svg.append(drawn("title", {}, words));
  return svg;
}

const line = (x1, y1, x2, y2, kind) => drawn("line", { class: kind, x1, y1, x2, y2 });
const label = (x, y, text, anchor) => drawn("text", { x, y, "text-anchor": anchor || "start" }, text);
const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

// -- the interval without privacy and with it, and an effect (or difference) of .2 sd beside it
export function interval(one, what, middle) {
  const half = 1.96 * one.with, before = 1.96 * (one.without || 0), effect = 0.2 * (one.sd || 0);
  const words = `${one.name}: the interval is ${short(half)} to each side with privacy, and ${short(before)} without`;
  const svg = canvas(96, words);
  const reach = Math.max(half, before, effect) * 1.15 || 1;
  const x = (value) => WIDTH / 2 + value / reach * (WIDTH / 2 - 40);
  svg.append(line(x(0), 8, x(0), 66, "axis"), label(x(0), 82, middle || "0", "middle"));
  bar(svg, x(-before), x(before), 24, "before");
  bar(svg, x(-half), x(half), 46, "with");
  if (effect) {
    svg.append(line(x(effect), 10, x(effect), 66, "effect"),
      label(x(effect), 94, `${what} of .2 sd: ${short(effect)}`, x(effect) > WIDTH - 150 ? "end" : "middle"));
  }
  for (const at of [-half, half]) svg.append(label(x(at), 64, short(at), at < 0 ? "end" : "start"));
  return svg;
}

function bar(svg, from, to, y, kind) {
  svg.append(line(from, y, to, y, kind), line(from, y - 5, from, y + 5, kind), line(to, y - 5, to, y + 5, kind));
}

// -- estimates with their intervals: rows of {name, estimate, low, high}; units may differ, so that
// each is drawn against its own error where `apart`
export function forest(rows, words) {
  const step = 30, top = 10, svg = canvas(top + step * rows.length + 26, words);
  const ends = rows.flatMap((one) => [one.low ?? one.estimate, one.high ?? one.estimate, 0]);
  const low = Math.min(...ends), high = Math.max(...ends), pad = (high - low || 1) * 0.06;
  const left = Math.min(220, WIDTH * 0.4), x = (value) => left + (value - low + pad) / (high - low + 2 * pad || 1) * (WIDTH - left - 16);
  const bottom = top + step * rows.length;
  svg.append(line(x(0), top, x(0), bottom, "axis"), line(left, bottom, WIDTH - 16, bottom, "axis"));
  for (const value of new Set([low, 0, high])) svg.append(label(x(value), bottom + 18, short(value), "middle"));
  rows.forEach((one, at) => {
    const y = top + step * at + step / 2;
    svg.append(label(0, y + 4, cut(one.name, Math.floor(left / LETTER))));
    if (one.low !== null && one.low !== undefined) bar(svg, x(one.low), x(one.high), y, "with");
    svg.append(drawn("circle", { class: "dot", cx: x(one.estimate), cy: y, r: 4 }));
  });
  return svg;
}

// -- error against epsilon; both axes are logarithmic. points: [{epsilon, with, noise}]
export function curve(name, points, floor, now) {
  const svg = canvas(300, `${name} against epsilon; you are at ${short(now)}`);
  const lines = WIDTH < WIDEST ? 3 : 1; // of the legend
  const box = { left: 70, right: 20, top: 18 + 16 * lines, bottom: 48, height: 300 };
  const heights = points.flatMap((one) => [one.with, one.noise]).concat([floor]).filter((y) => y > 0);
  if (!heights.length || points.length < 2) return svg;
  const low = Math.log(Math.min(...heights) * 0.85), high = Math.log(Math.max(...heights) * 1.15);
  const first = Math.log(points[0].epsilon * 0.9), last = Math.log(points[points.length - 1].epsilon * 1.1);
  const edge = box.height - box.bottom;
  const x = (e) => box.left + (Math.log(e) - first) / (last - first) * (WIDTH - box.left - box.right);
  const y = (v) => edge - (Math.log(v) - low) / (high - low || 1) * (edge - box.top);
  svg.append(line(box.left, edge, WIDTH - box.right, edge, "axis"), line(box.left, box.top, box.left, edge, "axis"));
  for (const one of points) {
    svg.append(line(x(one.epsilon), edge, x(one.epsilon), edge + 4, "axis"),
      label(x(one.epsilon), edge + 18, short(one.epsilon), "middle"));
  }
  svg.append(label((box.left + WIDTH) / 2, box.height - 8, "epsilon (more privacy on the left)", "middle"));
  for (const value of [Math.exp(low) / 0.85, Math.exp((low + high) / 2), Math.exp(high) / 1.15]) {
    svg.append(label(box.left - 8, y(value) + 4, short(value), "end"));
  }
  const path = (key) => points.filter((one) => one[key] > 0)
    .map((one, at) => `${at ? "L" : "M"}${x(one.epsilon)},${y(one[key])}`).join("");
  if (floor > 0) svg.append(line(box.left, y(floor), WIDTH - box.right, y(floor), "floor"));
  svg.append(drawn("path", { class: "noise", d: path("noise") }), drawn("path", { class: "total", d: path("with") }));
  if (now >= points[0].epsilon * 0.9 && now <= points[points.length - 1].epsilon * 1.1) {
    svg.append(line(x(now), box.top, x(now), edge, "now"), label(x(now), box.top - 4, "you are here", "middle"));
  }
  const kinds = points.some((one) => one.with > 0)
    ? [["total", "standard error"], ["noise", "its part from privacy noise"], ...(floor > 0 ? [["floor", "without privacy"]] : [])]
    : [["noise", name]];
  kinds.forEach(([kind, text], place) => {
    const from = box.left + (lines > 1 ? 0 : [0, 150, 370][place]), y = 10 + (lines > 1 ? 16 * place : 0);
    svg.append(line(from, y, from + 24, y, kind), label(from + 30, y + 4, text));
  });
  return svg;
}

// -- counts of a made-up table: those below the line are not released. bars: [{true, made}]
export function counts(bars, threshold, words, of) {
  const height = 220, left = 60, svg = canvas(height, words);
  const most = Math.max(threshold, ...bars.map((one) => Math.max(one.made, one.was))) || 1;
  const y = (value) => height - 30 - value / most * (height - 50), wide = (WIDTH - left - 10) / bars.length;
  bars.forEach((one, at) => {
    const from = left + at * wide;
    svg.append(drawn("rect", { class: "was", x: from + 1, y: y(one.was), width: wide * 0.42, height: height - 30 - y(one.was) }));
    if (one.made > 0) {
      svg.append(drawn("rect", { class: "made", x: from + wide * 0.45, y: y(one.made), width: wide * 0.42,
        height: height - 30 - y(one.made) }));
    }
  });
  svg.append(line(left, height - 30, WIDTH, height - 30, "axis"), label(left - 6, y(most) + 4, short(most), "end"),
    label(left - 6, height - 26, "0", "end"));
  if (threshold > 1) svg.append(line(left, y(threshold), WIDTH, y(threshold), "floor"));
  svg.append(label((left + WIDTH) / 2, height - 8, of || "combinations of the modelled columns, the largest first", "middle"));
  return svg;
}

export function ledgerPicture(ledger) {
  const svg = canvas(56, ledger.words);
  const whole = Math.max(ledger.total, ledger.spent) || 1;
  const sum = ledger.entries.reduce((total, one) => total + one.epsilon, 0) || 1;
  svg.append(drawn("rect", { class: "left", x: 0, y: 8, width: WIDTH, height: 26 }));
  let from = 0;
  for (const one of ledger.entries) {
    // shares of what is spent together, which may be less than the sum of the entries
    const size = one.epsilon / sum * ledger.spent / whole * WIDTH;
    svg.append(drawn("rect", { class: "spent", x: from, y: 8, width: size, height: 26 }));
    from += size;
  }
  svg.append(label(0, 50, "0"), label(WIDTH, 50, `total epsilon ${short(ledger.total)}`, "end"));
  return svg;
}
