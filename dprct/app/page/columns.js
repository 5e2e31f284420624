// Step 2: each column, its role first; the facts that follow are shown once it has one.

import { $, arrange, button, element } from "./dom.js";
import { field, put, WORDS } from "./forms.js";
import { columnOf, edit, state, takeDoFiles, unmark } from "./study.js";

const ROLES = [["", "not yet said"], ["outcome", "outcome"], ["treatment", "treatment"],
  ["covariate", "covariate"], ["block", "block (stratum)"], ["cluster", "cluster"], ["weight", "weight"],
  ["id", "identifier"], ["other", "another column"], ["out", "leave out"]];
const IN_A_SURVEY = { outcome: "main answer", covariate: "answer" };
const HINTS = { levels: "0, 1", bounds: "15, 80", bins: "5 or 20, 30", missing: "never or . .a", sd: "1",
  missing_policy: "public, private or 0" };
const TEXT_HINTS = { levels: "yes, no", missing: "never" };
const HELP = { sd: "about, from another study; if empty, the most that the bounds allow",
  missing_policy: "public: it is public who has a value; private: that is protected; or the number that stands for it" };
const NAMED = ["block", "cluster", "id", "weight"];
const BINNED = ["mv_histogram", "marginals", "published_mv_histogram", "published_hybrid", "published_gen_model"];

const rows = new Map();
let shapes = "";
let moreOf = "";
let moreFields = [];
let header = null;

export const roleOf = (column) => column.facts.role
  || (column.facts.fate === "drop" ? "out" : column.facts.fate ? "other" : "");

function makeRows() {
  rows.clear();
  for (const column of state.columns) {
    const name = column.name, id = `role-${name}`;
    const role = element("select", { "aria-label": `role of ${name}`, id },
      ...ROLES.map(([value, text]) => element("option", { value, text })));
    role.addEventListener("change", () => play(name, role.value));
    const facts = element("div", { class: "facts" });
    const more = column.more_labels ? `; ... ${column.more_labels} more` : "";
    const row = element("div", { class: "column", role: "group", "aria-label": name },
      element("div", { class: "what" }, element("strong", { class: "name", text: name }),
        element("div", { class: "hint", text: column.kind }),
        column.label ? element("div", { text: column.label }) : null,
        column.labels.length ? element("div", { class: "hint", text: column.labels.join("; ") + more }) : null),
      element("div", { class: "role" }, role), facts);
    rows.set(name, { row, role, facts, made: null });
  }
  arrange($("columns"), [...rows.values()].map((one) => one.row));
}

function play(name, role) {
  const was = roleOf(columnOf(name));
  const changes = [{ at: ["columns", name, "role"], typed: role === "other" || role === "out" ? "" : role }];
  if (role === "out") changes.push({ at: ["columns", name, "fate"], typed: "drop" });
  else if (role === "other") changes.push({ at: ["columns", name, "fate"], typed: "withheld" });
  else if (was === "out" || was === "other") changes.push({ at: ["columns", name, "fate"], typed: "" });
  edit(changes, role ? `${name}: ${ROLES.find(([one]) => one === role)[1]}. It is saved.` : `${name} has no role.`);
}

const asks = (column) => {
  const fate = state.makes_file ? ["fate"] : [];
  const open = state.open.some((one) => one.column === column.name && one.at[2] !== "fate");
  const said = column.facts.levels || column.facts.bounds || column.facts.missing;
  const plain = NAMED.includes(column.facts.role) || column.facts.fate === "withheld";
  if (plain && !open && !said) return fate;
  const binned = BINNED.includes(state.method) ? ["bins"] : [];
  const listed = column.facts.levels && !column.facts.bounds && !column.facts.bins;
  const numbers = column.text || listed ? [] : ["bounds", ...binned];
  const sd = column.facts.role === "outcome" && state.family !== "survey" && !column.text ? ["sd"] : [];
  const policy = column.facts.missing_policy
    || state.open.some((one) => one.column === column.name && one.at[2] === "missing_policy");
  return [...fate, "levels", ...numbers, "missing", ...(policy ? ["missing_policy"] : []), ...sd];
};

// the fields of a column are made when it has a role, and stay
function fill(column) {
  const one = rows.get(column.name);
  const wanted = asks(column).join();
  const active = ["", "out"].indexOf(roleOf(column)) < 0;
  one.facts.hidden = !active;
  if (!active) return;
  // what has the focus is not taken away: it goes with the next change
  const held = one.wanted && asks(column).length < one.wanted.split(",").length && one.facts.contains(document.activeElement);
  if (one.wanted !== wanted && !held) {
    one.wanted = wanted;
    one.made = one.made || new Map();
    for (const fact of asks(column)) {
      if (!one.made.has(fact)) one.made.set(fact, factField(column.name, fact));
    }
    one.offers = one.offers || element("div", { class: "offers" });
    one.facts.replaceChildren(...asks(column).map((fact) => one.made.get(fact).row), one.offers);
  }
  if (one.made.has("fate")) later(one.made.get("fate").input, column);
  for (const [fact, made] of one.made) put(made, column.facts[fact]);
  offers(one, column);
}

