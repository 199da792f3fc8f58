// The page on which groups are reviewed.

import { announce, getJson, getText } from "./http.js";
import { onKey } from "./keys.js";
import { ReviewPage, listDecisions } from "./review.js";
import { rulesDialog } from "./rules.js";

const PREVIEW_DELAY = 120;
const DIGITS = [..."123456789"];

/** Shows what the disk says about the files of a group. */
async function check(detail, page, id, signal) {
  try {
    const { files } = await getJson(`/groups/live?id=${id}&revision=${page.revision}`, signal);
    files.forEach(({ text, warn, owner, links }, ordinal) => {
      const live = detail.querySelector(`[data-live="${ordinal}"]`);
      live.textContent = text;
      live.classList.toggle("warn", warn);
      if (owner !== undefined) detail.querySelector(`[data-owner="${ordinal}"]`).textContent = owner;
      const names = detail.querySelector(`[data-names="${ordinal}"]`);
      if (links > 1) names.textContent = `${names.dataset.count} of ${links} names`;
    });
  } catch {
    // The details stay useful without this.
  }
}

/** Shows a preview, unless the user soon goes to another group. */
function preview(detail, signal, old) {
  const place = detail.querySelector("[data-preview]");
  // The same files after a decision: the picture or film that is shown stays.
  if (old?.firstChild) return place.replaceWith(old);
  const timer = setTimeout(async () => {
    try {
      place.innerHTML = await getText(`/file/${place.dataset.preview}/preview`, signal);
    } catch (error) {
      if (error.name !== "AbortError") place.textContent = "No preview.";
    }
  }, PREVIEW_DELAY);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

export function start() {
  let file = 0;
  let picture;
  const page = new ReviewPage("/groups", (detail, signal, isOther) => {
    if (isOther) file = 0;
    preview(detail, signal, isOther ? undefined : picture);
    picture = detail.querySelector("[data-preview]");
    markFile(file, false);
    check(detail, page, page.id, signal);
  });
  const number = () => Number(page.current()?.dataset.number);
  const scope = () => ({ group: number() });

  function markFile(to, isMoved) {
    const rows = [...page.detailBox.querySelectorAll("tr[data-ordinal]")];
    file = Math.max(0, Math.min(to, rows.length - 1));
    rows.forEach((row, at) => row.classList.toggle("active", at === file));
    if (!isMoved || !rows[file]) return;
    rows[file].scrollIntoView({ block: "nearest" });
    announce(rows[file].querySelector("[data-act=toggle]")?.getAttribute("aria-label") ?? rows[file].innerText);
  }

  const toggle = (ordinal) => {
    const button = page.current()?.querySelector(`[data-act=toggle][data-ordinal="${ordinal}"]`);
    if (!button) return;
    const { next } = button.dataset;
    // The same key again takes the choice back, even before the details are loaded again.
    button.dataset.next = next === "keep" ? "remove" : "keep";
    // A relative choice is valid only for the fates that the page shows.
    page.decide(scope(), ({ dataset: { basis } }) => ({ change: { keep: [], remove: [], [next]: [ordinal], basis } }));
  };
  const only = (ordinal) => {
    if (page.current()?.querySelector(`[data-act=only][data-ordinal="${ordinal}"]`)) page.decide(scope(), { files: [ordinal] });
  };
  const acts = {
    toggle: ({ ordinal }) => toggle(Number(ordinal)),
    only: ({ ordinal }) => only(Number(ordinal)),
    leave: () => page.decide(scope(), { leave: true }),
    alike: () => {
      const group = number();
      page.decide({ set: Number(page.current().dataset.set) }, ({ dataset: { basis } }) => ({ like: { group, basis } }));
    },
    withdraw: ({ decision }) => page.withdraw({ id: Number(decision) }),
  };
  page.detailBox.addEventListener("click", (event) => {
    const { dataset } = event.target.closest("[data-act]") ?? {};
    const row = event.target.closest("tr[data-ordinal]");
    if (row) markFile(Number(row.dataset.ordinal), false);
    if (dataset && page.current()) acts[dataset.act]?.(dataset);
  });
  // Some browsers open the list with Enter instead of submitting the form.
  page.detailBox.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.id !== "rule") return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });
  // Arrow keys change the choice in the select at once, so only the button or Enter decides.
  page.detailBox.addEventListener("submit", (event) => {
    event.preventDefault();
    if (page.current()) page.decide(scope(), { rules: [event.target.elements.rule.value] });
  });

  onKey("ArrowRight", "Next file of the group", () => markFile(file + 1, true));
  onKey("ArrowLeft", "Previous file of the group", () => markFile(file - 1, true));
  onKey(" ", "Keep or remove this file", () => toggle(file));
  onKey(DIGITS, "Keep only this copy", ({ key }) => only(Number(key) - 1));
  onKey("a", "Same choice for all groups in the same folders", () => page.current() && acts.alike());
  onKey("x", "Leave these files alone", () => page.current() && acts.leave());
  onKey("Enter", "Open the previewed file in a new tab", () => {
    const place = page.current()?.querySelector("[data-preview]");
    if (place) window.open(`/file/${place.dataset.preview}`, "_blank", "noopener");
  });
  onKey("g", "Go to the folder sets", () => location.assign("/same-folders"));

  const chooseRules = rulesDialog();
  document.getElementById("decide-all").addEventListener("click", async () => {
    await page.settled();
    // What the title and the preview show is what is saved, even if the list changes behind the dialog.
    const { filterText: filter, view, revision, seen } = page;
    chooseRules({
      title: filter ? `Decide all groups that match “${filter}”` : "Decide all groups",
      query: () => ({ revision, view }),
      save: (choice) => page.decide({ filter }, choice, { revision, seen }),
    });
  });
  listDecisions(page);
}
