// Step 6: open, confirm, release, resume; and what was released. The ledger and the files on the
// disk are the truth, so that a reload, a second window or a crash shows the same.

import { $, button, complain, count, element, say, table } from "./dom.js";
import { goTo, remedied } from "./forms.js";
import { forest, ledgerPicture } from "./pictures.js";
import { ask, edit, isSaved, isSaving, load, makeFolder, state } from "./study.js";

const WORK = {
  reading: ["Opening", "Nothing is charged.", ["The public facts are sealed, and the rows are read",
    "The release is planned for them"]],
  protecting: ["Releasing", "It is finished even if you close this window.", ["The ledger is charged",
    "The noise is drawn, and what was released is kept", "The files are written"]],
  verifying: ["Verifying", "Nothing is charged.", ["The files are compared with what was released"]],
  packing: ["Making the package", "Nothing is charged.", ["The folder is searched for rows of people, and written"]],
  resuming: ["Resuming", "Nothing is charged.", ["The files are written again from what was paid for"]],
};
const STATES = {
  written: (one) => `released: ${one.file}`,
  saved: () => "paid for and saved, but its file is not here: write it again, free",
  crashed: () => "SPENT, and nothing was saved: its process was stopped in between, or is still at work",
  "no-guarantee": () => "no guarantee, no price",
};

let shownFor = "";   // of the result: what it was read for
let poll = 0;
let begun = 0;       // when the work began
const answers = new Map(); // what the buttons after a release said, by what they do
let dismissed = "";  // an offer that was closed in this window

export function startRelease() {
  $("offer").addEventListener("click", offer);
  $("confirm").addEventListener("change", () => { $("take").disabled = !$("confirm").checked; });
  $("take").addEventListener("click", take);
  $("not-now").addEventListener("click", withdraw);
  $("modal").addEventListener("cancel", (event) => { event.preventDefault(); withdraw(); });
  let timer = 0;
  window.addEventListener("resize", () => { // pictures are as wide as the window
    clearTimeout(timer);
    timer = setTimeout(() => { if (!$("made").hidden) again().catch(() => {}); }, 300);
  });
}

export function showRelease() {
  if (state.error) { $("offer").disabled = true; return; }
  const points = state.open.length;
  const things = new Set(state.open.map((one) => one.at.join())).size;
  const why = state.work ? "" : points ? `${things === 1 ? "One thing is" : `${things} things are`} still open:`
    : isSaved() ? "" : isSaving() ? "A change is being saved." : "Something that you typed is not saved yet.";
  $("why-not").textContent = why;
  $("offer").disabled = Boolean(why || state.work);
  $("none-label").hidden = state.promises;
  $("where-open").replaceChildren(...(points && !state.work ? steps() : []));
  showWork();
  showModal();
  showLedger();
  showResult();
}

const steps = () => [2, 3, 4, 5].filter((at) => $(`badge-${at}`).textContent).map((at) => element("li", {},
  element("a", { href: `#step-${at}`, text: `Step ${at}: ${$(`badge-${at}`).textContent}` })));

function showWork() {
  const work = WORK[state.work];
  $("working").hidden = !work;
  if (!work) { clearTimeout(poll); poll = 0; begun = 0; return; }
  if (!begun) begun = Date.now();
  $("working-head").textContent = work[0];
  const stages = work[2], share = $("working-share");
  share.max = stages.length;
  share.value = state.stage;
  $("working-stages").replaceChildren(...stages.map((text, at) => element("li",
    at === state.stage ? { "aria-current": "step", text } : { text: at < state.stage ? `${text}: done` : text })));
  const charged = state.work === "protecting" && state.ledger && !state.ledger.error
    ? ` Charged so far: ${state.ledger.words}.` : "";
  $("working-words").textContent = `${work[1]}${charged} ${Math.round((Date.now() - begun) / 1000)} s.`;
  if (!poll) poll = setTimeout(() => { poll = 0; load().catch(() => {}); }, 1000);
}

async function offer() {
  dismissed = "";
  begun = Date.now();
  say("");
  try {
    await ask("offer", { revision: state.revision, accept_no_guarantee: $("none").checked });
    await load();
    say("The data keep what was declared. Nothing is charged yet.");
  } catch (error) {
    complain(error.message);
    const design = error.message.includes("the assignment is not one of the design")
      ? [button("To the design, in step 3", () => goTo("f-design-kind")), " "] : [];
    $("offer-wrong").replaceChildren(`Not opened: ${error.message}. `, ...design, ...(error.remedies || [])
      .map((one) => button(one.label, () => { remedied(one); $("offer-wrong").replaceChildren(); })));
    await load().catch(() => {});
    return;
  }
  $("offer-wrong").replaceChildren();
}

