// One source on the right: its text with the quotes marked, and a button to show its document.

import { call } from "./api.js";
import { unframed } from "./blocks.js";
import { icon, make } from "./dom.js";
import { pieces } from "./pieces.js";
import { Points, endOfWord, startOfWord } from "./points.js";
import { tables } from "./tables.js";
import { short, visible } from "./visible.js";

const KEPT = 700; // characters shown around a quote in a long text
const FOLDED = 1200; // shorter gaps are not folded
const STEP = 20_000; // characters that one click unfolds

// Whether the first line of a text is its title, which then need not be shown again above it.
function repeated({ title, text }) {
  const wanted = (title ?? "").trim();
  const [first] = text.trimStart().split("\n", 1);
  return wanted !== "" && first.trim() === wanted;
}

// Kinds of files whose text is Markdown: their own, or that of the parser.
const MARKDOWN = /\.(md|markdown|x?html?|pdf|docx)$/i;

// A text as nodes, from the start of a line or not: headings are bold, their marks faint, or hidden in
// Markdown.
function lined(text, starts, markdown) {
  return visible(text).split(/^(#{1,6} .*)$/m).map((part, at, all) => {
    if (at % 2 === 0 || (at === 1 && !all[0] && !starts)) return part;
    const end = part.indexOf(" ") + 1;
    return make("span", { class: "heading" }, make("span", { class: "faint", hidden: markdown }, part.slice(0, end)), part.slice(end));
  });
}

export class SourceCard {
  #body = make("div", { class: "body", dir: "auto" });
  #title = make("h3", { dir: "auto" });
  #meta = make("p", { class: "meta" });
  #back = make("div", { class: "back" });
  #shown = []; // unfolded ranges
  #document = null; // {points} of the whole document while it is shown
  #quotes = [];
  #colour = "";
  #pinned = null;
  #named = false; // whether the heading is the document's name
  places = new Map(); // index of a quote -> its <mark> elements

  // `turn(indices, why)` is called for events of marked quotes: "open", "hover" or "leave";
  // `address(index)` returns the link to a quote in the answer.
  constructor(source, turn, address) {
    this.source = source;
    this.address = address;
    this.turn = turn;
    this.points = new Points(source.text);
    this.element = make("article", { id: `source-${source.number}`, "aria-label": `Source ${source.number}` });
    this.element.append(make("header", {}, make("span", { class: "number", "aria-hidden": "true" }, String(source.number)), this.#title), this.#body, this.#meta, this.#back);
    this.draw([], "c0");
  }

  // `quotes` are the verified quotes of this source, as [index, quote].
  draw(quotes, colour = this.#colour) {
    this.#quotes = quotes;
    this.#colour = colour;
    this.places.clear();
    const titles = this.#marks("title", 0);
    this.element.className = `source ${colour}${quotes.length ? " quoted" : ""}${titles.length ? " titled" : ""}`;
    this.#named = !titles.length && repeated(this.source);
    if (this.#named || !this.source.title) this.#title.textContent = this.#named && this.source.name ? short(this.source.name, 120) : `Source ${this.source.number}`;
    else this.#title.replaceChildren(...this.#marked(new Points(this.source.title), titles, false));
    const whole = this.#document;
    const from = whole ? this.source.start : 0;
    const marks = this.#marks("body", from);
    if (whole) marks.push({ start: from, end: this.source.end, passage: true });
    if (this.source.passage?.end) marks.push({ ...this.source.passage, passage: true });
    this.#body.replaceChildren(...this.#marked(whole?.points ?? this.points, marks, true));
    this.#drawMeta();
    this.#drawBack();
  }

  // Keeps the place of a quote highlighted.
  pin(index) {
    this.#pinned = index;
    for (const mark of this.places.get(index) ?? []) mark.classList.add("pinned");
  }

  #marks(field, from) {
    return this.#quotes
      .filter(([, quote]) => quote.field === field)
      .map(([index, quote]) => ({ start: quote.source_start + from, end: quote.source_end + from, index }));
  }

  #marked(points, marks, folds) {
    const cut = pieces(points, marks);
    const shown = cut.flatMap((piece, at) => {
      const indices = piece.marks.filter((mark) => mark.index !== undefined).map((mark) => mark.index);
      const way = { indices, passage: piece.marks.some((mark) => mark.passage) };
      const ranges = folds && !indices.length ? this.#folded(points, piece, at === 0, at === cut.length - 1) : [piece];
      return ranges.map((range) => ({ ...way, ...range }));
    });
    const nodes = [];
    let first = 0;
    for (let at = 0; at <= shown.length; at += 1) {
      if (at < shown.length && !shown[at].gap) continue;
      nodes.push(...this.#drawn(points, shown.slice(first, at)));
      if (at < shown.length) nodes.push(this.#gap(shown[at].start, shown[at].end));
      first = at + 1;
    }
    return nodes;
  }

  // Draws adjoining ranges, with the tables in them.
  #drawn(points, ranges) {
    if (!ranges.length) return [];
    const within = (start, end) => ranges
      .map((range) => ({ ...range, start: Math.max(start, range.start), end: Math.min(end, range.end) }))
      .filter((range) => range.start < range.end)
      .flatMap((range) => this.#range(points.slice(range.start, range.end), range, !range.start || points.slice(range.start - 1, range.start) === "\n"));
    const nodes = [];
    let at = ranges[0].start;
    for (const { start, end, rows } of tables(points.slice(at, ranges.at(-1).end), at)) {
      const drawn = rows.map(({ cells, head }) => make("tr", {}, ...cells.map(([from, to]) => make(head ? "th" : "td", {}, ...within(from, to)))));
      nodes.push(...within(at, start), make("div", { class: "written-table" }, make("table", {}, ...drawn)));
      at = end;
    }
    return [...nodes, ...within(at, ranges.at(-1).end)];
  }

  #range(text, { indices, passage }, starts) {
    const nodes = lined(text, starts, MARKDOWN.test(this.source.name ?? ""));
    if (indices.length) return [this.#place(nodes, indices, passage)];
    return nodes.map((node) => (passage ? make("span", { class: "passage" }, node) : node));
  }

  #place(nodes, indices, passage) {
    // Tab stops once at a quote, even if it has several places, such as the cells of a row.
    const link = make("a", { href: this.address(indices[0]), tabindex: this.places.has(indices[0]) ? -1 : null }, ...nodes);
    const mark = make("mark", { class: passage ? "passage" : null, "data-quotes": indices.join(" ") }, link);
    let next = 0;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.turn([indices[next++ % indices.length]], "open");
    });
    for (const [name, why] of [["pointerenter", "hover"], ["focusin", "hover"], ["pointerleave", "leave"], ["focusout", "leave"]]) {
      mark.addEventListener(name, () => this.turn(indices, why));
    }
    mark.classList.toggle("pinned", indices.includes(this.#pinned));
    for (const index of indices) {
      if (!this.places.has(index)) this.places.set(index, []);
      this.places.get(index).push(mark);
    }
    return mark;
  }

  // Folds a long text without quotes into ranges: its ends, and a gap with a button for the rest.
  #folded(points, { start, end }, first, last) {
    const head = first && !last ? start : Math.max(start, endOfWord(points, Math.min(end, start + (last && first ? 2 * KEPT : KEPT))));
    const tail = last ? end : Math.max(head, startOfWord(points, Math.max(head, end - KEPT)));
    const ranges = [];
    let at = start;
    for (const [from, to] of this.#gaps(head, tail)) {
      if (to - from <= FOLDED) continue;
      ranges.push({ start: at, end: from }, { start: from, end: to, gap: true });
      at = to;
    }
    return [...ranges, { start: at, end }];
  }

  #gaps(start, end) {
    let gaps = [[start, end]];
    for (const [from, to] of this.#shown) {
      gaps = gaps.flatMap(([low, high]) => [[low, Math.min(high, from)], [Math.max(low, to), high]].filter(([a, b]) => a < b));
    }
    return gaps;
  }

