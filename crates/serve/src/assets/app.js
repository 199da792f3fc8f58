// Starts the shortcuts, and the module of the page, which the page names in <div data-module="...">.

import { alertUser } from "./http.js";
import { listen, onKey } from "./keys.js";
import { followNews } from "./news.js";
import { showLocalTimes } from "./times.js";

const modules = {
  folders: () => import("./folders.js"),
  space: () => import("./space.js"),
  "folder-sets": () => import("./folder-sets.js"),
  groups: () => import("./groups.js"),
  plan: () => import("./plan.js"),
  runs: () => import("./runs.js"),
  start: () => import("./start.js"),
};

const part = document.querySelector("[data-module]");
const go = (path) => () => location.assign(path);
onKey("p", "Go to the plan", go("/plan"), true);
onKey("u", "Go to the runs, to undo", go("/runs"), true);
listen();
showLocalTimes();
followNews();
// Most pages show no jobs. They need the script only while a job is running.
if (!document.getElementById("running").hidden || document.querySelector("#jobs, #outcome, [data-dialog]")) {
  import("./jobs.js").then((jobs) => jobs.startJobs()).catch((error) => alertUser(error.message));
}
if (part) {
  const load = modules[part.dataset.module];
  load?.().then((module) => module.start(part)).catch((error) => alertUser(error.message));
}