// of a text whose values nobody has listed, some answers wait for that, and say so
function later(select, column) {
  for (const option of select.options) {
    const waits = column.later.includes(option.value);
    const words = WORDS.fate[option.value] || option.value;
    option.disabled = waits;
    option.textContent = waits ? `${words} (list its possible values first)` : words;
  }
}

function factField(name, fact, help) {
  const { kind, text } = columnOf(name);
  return field({ at: ["columns", name, fact], label: state.labels[fact], of: name,
    help: help || HELP[fact], takes: "", choices: state.choices[fact] || [], words: WORDS[fact] || {},
    placeholder: fact === "bounds" && kind === "date" ? "2021-03-01, 2021-09-30"
      : `such as ${text && TEXT_HINTS[fact] || HINTS[fact]}` });
}

// what can be said by one press
function offers(one, column) {
  const facts = column.facts, name = column.name, made = [];
  const set = (words, changes, others) => made.push(button(words, () =>
    edit(others || Object.entries(changes).map(([fact, typed]) => ({ at: ["columns", name, fact], typed })),
      `${words} (${name}) is saved.`), { "aria-label": `${words} (${name})` }));
  if (!facts.levels && !facts.bounds && column.offered.levels) {
    set(`The labelled codes are all: ${column.offered.levels}`, { levels: column.offered.levels });
  } else if (!facts.levels && facts.role === "treatment" && !column.text) set("It is 0 or 1", { levels: "0, 1" });
  const real = column.kind.startsWith("numbers") && !facts.levels && !facts.integer && asks(column).includes("bounds");
  if (real) set("Whole numbers only", { integer: "true" });
  if (!facts.missing && asks(column).includes("missing")) {
    set("Never missing", { missing: "never" });
    if (!column.text) set("May be missing", { missing: column.offered.missing || "." });
  }
  if (column.recast) set(column.recast.button, {}, column.recast.changes);
  made.push(button("More", () => openMore(name), { "aria-label": `more about ${name}` }));
  const shape = JSON.stringify([facts.levels, facts.bounds, facts.role, facts.missing, facts.integer, asks(column),
    column.recast]);
  const order = facts.role === "treatment" && !facts.levels && column.text ? "Write the control group first. " : "";
  const said = order + (column.recast ? `${column.recast.words} ` : "") + state.more.filter((fact) => facts[fact] && !asks(column).includes(fact)
    && !(fact === "integer" && column.kind === "date"))
    .map((fact) => facts[fact] === "true" ? state.labels[fact] : `${state.labels[fact]}: ${facts[fact]}`).join("; ");
  if (one.shape === shape + said) return;
  one.shape = shape + said;
  one.offers.replaceChildren(...made, said ? element("span", { class: "hint", text: ` ${said}` }) : "");
}

export function showColumns() {
  const names = JSON.stringify(state.columns.map((one) => [one.name, one.label, one.labels]));
  if (names !== shapes) { shapes = names; makeRows(); }
  const survey = state.family === "survey";
  for (const column of state.columns) {
    const one = rows.get(column.name);
    const role = roleOf(column);
    if (one.survey !== survey) {
      one.survey = survey;
      for (const option of one.role.options) {
        option.textContent = survey && IN_A_SURVEY[option.value] || ROLES.find(([value]) => value === option.value)[1];
      }
    }
    if (one.role.value !== role) one.role.value = role;
    one.row.classList.toggle("out", role === "out");
    fill(column);
  }
  if (!$("bulk-fact").children.length) {
    $("bulk-fact").append(...Object.entries(state.labels).map(([value, text]) => element("option", { value, text })));
  }
  showConfirm();
  showGuessed();
  showDoFiles();
  if ($("more").open) showMore();
  filtered();
}

// what names and labels suggest is taken by one press
function showGuessed() {
  const found = Object.entries(state.guessed);
  $("guessed").hidden = !found.length;
  const word = (role) => (ROLES.find(([one]) => one === role) || ["", ""])[1];
  $("guessed-words").textContent = `By their names: ${found.map(([name, role]) => `${name}, ${word(role)}`).join("; ")}.`;
}

function takeGuessed() {
  edit(Object.entries(state.guessed).map(([name, role]) => role === "out"
    ? { at: ["columns", name, "fate"], typed: "drop" } : { at: ["columns", name, "role"], typed: role }),
    "These roles are saved; change what is wrong.");
}

// names, types and labels are published: one field at the end of the step
function showConfirm() {
  const section = state.sections.find((one) => one.name === "header");
  const about = section && section.fields.find((one) => one.key === "confirm");
  if (!about) return;
  if (!header) {
    header = field({ ...about, at: ["header", "confirm"],
      label: "I have read them, and they may be published",
      help: "Names, types, formats and labels of the columns come from the confidential file, and readers see them as they stand." });
    $("confirm-header").replaceChildren(header.row);
  }
  put(header, about.value);
}

