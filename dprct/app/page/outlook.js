// Steps 4 and 5: what epsilon means, and what will come out at it. Nothing here reads a row.

import { $, button, count, element, short, table } from "./dom.js";
import { field, put } from "./forms.js";
import { stepOf } from "./lead.js";
import { curve, counts, forest, interval } from "./pictures.js";
import { ask, edit, isGone, state, takeDoFiles, unmark } from "./study.js";

const EPSILONS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const STEPS = 200;
const LOW = Math.log(0.05), HIGH = Math.log(20);

let epsilonField = null;
let previewed = null;  // of the slider, while it is held
let generation = 0;    // a newer question ends the older
let known = new Map(); // epsilon: outlook, for this study
let knownOf = "";
let chosen = "";       // the estimate whose curve is shown
let seed = 1;          // of the made-up release
let judged = "";
let trail = [];
let timer = 0;

const epsilon = () => previewed ?? state.epsilon;
const at = (e) => Math.round((Math.log(e) - LOW) / (HIGH - LOW) * STEPS);
const of = (place) => Number(Math.exp(LOW + place / STEPS * (HIGH - LOW)).toPrecision(2));

// -- 4: privacy ----------------------------------------------------------------------------------

const sliders = () => [$("slider"), $("slider-again")];

export function startOutlook() {
  for (const slider of sliders()) {
    slider.max = String(STEPS);
    slider.addEventListener("input", () => {
      previewed = of(Number(slider.value));
      epsilonField.input.value = String(previewed);
      showMeaning();
      ahead(120);
    });
    slider.addEventListener("change", () => {
      const typed = String(of(Number(slider.value)));
      unmark(epsilonField.id); // the slider takes the place of what was typed
      edit([{ at: ["release", "epsilon"], typed }], `Epsilon is ${typed}. It is saved.`)
        .then(() => { previewed = null; showPrivacy(); });
    });
  }
  $("clusters").addEventListener("change", () => {
    sessionStorage.setItem("clusters", $("clusters").value.replace(/\D/g, ""));
    ahead(0);
  });
  $("again").addEventListener("click", () => { seed += 1; showOutlook(); });
  document.addEventListener("step", () => ahead(0));
  window.addEventListener("resize", () => showOutlook()); // pictures are as wide as the window
}

export function showPrivacy() {
  if (state.error) return;
  const release = state.sections.find((one) => one.name === "release");
  const about = release.fields.find((one) => one.key === "epsilon");
  if (!epsilonField) {
    epsilonField = field({ ...about, at: ["release", "epsilon"], label: "Epsilon" });
    $("epsilon-field").replaceChildren(epsilonField.row);
  }
  if (previewed === null) { // what the slider shows while it is held is not taken back
    put(epsilonField, about.value);
    for (const slider of sliders()) slider.value = String(at(state.epsilon));
  }
  showMeaning();
}

function showMeaning() {
  const e = epsilon(), pure = !state.delta;
  const factor = Math.exp(pure ? e : 2 * e), even = factor / (1 + factor);
  const slider = `epsilon ${short(e)}: even odds become at most ${percent(even)}`;
  for (const one of sliders()) one.setAttribute("aria-valuetext", slider);
  $("epsilon-now").textContent = `Epsilon ${short(e)}`;
  const none = "This method promises nothing, whatever epsilon is.";
  $("meaning").replaceChildren(...(state.promises ? [
    element("p", {}, element("strong", { text: `Even odds become at most ${percent(even)}.` }),
      ` Someone who knows the data of everyone else, and thinks that a statement about one ${state.unit} is as likely `
      + `true as false, believes it with at most ${percent(even)} after seeing the release, because that ${state.unit}'s data were used.`),
    pure ? null : element("p", { text: `With a delta of ${short(state.delta)} there is an exception, whose probability is at `
      + `most ${short(2 * state.delta / (1 - Math.exp(-e)))}.` }),
    element("p", { class: "hint", text: scale(e) }),
  ].filter(Boolean) : [element("p", { class: "bad", text: none })]));
}

