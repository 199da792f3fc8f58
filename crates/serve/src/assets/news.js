// Tells the user when the catalog has changed, for example by a scan of `lop watch`, and how much has changed since.

import { getJson } from "./http.js";

/** Time between two questions to the server, in milliseconds. */
const INTERVAL = 10000;

const notice = document.getElementById("news");
const changed = document.getElementById("changed");
let version = notice.dataset.catalog;

/** Asks the server from time to time while the page is visible. */
export function followNews() {
  notice.querySelector("button").addEventListener("click", () => location.reload());
  setInterval(ask, INTERVAL);
  document.addEventListener("visibilitychange", ask);
}

async function ask() {
  if (document.hidden) return;
  // Nobody has to know at once that there is no answer.
  const news = await getJson("/api/news").catch(() => undefined);
  if (!news) return;
  version ??= String(news.catalog);
  const isRunning = !document.getElementById("running").hidden;
  // A page that shows jobs loads itself again when its job has ended.
  notice.hidden = version === String(news.catalog) || (isRunning && Boolean(document.getElementById("jobs")));
  if (!changed) return;
  changed.hidden = !news.text;
  changed.querySelector(".text").textContent = news.text ?? "";
}