// -- the rarer facts of one column ---------------------------------------------------------------

function openMore(name) {
  moreOf = name;
  $("more-head").textContent = `More about ${name}`;
  const shown = asks(columnOf(name));
  moreFields = [...Object.keys(state.labels).filter((fact) => fact !== "role" && !shown.includes(fact))]
    .map((fact) => [fact, factField(name, fact, state.meanings[fact])]);
  $("more-fields").replaceChildren(...moreFields.map(([, one]) => one.row));
  showMore();
  $("more").showModal();
}

function showMore() {
  const column = columnOf(moreOf);
  if (!column) { $("more").close(); return; }
  for (const [fact, one] of moreFields) put(one, column.facts[fact]);
}

// -- many at once --------------------------------------------------------------------------------

function pattern() {
  const wanted = $("search").value.trim().toLowerCase();
  if (!/[*?]/.test(wanted)) {
    return (one) => !wanted || one.name.toLowerCase().includes(wanted) || one.label.toLowerCase().includes(wanted);
  }
  const form = wanted.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  const whole = new RegExp(`^${form}$`);
  return (one) => whole.test(one.name.toLowerCase());
}

function shown() {
  const fits = pattern();
  const lacking = new Set(state.open.map((point) => point.column));
  const filter = $("filter").value;
  return state.columns.filter((one) => fits(one)
    && (filter !== "open" || lacking.has(one.name))
    && (filter !== "none" || !roleOf(one))
    && (filter !== "role" || !["", "out"].includes(roleOf(one))));
}

function showDoFiles() {
  const has = (state.roles.treatment || []).length > 0;
  $("of-do-files").hidden = !state.do_files.length;
  $("take-do-files").disabled = !has;
  $("of-do-files-words").textContent = !has ? "Say first which column is the treatment."
    : `${state.do_files.join(", ")}: outcomes and covariates that have no role yet get one. If treatment was assigned within the levels of a column, make that column a block: readers then get it as it is.`;
}

function filtered() {
  const wanted = new Set(shown().map((one) => one.name));
  for (const [name, one] of rows) one.row.hidden = !wanted.has(name);
  $("count").textContent = `${wanted.size} of ${state.columns.length} columns are shown`;
  const without = state.columns.filter((one) => !roleOf(one)).length;
  $("leave-out").textContent = without === 1 ? "Leave out the column without a role" : `Leave out the ${without} columns without a role`;
  $("leave-out").hidden = !without || without === state.columns.length;
  const asked = unsaid().length;
  $("never-missing").textContent = `Never missing: ${asked} columns in use`;
  $("never-missing").hidden = asked < 2;
}

const unsaid = () => state.columns.filter((one) => !["", "out"].includes(roleOf(one)) && !one.facts.missing
  && asks(one).includes("missing"));

const all = (some, facts, words) => edit(some.flatMap((one) =>
  Object.entries(facts(one)).map(([fact, typed]) => ({ at: ["columns", one.name, fact], typed }))), words);

function setMany() {
  const fact = $("bulk-fact").value, typed = $("bulk-value").value, some = shown();
  all(some, () => ({ [fact]: typed }), `${state.labels[fact]} of ${some.length} columns is saved.`);
}

function takeLabels() {
  const some = shown().filter((one) => one.offered.levels);
  all(some, (one) => ({ levels: one.offered.levels, missing: one.offered.missing }),
    `The labelled codes of ${some.length} columns are saved as possible values: check whether there are others.`);
}

export function startColumns() {
  $("take-do-files").addEventListener("click", takeDoFiles);
  $("take-guessed").addEventListener("click", takeGuessed);
  $("search").addEventListener("input", filtered);
  $("filter").addEventListener("change", filtered);
  $("leave-out").addEventListener("click", () =>
    all(state.columns.filter((one) => !roleOf(one)), () => ({ fate: "drop" }), "The other columns are left out."));
  $("never-missing").addEventListener("click", () =>
    all(unsaid(), () => ({ missing: "never" }), `${unsaid().length} columns in use are never missing: it is saved.`));
  $("bulk-set").addEventListener("click", setMany);
  $("bulk-labels").addEventListener("click", takeLabels);
  const choices = () => $("bulk-choices").replaceChildren(
    ...(state.choices[$("bulk-fact").value] || []).map((value) => element("option", { value })));
  $("bulk-value").addEventListener("focus", choices);
  $("more-close").addEventListener("click", () => $("more").close());
  $("more").addEventListener("close", () => {
    for (const [, one] of moreFields) unmark(one.id);
    $("more-fields").replaceChildren();
    moreFields = [];
  });
  document.addEventListener("show-column", (event) => {
    const one = rows.get(event.detail);
    if (!one) return;
    $("search").value = "";
    $("filter").value = "all";
    filtered();
    location.hash = "#step-2";
    if (one.facts.hidden) setTimeout(() => one.role.focus(), 0);
  });
}