// rounded up, with as many digits as it takes to be below 100
function percent(share) {
  const digits = [0, 1, 2, 3, 4].find((some) => Math.ceil(share * 100 * 10 ** some) < 100 * 10 ** some);
  return digits === undefined ? "all but 100 %" : `${(Math.ceil(share * 100 * 10 ** digits) / 10 ** digits).toFixed(digits)} %`;
}

function scale(e) {
  const first = e <= 1 ? "Up to 1 is called strong." : e <= 4 ? "1 to 4 is common for tables and effects."
    : e <= 10 ? "Above 4 it is weak for one person, and mostly chosen where n is small."
      : "Above 10 little is promised; plan and certificate begin with that.";
  return `${first} The 2020 census of the United States published its redistricting files at 17.14. What is `
    + "spent on the same people adds up for ever.";
}

// -- 5: what will come out -----------------------------------------------------------------------

// asks for what is to come, a little later, so that a moving slider asks once
export function ahead(wait) {
  clearTimeout(timer);
  const is = stepOf();
  if (is !== 4 && is !== 5) return;
  timer = setTimeout(() => look(is).catch(() => {}), wait);
}

// about how many clusters there are: asked where nothing declared says it, and kept in this window
const clusters = () => Number(sessionStorage.getItem("clusters")) || null;

async function atEpsilon(e) {
  if (knownOf !== key()) { known = new Map(); knownOf = key(); }
  if (!known.has(e)) {
    const of = knownOf, found = await ask("outlook", { epsilon: e, clusters: clusters() });
    if (of === knownOf) known.set(e, found);
    return found;
  }
  return known.get(e);
}

// everything but epsilon, which the pictures vary
const key = () => JSON.stringify([clusters(), state.columns.map((one) => one.facts), state.rows, state.sections.map((one) =>
  [one.name, one.fields.filter((f) => f.key !== "epsilon").map((f) => f.value)])]);

async function look(step) {
  const mine = ++generation;
  if (isGone()) return;
  const ready = !state.error && !state.open.length;
  $("ahead-note").hidden = ready;
  const first = document.querySelector("#steps a.open");
  $("ahead-note").replaceChildren("The pictures are shown when nothing is open. ",
    first ? element("a", { href: first.hash, text: `Go to step ${first.textContent.trim()}` }) : "");
  $("ahead").hidden = !ready;
  if (state.method !== "mv_histogram") $("sizes").hidden = true;
  if (step === 5) { verdicts(); sizes(); }
  if (!ready) { $("ahead").removeAttribute("data-complete"); waits(); return; }
  await atEpsilon(epsilon());
  if (mine !== generation) return;
  showOutlook();
  if (step === 5) ask("plan", { clusters: clusters() }).then((found) => { $("plan-text").textContent = found.plan; }, () => {});
  for (const e of EPSILONS) {
    await atEpsilon(e);
    if (mine !== generation) return;
    showCurve();
  }
  $("ahead").dataset.complete = "yes";
}

function waits() {
  const things = state.error ? 0 : new Set(state.open.map((one) => one.at.join())).size;
  $("quick").replaceChildren(element("p", { class: "hint", text: things
    ? `What this does to the error is shown here once nothing is open (${things} open).` : "" }));
}

