"use strict";
// The page holds no study of its own: it shows what the server says, and sends what was typed.
// Every text from the file is set as text, never as HTML.

const $ = (id) => document.getElementById(id);
const FACTS = ["fate", "levels", "bounds", "bins", "missing", "role"];
const HINTS = { levels: "0, 1", bounds: "15, 80", bins: "5 or 20, 30", missing: "never or . .a" };
const EPSILONS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const NO_NOISE = 1000;

let state = null;      // what the server said last
let rows = new Map();  // name of a column: {row, inputs, box, note}
let shapes = "";       // names of the columns for which rows were made
let queue = Promise.resolve();
let generation = 0;    // of the plan; a newer one ends the older
let gone = false;
let moreOf = "";       // the column whose rarer facts are shown
let trail = [];        // sizes of the histogram, one for each change in this window
let judged = 0;        // of the verdicts; a newer question ends the older

function element(kind, facts, ...inner) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(facts || {})) {
    if (name === "text") made.textContent = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inner);
  return made;
}

function say(words) { $("said").textContent = words; if (words) $("wrong").textContent = ""; }
function complain(words) { $("wrong").textContent = words; if (words) $("said").textContent = ""; }

async function ask(name, given) {
  let answer;
  try {
    answer = await fetch(`do/${name}`, { method: "POST", credentials: "omit",
      headers: { "Content-Type": "application/json" }, body: JSON.stringify(given || {}) });
  } catch {
    lost();
    throw new Error("the server does not answer");
  }
  const found = await answer.json().catch(() => ({ error: `refused (${answer.status})` }));
  if (!answer.ok) {
    if (found.stale) await load();
    throw new Error(found.error || "refused");
  }
  return found;
}

function lost() { gone = true; $("gone").hidden = false; $("said").textContent = ""; }

async function load() { show(await ask("state")); }

// changes are sent one after the other, each on top of what the one before left
function edit(changes, words) {
  queue = queue.then(async () => {
    try {
      show(await ask("edit", { revision: state.revision, changes }), described(changes));
      say(words);
      return true;
    } catch (error) {
      complain(error.message);
      return false;
    }
  });
  return queue;
}

function described(changes) {
  const { at, typed } = changes[0];
  const others = changes.length > 1 ? ` and ${changes.length - 1} more` : "";
  return `${at.slice(1).join(" ") || at[0]} = ${typed || "(taken away)"}${others}`;
}

function undo() {
  queue = queue.then(async () => {
    try {
      const found = await ask("undo", { revision: state.revision });
      for (const one of rows.values()) {
        for (const fact of FACTS) one.inputs[fact].removeAttribute("aria-invalid");
      }
      show(found, "undone");
      say("The last change is undone.");
    } catch (error) { complain(error.message); }
  });
}

// -- the codebook --------------------------------------------------------------------------------

function makeRows() {
  rows = new Map();
  const heads = ["", "Name", "Label", "Value labels", "Fate", "Levels", "Bounds", "Bins",
    "Missing codes", "Role", "More", "Notes"];
  $("heads").replaceChildren(...heads.map((text) => element("th", { scope: "col", text })));
  const all = document.createDocumentFragment();
  for (const column of state.columns) {
    const name = column.name;
    const box = element("input", { type: "checkbox", "aria-label": `select ${name}` });
    box.addEventListener("change", counted);
    const inputs = {};
    const cells = FACTS.map((fact) => {
      const label = `${fact} of ${name}`;
      const choices = state.choices[fact];
      const input = choices ? choice(choices, label)
        : element("input", { "aria-label": label, placeholder: HINTS[fact], spellcheck: "false" });
      input.addEventListener("change", () => changed(name, fact, input));
      inputs[fact] = input;
      return element("td", {}, input);
    });
    const note = element("span", { class: "bad", role: "status" });
    const other = element("button", { type: "button", text: "More" });
    other.setAttribute("aria-label", `more facts of ${name}`);
    other.addEventListener("click", () => openMore(name));
    const others = element("div", { class: "small" });
    const more = column.more_labels ? `; ... ${column.more_labels} more` : "";
    const row = element("tr", {}, element("td", {}, box),
      element("th", { scope: "row", text: name }),
      element("td", { class: "label" }, element("div", { text: column.label }),
        element("div", { class: "small", text: `${column.type} ${column.format}` })),
      element("td", { class: "label small", text: column.labels.join("; ") + more }),
      ...cells, element("td", { class: "label" }, other, others),
      element("td", { class: "label" }, note));
    rows.set(name, { row, inputs, box, note, others });
    all.append(row);
  }
  $("rows").replaceChildren(all);
}

