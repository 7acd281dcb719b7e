// One answer in the transcript. While it streams, text is appended and complete quotes are inserted as
// links; a block of Markdown is drawn when it is complete. The final object is authoritative: if it
// differs from the streamed answer, the answer is redrawn from it.

import { cells, kindOf } from "./blocks.js";
import { icon, make } from "./dom.js";
import { endsInCode, markup, topLevel } from "./markup.js";
import { parts } from "./parts.js";
import { Points, count } from "./points.js";
import { hasTick, meaning, noteOf, outcome, remarks, verdictWords } from "./verdict.js";
import { visible } from "./visible.js";

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const MARKED_UP = /[\n*_`#\\]|:\/\/|^[ \t]*(?:[->•|]|\d+[.)])/; // may be Markdown
let made = 0;

export class Answer {
  quotes = [];
  sources = [];
  others = [];
  final = null;
  element = make("article", { class: "answer", "aria-label": "Answer" });
  #text = make("div", { class: "text", dir: "auto" });
  #last = make("p"); // the incomplete block
  #open = []; // its parts before the tail
  #tail = document.createTextNode("");
  #written = ""; // the raw text of the tail
  #before = 0; // number of code points before the tail
  #top = 6;
  #links = [];
  #colours = new Map(); // by document, in the order in which the answer quotes them
  #waiting = make("p");
  #follow;

  // `follow(answer, index, why)` is called for events of a quote; `why` is "open", "hover", "focus" or
  // "leave".
  constructor(follow) {
    made += 1;
    this.id = `answer-${made}`;
    this.#follow = follow;
    this.element.id = this.id;
    this.#last.append(this.#tail);
    this.#text.append(this.#last);
    this.element.append(this.#text);
    this.element.classList.add("streaming");
  }

  addText(text) {
    this.#settle(); // not after adding: it may be the text of a quote
    this.#written += text;
    this.#tail.data = visible(this.#written);
    this.#turn(this.#written);
  }

  // Draws the blocks before the last empty line.
  #settle() {
    const end = this.#written.lastIndexOf("\n\n") + 2;
    if (end < 2) return;
    const settled = this.#written.slice(0, end);
    const parts = [...this.#open, { kind: "text", text: settled }];
    if (endsInCode(parts)) return;
    this.#top = Math.min(this.#top, topLevel(parts));
    this.#keepingFocus(() => {
      this.#last.replaceChildren(this.#tail);
      this.#last.before(markup(parts, (part, row) => this.#part(part, row), this.#top));
    });
    this.#open = [];
    this.#before += count(settled);
    this.#written = this.#written.slice(end);
  }

  #keepingFocus(redraw) {
    const focused = this.#links.indexOf(document.activeElement);
    redraw();
    if (focused >= 0) this.#links[focused]?.focus({ preventScroll: true });
  }

  // `dir=auto` ignores the text of quotes (in <bdi>), so the direction is set from the whole text.
  #turn(text) {
    const first = /\p{L}/u.exec(text)?.[0];
    if (first && this.#text.dir === "auto") this.#text.dir = RIGHT_TO_LEFT.test(first) ? "rtl" : "ltr";
  }

  addQuote(quote) {
    const points = new Points(this.#written);
    const start = quote.plain_start - this.#before;
    const end = quote.plain_end - this.#before;
    const index = this.quotes.push(quote) - 1;
    if (start < 0 || end > points.length) return; // the final object has its place
    const before = points.slice(0, start);
    this.#open.push({ kind: "text", text: before }, { kind: "quote", text: quote.text, mark: quote, index });
    this.#tail.before(visible(before), this.#link(index, true));
    this.#written = points.slice(end);
    this.#before += end;
    this.#tail.data = visible(this.#written);
  }

  finish(final) {
    const drawn = JSON.stringify(this.quotes);
    const said = this.#before + count(this.#written);
    this.final = final;
    const nearest = (final.nearest ?? []).map((quote) => ({ ...quote, nearest: true }));
    this.quotes = [...final.quotes, ...nearest];
    // Keep the objects of sources that are already shown on the right.
    const known = new Map(this.sources.map((source) => [JSON.stringify(source), source]));
    this.sources = final.sources.map((source) => known.get(JSON.stringify(source)) ?? source);
    // Retrieved passages that are not quoted are missing from the final object; keep them visible.
    this.others = [...known.values()].filter((source) => !this.sources.includes(source));
    this.element.classList.remove("streaming");
    this.#turn(final.plain);
    const streamed = drawn === JSON.stringify(final.quotes) && said === count(final.plain) && final.quotes.length;
    if (!streamed || final.dropped?.length || final.claims?.length || MARKED_UP.test(final.plain)) this.#draw(final);
    this.badge = make("p", { class: `verdict ${final.verdict}${final.verdict === "quoted" && !hasTick(final) ? " doubtful" : ""}` }, icon(hasTick(final) ? "check" : "notice"), visible(verdictWords(final)));
    for (const remark of remarks(final)) this.element.append(make("p", { class: "hint remark", dir: "auto" }, visible(remark)));
    if (nearest.length) this.element.append(this.#nearest(final.quotes.length));
    this.element.append(this.badge);
    const meant = meaning(final);
    const told = [...document.querySelectorAll(".meaning")].some((other) => other.textContent === meant);
    if (meant && !told) this.element.append(make("p", { class: "hint meaning" }, meant));
    this.element.append(make("footer"));
    if (final.understood && final.understood !== final.question) {
      this.element.append(make("details", { class: "hint" }, make("summary", {}, "How the question was understood"), make("p", { dir: "auto" }, visible(final.understood))));
    }
  }

  // Shows what the answer is waiting for.
  wait(message) {
    this.#waiting.remove();
    this.#waiting = make("p", { class: "hint", role: "status" }, message);
    if (message) this.element.append(this.#waiting);
  }

  fail(message) {
    this.wait("");
    this.element.classList.remove("streaming");
    this.element.append(make("p", { class: "problem", role: "alert" }, visible(message)));
  }

  // Highlights quotes, or removes the highlight.
  light(indices, on) {
    for (const index of indices) this.#links[index]?.classList.toggle("on", on);
  }

  // The colour of a quoted source; passages of one document have the same.
  colourOf(number) {
    const key = documentOf(this.sources.find((source) => source.number === number) ?? { number });
    if (!this.#colours.has(key)) this.#colours.set(key, `c${this.#colours.size % 7}`);
    return this.#colours.get(key);
  }

  linkOf(index) {
    return this.#links[index];
  }

  goTo(index) {
    const link = this.#links[index];
    if (!link) return;
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "center" });
    flash(link);
  }

  #draw(final) {
    this.#keepingFocus(() => this.#text.replaceChildren(markup([...parts(final)], (part, row) => this.#part(part, row))));
    this.#links.length = this.quotes.length;
  }

  // The closest quotes, offered instead of an answer. The rows of a table are drawn as one.
  #nearest(first) {
    const groups = [];
    for (const [index, quote] of this.quotes.entries()) {
      if (index < first) continue;
      const kind = kindOf([{ kind: "quote", text: quote.text, mark: quote }]);
      const group = groups.at(-1);
      if (kind !== "text" && group?.kind === kind && group.source === quote.source) group.indices.push(index);
      else groups.push({ kind, source: quote.source, indices: [index] });
    }
    const items = groups.map(({ kind, source, indices }) => {
      const title = this.sources.find(({ number }) => number === source)?.title;
      const links = indices.map((index) => this.#link(index, false, kind !== "text"));
      const shown = links.length > 1 ? [make("div", { class: "written-table" }, make("div", { class: "table" }, ...links))] : links;
      return make("li", { dir: "auto" }, ...shown, title ? ` ${visible(title)}` : "");
    });
    return make("div", { class: "hint nearest" }, make("p", {}, "Closest passages:"), make("ul", {}, ...items));
  }

  #part({ kind, text, mark, index }, row) {
    if (kind === "quote") return this.#link(index, false, row);
    if (kind === "dropped") return dropped(text, mark);
    if (kind === "claim") return make("span", { class: "claim", title: "Not in a quote, so not checked" }, visible(text));
    return visible(text);
  }

  #link(index, arrives, row = false) {
    const quote = this.quotes[index];
    const good = quote.status === "verified";
    const note = good ? noteOf(quote) : quote.status;
    const link = make(
      "a",
      {
        class: `quote ${good ? this.colourOf(quote.source) : "bad"}${arrives ? " arrives" : ""}${this.#links[index]?.classList.contains("pinned") ? " pinned" : ""}`,
        href: `#source-${quote.source}`,
        id: `${this.id}-quote-${index}`,
        "data-index": index,
      },
      ...(row ? cells(quote) : [quote.text]).map((text) => make("bdi", {}, visible(text))),
      make("span", { class: "sr" }, ` (${good ? `${quote.nearest ? "" : "quoted "}from source ${quote.source}. ` : ""}${outcome(quote)})`),
      make("sup", { "aria-hidden": "true" }, good ? `${quote.source}${note ? ` ${note}` : ""}` : note),
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.#follow(this, index, "open");
    });
    for (const [name, why] of [["pointerenter", "hover"], ["focus", "focus"], ["pointerleave", "leave"], ["blur", "leave"]]) {
      link.addEventListener(name, (event) => {
        if (event.pointerType !== "touch") this.#follow(this, index, why);
      });
    }
    this.#links[index] = link;
    return link;
  }
}

// A mark that was dropped, because it is not a quote.
function dropped(text, mark) {
  return make(
    "span",
    { class: "quote bad dropped", title: visible(mark.reason) },
    make("del", {}, make("bdi", {}, visible(text))),
    make("span", { class: "sr" }, ` (Not a quote: ${visible(mark.reason)})`),
    make("sup", { "aria-hidden": "true" }, "dropped"),
  );
}

// Passages with the same key are of the same document.
export const documentOf = ({ collection, document_id: id, number }) => (id ? JSON.stringify([collection, id]) : number);

export function flash(element) {
  element.classList.remove("flash");
  void element.offsetWidth; // restarts the animation
  element.classList.add("flash");
}