function showOutlook() {
  const found = known.get(epsilon());
  if (!found) return;
  $("ahead").removeAttribute("data-complete");
  const list = found.estimates || [];
  $("quick").replaceChildren(...quick(found, list));
  const fine = list.filter((one) => one.cells > 20 && one.with > 2 * one.without).map((one) => one.name);
  const warnings = (found.warnings || []).filter((text) => !fine.length || !text.startsWith("noise is large against"));
  $("ahead-words").replaceChildren(fine.length ? element("p", { class: "hint" }, "The noise is large beside the small shares of so many answers. ",
    button(`Take 10 bins for ${fine.join(", ")}`, () => edit(fine.map((name) => ({ at: ["columns", name, "bins"], typed: "10" })),
      `10 bins for ${fine.join(", ")}: saved.`))) : "",
    ...[found.refused, ...warnings].filter(Boolean)
      .map((text) => element("p", { class: found.refused ? "bad" : "hint", text })),
    ...(state.family === "experiment" && list.length ? [element("p", { class: "hint", text: "Arms are taken at their declared "
      + "shares, clusters in equal sizes, and weights as all the same: the plan after the data are opened takes those of the rows." })] : []),
    ...(found.needs_rows && !found.clusters.length ? [element("p", { text: "What this method gives can be planned from the rows alone: "
      + "open the data in step 6; nothing is charged by that." })] : []),
    ...[found.error && found.error.replace(/^1 times (that|those)/, "as large as $1"), found.estimand].filter(Boolean).map((text, place) =>
      element("p", {}, element("strong", { text: place ? "What is estimated: " : "Error: " }), text)));
  $("clusters-row").hidden = !(found.clusters || []).length && !(found.refused && clusters()); // another number may do
  $("clusters-label").textContent = `About how many clusters${found.refused ? "" : ` (${found.clusters.join(", ")})`} are there?`;
  if (document.activeElement !== $("clusters")) $("clusters").value = clusters() || "";
  const withErrors = list.filter((one) => one.with);
  $("intervals").replaceChildren(...withErrors.map((one) => element("figure", {},
    element("figcaption", { text: one.cells ? `${one.name}: the share of rows with each answer, or in each bin`
      : one.name + (one.unit ? ` (in units of ${one.unit})` : "") }),
    interval(one, effect().split(" ")[1], one.cells ? "the share" : "0"), element("p", { class: "hint", text: read(one) }))),
    ...ratios(list).map((one) => element("p", { text: `${one.name}: ${short(one.ratio)} times the error without privacy.` })),
    found.more ? element("p", { text: `and ${count(found.more)} more, in the plan below` }) : "");
  $("legend").hidden = !withErrors.length;
  const sized = withErrors.some((one) => one.sd);
  $("legend-effect").textContent = sized ? `${effect()} of .2 standard deviations` : "";
  $("legend-key").hidden = !sized;
  showMadeUp(found, withErrors);
  showCurve();
}

// where only a multiple of the error is known, it stands once for each regression
function ratios(list) {
  const found = new Map();
  for (const one of list.filter((some) => some.ratio && !some.with)) {
    const name = one.regression ? `each coefficient of ${one.regression}` : one.name;
    found.set(`${name} ${short(one.ratio)}`, { name, ratio: one.ratio });
  }
  return [...found.values()];
}

// one line under the slider
function quick(found, list) {
  if (found.refused) return [element("p", { class: "bad", text: found.refused })];
  const one = list.find((some) => some.with);
  if (one) {
    return [element("p", {}, "At this epsilon: ", element("strong", { text: one.cells ? `shares of ${one.name}` : one.name }), `: ${read(one)}`)];
  }
  if (found.needs_rows && found.clusters.length) {
    return [element("p", {}, "Say in ", element("a", { href: "#step-5", text: "step 5" }), " about how many clusters there are, to see what this does to the error.")];
  }
  const [some] = ratios(list);
  if (some) return [element("p", { text: `At this epsilon: ${some.name} has ${short(some.ratio)} times its error without privacy.` })];
  const draw = (found.draws || [])[0];
  return draw ? [element("p", { text: `At this epsilon: ${draw.what}: ${short(draw.noise)}.` })] : [];
}

// in a survey nobody was treated: its numbers are means, shares and differences
const effect = () => state.family === "survey" ? "a difference" : "an effect";

function read(one) {
  const times = one.without ? one.with / one.without : NaN;
  const grown = Number.isFinite(times)
    ? `the interval is ${times < 1.005 ? "as wide as" : `${short(times)} times as wide as`} without privacy` : "";
  const size = one.sd ? `${effect()} of .2 sd (${short(0.2 * one.sd)}) is ${short(0.2 * one.sd / one.with)} standard errors` : "";
  const guess = one.sd && one.guessed ? " (the sd is the most that the bounds allow: declare it in step 2)" : "";
  return `${[grown, size].filter(Boolean).join("; ")}${guess}.`;
}