function choice(choices, label) {
  const made = element("select", { "aria-label": label }, element("option", { value: "", text: "" }));
  for (const one of choices) made.append(element("option", { value: one, text: one }));
  return made;
}

async function changed(name, fact, input) {
  const typed = input.value;
  const done = await edit([{ at: ["columns", name, fact], typed }],
    `${fact} of ${name} is saved.`);
  const one = rows.get(name), column = state.columns.find((c) => c.name === name);
  if (!one || !column) return;
  if (!done) input.value = typed; // what the server said meanwhile is on top of it
  input.setAttribute("aria-invalid", String(!done));
  input.dataset.saved = column.facts[fact];
  one.note.textContent = done ? column.refused : $("wrong").textContent;
}

function isWrong(input) { return input.getAttribute("aria-invalid") === "true"; }

function showRows() {
  const names = JSON.stringify(state.columns.map((c) => [c.name, c.label, c.labels]));
  if (names !== shapes) { shapes = names; makeRows(); }
  const lacking = new Map();
  for (const one of state.open) {
    if (one.column) lacking.set(one.column, (lacking.get(one.column) || 0) + 1);
  }
  for (const column of state.columns) {
    const { row, inputs, note, others } = rows.get(column.name);
    for (const fact of FACTS) {
      const input = inputs[fact];
      // what was refused stays to be mended, until somebody saves another value
      if (isWrong(input) && input.dataset.saved === column.facts[fact]) continue;
      if (input.value !== column.facts[fact]) input.value = column.facts[fact];
      input.removeAttribute("aria-invalid");
    }
    const said = Object.keys(state.more).filter((fact) => column.facts[fact])
      .map((fact) => `${fact} ${column.facts[fact]}`).join("; ");
    if (others.textContent !== said) others.textContent = said;
    row.dataset.open = lacking.get(column.name) || 0;
    if (!FACTS.some((fact) => isWrong(inputs[fact]))) note.textContent = column.refused;
  }
  if ($("more").open) showMore();
  filtered();
}

// the rarer facts of one column, in a dialog
function openMore(name) {
  moreOf = name;
  $("more-head").textContent = `More facts of ${name}`;
  $("more-wrong").textContent = "";
  $("more-fields").replaceChildren(...Object.entries(state.more).map(([fact, means]) => {
    const label = `${fact} of ${name}`, choices = state.choices[fact];
    const input = choices ? choice(choices, label)
      : element("input", { "aria-label": label, spellcheck: "false", autocomplete: "off" });
    input.dataset.fact = fact;
    input.addEventListener("change", async () => {
      const typed = input.value;
      const done = await edit([{ at: ["columns", name, fact], typed }], `${fact} of ${name} is saved.`);
      if (!done) input.value = typed;
      input.setAttribute("aria-invalid", String(!done));
      $("more-wrong").textContent = done ? "" : $("wrong").textContent;
    });
    return element("label", {}, fact, input, element("span", { class: "small", text: means }));
  }));
  showMore();
  $("more").showModal();
}

function showMore() {
  const column = state.columns.find((one) => one.name === moreOf);
  if (!column) { $("more").close(); return; }
  for (const input of $("more-fields").querySelectorAll("[data-fact]")) {
    if (document.activeElement === input && isWrong(input)) continue;
    input.value = column.facts[input.dataset.fact];
  }
}

