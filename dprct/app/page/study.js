// The study as the server says it. The page holds none of its own: it shows what the server says,
// and sends what was typed.

import { $, complain, say } from "./dom.js";

export let state = null;
let queue = Promise.resolve();
let waiting = 0;       // changes that are sent and not answered yet
let gone = false;
const watchers = [];
const unsaved = new Map(); // id of a field: {label, why}

export function onState(watcher) { watchers.push(watcher); }
export function isGone() { return gone; }

export async function ask(name, given) {
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
    throw Object.assign(new Error(found.error || "refused"), { remedies: found.remedies || [] });
  }
  return found;
}

function lost() {
  gone = true;
  $("gone").hidden = false;
  $("said").textContent = "";
  tell();
}

function take(found) {
  state = found;
  tell();
  document.body.dataset.revision = found.revision;
}

function tell() { if (state) for (const watcher of watchers) watcher(state); }

export async function load() { take(await ask("state")); }

const after = (deed) => {
  queue = queue.then(deed).catch((error) => { complain(error.message); return error.message; });
  return queue;
};

function queued(deed) {
  waiting += 1;
  tell();
  return after(deed).then((found) => { waiting -= 1; tell(); return found; });
}

// changes are sent one after the other, each on top of what the one before left; the answer is
// empty if they are saved, and else says why they are not
const change = (name, words, given) => queued(async () => {
  take(await ask(name, { revision: state.revision, ...given }));
  say(words);
  return "";
});

export const edit = (changes, words) => change("edit", words, { changes });
export const write = (text) => change("write", "The study file is saved.", { text });
export const takeDoFiles = () => change("take_do_files", "Roles and regressions are those of the do-files. They are saved.");
export const makeFolder = () => change("make_folder", "The folder is made, and named in the study file.");
export function undo() { unsaved.clear(); return change("undo", "The last change is undone."); }

export const columnOf = (name) => state.columns.find((one) => one.name === name);

// -- what is typed and not saved -----------------------------------------------------------------

export function mark(id, label, why) {
  const old = unsaved.get(id);
  unsaved.set(id, { label, why });
  if (!old || old.why !== why) tell();
}

export function unmark(id) { if (unsaved.delete(id)) tell(); }
export function isUnsaved(id) { return unsaved.has(id); }
export const whyUnsaved = (id) => (unsaved.get(id) || {}).why || "";
export const unsavedFields = () => [...unsaved].map(([id, one]) => ({ id, ...one }));
export const isSaving = () => waiting > 0;
export const isSaved = () => !waiting && !unsaved.size;

export function listen() {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    if (gone) { gone = false; $("gone").hidden = true; after(load); }
    if (event.data === "changed") after(load);
  };
  events.onerror = lost;
  window.addEventListener("beforeunload", (event) => { if (!isSaved()) event.preventDefault(); });
  return after(load);
}
