"use strict";
// Pictures, drawn as SVG by hand: every text is set as text, and each picture has its numbers
// next to it as a table.

const SVG = "http://www.w3.org/2000/svg";

function drawn(kind, facts, text) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(facts || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function short(number) {
  if (number === null || number === undefined || !isFinite(number)) return "";
  return String(Number(number.toPrecision(3)));
}

// points: [{epsilon, noise, error}], by rising epsilon; both axes are logarithmic
function curve(name, what, points, floor, now) {
  const box = { left: 60, right: 16, top: 14, bottom: 40, width: 560, height: 270 };
  const svg = drawn("svg", { viewBox: `0 0 ${box.width} ${box.height}`, width: box.width,
    role: "img", "aria-label": `${name}: ${what} against epsilon` });
  const heights = points.flatMap((p) => [p.noise, p.error]).concat([floor])
    .filter((y) => y !== null && y > 0);
  if (!heights.length) return svg;
  const low = Math.log(Math.min(...heights) * 0.85), high = Math.log(Math.max(...heights) * 1.15);
  const first = Math.log(points[0].epsilon * 0.9);
  const last = Math.log(points[points.length - 1].epsilon * 1.1);
  const x = (e) => box.left + (Math.log(e) - first) / (last - first || 1)
    * (box.width - box.left - box.right);
  const y = (v) => box.height - box.bottom - (Math.log(v) - low) / (high - low || 1)
    * (box.height - box.top - box.bottom);
  const edge = box.height - box.bottom;
  svg.append(drawn("line", { class: "axis", x1: box.left, x2: box.width - box.right, y1: edge,
    y2: edge }), drawn("line", { class: "axis", x1: box.left, x2: box.left, y1: box.top, y2: edge }));
  for (const p of points) {
    svg.append(drawn("text", { x: x(p.epsilon), y: edge + 16, "text-anchor": "middle" },
      short(p.epsilon)));
  }
  svg.append(drawn("text", { x: box.width / 2, y: box.height - 6, "text-anchor": "middle" },
    "epsilon"));
  for (const value of [Math.exp(low) / 0.85, Math.exp((low + high) / 2), Math.exp(high) / 1.15]) {
    svg.append(drawn("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" },
      short(value)));
  }
  if (now) svg.append(drawn("line", { class: "now", x1: x(now), x2: x(now), y1: box.top, y2: edge }));
  const line = (key) => points.filter((p) => p[key] > 0)
    .map((p, place) => `${place ? "L" : "M"}${x(p.epsilon)},${y(p[key])}`).join("");
  if (floor > 0) {
    svg.append(drawn("line", { class: "floor", x1: box.left, x2: box.width - box.right,
      y1: y(floor), y2: y(floor) }), drawn("text", { x: box.width - box.right, y: y(floor) - 5,
      "text-anchor": "end" }, `sampling error ${short(floor)}`));
  }
  svg.append(drawn("path", { class: "noise", d: line("noise") }));
  svg.append(drawn("path", { class: "total", d: line("error") }));
  for (const p of points) {
    const at = p.error > 0 ? p.error : p.noise;
    if (at > 0) svg.append(drawn("circle", { class: "dot", cx: x(p.epsilon), cy: y(at), r: 3 }));
  }
  return svg;
}

function ledgerPicture(ledger) {
  const width = 560, height = 56;
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img",
    "aria-label": ledger.words });
  const whole = Math.max(ledger.total, ledger.spent) || 1;
  const sum = ledger.entries.reduce((total, one) => total + one.epsilon, 0) || 1;
  svg.append(drawn("rect", { class: "left", x: 0, y: 8, width, height: 26 }));
  let from = 0;
  for (const one of ledger.entries) {
    // shares of what is spent together, which may be less than the sum of the entries
    const size = one.epsilon / sum * ledger.spent / whole * width;
    svg.append(drawn("rect", { class: "spent", x: from, y: 8, width: size, height: 26 }));
    from += size;
  }
  svg.append(drawn("text", { x: 0, y: 50 }, "0"));
  svg.append(drawn("text", { x: width, y: 50, "text-anchor": "end" },
    `total epsilon ${short(ledger.total)}`));
  return svg;
}

function numbers(caption, heads, rows) {
  const table = document.createElement("table");
  const title = document.createElement("caption");
  title.textContent = caption;
  const top = document.createElement("tr");
  for (const head of heads) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = head;
    top.append(cell);
  }
  table.append(title, top);
  for (const row of rows) {
    const line = document.createElement("tr");
    for (const value of row) {
      const cell = document.createElement("td");
      cell.textContent = typeof value === "number" ? short(value) : value || "";
      line.append(cell);
    }
    table.append(line);
  }
  return table;
}
