// The start page: starts scans.

import { alertUser } from "./http.js";
import { run } from "./jobs.js";

/** Starts the page. */
export function start(part) {
  const form = part.querySelector("#scan-form");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const roots = [...form.querySelectorAll("[name=root]:checked")].map((box) => box.value);
    const path = form.elements.path.value.trim();
    if (!roots.length && !path) {
      alertUser("Choose a folder, or type the path of one.");
      form.elements.path.focus();
      return;
    }
    run("/api/scan", { roots, path }).then(() => window.scrollTo(0, 0), () => form.elements.path.focus());
  });
}
