// Runs and quarantine: the removal of old files asks for confirmation.

import { confirm } from "./jobs.js";

/** Starts the page. */
export function start(part) {
  const form = part.querySelector("#purge-form");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const days = form.querySelector("#days").valueAsNumber;
    confirm("purge-dialog", { days }, `/quarantine/purge?days=${days}`);
  });
}
