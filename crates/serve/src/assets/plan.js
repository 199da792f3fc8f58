// The plan: makes it, and shows its lines.

import { alertUser, announce, getJson, getText } from "./http.js";
import { run } from "./jobs.js";
import { onKey } from "./keys.js";
import { List } from "./list.js";

/** Starts the page. */
export function start(part) {
  const form = part.querySelector("#plan-form");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const action = form.querySelector("[name=action]:checked").value;
    run("/api/plan", { action }).catch(() => {});
  });
  const box = part.querySelector("#plan-list");
  if (box) showList(part, box);
}

function showList(part, box) {
  const input = part.querySelector("#plan-filter");
  const base = `/plan/${box.dataset.job}`;
  let filter = "";
  const list = new List(box, {
    load: (from, count, signal) =>
      getText(`${base}/lines?${new URLSearchParams({ from, count, filter })}`, signal),
    choose: (rank, row) => showLine(part.querySelector("#plan-detail"), row),
  });
  list.reset(Number(box.dataset.count));

  let timer;
  let last;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      last?.abort();
      last = new AbortController();
      const wanted = input.value.trim();
      try {
        const { count } = await getJson(`${base}/count?${new URLSearchParams({ filter: wanted })}`, last.signal);
        filter = wanted;
        list.reset(count);
        const text = `${count.toLocaleString("en")} ${count === 1 ? "file" : "files"}`;
        part.querySelector("#plan-count").textContent = text;
        announce(text);
      } catch (error) {
        if (error.name !== "AbortError") alertUser(error.message);
      }
    }, 200);
  });

  onKey(["ArrowDown", "j"], "Next line", () => list.move(1));
  onKey(["ArrowUp", "k"], "Previous line", () => list.move(-1));
  onKey("PageDown", "Next page", () => list.move(list.pageSize()));
  onKey("PageUp", "Previous page", () => list.move(-list.pageSize()));
  onKey("Home", "First line", () => list.activate(0));
  onKey("End", "Last line", () => list.activate(list.count - 1));
  onKey("/", "Filter by path", () => input.focus());
}

function showLine(detail, row) {
  const path = row.querySelector("[data-path]");
  const kept = row.querySelector("[data-kept]");
  const line = (name, text) => {
    const part = document.createElement("span");
    part.className = "line";
    const word = document.createElement("b");
    word.textContent = name;
    const value = document.createElement("bdi");
    value.textContent = text;
    part.append(word, " ", value);
    return part;
  };
  const why = kept.dataset.why ? ` (${kept.dataset.why})` : "";
  detail.replaceChildren(line(path.querySelector(".word").textContent, path.dataset.path), line("keep", kept.dataset.kept + why));
}
