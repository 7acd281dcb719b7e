// An answer that is being written: free text ("glue") between quotes. There is always one more glue text
// than quotes, and it may be empty. A quote is {source, field, start, end}, in code points of its passage.
// Functions return a new draft and never change the old one, so that any of them can be undone.
//
// A place in the draft is {at, offset}: the glue text, and a UTF-16 offset in it.

const WORD = /[\p{L}\p{N}]/u;

export const empty = () => ({ glue: [""], quotes: [] });

// From what the server keeps: strings and quotes.
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

// Whatever was typed or pasted, as glue can hold it: no line breaks, no square brackets.
export const clean = (text) => text.replace(/[\u200b\r]/g, "").replace(/[\n\t]+/g, " ").replaceAll("[", "(").replaceAll("]", ")");

// Put text in place of what is between two places; quotes between them go.
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

// Move a quote over the word, or the quote, that stands beside it. Returns where it is then.
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

// What stands between spaces and has a letter or a digit, as the server counts.
export const countWords = (text) => text.split(/\s+/u).filter((word) => WORD.test(word)).length;

export const words = (draft, textOf) =>
  draft.glue.reduce((sum, text) => sum + countWords(text), 0) + draft.quotes.reduce((sum, quote) => sum + countWords(textOf(quote)), 0);

const SOON = 1000;

// What was, and what was undone. Typing is undone by the burst.
export class History {
  #past = [];
  #future = [];
  #typed = -Infinity;

  // Note what was there before a change.
  keep(state, typing = false) {
    const now = performance.now();
    if (!typing || now - this.#typed > SOON) this.#past.push(state);
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
