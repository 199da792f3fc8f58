// Tells the user that another process has changed the catalog, and how much has changed since the last scan.

import { getJson } from "./http.js";

/** Time between two requests in milliseconds. */
const INTERVAL = 10000;

const notice = document.getElementById("news");
const changed = document.getElementById("changed");
let version = notice.dataset.catalog;

/** Sends requests at intervals while the page is visible. */
export function followNews() {
  notice.querySelector("button").addEventListener("click", () => location.reload());
  setInterval(ask, INTERVAL);
  document.addEventListener("visibilitychange", ask);
}

async function ask() {
  if (document.hidden) return;
  // The page ignores a failed request: the next one may succeed.
  const news = await getJson("/api/news").catch(() => undefined);
  if (!news) return;
  version ??= String(news.catalog);
  const isRunning = !document.getElementById("running").hidden;
  // A page that shows jobs reloads itself when its job ends.
  notice.hidden = version === String(news.catalog) || (isRunning && Boolean(document.getElementById("jobs")));
  if (!changed) return;
  changed.hidden = !news.text;
  changed.querySelector(".text").textContent = news.text ?? "";
}
