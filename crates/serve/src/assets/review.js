// Code that the review pages share: the filter, the list, the details of the chosen row, and decisions.
//
// Decisions identify groups and sets by numbers of one revision of the catalog. If the server answers 409, the numbers
// are outdated: the list is loaded again, and the user has to repeat the choice.

import { alertUser, announce, getJson, getText, post } from "./http.js";
import { onKey } from "./keys.js";
import { List } from "./list.js";

const DEBOUNCE = 150;
const isWide = matchMedia("(min-width: 761px)");
const get = (id) => document.getElementById(id);

/** Returns the delay before `action` starts over with every call. */
function debounced(delay, action) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  };
}

export class ReviewPage {
  /** `path` is the path of the page. `shown(detail, signal)` is called when details are shown. */
  constructor(path, shown) {
    Object.assign(this, { path, shown, view: 0, revision: 0, seen: 0, filterText: "" });
    // Changes are made one after the other. After a failure, those that are waiting are not made: the user chose them
    // for a state that is not there.
    this.turn = Promise.resolve();
    this.failures = 0;
    for (const id of ["filter", "sort", "totals", "empty", "detail", "split", "list", "back"]) this[`${id}Box`] = get(id);
    this.list = new List(this.listBox, {
      load: (from, count, signal) => this.rows(from, count, signal),
      choose: (_, row) => this.choose(row),
      leave: () => this.forget(),
    });
    this.listen();
    this.open();
  }