function pattern() {
  const typed = $("search").value.trim().toLowerCase();
  if (!/[*?]/.test(typed)) {
    return (c) => !typed || c.name.toLowerCase().includes(typed) || c.label.toLowerCase().includes(typed);
  }
  const form = typed.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  const whole = new RegExp(`^${form}$`);
  return (c) => whole.test(c.name.toLowerCase());
}

function filtered() {
  const fits = pattern();
  let shown = 0;
  for (const column of state.columns) {
    const { row } = rows.get(column.name);
    const wanted = fits(column) && (!$("only-open").checked || row.dataset.open !== "0");
    if (row.hidden === wanted) row.hidden = !wanted;
    shown += wanted;
  }
  $("count").textContent = `${shown} of ${state.columns.length} columns are shown`;
  counted();
}

function selected() { return state.columns.filter((c) => rows.get(c.name).box.checked); }
function counted() { $("selected").textContent = selected().length; }

function setMany() {
  const fact = $("bulk-fact").value, typed = $("bulk-value").value, chosen = selected();
  if (!chosen.length) { complain("No column is selected."); return; }
  edit(chosen.map((c) => ({ at: ["columns", c.name, fact], typed })),
    `${fact} of ${chosen.length} columns is saved.`);
}

function takeLabels() {
  const chosen = selected().filter((c) => c.offered.levels);
  if (!chosen.length) { complain("No selected column has value labels with codes."); return; }
  edit(chosen.flatMap((c) => ["levels", "missing"]
    .map((fact) => ({ at: ["columns", c.name, fact], typed: c.offered[fact] }))),
  `The labelled codes of ${chosen.length} columns are saved as levels: check whether others are possible.`);
}

// -- the sections --------------------------------------------------------------------------------

function showSections() {
  const place = $("sections");
  const there = new Map([...place.children].map((one) => [one.dataset.key, one]));
  const wanted = state.sections.map((section) => {
    const key = section.at.join("."), shape = JSON.stringify(section);
    const old = there.get(key);
    return old && old.dataset.shape === shape ? old : sectionOf(section, key, shape, old);
  });
  if (wanted.length !== place.children.length || wanted.some((one, at) => place.children[at] !== one)) {
    place.replaceChildren(...wanted);
  }
}

function sectionOf(section, key, shape, old) {
  const [name, place] = section.at;
  const title = place === undefined ? `[${name}]`
    : section.there ? `${name[0].toUpperCase()}${name.slice(1)} ${place + 1}` : `Another ${name}`;
  const inputs = new Map();
  const fields = element("div", { class: "fields" });
  for (const field of section.fields) {
    const label = `${field.key} in ${title}`;
    let input;
    if (field.choices.length) input = choice(field.choices, label);
    else input = element("input", { "aria-label": label, spellcheck: "false", autocomplete: "off" });
    input.value = field.value;
    inputs.set(field, input);
    fields.append(element("label", {}, `${field.key}${field.required ? " (needed)" : ""}`, input,
      element("span", { class: "small", text: field.takes })));
  }
  const save = element("button", { type: "button", text: "Save" });
  save.setAttribute("aria-label", `save ${title}`);
  save.addEventListener("click", () => {
    const changes = [...inputs].filter(([field, input]) => input.value !== field.value)
      .map(([field, input]) => ({ at: [...section.at, field.key], typed: input.value }));
    if (changes.length) edit(changes, `${title} is saved.`);
    else say("There is nothing to save.");
  });
  const details = element("details", {}, element("summary", { text: title }), fields, save);
  if (section.there && !["release", "unit", "header"].includes(section.name)) {
    const remove = element("button", { type: "button", text: "Remove this section" });
    remove.addEventListener("click", () =>
      edit([{ at: section.at, typed: "" }], `${title} is removed.`));
    details.append(" ", remove);
  }
  details.dataset.key = key;
  details.dataset.shape = shape;
  details.open = old ? old.open : ["release", "design"].includes(section.name);
  return details;
}

