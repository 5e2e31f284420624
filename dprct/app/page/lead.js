// The six steps: where one is, what is open in each, what one has, and the method.

import { $, arrange, button, count, element } from "./dom.js";
import { asked, goTo, idOf, labelOf, remedied, showForms } from "./forms.js";
import { edit, state, unmark, unsavedFields } from "./study.js";

const STEPS = ["What you have", "Columns", "Design and method", "Privacy", "What will come out", "Release"];
const FAMILIES = {
  experiment: ["An experiment", "Treatment was assigned at random: to people, within blocks, or by village."],
  survey: ["A survey or a register", "Nobody was treated; readers want the distribution of answers."],
  observational: ["People who chose", "Some took part, others did not, and covariates tell who."],
  panel: ["One treated unit", "One region or firm was treated, and others were not, over several periods."],
};
const MOST = 5;

export const stepOf = () => Number((location.hash.match(/^#step-(\d)/) || [0, 1])[1]);

// the step on which an open point is settled
function stepFor(point) {
  const place = document.getElementById(idOf(point.at));
  const step = place && place.closest("[data-step]");
  if (step) return Number(step.dataset.step);
  if (point.column || point.at[0] === "header") return 2;
  const section = state.sections.find((one) => one.name === point.at[0]);
  return section ? section.step : 3;
}

export function startLead() {
  const items = STEPS.map((name, at) => element("li", {},
    element("a", { href: `#step-${at + 1}`, id: `to-${at + 1}` },
      element("span", { class: "number", text: String(at + 1) }), ` ${name} `,
      element("span", { class: "badge", id: `badge-${at + 1}` }))));
  $("steps").replaceChildren(...items);
  for (let at = 1; at <= STEPS.length; at += 1) {
    const back = at > 1 ? element("a", { href: `#step-${at - 1}`, class: "go", text: `Back: ${STEPS[at - 2]}` }) : null;
    const next = at < STEPS.length
      ? element("a", { href: `#step-${at + 1}`, class: "go next", text: `Next: ${STEPS[at]}` }) : null;
    $(`step-${at}`).append(element("p", { class: "walk" }, back, " ", next));
  }
  window.addEventListener("hashchange", () => turn(true));
  turn(false);
}

function turn(focus) {
  const step = stepOf();
  for (let at = 1; at <= STEPS.length; at += 1) {
    $(`step-${at}`).hidden = at !== step;
    if (at === step) $(`to-${at}`).setAttribute("aria-current", "step");
    else $(`to-${at}`).removeAttribute("aria-current");
  }
  if (focus) { window.scrollTo(0, 0); $(`step-${step}`).focus({ preventScroll: true }); }
  document.dispatchEvent(new CustomEvent("step", { detail: step }));
}

export function showLead() {
  const open = new Map(STEPS.map((_, at) => [at + 1, []]));
  for (const point of state.open) open.get(stepFor(point)).push(point);
  for (const [step, points] of open) {
    const fields = new Set(points.map((point) => idOf(point.at)));
    $(`badge-${step}`).textContent = state.error ? "" : points.length ? `${fields.size} open` : "";
    $(`to-${step}`).classList.toggle("open", points.length > 0);
    showOpen($(`open-${step}`), points);
  }
  $("open-6").replaceChildren();
  showFamilies();
  showMethods();
  for (const step of open.keys()) showForms($(`forms-${step}`), step, ["header.confirm", "release.epsilon"]);
  showUnsaved();
}

// at the top of a step: what is open there, each with a link to its field
export function showOpen(place, points) {
  const groups = new Map();
  for (const point of points) {
    const key = point.column ? `columns:${point.at[2]}` : idOf(point.at);
    if (!groups.has(key)) groups.set(key, []);
    if (!groups.get(key).some((one) => point.column && asked(one) === asked(point) && one.column === point.column)) {
      groups.get(key).push(point);
    }
  }
  const items = [...groups.values()].flatMap((some) => {
    if (some[0].at[0] === "header") {
      return [element("li", {}, link(some[0], some.length === 1 ? some[0].words
        : "Names, types, formats and labels are to be confirmed."), why(some[0]))];
    }
    if (some[0].column && some.length > 1) {
      const what = state.labels[some[0].at[2]];
      return [element("li", {}, some[0].at[2] === "fate" ? `Say what these ${some.length} columns are: ` : `${what} of ${some.length} columns: `,
        ...some.slice(0, MOST).flatMap((point) => [link(point, point.column), " "]),
        some.length > MOST ? `and ${some.length - MOST} more ` : "", why(some[0]))];
    }
    return some.map((point) => element("li", {},
      ...linked(point, `${point.column ? `${point.column}: ` : labelOf(point.at)}${asked(point)}`), " ",
      ...point.remedies.flatMap((one) => [button(one.label, () => remedied(one)), " "]), why(point)));
  });
  const shape = JSON.stringify(points);
  if (place.dataset.shape === shape) return;
  place.dataset.shape = shape;
  place.hidden = !items.length;
  place.replaceChildren(element("h3", { text: "Still open here" }), element("ul", {}, ...items));
}

// of a long sentence only its first part is a link
function linked(point, text) {
  const end = text.length > 120 ? text.search(/[;,] /) : -1;
  return end < 0 ? [link(point, text)] : [link(point, text.slice(0, end)), text.slice(end)];
}

function link(point, text) {
  return element("a", { href: location.hash || "#step-1", text,
    click: (event) => { event.preventDefault(); toField(point); } });
}

// the columns of facts are made when they are needed: their row is asked for first
function toField(point) {
  document.dispatchEvent(new CustomEvent("show-column", { detail: point.column }));
  if (!goTo(idOf(point.at))) location.hash = `#step-${stepFor(point)}`;
}

function why(point) {
  if (!point.why) return null;
  const about = element("span", { class: "hint", text: ` ${point.why} ` });
  if (point.anchor) {
    about.append(element("a", { href: `reading/choosing_bounds#${point.anchor}`, target: "_blank",
      rel: "noopener noreferrer", text: "Where to find it" }));
  }
  return about;
}

// what was typed into a field that is no longer asked for is let go
function isLeft(one) {
  const place = document.getElementById(one.id);
  return !place || place.closest(".facts[hidden]") !== null;
}

function showUnsaved() {
  for (const one of unsavedFields().filter(isLeft)) unmark(one.id);
  const refused = unsavedFields().filter((one) => one.why);
  $("unsaved").hidden = !refused.length;
  $("unsaved-list").replaceChildren(...refused.map((one) => element("li", {},
    element("a", { href: "#", text: `${one.label}: ${one.why}`,
      click: (event) => { event.preventDefault(); goTo(one.id); } }))));
}

// -- 1: what you have ----------------------------------------------------------------------------

const cards = new Map();

function card(group, value, title, about, click) {
  const key = `${group}:${value}`;
  if (!cards.has(key)) {
    const input = element("input", { type: "radio", name: group, value, id: `${group}-${value}` });
    const words = element("span", { class: "hint" });
    input.addEventListener("change", () => { if (input.checked) click(); });
    const head = element("strong", {});
    cards.set(key, { input, words, head, box: element("label", { class: "choice" }, input,
      element("span", {}, head, " ", words)) });
  }
  const one = cards.get(key);
  one.head.textContent = title;
  one.words.textContent = about;
  return one;
}

function showFamilies() {
  const made = Object.entries(FAMILIES).map(([name, [title, about]]) => {
    const one = card("family", name, title, about, () => propose(name));
    one.input.checked = state.family === name;
    return one.box;
  });
  if (!state.error) arrange($("families"), made);
}

function propose(family) {
  const { method } = state.proposals[family];
  const changes = [{ at: ["release", "method"], typed: method }];
  const arms = (state.roles.treatment || []).join(", ");
  if (method === "moments" && family === "experiment" && arms) changes.push({ at: ["design", "arms"], typed: arms });
  if (method === "moments" && family === "observational") changes.push({ at: ["design"], typed: "" });
  edit(changes, `${FAMILIES[family][0]}: “${nameOf(method)}” is proposed, and saved.`);
}

// -- 3: the method -------------------------------------------------------------------------------

const nameOf = (method) => (state.methods.find((one) => one.key === method) || {}).name || method;

function showMethods() {
  if (state.error) return;
  const proposed = state.proposals[state.family];
  const about = $("proposal");
  about.replaceChildren();
  if (proposed) {
    about.append(`Proposed: `, element("strong", { text: nameOf(proposed.method) }), `. ${proposed.why} `);
    if (proposed.method !== state.method) {
      about.append(button("Take it", () => propose(state.family)));
    }
  } else about.append("Say first what you have; a method is then proposed.");
  const recast = state.columns.filter((one) => one.recast).map((one) => one.recast);
  $("categories").hidden = !recast.length;
  $("categories-list").replaceChildren(...recast.map((one) => element("li", {}, `${one.words} `,
    button(one.button, () => remedied({ label: one.button, changes: one.changes })))));
  const families = (one) => one.families.includes(state.family);
  const made = state.methods.map((one) => {
    const promise = one.promises ? "" : " It promises nothing to the people in the data.";
    const shown = card("method", one.key, one.name, `${one.about}${promise} (${one.key})`, () =>
      edit([{ at: ["release", "method"], typed: one.key }], `“${one.name}” is saved.`));
    shown.input.checked = state.method === one.key;
    return { one, box: shown.box };
  });
  const near = made.filter(({ one }) => one.promises && (families(one) || one.key === state.method));
  arrange($("methods"), near.map(({ box }) => box));
  arrange($("other-methods"), made.filter((one) => !near.includes(one)).map(({ box }) => box));
}

export function showHead() {
  document.title = `dprct: ${state.data || state.study_file}`;
  $("title").textContent = state.data || state.study_file;
  $("about").textContent = state.error ? state.study_file
    : `${typeof state.rows === "number" ? `${count(state.rows)} rows, ` : ""}${count(state.columns.length)}`
      + ` columns; saved in ${state.study_file}`;
  $("source").textContent = state.error ? "" : (state.label ? `${state.label}. ` : "")
    + (state.from_header
      ? "All that you see comes from the header of the file: no row is read until you open the data in step 6."
      : "A file of this kind has no header, so it was read once. Taken from its rows, and shown here, are "
        + "their number, and which columns hold text, dates, numbers or whole numbers alone. These are facts of the "
        + "data: check that each would be the same whoever had answered.");
  const lacking = state.error ? [] : state.no_do_files;
  $("no-do-files").textContent = lacking.length
    ? `Not found: ${lacking.join(", ")}. Check the name, and the folder before it if it is not the folder of the data.` : "";
  $("broken").hidden = !state.error;
  $("broken").textContent = state.error;
  $("undo").disabled = !state.can_undo;
}