function showModal() {
  const found = state.offer, modal = $("modal");
  if (!found || state.work || dismissed === found.sha256) { if (modal.open) modal.close(); return; }
  if (modal.open && $("hash").textContent === found.sha256) return;
  $("hash").textContent = found.sha256;
  $("offered-plan").textContent = found.plan;
  $("offered-words").textContent = found.words;
  $("offered-note").textContent = found.note;
  const whom = typeof state.rows === "number" ? ` (${count(state.rows)} rows)` : "";
  $("for-ever").textContent = `The charge is final, for everybody in these data${whom}: `
    + "a release cannot be taken back.";
  $("confirm").checked = false;
  $("take").disabled = true;
  if (!modal.open) modal.showModal();
  $("confirm").focus();
}

function withdraw() {
  dismissed = $("hash").textContent;
  $("modal").close();
  ask("withdraw").then(load).then(() => say("Nothing was charged."), () => {});
}

async function take() {
  const sha256 = $("hash").textContent;
  dismissed = sha256;
  $("take").disabled = true;
  $("modal").close();
  begun = Date.now();
  await finish(ask("take", { sha256 }),
    "Released. To release again makes another file and charges the ledger again.");
}

async function finish(deed, words) {
  answers.clear();
  try {
    const found = await deed;
    await load();
    showMade(found);
    say(words);
    $("made").focus();
  } catch (error) {
    await load().catch(() => {});
    complain(error.message);
  }
}

function resume(entry) {
  begun = Date.now();
  finish(ask("resume", { entry }), "Written again from what was paid for. Nothing was charged.");
}

// -- the ledger ----------------------------------------------------------------------------------

function showLedger() {
  const ledger = state.ledger, place = $("spent");
  const shape = JSON.stringify([ledger, state.work]);
  if (place.dataset.shape === shape) return;
  place.dataset.shape = shape;
  const blocked = !ledger ? "" : ledger.error || ledger.too_little;
  $("blocked").textContent = blocked && !state.work ? blocked : "";
  $("blocked").hidden = !blocked || Boolean(state.work) || (state.output_there && !ledger.error);
  const lost = ledger && !ledger.error ? ledger.entries.filter((one) => one.state !== "written" && one.state !== "no-guarantee") : [];
  $("lost").hidden = !lost.length || Boolean(state.work);
  $("lost").replaceChildren(...lost.map((one) => element("p", {},
    `Entry ${one.id} of ${one.when} (${one.method}, epsilon ${one.epsilon}) is ${STATES[one.state](one)}. `,
    one.state === "saved" ? button("Write its file again", () => resume(one.id), { class: "main" }) : null)));
  if (!ledger) {
    place.replaceChildren(element("p", { text: "There is no ledger yet: nothing was charged." }));
  } else if (ledger.error) {
    place.replaceChildren(element("p", { class: "bad", text: ledger.error }));
  } else {
    place.replaceChildren(element("p", { text: `${ledger.words}.` }),
      ledger.too_little ? element("p", { class: "hint", text: state.output_there
        ? "Too little is left for another release like this one." : ledger.too_little }) : "", ledgerPicture(ledger),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Entries of the ledger" },
        table("", ["entry", "when", "method", "epsilon", "state"], ledger.entries.map((one) =>
          [one.id, one.when, one.method, one.epsilon, STATES[one.state](one)]))),
      ...ledger.entries.filter((one) => one.saved && one.state === "written").map((one) =>
        button(`Write the file of entry ${one.id} again (free)`, () => resume(one.id))));
  }
}

// -- the result ----------------------------------------------------------------------------------

const readFor = () => JSON.stringify([state.output, state.ledger && !state.ledger.error ? state.ledger.entries.length : 0,
  state.method]);

async function showResult() {
  const wanted = state.output_there && !state.work ? readFor() : "";
  if (wanted === shownFor) return;
  shownFor = wanted;
  if (!wanted) { $("made").hidden = true; return; }
  try {
    const { result } = await ask("result");
    if (wanted === shownFor && result) showMade(result);
  } catch (error) { complain(error.message); }
}

// an outcome is the unit of its effects
const named = (of) => state.columns.some((one) => one.name === of) ? `${of} (in units of ${of})` : of;