  #gap(from, to) {
    return make("button", { type: "button", class: "gap", onclick: ({ currentTarget }) => {
      const place = [...this.#body.querySelectorAll(".gap")].indexOf(currentTarget);
      this.#shown.push([from, endOfWord(this.#document?.points ?? this.points, Math.min(to, from + STEP))]);
      this.draw(this.#quotes);
      (this.#body.querySelectorAll(".gap")[place] ?? this.element.closest(".list")).focus({ preventScroll: true });
    } }, `Show ${Math.min(STEP, to - from).toLocaleString("en")} of ${(to - from).toLocaleString("en")} more characters`);
  }

  #drawMeta() {
    const { url, name, title, page, document_id: id, collection } = this.source;
    const parts = [];
    if (name && name !== title && !this.#named) parts.push(make("span", { dir: "auto" }, short(name, 60)));
    if (page) parts.push(`page ${page}`);
    // Links of this server's own passages lead to this page, so they are not shown.
    if (/^https?:\/\//i.test(url ?? "") && !(id && url.includes("/?collection="))) parts.push(make("a", { href: url, rel: "noopener noreferrer nofollow", target: "_blank" }, short(url, 60)));
    if (id && collection && !this.#document) {
      parts.push(make("button", { type: "button", class: "quiet open", onclick: (event) => this.#openDocument(event.currentTarget) }, icon("open"), "Show in document"));
    } else if (this.#document) {
      parts.push(make("button", { type: "button", class: "quiet open", onclick: () => this.#closeDocument() }, icon("open"), "Show only the passage"));
    }
    this.#meta.replaceChildren(...parts);
  }

  #drawBack() {
    const items = this.#quotes.map(([index, quote]) =>
      make("li", {}, make("button", {
        type: "button",
        onclick: () => this.turn([index], "open"),
        onpointerenter: () => this.turn([index], "hover"),
        onpointerleave: () => this.turn([index], "leave"),
      }, icon("back"), make("bdi", {}, short(unframed(quote.text), 120)))));
    this.#back.replaceChildren(...(items.length ? [make("h4", {}, this.#quotes[0][1].nearest ? "Closest to the question" : "Quoted in the answer"), make("ul", {}, ...items)] : []));
  }

  async #openDocument(button) {
    const { collection, document_id: id, start, end, text } = this.source;
    button.disabled = true;
    try {
      const found = await call(`v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(id)}`);
      const points = new Points(found.text);
      if (points.slice(start, end) !== text) throw new Error("The document has changed. This is the passage from the earlier version.");
      this.#document = { points };
      this.#shown = [];
      this.draw(this.#quotes);
      this.#meta.querySelector(".open").focus({ preventScroll: true });
      (this.element.querySelector("mark") ?? this.element.querySelector(".passage"))?.scrollIntoView({ block: "center" });
    } catch (problem) {
      this.#meta.append(make("span", { class: "problem", role: "alert" }, visible(problem.message)));
    }
  }

  #closeDocument() {
    this.#document = null;
    this.#shown = [];
    this.draw(this.#quotes);
    this.#meta.querySelector(".open").focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }
}