// -- open points, plan, ledger -------------------------------------------------------------------

function showOpen() {
  const groups = new Map();
  for (const one of state.open) {
    const key = one.why || "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  const made = [];
  for (const [why, points] of groups) {
    const list = element("ul");
    for (const one of points) {
      const item = element("li", { text: one.point + " " });
      if (one.column && rows.has(one.column)) {
        const go = element("button", { type: "button", text: "Go there" });
        go.setAttribute("aria-label", `go to ${one.column}`);
        go.addEventListener("click", () => {
          $("search").value = "";
          $("only-open").checked = false;
          filtered();
          rows.get(one.column).inputs.fate.focus();
        });
        item.append(go);
      }
      list.append(item);
    }
    const about = element("p", { class: "small", text: why ? `Why it is asked: ${why} ` : "" });
    if (points[0].anchor) {
      about.append(element("a", { href: `reading/choosing_bounds#${points[0].anchor}`,
        target: "_blank", rel: "noopener noreferrer", text: "Where to find it" }));
    }
    const summary = `${points.length} open: ${points[0].point}`;
    made.push(points.length > 3
      ? element("div", {}, about, element("details", {}, element("summary", { text: summary }), list))
      : element("div", {}, about, list));
  }
  $("points").replaceChildren(...(made.length ? made
    : [element("p", { text: state.error || "Nothing is open: the study is complete." })]));
  $("open-head").textContent = `Open points (${state.open.length})`;
}

async function showPlan() {
  const mine = ++generation;
  const ready = !state.error && !state.open.length;
  $("plan-note").textContent = ready
    ? "The plan follows from the header and from what you declared. It costs nothing."
    : "The plan is shown when nothing is open.";
  if (!ready) { $("plan-text").textContent = ""; $("curves").replaceChildren(); return; }
  await new Promise((resume) => { setTimeout(resume, 400); });
  if (mine !== generation) return;
  try {
    const found = await ask("plan");
    if (mine !== generation) return;
    $("plan-text").textContent = found.plan;
    const epsilons = [...new Set([...EPSILONS, state.epsilon])].sort((a, b) => a - b);
    const points = new Map();
    const floors = new Map();
    for (const epsilon of [state.epsilon, NO_NOISE, ...epsilons.filter((e) => e !== state.epsilon)]) {
      let answer;
      try { answer = await ask("errors", { epsilon }); } catch { continue; }
      if (mine !== generation) return;
      for (const one of answer.errors) {
        if (epsilon === NO_NOISE) { floors.set(one.name, one.error); continue; }
        if (!points.has(one.name)) points.set(one.name, { what: one.what, found: [] });
        points.get(one.name).found.push({ epsilon, noise: one.noise, error: one.error });
      }
      showCurves(points, floors);
    }
    $("curves").dataset.complete = "yes";
  } catch (error) {
    if (mine === generation) $("plan-text").textContent = error.message;
  }
}

// K, t and survivors after each change, so that one sees what wider bins buy
async function showSizes(words) {
  let found;
  try { found = (await ask("sizes")).sizes; } catch { found = null; }
  const last = trail[trail.length - 1];
  const key = JSON.stringify(found);
  if (found && (!last || last.key !== key)) trail.push({ ...found, key, words });
  trail = trail.slice(-8);
  $("sizes").hidden = !found;
  if (!found) return;
  const columns = Object.entries(found.columns).map(([name, codes]) => `${name} ${codes}`);
  $("sizes-words").textContent = `K = ${found.cells.toLocaleString("en")} combinations`
    + ` (${columns.join(" × ")}), each of which survives with t = ${found.threshold} rows or more.`
    + (found.survivors < found.cells
      ? ` With ${found.rows.toLocaleString("en")} rows, few more than`
        + ` ${found.survivors.toLocaleString("en")} can be expected to survive: use fewer columns`
        + " or wider bins."
      : " All of them can survive.");
  $("sizes-trail").replaceChildren(numbers("After each change in this window",
    ["change", "K", "t", "can survive"],
    trail.map((one) => [one.words,
      ...[one.cells, one.threshold, one.survivors].map((count) => count.toLocaleString("en"))])));
}

async function showVerdicts() {
  const mine = ++judged;
  let found;
  try {
    found = await ask("verdicts");
  } catch (error) {
    if (mine !== judged || gone) return;
    $("worth").replaceChildren(element("p", { class: "bad", text: error.message }));
    return;
  }
  if (mine !== judged) return;
  if (!found.files.length) {
    $("worth").replaceChildren(element("p", { text: "Name do-files in [package], or start dprct "
      + "app with --do, to see what each of their regressions will be worth on the file." }));
    return;
  }
  if (!found.rows.length) {
    $("worth").replaceChildren(element("p", { text: `There is no verdict on ${found.files.join(", ")}: `
      + "no regression is run there, or [design] or a formula is missing." }));
    return;
  }
  const lines = found.rows.map((one) => element("tr", {},
    element("td", { text: `${one.file}:${one.line}` }), element("td", { text: one.table }),
    element("td", { text: `${one.command} ${one.outcome}` }),
    element("td", { text: one.verdict, class: one.verdict === "valid" ? "valid" : "bad" }),
    element("td", { class: "label", text: [one.reason, one.remedy].filter(Boolean).join("; ") })));
  const heads = ["place", "table", "regression", "verdict", "why, and what would change it"];
  $("worth").replaceChildren(
    element("ul", {}, ...found.summary.map((text) => element("li", { text }))),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verdicts" },
      element("table", {}, element("thead", {}, element("tr", {},
        ...heads.map((text) => element("th", { scope: "col", text })))),
      element("tbody", {}, ...lines))));
}

