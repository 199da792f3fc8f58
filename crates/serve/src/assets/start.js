// The pages that start scans.

import { alertUser } from "./http.js";
import { run } from "./jobs.js";

/** Starts the page. */
export function start(part) {
  for (const form of part.querySelectorAll("form.scan")) form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    const [roots, path] = [data.getAll("root"), (data.get("path") ?? "").trim()];
    if (!roots.length && !path) {
      alertUser("Choose a folder, or type the path of one.");
      form.elements.path.focus();
      return;
    }
    run("/api/scan", { roots, path }).then(() => window.scrollTo(0, 0), () => form.elements.path?.focus());
  });
}
