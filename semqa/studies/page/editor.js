// The editor of an answer. Its element shows a draft (draft.js) as editable text nodes and fixed quotes.
// Changes go through the draft. The browser edits the element itself only during composition (IME and
// phone keyboards); the result is then read back.

import { make } from "../dom.js";
import { visible } from "../visible.js";
import { colour } from "./parts.js";
import { before, changeQuote, clean, end, fromPieces, History, insertQuote, moveQuote, removeQuote, replace, toPieces } from "./draft.js";

// An empty text node needs a character for the caret.
const BLANK = "\u200b";

export class Editor {
  #draft;
  #caret;
  #selected = null;
  #history = new History();
  #textOf;
  #changed;
  #notify;
  #composing = false;

  // textOf(quote) returns the quoted text; changed() is called after each change of the draft or the
  // selection; notify(text) shows a message to the writer.
  constructor(pieces, { textOf, changed, notify, ...given }) {
    this.#draft = fromPieces(pieces);
    this.#caret = end(this.#draft);
    this.#textOf = textOf;
    this.#changed = changed;
    this.#notify = notify;
    this.element = make("div", { class: "answer-field prose", contenteditable: "true", role: "textbox", "aria-multiline": "true", spellcheck: "true", dir: "auto", ...given });
    this.element.addEventListener("beforeinput", (event) => this.#input(event));
    this.element.addEventListener("input", () => this.#composing && this.#read());
    this.element.addEventListener("compositionstart", () => {
      this.#history.keep(this.#state, true);
      this.#composing = true;
    });
    this.element.addEventListener("compositionend", () => {
      this.#read();
      this.#composing = false;
      this.#show();
    });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("pointerdown", (event) => this.#point(event));
    this.element.addEventListener("focus", () => this.#place());
    this.element.addEventListener("blur", () => this.#remember());
    this.element.addEventListener("copy", (event) => this.#copy(event));
    this.element.addEventListener("dragstart", (event) => event.preventDefault());
    document.addEventListener("selectionchange", () => this.#follow());
    this.#draw();
  }

  get pieces() {
    return toPieces(this.#draft);
  }

  get draft() {
    return this.#draft;
  }

  // The index of the selected quote, or null.
  get selected() {
    return this.#selected;
  }

  get quote() {
    return this.#selected === null ? null : this.#draft.quotes[this.#selected];
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.#place();
  }

  // Insert a quote at the caret.
  insert(quote) {
    this.#remember();
    const place = this.#selected === null ? this.#caret : { at: this.#selected + 1, offset: 0 };
    this.#selected = null;
    const { draft, caret } = insertQuote(this.#draft, place, quote);
    this.#set(draft, caret);
  }

  select(number) {
    this.#selected = number;
    if (number !== null) {
      this.#caret = { at: number + 1, offset: 0 };
      this.#notify(`Quote from passage ${this.quote.source} selected: ${this.#textOf(this.quote)}`);
    }
    this.#show();
  }

  // Resize the selected quote; `dragging` while one of its ends is being dragged.
  resize(quote, dragging = false) {
    this.#history.keep(this.#state, dragging);
    this.#draft = changeQuote(this.#draft, this.#selected, quote);
    this.#show();
  }

  move(step) {
    const { draft, number } = moveQuote(this.#draft, this.#selected, step);
    if (draft === this.#draft) return;
    this.#history.keep(this.#state);
    this.#draft = draft;
    this.#selected = number;
    this.#caret = { at: number + 1, offset: 0 };
    this.#show();
  }

  remove() {
    const { draft, caret } = removeQuote(this.#draft, this.#selected);
    this.#selected = null;
    this.#set(draft, caret);
    this.#notify("Quote removed");
  }

  undo() {
    this.#restore(this.#history.undo(this.#state));
  }

  redo() {
    this.#restore(this.#history.redo(this.#state));
  }

  get #state() {
    return { draft: this.#draft, caret: this.#caret };
  }

  #restore(state) {
    if (!state) return;
    this.#draft = state.draft;
    this.#caret = state.caret;
    this.#selected = null;
    this.#show();
  }

  #set(draft, caret, typing = false) {
    this.#history.keep(this.#state, typing);
    this.#draft = draft;
    this.#caret = caret;
    this.#show();
  }

  #show() {
    this.#draw();
    this.#changed();
  }

  // Keys and input

  #key(event) {
    const control = event.ctrlKey || event.metaKey;
    if (event.isComposing) return;
    if (control && !event.altKey && event.key.toLowerCase() === "z") {
      event.preventDefault();
      if (event.shiftKey) this.redo();
      else this.undo();
      return;
    }
    if (control && event.key.toLowerCase() === "y") {
      event.preventDefault();
      this.redo();
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (this.#selected !== null) {
      if (step && event.altKey && !event.shiftKey) this.move(step);
      else if (event.key === "Delete" || event.key === "Backspace") this.remove();
      else if (step && !event.shiftKey && !control && !event.altKey) {
        const at = this.#selected + (step > 0 ? 1 : 0);
        this.#selected = null;
        this.#caret = { at, offset: step > 0 ? 0 : this.#draft.glue[at].length };
        this.#show();
      } else return;
      event.preventDefault();
      return;
    }
    if (!step || event.altKey || control || event.shiftKey) return;
    this.#remember();
    const { at, offset } = this.#caret;
    if (!this.#collapsed || (step < 0 ? offset > 0 || at === 0 : offset < this.#draft.glue[at].length || at === this.#draft.quotes.length)) return;
    event.preventDefault();
    this.select(step < 0 ? at - 1 : at);
  }

  #input(event) {
    if (this.#composing || event.inputType === "insertCompositionText") {
      if (!this.#composing) this.#selected = null;
      return;
    }
    event.preventDefault();
    if (event.inputType === "historyUndo") this.undo();
    else if (event.inputType === "historyRedo") this.redo();
    else if (event.inputType.startsWith("insert")) this.#type(event);
    else if (event.inputType.startsWith("delete")) this.#delete(event);
  }

  #type(event) {
    if (/Paragraph|LineBreak/.test(event.inputType)) return;
    const given = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    const text = clean(given);
    if (!text) return;
    if (/[[\]]/.test(given)) this.#notify("Square brackets mark quotes, so they were replaced by round brackets.", true);
    const [from, to] = this.#target(event);
    this.#selected = null;
    const { draft, caret } = replace(this.#draft, from, to, text);
    this.#set(draft, caret, event.inputType === "insertText" && from.at === to.at);
  }

  #delete(event) {
    const [from, to] = this.#target(event);
    const forward = /Forward/.test(event.inputType);
    if (this.#collapsed && from.at !== to.at && this.#draft.glue[from.at].slice(from.offset).trim() === "" && this.#draft.glue[to.at].slice(0, to.offset).trim() === "" && to.at === from.at + 1) {
      this.select(from.at);
      return;
    }
    if (from.at === to.at && from.offset === to.offset) {
      if (!forward && from.offset === 0 && from.at > 0) this.select(from.at - 1);
      else if (forward && from.offset === this.#draft.glue[from.at].length && from.at < this.#draft.quotes.length) this.select(from.at);
      return;
    }
    const { draft, caret } = replace(this.#draft, from, to, "");
    this.#set(draft, caret, from.at === to.at);
  }

  get #collapsed() {
    return document.getSelection().isCollapsed;
  }

  // The start and end positions of an event.
  #target(event) {
    const range = event.getTargetRanges()[0];
    if (this.#selected !== null || !range) return [this.#caret, this.#caret];
    const found = [this.#at(range.startContainer, range.startOffset), this.#at(range.endContainer, range.endOffset)];
    return before(found[0], found[1]) ? found : found.reverse();
  }

  #copy(event) {
    const range = document.getSelection().getRangeAt(0);
    event.clipboardData.setData("text/plain", range.toString().replaceAll(BLANK, ""));
    event.preventDefault();
  }

  #point(event) {
    const chip = event.target.closest(".chip");
    if (!chip) {
      if (this.#selected !== null) {
        this.#selected = null;
        this.#show();
      }
      return;
    }
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    this.select(Number(chip.dataset.quote));
  }

  // The element and the caret

  #draw() {
    const nodes = [];
    const { glue, quotes } = this.#draft;
    const old = [...this.element.childNodes];
    glue.forEach((text, at) => {
      const reused = old[2 * at]?.nodeType === Node.TEXT_NODE ? old[2 * at] : document.createTextNode("");
      const shown = text || BLANK;
      if (reused.data !== shown) reused.data = shown;
      nodes.push(reused);
      if (at < quotes.length) nodes.push(this.#chip(quotes[at], at, old[2 * at + 1]));
    });
    if (nodes.length !== old.length || nodes.some((node, n) => node !== old[n])) this.element.replaceChildren(...nodes);
    this.element.classList.toggle("holds", this.#selected !== null);
    this.element.classList.toggle("blank", quotes.length === 0 && glue[0] === "");
    if (document.activeElement === this.element) this.#place();
  }

  #chip(quote, at, old) {
    const text = this.#textOf(quote);
    const key = JSON.stringify([quote, at]);
    const chip = old?.dataset?.key === key ? old : make("span", { class: `chip ${colour(quote.source)}`, contenteditable: "false", "data-quote": at, "data-key": key },
      make("bdi", {}, visible(text)), make("sup", {}, String(quote.source)));
    chip.classList.toggle("selected", this.#selected === at);
    return chip;
  }

  // The position in the draft of a point in the element.
  #at(node, offset) {
    const children = [...this.element.childNodes];
    if (node === this.element) {
      if (offset >= children.length) return end(this.#draft);
      return this.#at(children[offset], 0);
    }
    let child = node;
    while (child && child.parentNode !== this.element) child = child.parentNode;
    const place = children.indexOf(child);
    if (place < 0) return this.#caret;
    const at = children.slice(0, place).filter((each) => each.nodeType === Node.ELEMENT_NODE).length;
    if (child.nodeType !== Node.TEXT_NODE) return { at, offset: this.#draft.glue[at].length };
    return { at, offset: child.data.slice(0, offset).replaceAll(BLANK, "").length };
  }

  // Store the position of the caret.
  #remember() {
    const selection = document.getSelection();
    if (this.#selected === null && selection.focusNode && this.element.contains(selection.focusNode)) this.#caret = this.#at(selection.focusNode, selection.focusOffset);
  }

  // Track the caret when the selection changes.
  #follow() {
    if (document.activeElement === this.element && this.#selected === null && !this.#composing) this.#remember();
  }

  #place() {
    const node = this.element.childNodes[2 * this.#caret.at];
    if (!node || this.#composing) return;
    const offset = this.#draft.glue[this.#caret.at] ? this.#caret.offset : 1;
    const selection = document.getSelection();
    if (selection.isCollapsed && selection.focusNode === node && selection.focusOffset === offset) return;
    selection.collapse(node, Math.min(offset, node.data.length));
  }

  // Read the draft back from the element after the browser has edited it.
  #read() {
    const draft = { glue: [""], quotes: [] };
    const walk = (node) => {
      if (node.nodeType === Node.TEXT_NODE) draft.glue[draft.glue.length - 1] += clean(node.data);
      else if (node.dataset?.quote !== undefined) {
        draft.quotes.push(this.#draft.quotes[Number(node.dataset.quote)]);
        draft.glue.push("");
      } else node.childNodes.forEach(walk);
    };
    this.element.childNodes.forEach(walk);
    const selection = document.getSelection();
    const { focusNode, focusOffset } = selection;
    this.#draft = draft;
    if (focusNode && this.element.contains(focusNode)) this.#caret = this.#at(focusNode, focusOffset);
    this.#changed();
  }
}
