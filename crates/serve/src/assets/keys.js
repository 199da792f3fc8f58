// Keyboard shortcuts, and the overlay that lists them. Shortcuts are off while a field or a dialog has the focus, and
// with Ctrl, Alt or Meta.

const shortcuts = new Map();

/**
 * Registers a shortcut: the key as in KeyboardEvent.key, what it does, the function, and whether all pages have the
 * shortcut.
 */
export function onKey(keys, description, action, isGeneral = false) {
  const shortcut = { keys: [keys].flat(), description, action, isGeneral };
  for (const key of shortcut.keys) shortcuts.set(key, shortcut);
}

const names = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" };

function isTyping(target) {
  return target.closest?.("input, textarea, select, [contenteditable], dialog");
}

/** Starts to listen, and fills the button in the header. */
export function listen() {
  onKey("?", "Show the keys of this page", showHelp, true);
  document.getElementById("help")?.addEventListener("click", showHelp);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    // The focus can fall out of a dialog whose content changes. The page behind it must not react.
    if (document.querySelector("dialog[open]")) return;
    // Space and Enter belong to a button or link that has the focus.
    if ((event.key === " " || event.key === "Enter") && event.target.closest?.("button, a, summary")) return;
    const shortcut = shortcuts.get(event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.action(event);
  });
}

function showHelp() {
  document.getElementById("keys")?.remove();
  const dialog = document.createElement("dialog");
  dialog.id = "keys";
  dialog.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = "Keys of this page";
  const list = document.createElement("dl");
  const all = [...new Set(shortcuts.values())];
  for (const { keys, description } of all.sort((a, b) => a.isGeneral - b.isGeneral)) {
    const term = document.createElement("dt");
    for (const key of keys) {
      const cap = document.createElement("kbd");
      cap.textContent = names[key] ?? key;
      term.append(cap, " ");
    }
    const text = document.createElement("dd");
    text.textContent = description;
    list.append(term, text);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, list, document.createElement("br"), close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
