// A text to quote from: the body or the title of a passage. It shows the quotes, lets the writer select
// words with the mouse, by touch or with the keyboard, and has handles to resize the selected quote.

import { make } from "../dom.js";
import { count, Points } from "../points.js";
import { pieces as cut } from "../pieces.js";
import { visible } from "../visible.js";

const UNSEEN = /([\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069])/;

export class Quotable {
  #points;
  #words = [];
  #marks = [];
  #adjusted = null;
  #anchor = 0;
  #focus = 0;
  #drag;
  #handles;

  // dragged(quote, dragging) is called while an end of the quote is dragged, and once afterwards.
  constructor(text, { source, field, tint, label, dragged }) {
    this.source = source;
    this.field = field;
    this.#points = new Points(text);
    this.#drag = dragged;
    for (const { segment, index, isWordLike } of new Intl.Segmenter("en", { granularity: "word" }).segment(text)) {
      if (!isWordLike) continue;
      const start = count(text.slice(0, index));
      this.#words.push({ start, end: start + count(segment) });
    }
    this.element = make(field === "title" ? "bdi" : "p", { class: `quotable prose ${tint}`, role: "textbox", "aria-readonly": "true", "aria-multiline": "true", "aria-label": label, tabindex: "0", dir: "auto" });
    this.#handles = ["start", "end"].map((side) => make("span", { class: `handle ${side}`, "aria-hidden": "true", onpointerdown: (event) => this.#grab(event, side) }));
    this.element.addEventListener("focus", () => this.element.matches(":focus-visible") && this.#select());
    this.#draw();
  }

  text({ start, end }) {
    return this.#points.slice(start, end);
  }

  // Show the quotes of this text, and the selected one with handles, if it is in this text.
  show(marks, adjusted) {
    const key = (given) => JSON.stringify(given);
    if (key(marks) === key(this.#marks) && key(adjusted) === key(this.#adjusted)) return;
    this.#marks = marks;
    this.#adjusted = adjusted;
    this.#draw();
  }

  // The current selection as a quote of whole words, or null if none of this text is selected.
  selection() {
    const selection = document.getSelection();
    if (selection.rangeCount === 0 || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.element) || !this.element.contains(range.startContainer)) return null;
    const start = this.#point(range.startContainer, range.startOffset);
    const end = this.element.contains(range.endContainer) ? this.#point(range.endContainer, range.endOffset) : this.#points.length;
    return this.#fit(start, end);
  }

  // Move an end of a quote by one word; null if that is not possible.
  stretch(quote, side, step) {
    const places = side === "start" ? this.#words.map((word) => word.start) : this.#words.map((word) => word.end);
    const at = quote[side];
    const next = step > 0 ? places.find((place) => place > at) : places.findLast((place) => place < at);
    const moved = { ...quote, [side]: next };
    return next === undefined || moved.start >= moved.end ? null : moved;
  }

  // Handle a key while the text has the focus; returns whether it was handled.
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const line = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const edge = { Home: 0, End: this.#words.length - 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || this.#words.length === 0) return false;
    let next;
    if (step) next = this.#focus + step;
    else if (line) next = this.#line(line);
    else if (edge !== undefined) next = edge;
    else return false;
    this.#focus = Math.max(0, Math.min(this.#words.length - 1, next));
    if (!event.shiftKey) this.#anchor = this.#focus;
    this.#select();
    return true;
  }

  focus() {
    this.element.focus();
    this.#select();
  }

  #select() {
    if (this.#words.length === 0) return;
    const first = this.#words[Math.min(this.#anchor, this.#focus)];
    const last = this.#words[Math.max(this.#anchor, this.#focus)];
    const [from, to] = [this.#node(first.start, false), this.#node(last.end, true)];
    document.getSelection().setBaseAndExtent(from.node, from.offset, to.node, to.offset);
    const moved = this.#words[this.#focus];
    this.reveal(moved);
  }

  // Scroll a part of the text into view, clear of sticky elements.
  reveal(part) {
    const rect = this.#rect(part);
    const low = document.querySelector(".bar").getBoundingClientRect().bottom + 16;
    const field = document.getElementById("questions").getBoundingClientRect();
    const high = (field.left < rect.right && field.right > rect.left && field.bottom >= innerHeight - 4 ? field.top : innerHeight) - 16;
    if (rect.top < low) window.scrollBy({ top: rect.top - low });
    else if (rect.bottom > high) window.scrollBy({ top: Math.min(rect.bottom - high, rect.top - low) });
  }

  #rect(word) {
    const [from, to] = [this.#node(word.start, false), this.#node(word.end, true)];
    const range = document.createRange();
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return range.getBoundingClientRect();
  }

  // The word above or below the current one.
  #line(step) {
    const rects = this.#words.map((word) => this.#rect(word));
    const here = rects[this.#focus];
    const middle = here.left + here.width / 2;
    const other = rects.map((rect, at) => ({ rect, at })).filter(({ rect }) => (step > 0 ? rect.top > here.bottom - 2 : rect.bottom < here.top + 2));
    if (other.length === 0) return step > 0 ? this.#words.length - 1 : 0;
    const line = step > 0 ? Math.min(...other.map(({ rect }) => rect.top)) : Math.max(...other.map(({ rect }) => rect.top));
    const near = other.filter(({ rect }) => Math.abs(rect.top - line) < 4);
    near.sort((one, two) => Math.abs(one.rect.left + one.rect.width / 2 - middle) - Math.abs(two.rect.left + two.rect.width / 2 - middle));
    return near[0].at;
  }

  // Extend to whole words, without surrounding whitespace.
  #fit(start, end) {
    const inside = (at) => this.#words.find((word) => word.start < at && at < word.end);
    let [low, high] = [inside(start)?.start ?? start, inside(end)?.end ?? end];
    const chars = Array.from(this.#points.slice(low, high));
    while (chars.length && /\s/u.test(chars.at(-1))) {
      chars.pop();
      high -= 1;
    }
    while (chars.length && /\s/u.test(chars[0])) {
      chars.shift();
      low += 1;
    }
    return chars.length ? { source: this.source, field: this.field, start: low, end: high } : null;
  }

  #grab(event, side) {
    event.preventDefault();
    event.stopPropagation();
    const move = (moved) => {
      moved.preventDefault();
      const at = this.#under(moved.clientX, moved.clientY);
      if (at === null || !this.#adjusted) return;
      const quote = this.#adjusted;
      const other = side === "start" ? quote.end : quote.start;
      const fitted = side === "start" ? this.#fit(Math.min(at, other - 1), other) : this.#fit(other, Math.max(at, other + 1));
      if (fitted && (fitted.start !== quote.start || fitted.end !== quote.end)) this.#drag({ ...quote, [side]: fitted[side] }, true);
    };
    const done = () => {
      document.removeEventListener("pointermove", move);
      for (const kind of ["pointerup", "pointercancel"]) document.removeEventListener(kind, done);
      if (this.#adjusted) this.#drag(this.#adjusted, false);
    };
    document.addEventListener("pointermove", move);
    for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, done);
  }

  // The code point offset at window coordinates, or null if they are outside this text.
  #under(x, y) {
    const found = document.caretPositionFromPoint ? document.caretPositionFromPoint(x, y) : document.caretRangeFromPoint(x, y);
    const [node, offset] = found ? [found.offsetNode ?? found.startContainer, found.offset ?? found.startOffset] : [null, 0];
    return node && this.element.contains(node) ? this.#point(node, offset) : null;
  }

  // Each element stores its offset; characters shown by name are elements of their own.
  #draw() {
    const marks = this.#adjusted ? [...this.#marks, { ...this.#adjusted, adjusted: true }] : this.#marks;
    const [first, last] = this.#handles;
    const drawn = cut(this.#points, marks).flatMap(({ start, end, marks: over }) => {
      const adjusted = over.some((mark) => mark.adjusted);
      const element = make(over.length ? "mark" : "span", { "data-start": start, class: adjusted ? "adjusted" : null }, ...this.#runs(start, end));
      return [
        adjusted && start === this.#adjusted.start ? first : null,
        element,
        adjusted && end === this.#adjusted.end ? last : null,
      ].filter(Boolean);
    });
    this.element.replaceChildren(...drawn);
  }

  #runs(start, end) {
    let at = start;
    return this.#points.slice(start, end).split(UNSEEN).filter(Boolean).map((run) => {
      const odd = UNSEEN.test(run);
      const element = make("span", { "data-start": at, class: odd ? "odd" : null, "data-odd": odd }, odd ? (run === "\r" ? "" : visible(run)) : run);
      at += count(run);
      return element;
    });
  }

  #point(node, offset) {
    if (node.nodeType !== Node.TEXT_NODE) {
      const child = node.childNodes[offset];
      if (child) return child.nodeType === Node.TEXT_NODE ? this.#point(child, 0) : child.dataset?.start !== undefined ? Number(child.dataset.start) : this.#point(node, offset + 1);
      if (node === this.element) return this.#points.length;
      const last = node.childNodes[offset - 1];
      return last ? this.#point(last, last.nodeType === Node.TEXT_NODE ? last.data.length : last.childNodes.length) : Number(node.dataset.start ?? 0);
    }
    const holder = node.parentElement.closest("[data-start]");
    if (!holder) return 0;
    const start = Number(holder.dataset.start);
    return holder.dataset.odd === undefined ? start + count(node.data.slice(0, offset)) : start;
  }

  // The node and UTF-16 offset of a code point offset; at a boundary, an end uses the earlier node.
  #node(point, isEnd) {
    const runs = [...this.element.querySelectorAll("span[data-start]:not(:has([data-start]))")].filter((run) => run.firstChild);
    const run = runs.findLast((each) => (isEnd ? Number(each.dataset.start) < point : Number(each.dataset.start) <= point)) ?? runs[0];
    const start = Number(run.dataset.start);
    if (run.dataset.odd !== undefined) return { node: run.firstChild, offset: isEnd ? run.firstChild.data.length : 0 };
    return { node: run.firstChild, offset: Math.min(new Points(run.firstChild.data).at(point - start), run.firstChild.data.length) };
  }
}