function showCurves(points, floors) {
  const made = [];
  for (const [name, one] of points) {
    const found = [...one.found].sort((a, b) => a.epsilon - b.epsilon);
    const floor = floors.get(name) || null;
    const heads = ["epsilon", "noise", ...(floor ? ["with sampling error"] : [])];
    const table = numbers(one.what, heads,
      found.map((p) => [p.epsilon, p.noise, ...(floor ? [p.error] : [])]));
    made.push(element("h3", { text: `${name}: ${one.what}` }),
      curve(name, one.what, found, floor, state.epsilon),
      element("details", {}, element("summary", { text: "These numbers as a table" }), table));
  }
  $("curves").removeAttribute("data-complete");
  $("curves").replaceChildren(...made);
}

function showLedger() {
  const place = $("spent"), ledger = state.ledger;
  if (!ledger) {
    place.replaceChildren(element("p", { text: "There is no ledger yet: nothing was charged." }));
  } else if (ledger.error) {
    place.replaceChildren(element("p", { class: "bad", text: ledger.error }));
  } else {
    place.replaceChildren(element("p", { text: ledger.words }), ledgerPicture(ledger),
      numbers("Entries", ["entry", "when", "method", "epsilon"],
        ledger.entries.map((one) => [one.id, one.when, one.method, one.epsilon])));
  }
}

// -- protect -------------------------------------------------------------------------------------

function showProtect() {
  const ready = !state.error && !state.open.length;
  $("offer").disabled = !ready;
  $("none-label").hidden = state.promises !== false;
  $("why-not").textContent = ready ? "" : `${state.open.length} points are still open.`;
}

