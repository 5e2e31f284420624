// The page of a study: six steps, each shown from what the server says.

import { $, complain } from "./dom.js";
import { showColumns, startColumns } from "./columns.js";
import { startForms } from "./forms.js";
import { showHead, showLead, startLead } from "./lead.js";
import { ahead, showPrivacy, startOutlook } from "./outlook.js";
import { showRelease, startRelease } from "./release.js";
import { isSaved, listen, onState, state, undo, write } from "./study.js";

function startText() {
  const text = $("study-text");
  let shown = "";
  onState(() => {
    $("study-name").textContent = `The study file: ${state.study_file}`;
    if (text.value === shown) text.value = state.text || "";
    shown = state.text || "";
    $("save-text").disabled = text.value === shown;
  });
  text.addEventListener("input", () => { $("save-text").disabled = text.value === shown; });
  const save = async () => {
    const typed = text.value;
    const refused = await write(typed);
    text.setAttribute("aria-invalid", String(Boolean(refused)));
    if (!refused) { shown = typed; text.value = typed; $("save-text").disabled = true; }
  };
  $("save-text").addEventListener("click", save);
}

function start() {
  startLead();
  startForms();
  startColumns();
  startOutlook();
  startRelease();
  startText();
  onState(() => {
    showHead();
    if (!state.error) showColumns();
    showLead();
    showPrivacy();
    showRelease();
    $("saving").textContent = isSaved() ? "Everything is saved." : "Not saved yet.";
    ahead(300);
  });
  $("undo").addEventListener("click", undo);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) && document.activeElement.type !== "radio"
      && document.activeElement.type !== "checkbox";
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing) {
      event.preventDefault();
      undo();
    }
  });
  listen().catch((error) => complain(error.message));
}

start();
