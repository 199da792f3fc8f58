// The page with the sizes of folders: rows that open in place, the keyboard, and the map beside the table.

import { alertUser, getText } from "./http.js";
import { onKey } from "./keys.js";

/** Change of the size, as a part of it, after which the map is drawn again. */
const RESIZED = 0.02;

export function start(part) {
  const tree = document.getElementById("tree");
  if (!tree) return;
  const by = part.dataset.by;
  startRows(part, tree, by);
  startKeys(part, tree);
  startMap(part, tree, by);
}

const level = (row) => Number(row.dataset.level);

/** Returns the rows below a row that belong to it. */
function below(row) {
  const rows = [];
  for (let next = row.nextElementSibling; next && level(next) > level(row); next = next.nextElementSibling) rows.push(next);
  return rows;
}

function startRows(part, tree, by) {
  tree.addEventListener("click", (event) => {
    const twist = event.target.closest("button.twist");
    if (twist) toggle(twist.closest("tr"), by);
    const more = event.target.closest("a[data-from]");
    if (more && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      showMore(more, by);
    }
  });
}

async function load(query) {
  const template = document.createElement("template");
  template.innerHTML = `<table><tbody>${await getText(`/space/children?${new URLSearchParams(query)}`)}</tbody></table>`;
  return [...template.content.querySelectorAll("tr")];
}

async function toggle(row, by) {
  const twist = row.querySelector("button.twist");
  if (!twist || twist.getAttribute("aria-busy")) return;
  if (twist.getAttribute("aria-expanded") === "true") {
    twist.setAttribute("aria-expanded", "false");
    below(row).forEach((inner) => inner.remove());
    return;
  }
  twist.setAttribute("aria-busy", "true");
  try {
    row.after(...(await load({ dir: row.dataset.dir, by, level: level(row) + 1 })));
    twist.setAttribute("aria-expanded", "true");
  } catch (error) {
    alertUser(error.message);
  }
  twist.removeAttribute("aria-busy");
}

async function showMore(link, by) {
  const row = link.closest("tr");
  const hadFocus = row.contains(document.activeElement);
  try {
    const rows = await load({ dir: link.dataset.dir, by, from: link.dataset.from, level: level(row) });
    row.replaceWith(...rows);
    if (hadFocus) rows[0]?.querySelector("a")?.focus();
  } catch (error) {
    alertUser(error.message);
  }
}

function startKeys(part, tree) {
  const rows = () => [...tree.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a"));
  const current = () => document.activeElement.closest?.("#tree tbody tr");
  const focus = (row) => row?.querySelector("a")?.focus();
  const move = (by) => () => {
    const all = rows();
    const at = all.indexOf(current());
    focus(at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[Math.max(0, Math.min(at + by, all.length - 1))]);
  };
  const isOpen = (row) => row?.querySelector("button.twist")?.getAttribute("aria-expanded") === "true";
  const up = () => part.querySelector("a[data-parent]")?.click();
  onKey(["ArrowDown", "j"], "Next folder", move(1));
  onKey(["ArrowUp", "k"], "Previous folder", move(-1));
  onKey("Home", "First folder", () => focus(rows()[0]));
  onKey("End", "Last folder", () => focus(rows().at(-1)));
  onKey("ArrowRight", "Show the subfolders", () => {
    const row = current();
    if (isOpen(row)) focus(row.nextElementSibling);
    else if (row) toggle(row, part.dataset.by);
  });
  onKey("ArrowLeft", "Hide the subfolders, or go to the parent folder", () => {
    const row = current();
    if (!row) return;
    if (isOpen(row)) return toggle(row, part.dataset.by);
    let outer = row.previousElementSibling;
    while (outer && level(outer) >= level(row)) outer = outer.previousElementSibling;
    focus(outer);
  });
  onKey("Enter", "Open the folder", () => current()?.querySelector("a")?.click());
  onKey("Backspace", "Open the parent folder", up);
}

function startMap(part, tree, by) {
  const map = document.getElementById("map");
  // The row of a tile, or of its nearest ancestor with a row, is highlighted with it.
  const mark = (dir) => {
    for (const hot of part.querySelectorAll(".hot")) hot.classList.remove("hot");
    if (!dir) return;
    const is = (attribute) => `[${attribute}="${CSS.escape(dir)}"]`;
    tree.querySelector(`tr${is("data-dir")}`)?.classList.add("hot");
    map.querySelectorAll(`a${is("data-top")}`).forEach((tile) => tile.classList.add("hot"));
  };
  const inRow = (event) => mark(topOf(event.target.closest("tr")));
  tree.addEventListener("mouseover", inRow);
  tree.addEventListener("focusin", inRow);
  map.addEventListener("mouseover", (event) => mark(event.target.closest("a")?.dataset.top));
  for (const box of [tree, map]) box.addEventListener("mouseleave", () => mark());
  let [width, height, timer] = [620, 560, undefined];
  const fit = async () => {
    const box = map.getBoundingClientRect();
    const differs = (now, before) => Math.abs(now - before) > before * RESIZED;
    if (box.width < 100 || !(differs(box.width, width) || differs(box.height, height))) return;
    [width, height] = [Math.round(box.width), Math.round(box.height)];
    try {
      map.innerHTML = await getText(`/space/map?${new URLSearchParams({ dir: part.dataset.dir, by, w: width, h: height })}`);
    } catch (error) {
      alertUser(error.message);
    }
  };
  // The map that the page contains does not know the size of the window, so the first one is replaced at once.
  let delay = 0;
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(fit, delay);
    delay = 150;
  }).observe(map);
}

/** Returns the folder of a row, or of the row of level 0 above it. */
function topOf(row) {
  while (row && level(row) > 0) row = row.previousElementSibling;
  return row?.dataset.dir;
}
