// Fields: each is saved when it is left, and what is wrong with it stands beside it.

import { arrange, button, element } from "./dom.js";
import { columnOf, edit, isUnsaved, mark, onState, state, unmark, whyUnsaved } from "./study.js";

const WIDE = ["formula", "formulas", "specifications"];
const isWide = (about) => WIDE.includes(about.at[about.at.length - 1]);
const fields = new Map(); // id: field
let openOf = { of: null, by: new Map() }; // open points by the id of their field

function openAt(id) {
  if (openOf.of !== state.open) {
    openOf = { of: state.open, by: new Map() };
    for (const point of state.open) {
      const key = idOf(point.at);
      openOf.by.set(key, [...(openOf.by.get(key) || []), point]);
    }
  }
  return openOf.by.get(id) || [];
}

export const idOf = (at) => `f-${at.join("-").replace(/[^\w-]/g, (letter) => `_${letter.charCodeAt(0)}`)}`;

// about: {at, label, help, takes, choices, flag, required, default, placeholder, words}
export function field(about) {
  const id = idOf(about.at);
  const wrong = element("span", { id: `${id}-wrong`, class: "bad" });
  const hint = element("span", { id: `${id}-hint`, class: "hint" });
  const [first, rest] = parted(about.help || "");
  hint.textContent = [first, about.takes && about.takes !== "text" && !about.choices.length && !about.flag
    ? `Give ${about.takes}.` : "",
    about.default && !about.flag ? `If empty: ${about.default}.` : ""].filter(Boolean).join(" ");
  let input;
  if (about.flag) input = element("input", { type: "checkbox" });
  else if (about.choices.length) input = choice(about.choices, about.words || {}, about.required);
  else if (isWide(about)) input = element("textarea", { rows: 1, spellcheck: "false", autocomplete: "off" });
  else input = element("input", { spellcheck: "false", autocomplete: "off", placeholder: about.placeholder || "" });
  input.id = id;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
  const full = about.of ? `${about.label} of ${about.of}` : about.label;
  if (about.of) input.setAttribute("aria-label", full);
  const needed = about.required ? element("span", { class: "needed", text: " (needed)" }) : null;
  const label = element("label", { for: id },
    about.label, needed);
  const made = { about, id, input, wrong, full, needed, saved: "",
    row: element("div", { class: about.flag ? "field flag" : isWide(about) ? "field wide" : "field" },
      ...(about.flag ? [input, label] : [label, input]), wrong, hint,
      rest ? element("details", { class: "hint" }, element("summary", { text: "more about it" }), rest) : null) };
  if (!about.flag) {
    input.addEventListener("input", () => {
      if (input.value === made.saved) unmark(id);
      else mark(id, full, "");
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // no line ends within a formula
      save(made);
    });
  }
  input.addEventListener("change", () => save(made));
  fields.set(id, made);
  return made;
}

// the first sentence of a long help, and what comes after it
function parted(help) {
  const end = help.length > 160 ? help.search(/[.;] /) + 1 : 0;
  return end > 1 ? [help.slice(0, end).replace(/;$/, "."), help.slice(end).trim()] : [help, ""];
}

function choice(choices, words, required) {
  const made = element("select", {}, element("option", { value: "", text: required ? "choose" : "" }));
  for (const one of choices) made.append(element("option", { value: one, text: words[one] || one }));
  return made;
}

const typed = (one) => !one.about.flag ? one.input.value.replace(/\s*\n\s*/g, " ")
  : one.input.checked ? "true" : one.about.default === "true" ? "false" : "";

async function save(one) {
  const value = typed(one);
  if (value === one.saved && !isUnsaved(one.id)) return;
  if (one.sending === value) return;
  one.sending = value;
  mark(one.id, one.full, "");
  const refused = await edit([{ at: one.about.at, typed: value }], `Saved: ${one.full}.`);
  one.sending = null;
  if (typed(one) !== value) return; // typed on meanwhile
  if (refused) mark(one.id, one.full, refused);
  else { one.saved = value; unmark(one.id); put(one, one.value); }
  judge(one);
}

// what is there is shown, unless the user has typed something that is not saved
export function put(one, value) {
  one.value = value;
  if (!isUnsaved(one.id)) {
    one.saved = value;
    if (one.about.flag) one.input.checked = (value || one.about.default) === "true";
    else if (one.input.value !== value) one.input.value = value;
  }
  judge(one);
}

function judge(one) {
  const open = openAt(one.id);
  const refused = whyUnsaved(one.id);
  const words = refused ? `Not saved: ${refused}`
    : isUnsaved(one.id) || one.about.flag ? "" : [...new Set(open.map((point) => asked(point)))].join(" ");
  if (one.wrong.textContent !== words) one.wrong.textContent = words;
  one.input.toggleAttribute("data-open", open.length > 0);
  if (one.needed) one.needed.hidden = Boolean(one.input.value);
  if (refused || (open.length && one.input.value)) one.input.setAttribute("aria-invalid", "true");
  else one.input.removeAttribute("aria-invalid");
}

