// The page with related folders: starts the comparison, and waits until it is complete.

import { alertUser, announce, getJson, post } from "./http.js";

const INTERVAL = 700;

export function start(part) {
  const button = document.getElementById("compare");
  button?.addEventListener("click", () => compare(part, button));
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
