// The page with related folders: starts the comparison, and waits until it is complete.

import { alertUser, announce, getJson, post } from "./http.js";

const INTERVAL = 700;

/** The last change of decisions that this page knows of. */
let seen;

export function start(part) {
  seen = Number(part.dataset.seen);
  const button = document.getElementById("compare");
  button?.addEventListener("click", () => compare(part, button));
  part.addEventListener("click", (event) => {
    const choice = event.target.closest("button[data-set]");
    if (choice) decide(choice);
  });
  if (part.dataset.state === "running") wait(document.getElementById("progress"));
}

async function compare(part, button) {
  button.disabled = true;
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  try {
    await post("/api/folders");
    button.replaceWith(status);
    wait(status);
  } catch {
    button.disabled = false;
  }
}

/** Keeps the files in one folder of a set. The other buttons of the set stay, to change the decision. */
async function decide(button) {
  const { set, keep, revision } = button.dataset;
  try {
    const choice = { folders: [Number(keep)] };
    const answer = await post("/api/decide", { scope: { set: Number(set) }, choice, revision: Number(revision), seen });
    if (answer.others) return location.reload();
    seen = answer.seen;
  } catch (error) {
    // The messages of the server mention a list that is loaded again. This page has no such list.
    if (error.isOvertaken) alertUser("Another window has changed the decision about these folders. Load the page again.", "/folders");
    else if (error.status === 409) alertUser("The catalog has changed since the folders were compared. Compare them again.", "/folders");
    return;
  }
  for (const other of button.parentElement.querySelectorAll("button[data-set]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
  announce("Decided. The plan shows what would be removed.");
}

async function wait(status) {
  try {
    const { state, text } = await getJson("/folders/state");
    if (state !== "running") {
      announce("The folders have been compared.");
      location.reload();
      return;
    }
    if (status.textContent !== text) status.textContent = text;
    setTimeout(() => wait(status), INTERVAL);
  } catch (error) {
    alertUser(error.message);
  }
}