const ASKED = {
  fate: "Say what readers get of it.",
  levels: "Give every value that is possible.",
  bounds: "Give the smallest and the largest possible value, or every possible value.",
  bins: "Give a number of bins, or their inner edges.",
  missing: "Say which missing codes may occur, or never.",
  missing_policy: "Say what estimates do where it is missing.",
};

// what is open of a field that is empty is asked for; of one that is filled, it is what is wrong
export function asked(point) {
  const column = columnOf(point.column);
  const empty = column && !column.facts[point.at[2]];
  if (/^\[+\w+\]+ lacks /.test(point.point)) return "This is needed.";
  return empty && ASKED[point.at[2]] || point.words;
}

export function labelOf(at) {
  const section = state.sections.find((one) => one.at.join() === at.slice(0, -1).join());
  const found = section && section.fields.find((one) => one.key === at[at.length - 1]);
  return found && found.key !== "confirm" ? `${found.label}: ` : "";
}

// -- sections ------------------------------------------------------------------------------------

const shapes = new Map(); // key of a form: {shape, box, made}

// the forms of one step: those fields of every section that are asked for there
export function showForms(place, step, skip) {
  const wanted = [];
  for (const section of state.sections) {
    const list = section.fields.filter((one) => one.step === step
      && !(skip || []).includes(`${section.name}.${one.key}`));
    if (!list.length) continue;
    const key = `${step}:${section.at.join(".")}`;
    const shape = JSON.stringify([section.title, section.there, list.map((one) => [one.key, one.choices])]);
    let form = shapes.get(key);
    if (!form || form.shape !== shape) {
      form = formOf(section, list, shape, form);
      shapes.set(key, form);
    }
    for (const one of list) put(form.made.get(one.key), one.value);
    wanted.push(form.box);
  }
  arrange(place, wanted);
}

function formOf(section, list, shape, old) {
  const made = new Map();
  for (const one of list) {
    const required = one.required && (section.there || NEEDED.includes(section.step));
    made.set(one.key, field({ ...one, required, at: [...section.at, one.key], words: WORDS[one.key] || one.words }));
  }
  const first = list.filter((one) => one.required || one.first || one.value);
  const listed = section.at.length > 1 && !section.there;
  const shown = listed ? [] : first, rest = list.filter((one) => !shown.includes(one));
  const rows = (some) => element("div", { class: "fields" }, ...some.map((one) => made.get(one.key).row));
  const more = rest.length ? element("details", {},
    element("summary", { text: listed ? section.title : shown.length ? "More" : `${section.title}: more` }),
    rows(rest)) : null;
  if (more && old) more.open = old.more ? old.more.open : false;
  const named = list[0].step !== 3 || list.some((one) => one.key === "formula");
  const title = named && (TITLES[section.name] || {})[list[0].step] || section.title;
  if (more && !shown.length) more.firstChild.textContent = title;
  const box = element("section", { class: "card" },
    shown.length ? element("h3", { text: title }) : null, shown.length ? rows(shown) : null, more);
  if (section.there && section.at.length > 1) {
    box.append(button("Remove this", () =>
      edit([{ at: section.at, typed: "" }], `${section.title} is removed.`)));
  }
  return { shape, box, made, more };
}

const NEEDED = [3];
const TITLES = { release: { 3: "What is compared", 4: "Exceptions", 5: "If the plan refuses", 6: "The file that is made" } };

export const WORDS = {
  kind: {
    simple: "each person by a coin of their own",
    complete: "a fixed number of all people",
    block: "a fixed number within each block",
    cluster: "whole clusters",
    block_cluster: "whole clusters within blocks",
    factorial: "several treatments at once",
  },
  fate: {
    modelled: "made-up values",
    filler: "random values",
    withheld: "no values",
    key: "new identifiers",
    public: "as it is: public",
    drop: "left out",
  },
  rest: { withheld: "in the file, without values", key: "new identifiers", drop: "left out" },
  estimator: { ipw: "weighting (ipw)", aipw: "doubly robust (aipw)" },
};

export function goTo(id) {
  const place = document.getElementById(id);
  if (!place) return false;
  for (let above = place.parentElement; above; above = above.parentElement) {
    if (above.tagName === "DETAILS") above.open = true;
    if (above.dataset.step) location.hash = `#${above.id}`;
  }
  setTimeout(() => { place.focus(); place.scrollIntoView({ block: "center" }); }, 0);
  return true;
}

export function remedied(remedy) {
  edit(remedy.changes, `Saved: ${remedy.label}.`);
}

export function startForms() {
  onState(() => { for (const one of fields.values()) if (one.row.isConnected) judge(one); });
}
