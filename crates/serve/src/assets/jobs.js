// Shows running jobs on every page, and starts and cancels them.
//
// A browser opens at most six connections to a server, over all tabs. The event stream is therefore open only while a
// job is running. The server remembers jobs, so a reloaded page shows them again.

import { alertUser, announce, getJson, getText, post } from "./http.js";

const sign = document.getElementById("running");
const place = document.getElementById("jobs");
const kinds = new Set(place?.dataset.kinds.split(" "));
const shown = new Map();
let source;
let failures = 0;

/** Starts a job by a request, and shows it. */
export async function run(url, body) {
  const { job } = await post(url, body).catch((error) => {
    // Another window may have started a job since this page was loaded.
    if (error.status === 409) watch();
    throw error;
  });
  announce("Started");
  // The job may end before the first event.
  shown.set(job, undefined);
  watch();
  return job;
}

/** Follows the running jobs until none is left. */
export function watch() {
  if (source) return;
  source = new EventSource("/events");
  source.addEventListener("message", (event) => {
    failures = 0;
    show(JSON.parse(event.data).jobs);
  });
  source.addEventListener("end", (event) => {
    close();
    show(JSON.parse(event.data).jobs);
  });
  // The browser connects again by itself, unless the server refused.
  source.addEventListener("error", () => {
    failures += 1;
    if (source?.readyState === EventSource.CLOSED) close();
    else if (failures !== 2) return;
    sign.querySelector(".text").textContent = "No answer";
    alertUser("lop serve does not answer. A run that changes files continues without it. Start lop serve again to see its progress.");
  });
}

function close() {
  source?.close();
  source = undefined;
}

function show(jobs) {
  const running = new Set(jobs.map((job) => job.id));
  for (const job of jobs) {
    if (!shown.has(job.id)) announce(`${job.title} has started`);
    if (!shown.get(job.id)) shown.set(job.id, place ? addCard(job) : undefined);
    update(job);
  }
  sign.hidden = jobs.length === 0;
  for (const id of shown.keys()) {
    if (running.has(id)) continue;
    shown.get(id)?.remove();
    shown.delete(id);
    ended(id);
  }
}

function addCard(job) {
  const card = document.createElement("div");
  card.className = "card job";
  const title = document.createElement("b");
  title.textContent = job.title;
  const bar = document.createElement("progress");
  bar.max = 100;
  bar.setAttribute("aria-label", job.title);
  const text = document.createElement("p");
  text.className = "text";
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.textContent = "Cancel";
  cancel.addEventListener("click", () => post(`/api/jobs/${job.id}/cancel`).catch(() => {}));
  card.append(title, bar, text, cancel);
  place.append(card);
  return card;
}

function update(job) {
  const percent = job.percent ?? undefined;
  sign.querySelector(".text").textContent = percent === undefined ? "Working" : `Working, ${percent} %`;
  const card = shown.get(job.id);
  if (!card) return;
  const bar = card.querySelector("progress");
  if (percent === undefined) bar.removeAttribute("value");
  else bar.value = percent;
  let text = job.text ?? "Starting";
  if (job.problems) text += ` (${job.problems} ${job.problems === 1 ? "message" : "messages"})`;
  if (job.cancelled) text = `Stopping. ${text}`;
  card.querySelector(".text").textContent = text;
  if (job.cancelled) card.querySelector("button").textContent = "Stop at once";
}

async function ended(id) {
  const { title, job } = await getJson(`/api/jobs/${id}`).catch(() => ({}));
  if (!job) return;
  if (place && kinds.has(job.kind)) {
    location.assign(`${location.pathname}?done=${id}#outcome`);
    return;
  }
  announce(`${title} has ended`);
  sign.hidden = false;
  sign.querySelector(".text").textContent = job.exit_code === 0 ? "Done" : "Ended";
  sign.href = `/runs?done=${id}`;
}

function openDialog(dialog, body) {
  const preview = dialog.querySelector(".preview");
  const url = dialog.dataset.preview;
  if (preview && url) {
    const ok = dialog.querySelector("button[value=ok]");
    ok.disabled = true;
    preview.textContent = "";
    // An answer to an earlier opening must not confirm this one.
    dialog.asking?.abort();
    const { signal } = (dialog.asking = new AbortController());
    getText(url, signal).then((html) => {
      preview.innerHTML = html;
      ok.disabled = false;
    }, (error) => error.name !== "AbortError" && (preview.textContent = error.message));
  }
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue === "ok") run(dialog.dataset.post, body ?? JSON.parse(dialog.dataset.body)).catch((error) => {
      // What this page offers is no longer possible, for example because its plan is outdated. The page says why.
      if (error.link?.startsWith(`${location.pathname}#`)) location.reload();
    });
  };
  dialog.showModal();
}

/** Asks for confirmation in a dialog of the page, and starts its job with `body`. `preview` is the page to show in it. */
export function confirm(id, body, preview) {
  const dialog = document.getElementById(id);
  if (preview) dialog.dataset.preview = preview;
  openDialog(dialog, body);
}

/** Shows the jobs that run when the page is loaded, and makes the buttons that open dialogs work. */
export function startJobs() {
  if (!sign.hidden) watch();
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-dialog]");
    if (button) openDialog(document.getElementById(button.dataset.dialog));
  });
  document.getElementById("outcome")?.focus();
}
