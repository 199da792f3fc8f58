// A list of any number of rows of equal height. Only the visible part is in the document.
//
// Rows come from the server in chunks of HTML. A browser limits the height of an element, so a list that would be
// higher than MAX_HEIGHT is scaled: the scrollbar stays true to the whole list.

import { alertUser } from "./http.js";

const CHUNK = 25;
const MAX_HEIGHT = 8_000_000;
const MAX_LOADING = 3;
const MAX_CHUNKS = 8;
// Rows that move by more than this many screens in each of two frames cannot be read, and are not loaded.
const FAST = 1;
const SETTLED_MS = 80;

export class List {
  /**
   * `box` is the scrolling element (role grid). `load(from, count, signal)` returns the HTML of rows. `choose(rank, row)`
   * is called when the active row changes, and `leave()` while the row is not loaded yet.
   */
  constructor(box, { load, choose, leave }) {
    Object.assign(this, { box, load, choose, leave, count: 0, active: -1, chunks: new Map(), loading: new Map() });
    this.rowHeight = parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 44;
    this.spacer = box.querySelector(".spacer");
    // The first rows may be in the page already. They are shown until newer ones arrive.
    this.first = box.querySelector(".chunk.provisional");
    box.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(box);
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row && !event.target.closest("button, a")) this.activate(Number(row.dataset.rank), true);
    });
  }

  /** Shows `count` rows, from the top unless `keep` is set. */
  reset(count, keep = false) {
    this.count = count;
    for (const controller of this.loading.values()) controller.abort();
    this.loading.clear();
    for (const chunk of this.chunks.values()) chunk.remove();
    this.chunks.clear();
    this.box.setAttribute("aria-rowcount", count);
    this.full = count * this.rowHeight;
    this.spacer.style.height = `${Math.min(this.full, MAX_HEIGHT)}px`;
    if (!keep) this.box.scrollTop = 0;
    this.active = keep ? Math.min(this.active, count - 1) : -1;
    this.render();
    this.forgetFirst();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.watchSpeed();
      this.render();
    });
  }

  /** Notes whether the user scrolls fast. Rows are loaded when the list has been still for a moment. */
  watchSpeed() {
    const top = this.offset();
    const far = Math.abs(top - this.lastTop) > FAST * this.box.clientHeight;
    this.fast = far && this.far;
    [this.far, this.lastTop] = [far, top];
    clearTimeout(this.settling);
    if (far) {
      this.settling = setTimeout(() => {
        this.far = this.fast = false;
        this.render();
      }, SETTLED_MS);
    }
  }

  /** Pixels of the whole list above the visible part. */
  offset() {
    const seen = this.box.clientHeight;
    const range = Math.min(this.full, MAX_HEIGHT) - seen;
    return range <= 0 ? 0 : (this.box.scrollTop / range) * (this.full - seen);
  }

  render() {
    // All positions are read before anything changes: reading one afterwards would lay out the page again.
    const [top, scrolled, seen] = [this.offset(), this.box.scrollTop, this.box.clientHeight];
    const first = Math.max(0, Math.floor(top / this.rowHeight / CHUNK));
    const last = Math.min(Math.ceil(this.count / CHUNK) - 1, Math.floor((top + seen) / this.rowHeight / CHUNK));
    for (let at = first; at <= last; at++) if (!this.chunks.has(at)) this.add(at);
    for (const [at, chunk] of this.chunks) {
      if (at < first - 1 || at > last + 1) {
        if (this.chunks.size > MAX_CHUNKS || chunk.classList.contains("loading")) this.drop(at, chunk);
      }
      chunk.style.transform = `translateY(${scrolled - top + at * CHUNK * this.rowHeight}px)`;
    }
    this.loadWaiting();
  }

  drop(at, chunk) {
    this.loading.get(at)?.abort();
    this.loading.delete(at);
    chunk.remove();
    this.chunks.delete(at);
  }

  add(at) {
    const isFirst = at === 0 && this.first;
    const chunk = isFirst ? this.first : document.createElement("div");
    if (isFirst) this.first = undefined;
    else chunk.className = "chunk loading";
    chunk.setAttribute("role", "rowgroup");
    chunk.style.height = `${this.rowsOf(at) * this.rowHeight}px`;
    this.chunks.set(at, chunk);
    this.box.append(chunk);
  }

  /** Returns the number of rows of a chunk. */
  rowsOf(at) {
    return Math.min(CHUNK, this.count - at * CHUNK);
  }

  loadWaiting() {
    if (this.fast) return;
    for (const [at, chunk] of this.chunks) {
      if (this.loading.size >= MAX_LOADING) break;
      const isWaiting = chunk.matches(".loading, .provisional");
      if (isWaiting && !this.loading.has(at)) this.fetch(at, chunk);
    }
  }

  async fetch(at, chunk) {
    const controller = new AbortController();
    this.loading.set(at, controller);
    try {
      const html = await this.load(at * CHUNK, this.rowsOf(at), controller.signal);
      await this.freeFrame();
      controller.signal.throwIfAborted();
      chunk.innerHTML = html;
      chunk.classList.remove("loading", "provisional");
      this.mark();
    } catch (error) {
      if (error.name !== "AbortError" && this.chunks.get(at) === chunk) {
        this.drop(at, chunk);
        alertUser(error.message);
      }
    }
    if (this.loading.get(at) === controller) this.loading.delete(at);
    this.loadWaiting();
  }

  /** Resolves in a frame in which no other rows appear, because the layout of several chunks would block the page. */
  freeFrame() {
    this.frames = Promise.resolve(this.frames).then(() => new Promise(requestAnimationFrame));
    return this.frames;
  }

  /** Loads the visible rows again, after a decision. */
  refresh() {
    for (const [at, chunk] of this.chunks) {
      this.loading.get(at)?.abort();
      this.fetch(at, chunk);
    }
  }

  /** Removes the rows that were in the page, because the list is going to have others. */
  forgetFirst() {
    this.first?.remove();
    this.first = undefined;
  }

  /** Returns a row of the listing. The rows that were in the page cannot be chosen. */
  row(rank) {
    return this.box.querySelector(`.chunk:not(.provisional) > .row[data-rank="${rank}"]`);
  }

  mark() {
    this.box.querySelectorAll(".row.active").forEach((row) => {
      row.classList.remove("active");
      row.removeAttribute("aria-selected");
    });
    const row = this.row(this.active);
    if (!row) return;
    row.classList.add("active");
    row.setAttribute("aria-selected", "true");
    row.id ||= `row-${this.active}`;
    this.box.setAttribute("aria-activedescendant", row.id);
    if (this.waiting) {
      this.waiting = false;
      this.choose(this.active, row);
    }
  }

  /** Makes a row the active one, and scrolls to it. */
  activate(rank, isClick = false) {
    if (!this.count) return;
    this.active = Math.max(0, Math.min(rank, this.count - 1));
    if (!isClick) this.reveal(this.active);
    this.waiting = true;
    if (!this.row(this.active)) this.leave?.();
    this.mark();
  }

  reveal(rank) {
    const top = rank * this.rowHeight;
    const [from, seen] = [this.offset(), this.box.clientHeight];
    let to = from;
    if (top < from) to = top;
    else if (top + this.rowHeight > from + seen) to = top + this.rowHeight - seen;
    if (to === from) return;
    const range = Math.min(this.full, MAX_HEIGHT) - seen;
    this.box.scrollTop = this.full > MAX_HEIGHT ? (to / (this.full - seen)) * range : to;
    this.render();
  }

  move(by) {
    this.activate(this.active < 0 ? 0 : this.active + by);
  }

  pageSize() {
    return Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1);
  }
}