// a release that nobody has made: effects of .2 sd plus noise of the planned size
function showMadeUp(found, list) {
  const normal = random(seed);
  const place = $("made-up");
  if (list.some((one) => one.cells)) {
    place.replaceChildren(...list.filter((one) => one.cells).slice(0, 4).map((one) => element("figure", {},
      element("figcaption", { text: one.name }), counts(madeShares(one, normal), 0, `A made-up table of ${one.name}`,
        "answers or bins, the largest first"))), element("p", { class: "hint", text: "Pale: made-up rows with each answer. Dark: what is released of them." }));
  } else if (list.length) {
    const rows = list.map((one) => {
      const estimate = 0.2 * (one.sd || 5 * one.with) + one.with * normal();
      return { name: one.name, estimate, low: estimate - 1.96 * one.with, high: estimate + 1.96 * one.with };
    });
    const units = new Set(list.map((one) => one.unit));
    const pictures = units.size > 1 ? rows.map((one) => forest([one], `made up: ${one.name}`))
      : [forest(rows, "A made-up release")];
    place.replaceChildren(...pictures, table(`Made up: as if every ${effect().split(" ")[1]} were .2 sd`,
      ["", "estimate", "from", "to"], rows.map((one) => [one.name, one.estimate, one.low, one.high])));
  } else if (found.sizes) {
    const bars = madeCounts(found, normal);
    place.replaceChildren(counts(bars, found.sizes.threshold, "A made-up table of counts"),
      element("p", { class: "hint", text: "Pale: made-up rows of each combination. Dark: what is released of it. Those below "
        + "the dashed line are not released." }));
  } else place.replaceChildren();
  $("made-up-box").hidden = !place.children.length;
}

function madeShares(one, normal) {
  const cells = Math.min(one.cells, 24), all = Array.from({ length: cells }, (_, place) => 1 / (place + 1)).reduce((a, b) => a + b, 0);
  return Array.from({ length: cells }, (_, place) => {
    const was = Math.round(state.rows / (place + 1) / all);
    return { was, made: Math.max(0, Math.round(was + one.noise * state.rows * normal())) };
  });
}

function madeCounts(found, normal) {
  const { cells, rows, threshold } = found.sizes;
  const shown = Math.min(cells, 24), weights = Array.from({ length: shown }, (_, place) => 1 / (place + 1));
  const all = Array.from({ length: Math.min(cells, 1e5) }, (_, place) => 1 / (place + 1)).reduce((a, b) => a + b, 0);
  return weights.map((weight) => {
    const was = Math.round(rows * weight / all);
    const made = Math.round(was + (found.noise_sd || 0) * normal());
    return { was, made: made >= threshold ? made : 0 };
  });
}