  listen() {
    const openSoon = debounced(DEBOUNCE, () => this.open());
    this.filterBox.addEventListener("input", openSoon);
    this.sortBox?.addEventListener("change", () => this.open());
    get("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open();
      this.listBox.focus();
    });
    this.filterBox.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.filterBox.value) this.listBox.focus();
    });
    this.emptyBox.addEventListener("click", (event) => {
      if (!event.target.closest("[data-act=clear]")) return;
      this.filterBox.value = "";
      this.filterBox.focus();
      this.open();
    });
    this.backBox.addEventListener("click", () => {
      this.forget();
      this.splitBox.classList.remove("chosen");
      this.list.render();
      this.listBox.focus();
    });
    const move = (by) => () => {
      this.list.move(by());
      if (!this.detailBox.contains(document.activeElement)) this.listBox.focus({ preventScroll: true });
    };
    onKey(["ArrowDown", "j"], "Next row", move(() => 1));
    onKey(["ArrowUp", "k"], "Previous row", move(() => -1));
    onKey("PageDown", "One page down", move(() => this.list.pageSize()));
    onKey("PageUp", "One page up", move(() => -this.list.pageSize()));
    onKey("Home", "First row", () => this.list.activate(0));
    onKey("End", "Last row", () => this.list.activate(this.list.count - 1));
    onKey("/", "Filter", () => {
      this.filterBox.focus();
      this.filterBox.select();
    });
  }

  /** Loads the list for the filter. `keep` keeps the position. */
  async open(keep = false) {
    this.opening?.abort();
    const controller = (this.opening = new AbortController());
    const query = new URLSearchParams();
    const [filter, sort] = [this.filterBox.value.trim(), this.sortBox?.value];
    const isOriginal = filter === this.filterBox.defaultValue.trim() && (!this.sortBox || this.sortBox.selectedOptions[0].defaultSelected);
    if (!isOriginal) this.list.forgetFirst();
    if (filter) query.set("filter", filter);
    if (sort && sort !== "reclaimable") query.set("sort", sort);
    history.replaceState(null, "", query.size ? `${this.path}?${query}` : this.path);
    try {
      const found = await getJson(`${this.path}/view?${query}`, controller.signal);
      this.showError(found.problem ?? "");
      if (!found.problem) {
        this.filterText = filter;
        this.show(found, keep);
      } else if (!this.view) this.totalsBox.textContent = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!this.view) this.totalsBox.textContent = "";
      alertUser(error.message);
    }
    this.listBox.removeAttribute("aria-busy");
  }

  /** Deselects the row. Keys have no effect until the details of a row are shown. */
  forget() {
    this.looking?.abort();
    this.id = undefined;
  }

  show(found, keep) {
    if (found.revision !== this.revision || !found.count) {
      // The numbers in the details are of another revision.
      this.forget();
      this.shownId = undefined;
    }
    Object.assign(this, { view: found.view, revision: found.revision, seen: found.seen });
    this.totalsBox.innerHTML = found.totals;
    announce(`${found.count} rows`);
    this.emptyBox.hidden = !found.empty;
    this.emptyBox.innerHTML = found.empty ?? "";
    this.listBox.hidden = Boolean(found.empty);
    this.splitBox.classList.toggle("no-rows", Boolean(found.empty));
    if (!keep) this.listBox.removeAttribute("aria-activedescendant");
    this.list.reset(found.count, keep);
    const isKept = keep && this.list.active >= 0 && this.splitBox.classList.contains("chosen");
    if (found.count && isKept) this.list.activate(this.list.active);
    else if (found.count && isWide.matches) this.list.activate(0);
    else this.splitBox.classList.remove("chosen");
  }

  showError(text) {
    get("filter-error").textContent = text;
    // The rows and totals are still those of the last filter that was understood.
    for (const box of [this.totalsBox, this.splitBox]) box.classList.toggle("earlier", Boolean(text));
    if (get("decide-all")) get("decide-all").disabled = Boolean(text);
    if (text) this.filterBox.setAttribute("aria-invalid", "true");
    else this.filterBox.removeAttribute("aria-invalid");
  }

  async rows(from, count, signal) {
    try {
      return await getText(`${this.path}/rows?view=${this.view}&from=${from}&n=${count}`, signal);
    } catch (error) {
      if (error.status !== 409) throw error;
      this.open(true);
      // The list stops waiting for these rows when the new listing arrives.
      return new Promise(() => {});
    }
  }

  choose(row) {
    this.id = row.dataset.id;
    this.splitBox.classList.add("chosen");
    return this.loadDetail();
  }

  /** Loads the details of the chosen row. */
  async loadDetail() {
    this.looking?.abort();
    const controller = (this.looking = new AbortController());
    const [id, revision, isOther] = [this.id, this.revision, this.shownId !== this.id];
    if (isOther) this.detailBox.classList.add("loading");
    try {
      const html = await getText(`${this.path}/detail?id=${id}&revision=${revision}`, controller.signal);
      if (revision !== this.revision) return;
      this.putDetail(html, isOther);
      this.shownId = id;
      this.shown(this.detailBox, controller.signal, isOther);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 409) this.open(true);
      else alertUser(error.message);
    }
  }

  putDetail(html, isOther) {
    const focused = this.detailBox.contains(document.activeElement) ? document.activeElement : null;
    const { act, ordinal } = focused?.dataset ?? {};
    const top = isOther ? 0 : this.detailBox.scrollTop;
    this.detailBox.innerHTML = html;
    this.detailBox.classList.remove("loading");
    this.detailBox.scrollTop = top;
    if (!focused) return;
    const same = this.detailBox.querySelector(`[data-act="${act}"]${ordinal ? `[data-ordinal="${ordinal}"]` : ""}`);
    (same ?? this.detailBox).focus({ preventScroll: true });
  }

  /** Returns the details if they are those of the chosen row, not those of an earlier one. */
  current() {
    return this.id !== undefined && this.shownId === this.id ? this.detailBox.firstElementChild : null;
  }

  /** Returns the revision of the shown numbers, and the last change of decisions that `detail` shows. */
  state(detail = this.current()) {
    return { revision: this.revision, seen: Number(detail?.dataset.seen ?? this.seen) };
  }

  /** Resolves when all changes up to now are made. */
  async settled() {
    await this.turn;
  }

  /**
   * Decides about `scope`. A function as `choice` gets the details that were shown, updated by the changes before this
   * one. `state` is that of the page when it showed the numbers of `scope` and `choice`.
   */
  decide(scope, choice, state) {
    return this.change("/api/decide", (detail) => ({ scope, choice: typeof choice === "function" ? choice(detail) : choice }), state);
  }

  withdraw(which, state) {
    return this.change("/api/withdraw", () => which, state);
  }

  /** Makes a change after those before it, and shows the new totals and states. Returns whether it was made. */
  change(url, content, state) {
    const [detail, id, revision, failures] = [this.current(), this.id, this.revision, this.failures];
    const isMade = this.turn.then(async () => {
      if (failures !== this.failures) {
        if (!get("alert").textContent) alertUser("Another window has changed decisions. Your last choice was not made.");
        return false;
      }
      const group = Number(detail?.dataset.number) || undefined;
      const shown = { view: this.view, group, ...(state ?? { ...this.state(detail), revision }) };
      return this.send(url, { ...content(detail), ...shown }, detail, id);
    });
    this.turn = isMade;
    return isMade;
  }

  async send(url, body, detail, id) {
    const isShown = () => id !== undefined && this.id === id;
    try {
      const answer = await post(url, body);
      if (answer.revision !== this.revision || answer.others) {
        // Other windows have made changes that this page does not show.
        this.failures += 1;
        this.open(true);
        return true;
      }
      this.seen = answer.seen;
      // Until the details are loaded again, a further choice is about this change.
      for (const old of [detail, isShown() && this.current()]) {
        if (old) Object.assign(old.dataset, { seen: answer.seen }, answer.basis && { basis: answer.basis });
      }
      this.totalsBox.innerHTML = answer.totals;
      announce(answer.said);
      this.list.refresh();
      // If the user has gone on to another row, its details are loading already.
      if (isShown()) this.loadDetail();
      return true;
    } catch (error) {
      this.failures += 1;
      if (error.status === 409) this.open(true);
      else if (isShown()) this.loadDetail();
      return false;
    }
  }
}

/** Connects the button that lists the decisions. */
export function listDecisions(page) {
  const dialog = get("decisions");
  let seen = 0;
  const load = async () => {
    const list = await getJson("/review/decisions");
    dialog.innerHTML = list.html;
    seen = list.seen;
  };
  get("show-decisions").addEventListener("click", async () => {
    try {
      await page.settled();
      await load();
      dialog.showModal();
    } catch (error) {
      alertUser(error.message);
    }
  });
  dialog.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("close" in button.dataset) return dialog.close();
    const { withdraw } = button.dataset;
    if (withdraw === "all" && !button.dataset.sure) {
      button.dataset.sure = "yes";
      button.textContent = "Press again to withdraw all";
      return;
    }
    const isDone = await page.withdraw(withdraw === "all" ? { all: true } : { id: Number(withdraw) }, { revision: page.revision, seen });
    if (isDone) await load().catch(() => dialog.close());
    else dialog.close();
  });
}