async function offer() {
  $("working").hidden = false;
  $("offered").hidden = true;
  $("made").hidden = true;
  say("The facts are sealed, and the data are read.");
  try {
    const found = await ask("offer",
      { revision: state.revision, accept_no_guarantee: $("none").checked });
    $("offered-plan").textContent = found.plan;
    $("hash").textContent = found.sha256;
    $("offered-words").textContent = found.words
      + (found.again ? ` ${found.output} is there already, and is replaced.` : "");
    $("offered-note").textContent = found.note;
    $("confirm").checked = false;
    $("take").disabled = true;
    $("offered").hidden = false;
    $("confirm").focus();
    say("This is what would be released. Nothing is charged yet.");
  } catch (error) { complain(error.message); }
  $("working").hidden = true;
}

async function take() {
  $("take").disabled = true;
  $("working").hidden = false;
  say("The data are protected. Do not close this window.");
  try {
    const found = await ask("take", { sha256: $("hash").textContent });
    $("files").replaceChildren(...found.files.map((text) => element("li", { text })));
    $("summary").textContent = found.summary;
    $("certificate").textContent = found.certificate;
    $("tables").replaceChildren(...found.tables.map((text) => element("pre", { text })));
    $("made").hidden = false;
    $("made").focus();
    say("Released. To protect again makes another file and charges the ledger again.");
  } catch (error) { complain(error.message); }
  $("offered").hidden = true;
  $("working").hidden = true;
}

// -- everything together -------------------------------------------------------------------------

function show(found, words) {
  const before = state;
  state = found;
  document.title = `dprct: ${found.data || found.study_file}`;
  $("title").textContent = found.data || found.study_file;
  const count = typeof found.rows === "number" ? `${found.rows.toLocaleString("en")} rows, ` : "";
  $("about").textContent = found.error ? found.study_file
    : `${count}${found.columns.length} columns; saved in ${found.study_file}`;
  $("source").textContent = found.error ? "" : (found.label ? `${found.label}. ` : "")
    + (found.from_header ? "Everything here comes from the header of the file; no row is read."
      : "This kind of file has no header: its names and types were read with its rows.");
  if (found.error) complain(found.error);
  $("undo").disabled = !found.can_undo;
  if (found.more && !$("bulk-fact").children.length) {
    $("bulk-fact").append(...[...FACTS, ...Object.keys(found.more)]
      .map((fact) => element("option", { value: fact, text: fact })));
  }
  showRows();
  showSections();
  showOpen();
  showProtect();
  showLedger();
  if (!before || before.sha256 !== found.sha256 || before.open.length !== found.open.length) {
    $("offered").hidden = true;
    showPlan();
    showVerdicts();
    showSizes(words || (before ? "changed elsewhere" : "as it was opened"));
  }
  document.body.dataset.revision = found.revision;
}

function start() {
  $("more-close").addEventListener("click", () => $("more").close());
  const offers = () => $("bulk-choices").replaceChildren(
    ...((state && state.choices[$("bulk-fact").value]) || []).map((value) => element("option", { value })));
  $("bulk-fact").addEventListener("change", offers);
  $("bulk-value").addEventListener("focus", offers);
  $("search").addEventListener("input", filtered);
  $("only-open").addEventListener("change", filtered);
  const shownRows = () => [...rows.values()].filter((one) => !one.row.hidden);
  $("select-shown").addEventListener("click", () => {
    for (const one of shownRows()) one.box.checked = true;
    counted();
  });
  $("select-none").addEventListener("click", () => {
    for (const one of rows.values()) one.box.checked = false;
    counted();
  });
  $("bulk-set").addEventListener("click", setMany);
  $("bulk-labels").addEventListener("click", takeLabels);
  $("undo").addEventListener("click", undo);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing) {
      event.preventDefault();
      undo();
    }
  });
  $("offer").addEventListener("click", offer);
  $("confirm").addEventListener("change", () => { $("take").disabled = !$("confirm").checked; });
  $("take").addEventListener("click", take);
  const events = new EventSource("events");
  events.onmessage = (event) => {
    if (gone) { gone = false; $("gone").hidden = true; }
    if (event.data === "changed") queue = queue.then(load).catch(() => {});
  };
  events.onerror = lost;
  queue = queue.then(load).catch((error) => complain(error.message));
}

start();
