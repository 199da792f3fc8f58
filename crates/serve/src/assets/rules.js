// The dialog in which the user selects and orders keep rules. It shows their effect before they are saved.

import { getJson } from "./http.js";

const get = (id) => document.getElementById(id);
const takesText = (rule) => rule.endsWith(":");

/**
 * Returns a function that opens the dialog. Its argument has the `title`, the `query` for the preview, and `save(choice)`,
 * which returns whether the decision was saved.
 */
export function rulesDialog() {
  const [dialog, list, kind, text, preview, error] =
    ["rules", "rule-list", "rule-add", "rule-text", "rule-preview", "rule-error"].map(get);
  let rules = ["tidy"];
  let request = {};
  let asking;

  const button = (label, name, action, isOff = false) => {
    const element = document.createElement("button");
    Object.assign(element, { type: "button", textContent: label, disabled: isOff });
    element.setAttribute("aria-label", name);
    element.addEventListener("click", action);
    return element;
  };
  const swap = (at, to) => () => {
    [rules[at], rules[to]] = [rules[to], rules[at]];
    draw();
  };
  const remove = (at) => () => {
    rules.splice(at, 1);
    draw();
    kind.focus();
  };

  function draw() {
    const items = rules.map((rule, at) => {
      const item = document.createElement("li");
      const name = document.createElement("code");
      name.textContent = rule;
      item.append(
        name,
        button("↑", `Move ${rule} up`, swap(at, at - 1), at === 0),
        button("↓", `Move ${rule} down`, swap(at, at + 1), at === rules.length - 1),
        button("×", `Remove ${rule}`, remove(at)),
      );
      return item;
    });
    list.replaceChildren(...items);
    ask();
  }

  async function ask() {
    asking?.abort();
    asking = new AbortController();
    get("rule-save").disabled = true;
    error.textContent = "";
    try {
      const query = new URLSearchParams({ ...request.query(), rules: rules.join("\n") });
      preview.innerHTML = (await getJson(`/review/preview?${query}`, asking.signal)).html;
      get("rule-save").disabled = false;
    } catch (failed) {
      if (failed.name === "AbortError") return;
      preview.textContent = "";
      error.textContent = failed.message;
    }
  }

  const save = async (choice) => {
    // If it fails, the page says why, which it cannot do behind the dialog. The rules stay for the next time.
    await request.save(choice);
    dialog.close();
  };

  kind.addEventListener("change", () => (text.hidden = !takesText(kind.value)));
  get("rule-plus").addEventListener("click", () => {
    const rule = takesText(kind.value) ? kind.value + text.value.trim() : kind.value;
    rules = rules.filter((known) => known !== rule).concat(rule);
    text.value = "";
    draw();
  });
  text.addEventListener("keydown", (event) => event.key === "Enter" && get("rule-plus").click());
  get("rule-save").addEventListener("click", () => save({ rules }));
  get("rule-leave").addEventListener("click", () => save({ leave: true }));
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

  return (wanted) => {
    request = wanted;
    get("rules-title").textContent = wanted.title;
    draw();
    dialog.showModal();
  };
}