function showMade(found) {
  shownFor = readFor();
  const link = (one) => element("a", { href: `released/${encodeURIComponent(one.name)}`, text: one.name,
    target: "_blank", rel: "noopener noreferrer" });
  const files = found.listed.map((one) => element("li", {}, link(one),
    element("span", { class: "hint", text: ` ${one.about}${one.bytes === null ? "" : `, ${count(one.bytes)} bytes`}` })));
  const rows = found.rows.filter((one) => Number.isFinite(one.estimate));
  const parts = [
    element("p", { class: "kind", text: found.makes_file ? "Protected file" : "Released numbers" }),
    element("h3", { text: found.output }),
    element("p", { class: "hint", text: `${found.issued ? `Issued ${found.issued}. ` : ""}In the folder ${found.folder}` }),
    found.claim.length ? element("div", { class: found.promises ? "claim" : "claim none" },
      ...found.claim.map((text) => element("p", { text }))) : null,
  ];
  if (rows.length) {
    parts.push(element("h4", { text: "Estimates, with intervals of 95 % that contain sampling and privacy noise" }),
      ...byOutcome(rows.slice(0, 24)).map((some) => element("figure", {}, some[0].name === some[0].of ? null : element("figcaption", { text: named(some[0].of) }),
        forest(some.map((one) => ({ ...one, name: one.name.slice(one.of.length + 2) || one.of })), `Released estimates: ${some[0].of}`))),
      element("details", {}, element("summary", { text: "As a table" }), table("", ["", "estimate", "standard error", "from", "to"],
        rows.map((one) => [one.name, one.estimate, one.error, one.low, one.high]))));
  }
  for (const text of found.tables) parts.push(element("pre", { class: "numbers", tabindex: "0", role: "region", "aria-label": "Results", text }));
  parts.push(element("h4", { text: "Files" }), element("ul", { id: "files" }, ...files));
  parts.push(element("h4", { text: "What to do next" }), element("ul", { id: "next" }, ...found.next.map(nextStep)));
  if (found.notes.length) parts.push(element("h4", { text: found.makes_file ? "What this is not good for" : "How to read it" }),
    element("ul", {}, ...found.notes.map((text) => element("li", { text }))));
  parts.push(element("details", {}, element("summary", { text: "How it was made" }),
    element("p", {}, "In a shell: ", element("code", { text: found.command })),
    element("p", { text: "In Python:" }), element("pre", { text: found.python }),
    found.summary ? element("pre", { text: found.summary }) : null,
    found.certificate ? element("pre", { id: "certificate", text: found.certificate }) : null));
  $("made").replaceChildren(...parts.filter(Boolean));
  $("made").hidden = false;
}

// what comes after a release: a button, the command that does the same, and what it said
function nextStep(one) {
  const said = answers.get(one.deed);
  const folders = !one.folders ? [] : [...one.folders.map((name) => [`Take ${name}`, () =>
    edit([{ at: ["package", "folder"], typed: name }], `The replication folder is ${name}. It is saved.`)]),
  ...(one.name_do_files ? [["Name your do-files, in step 1", async () => goTo("f-package-do")]] : []),
  ...(one.new ? [[`Make a new folder, ${one.new}, with the do-files`, makeFolder]] : [])]
    .flatMap(([text, click]) => [" ", button(text, () => click().then(again))]);
  return element("li", {}, `${one.what} `,
    one.button ? button(one.button, () => after(one.deed), { id: `after-${one.deed}` }) : null, ...folders,
    one.do ? element("span", { class: "hint" }, " in a shell: ", element("code", { text: one.do })) : null,
    said ? element("div", { class: said.ok ? "answer" : "answer bad", role: "status" },
      ...said.lines.map((text) => element("p", { text }))) : null);
}

async function after(deed) {
  begun = Date.now();
  say("");
  try {
    answers.set(deed, await ask("after", { deed }));
    say(answers.get(deed).ok ? "Done. Nothing was charged." : "");
  } catch (error) {
    answers.set(deed, { ok: false, lines: [error.message] });
  }
  await load().catch(() => {});
  await again();
  const button = $(`after-${deed}`);
  if (button) button.focus();
}

// what was released is looked at anew, and what buttons said stays
async function again() {
  const { result } = await ask("result");
  if (result) showMade(result);
}

// outcomes have units of their own, and so has each picture; the constant, which is as large as its
// outcome, would leave no room for the rest
function byOutcome(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.of, [...(groups.get(row.of) || []), row]);
  return [...groups.values()].map((some) => {
    const slopes = some.filter((one) => !one.name.endsWith(": Intercept"));
    return slopes.length ? slopes : some;
  });
}