// the same numbers for the same seed, so that the slider alone moves the picture
function random(start) {
  let place = start * 2654435761 % 4294967296;
  const uniform = () => {
    place = (Math.imul(place, 1664525) + 1013904223) >>> 0;
    return (place + 0.5) / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

function numbersOf(found) {
  const list = (found.estimates || []).filter((one) => one.with)
    .map((one) => ({ name: one.name, what: `standard error of ${one.name}`, with: one.with, noise: one.noise, without: one.without }));
  const times = ratios(found.estimates || []).map((one) => ({ name: one.name, what: "times the error without privacy", noise: one.ratio }));
  const draws = (found.draws || []).map((one) => ({ name: one.name, what: one.what, with: one.error, noise: one.noise }));
  return [list, draws, times].find((some) => some.length) || [];
}

function showCurve() {
  const names = new Map();
  for (const [e, found] of known) {
    for (const one of numbersOf(found)) {
      if (!names.has(one.name)) names.set(one.name, { what: one.what, points: [], floor: null });
      const about = names.get(one.name);
      about.floor = one.without || null;
      about.points.push({ epsilon: e, with: one.with, noise: one.noise });
    }
  }
  $("curve-box").hidden = !names.size;
  if (!names.size) return;
  if (!names.has(chosen)) chosen = [...names.keys()][0];
  const select = $("curve-of"), listed = JSON.stringify([...names.keys()]);
  if (select.dataset.shape !== listed) {
    select.dataset.shape = listed;
    select.replaceChildren(...[...names.keys()].map((value) => element("option", { value, text: value })));
    select.onchange = () => { chosen = select.value; showCurve(); };
  }
  select.value = chosen;
  const one = names.get(chosen);
  const points = one.points.filter((p) => EPSILONS.includes(p.epsilon) || p.epsilon === epsilon())
    .sort((a, b) => a.epsilon - b.epsilon);
  const heads = ["epsilon", one.floor ? "its part from privacy noise" : one.what, ...(one.floor ? ["standard error"] : [])];
  $("curve").replaceChildren(curve(one.what, points, one.floor, epsilon()),
    element("details", {}, element("summary", { text: "These numbers as a table" }),
      table(one.what, heads, points.map((p) => [p.epsilon, p.noise, ...(one.floor ? [p.with] : [])]))));
}

// K, t and survivors after each change, so that one sees what wider bins buy
async function sizes() {
  let found;
  try { found = (await ask("sizes")).sizes; } catch { found = null; }
  $("sizes").hidden = !found;
  if (!found) return;
  const shape = JSON.stringify(found);
  if (!trail.length || trail[trail.length - 1].shape !== shape) trail = [...trail, { ...found, shape }].slice(-8);
  const columns = Object.entries(found.columns).map(([name, codes]) => `${name} ${codes}`);
  $("sizes-words").textContent = `${count(found.cells)} combinations (${columns.join(" × ")}), each of which is released `
    + `with ${count(found.threshold)} rows or more.`
    + (found.survivors < found.cells
      ? ` With ${count(found.rows)} rows, few more than ${count(found.survivors)} can be expected: use fewer columns or wider bins.`
      : " All of them can be released.");
  $("sizes-trail").replaceChildren(trail.length > 1 ? table("After each change in this window",
    ["combinations", "rows needed", "can be released"],
    trail.map((one) => [count(one.cells), count(one.threshold), count(one.survivors)])) : "");
}

async function verdicts() {
  const mine = state.revision;
  if (judged === mine) return;
  judged = mine;
  let found;
  try {
    found = await ask("verdicts");
  } catch (error) {
    if (mine === judged && !isGone()) $("worth").replaceChildren(element("p", { class: "bad", text: error.message }));
    return;
  }
  if (mine !== judged) return;
  if (!found.files.length) {
    $("worth").replaceChildren(element("p", { class: "hint", text: "Name your do-files in step 1, to see here the verdict on each of "
      + "their regressions." }));
    return;
  }
  if (!found.rows.length) {
    $("worth").replaceChildren(element("p", { text: `There is no verdict on ${found.files.join(", ")}: `
      + "no regression is run there, or the design or the regression is still open in step 3." }));
    return;
  }
  const valid = found.rows.filter((one) => one.verdict.startsWith("valid")).length;
  const lines = found.rows.map((one) => element("tr", {},
    element("td", { text: `${one.file}:${one.line}` }), element("td", { text: one.table }),
    element("td", { text: `${one.command} ${one.outcome}` }),
    element("td", { text: one.verdict, class: one.verdict.startsWith("valid") ? "valid" : "bad" }),
    element("td", { class: "label", text: [one.reason, one.remedy, ...one.also].filter(Boolean).join("; ") })));
  const heads = ["place", "table", "regression", "verdict", "why, and what would change it"];
  $("worth").replaceChildren(
    element("p", {}, element("strong", { text: `${valid} of ${found.rows.length} regressions will be valid.` }), " ",
      state.method === "moments" && valid < found.rows.length && state.roles.treatment
        ? button("Declare the regressions of the do-files", takeDoFiles, { id: "declare-do-files" }) : ""),
    element("ul", {}, ...found.summary.map((text) => element("li", { text }))),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verdicts" },
      element("table", {}, element("thead", {}, element("tr", {},
        ...heads.map((text) => element("th", { scope: "col", text })))), element("tbody", {}, ...lines))));
}

