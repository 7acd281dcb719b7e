// The draft of an answer: free text ("glue") between quotes. There is one more piece of glue than there
// are quotes, and a piece may be empty. A quote is {source, field, start, end}, in code points of its
// passage. Drafts are immutable, so that each change can be undone.
//
// A position in the draft is {at, offset}: the index of a piece of glue, and a UTF-16 offset in it.

const WORD = /[\p{L}\p{N}]/u;

export const empty = () => ({ glue: [""], quotes: [] });

// Convert from the pieces of the server: strings and quotes.
export function fromPieces(pieces) {
  const draft = empty();
  for (const piece of pieces) {
    const last = draft.glue.length - 1;
    if (typeof piece === "string") draft.glue[last] = draft.glue[last] ? `${draft.glue[last]} ${piece}` : piece;
    else {
      draft.quotes.push(piece);
      draft.glue.push("");
    }
  }
  return draft;
}

export function toPieces({ glue, quotes }) {
  return glue.flatMap((text, at) => [text.replace(/\s+/gu, " ").trim(), quotes[at]]).filter(Boolean);
}

export const end = (draft) => ({ at: draft.glue.length - 1, offset: draft.glue.at(-1).length });

export const before = (one, other) => one.at < other.at || (one.at === other.at && one.offset <= other.offset);

// Clean typed or pasted text: no line breaks, no square brackets.
export const clean = (text) => text.replace(/[\u200b\r]/g, "").replace(/[\n\t]+/g, " ").replaceAll("[", "(").replaceAll("]", ")");

// Replace the content between two positions with text; quotes between them are removed.
export function replace(draft, from, to, text) {
  const start = draft.glue[from.at].slice(0, from.offset) + text;
  const glue = [...draft.glue.slice(0, from.at), start + draft.glue[to.at].slice(to.offset), ...draft.glue.slice(to.at + 1)];
  const quotes = [...draft.quotes.slice(0, from.at), ...draft.quotes.slice(to.at)];
  return { draft: { glue, quotes }, caret: { at: from.at, offset: start.length } };
}

export function insertQuote(draft, { at, offset }, quote) {
  const text = draft.glue[at];
  const glue = [...draft.glue.slice(0, at), text.slice(0, offset).trimEnd(), text.slice(offset).trimStart(), ...draft.glue.slice(at + 1)];
  const quotes = [...draft.quotes.slice(0, at), quote, ...draft.quotes.slice(at)];
  return { draft: { glue, quotes }, caret: { at: at + 1, offset: 0 } };
}

export function removeQuote(draft, number) {
  const [left, right] = [draft.glue[number], draft.glue[number + 1]];
  const gap = left && right && !/\s$/u.test(left) && !/^[\s.,;:!?)]/u.test(right) ? " " : "";
  const glue = [...draft.glue.slice(0, number), left + gap + right, ...draft.glue.slice(number + 2)];
  return { draft: { glue, quotes: draft.quotes.filter((_, n) => n !== number) }, caret: { at: number, offset: left.length } };
}

export function changeQuote(draft, number, quote) {
  return { ...draft, quotes: draft.quotes.map((each, n) => (n === number ? quote : each)) };
}

// Move a quote past the adjacent word or quote. Returns the new draft and index.
export function moveQuote(draft, number, step) {
  const glue = [...draft.glue];
  const quotes = [...draft.quotes];
  if (step < 0) {
    const match = /^(.*?)(\S+)\s*$/su.exec(glue[number]);
    if (match) {
      glue[number] = match[1].trimEnd();
      glue[number + 1] = `${match[2]} ${glue[number + 1].trimStart()}`.trimEnd();
      return { draft: { glue, quotes }, number };
    }
  } else {
    const match = /^\s*(\S+)(.*)$/su.exec(glue[number + 1]);
    if (match) {
      glue[number + 1] = match[2].trimStart();
      glue[number] = `${glue[number].trimEnd()} ${match[1]}`.trimStart();
      return { draft: { glue, quotes }, number };
    }
  }
  const other = number + step;
  if (other < 0 || other >= quotes.length) return { draft, number };
  [quotes[number], quotes[other]] = [quotes[other], quotes[number]];
  return { draft: { glue, quotes }, number: other };
}

// Count whitespace-separated tokens with a letter or a digit, like the server.
export const countWords = (text) => text.split(/\s+/u).filter((word) => WORD.test(word)).length;

export const words = (draft, textOf) =>
  draft.glue.reduce((sum, text) => sum + countWords(text), 0) + draft.quotes.reduce((sum, quote) => sum + countWords(textOf(quote)), 0);

const TYPING_PAUSE = 1000;

// Undo history. Continuous typing is undone in one step.
export class History {
  #past = [];
  #future = [];
  #typed = -Infinity;

  // Record the state before a change.
  keep(state, typing = false) {
    const now = performance.now();
    if (!typing || now - this.#typed > TYPING_PAUSE) this.#past.push(state);
    this.#typed = typing ? now : -Infinity;
    this.#future = [];
    if (this.#past.length > 500) this.#past.shift();
  }

  undo(state) {
    return this.#step(this.#past, this.#future, state);
  }

  redo(state) {
    return this.#step(this.#future, this.#past, state);
  }

  #step(from, to, state) {
    const found = from.pop();
    if (!found) return null;
    to.push(state);
    this.#typed = -Infinity;
    return found;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }
}
