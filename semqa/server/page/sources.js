// The panel on the right: the sources of one answer, with links between quotes and their places.

import { calm, find, make, plural } from "./dom.js";
import { documentOf, flash } from "./answer.js";
import { SourceCard } from "./source.js";
import { short } from "./visible.js";

const list = find("source-list");
const heading = find("sources-count");

export class SourcePanel {
  #cards = [];
  #following = false;
  #due = new Set(); // cards to draw in the next frame
  answer = null;

  constructor() {
    this.show(null);
  }

  // Shows the sources of an answer. Retrieved passages that are not quoted are collapsed.
  show(answer) {
    const wanted = answer ? [...answer.sources, ...answer.others] : [];
    const known = new Map(this.#cards.map((card) => [card.source, card]));
    const again = answer !== null && answer === this.answer;
    this.answer = answer;
    if (!again) for (const element of document.querySelectorAll(".pinned")) element.classList.remove("pinned");
    this.#cards = wanted.map((source) => (again && known.get(source)) || this.#card(source));
    for (const card of this.#cards) this.#drawCard(card);
    const listed = answer?.sources.length ?? 0;
    const rest = this.#cards.slice(listed).map((card) => card.element);
    list.replaceChildren(
      ...byDocument(this.#cards.slice(0, listed)),
      ...(rest.length ? [make("details", { class: "rest" }, make("summary", {}, `${plural(rest.length, "more passage")} found, not quoted`), ...rest)] : []),
      ...(this.#cards.length ? [] : [make("p", { class: "hint empty" }, "Quoted passages appear here, with each quote marked.")]),
    );
    if (!again) list.scrollTop = 0;
    heading.textContent = listed ? plural(listed, "passage") : "";
  }

  // Shows a single document or passage, without an answer.
  showAlone(source) {
    this.show(null);
    const card = this.#card({ number: 1, ...source });
    this.#cards = [card];
    list.replaceChildren(card.element);
    heading.textContent = "";
    (card.element.querySelector(".passage") ?? card.element).scrollIntoView({ block: "start" });
  }

  #card(source) {
    return new SourceCard(source, (indices, why) => this.#turn(indices, why), (index) => `#${this.answer.linkOf(index)?.id ?? ""}`);
  }

  // Called when a quote of the shown answer is complete.
  add(index) {
    const { source } = this.answer.quotes[index];
    const card = this.#cards.find((each) => each.source.number === source);
    if (!card) return;
    if (!this.#due.size) requestAnimationFrame(() => this.#drawDue());
    this.#due.add(card);
  }

  #drawDue() {
    for (const card of this.#due) if (this.#cards.includes(card)) this.#drawCard(card);
    this.#due.clear();
  }

  light(indices, on) {
    for (const card of this.#cards) {
      for (const index of indices) for (const mark of card.places.get(index) ?? []) mark.classList.toggle("on", on);
    }
  }

  // Scrolls to the place of a quote in its source. Returns whether there is one.
  goTo(index) {
    this.#drawDue();
    const marks = this.#cards.flatMap((card) => card.places.get(index) ?? []);
    const quote = this.answer.quotes[index];
    if (!marks.length) {
      const named = this.#cards.find((card) => card.source.number === quote.source);
      named?.element.scrollIntoView({ block: "nearest" });
      return false;
    }
    // Several quotes may share a place; only the opened one is highlighted.
    this.#following = true;
    marks[0].querySelector("a").focus({ preventScroll: true });
    this.#following = false;
    this.#pin(index);
    marks[0].scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
    for (const mark of marks) flash(mark);
    return true;
  }

  // Keeps a quote and its place highlighted until another quote is opened.
  #pin(index) {
    for (const element of document.querySelectorAll(".pinned")) element.classList.remove("pinned");
    this.answer.linkOf(index)?.classList.add("pinned");
    for (const card of this.#cards) card.pin(index);
  }

  #drawCard(card) {
    const quotes = [...this.answer.quotes.entries()].filter(([, quote]) => quote.status === "verified" && quote.source === card.source.number);
    card.draw(quotes, quotes.length ? this.answer.colourOf(card.source.number) : "");
  }

  #turn(indices, why) {
    if (this.#following) return;
    this.light(indices, why !== "leave");
    this.answer.light(indices, why !== "leave");
    if (why === "open") {
      this.#pin(indices[0]);
      list.dispatchEvent(new CustomEvent("back", { bubbles: true }));
      this.answer.goTo(indices[0]);
    }
  }
}

// Lists passages; several of one document stand below its title.
function byDocument(cards) {
  const groups = new Map();
  for (const card of cards) {
    const key = documentOf(card.source);
    groups.set(key, [...(groups.get(key) ?? []), card]);
  }
  return [...groups.values()].map(([first, ...more]) => {
    if (!more.length) return first.element;
    const { title, name } = first.source;
    return make("section", { class: "document" }, make("h3", { dir: "auto" }, short(title || name, 120)), ...[first, ...more].map((card) => card.element));
  });
}
