// Draws the Markdown that models write. Quotes and dropped marks are opaque: mark-up around them is
// drawn, but their text is never read as mark-up. All other text becomes text nodes.

import { kindOf } from "./blocks.js";
import { make } from "./dom.js";

const MARK = "\ufffc"; // stands for a quote or a dropped mark
const DEEPEST = 12; // nesting of emphasis, and of lists and block quotes

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?=\S)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTED = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)(?:[-*•]|(0|[1-9]\d{0,8})[.)])[ \t]+(?=\S)/;
const DELIMITERS = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;
const TOKEN = /\\[!-/:-@[-`{-~]|`+|\*+|_+|!?\[([^[\]]*)\]\((https?:\/\/(?:[^\s()<>\ufffc]|\([^\s()<>\ufffc]*\))+)\)|https?:\/\/[^\s<>|\ufffc]+/giu;
const AFTER_URL = ".,;:!?'\"*_]";
const WORD = /[\p{L}\p{N}\ufffc]/u;
const DIGIT = /\p{N}/u;

const opaque = ({ kind }) => kind === "quote" || kind === "dropped";

// A piece of a line; each quote is one character of its `raw` text.
class Line {
  #starts = [];

  constructor(parts) {
    this.parts = parts;
    this.raw = "";
    for (const part of parts) {
      this.#starts.push(this.raw.length);
      this.raw += opaque(part) ? MARK : part.text.replaceAll(MARK, "\ufffd");
    }
  }

  slice(start, end = this.raw.length) {
    let [low, high] = [0, this.parts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] <= start) low = middle + 1;
      else high = middle;
    }
    const cut = [];
    for (let at = Math.max(0, low - 1); at < this.parts.length && this.#starts[at] < end; at += 1) {
      const part = this.parts[at];
      const text = opaque(part) ? part.text : part.text.slice(Math.max(0, start - this.#starts[at]), end - this.#starts[at]);
      if (start < end && (opaque(part) || text)) cut.push({ ...part, text });
    }
    return new Line(cut);
  }
}

function linesOf(parts) {
  const lines = [[]];
  for (const part of parts) {
    const [first, ...more] = opaque(part) ? [part.text] : part.text.split(/\r?\n/);
    lines.at(-1).push({ ...part, text: first });
    for (const text of more) lines.push([{ ...part, text }]);
  }
  return lines.map((line) => new Line(line.filter((part) => opaque(part) || part.text)));
}

// Returns a fragment with the elements of an answer. `draw(part, row)` returns nodes for one part; `row`
// is whether a quote is the row of a table; `top` is the highest level of its headings.
export function markup(parts, draw, top = topLevel(parts)) {
  return blocks(linesOf(parts), { draw, top, depth: 0 }, document.createDocumentFragment());
}

export const topLevel = (parts) => linesOf(parts).reduce((least, { raw }) => Math.min(least, HEADING.exec(raw)?.[1].length ?? 6), 6);

// Whether a text ends inside of fenced code.
export function endsInCode(parts) {
  let end = null;
  for (const { raw } of linesOf(parts)) {
    if (!end) end = FENCE.test(raw) ? endOf(FENCE.exec(raw)[1]) : null;
    else if (end.test(raw)) end = null;
  }
  return end !== null;
}

const endOf = (fence) => new RegExp(`^ {0,3}${fence[0]}{${fence.length},}[ \t]*$`);

function blocks(lines, way, into) {
  let at = 0;
  const take = (belongs) => {
    const first = at;
    while (at < lines.length && belongs(lines[at], at)) at += 1;
    return lines.slice(first, at);
  };
  const deeper = { ...way, depth: way.depth + 1 };
  while (at < lines.length) {
    const line = lines[at];
    const kind = kindAt(lines, at);
    if (kind === "blank") at += 1;
    else if (kind === "rule") {
      at += 1;
      into.append(make("hr"));
    } else if (kind === "heading") {
      at += 1;
      const [{ length }, { length: level }] = HEADING.exec(line.raw);
      into.append(inline(line.slice(length), way, make(`h${Math.max(3, Math.min(6, 3 + level - way.top))}`)));
    } else if (kind === "fence") {
      at += 1;
      const [, fence, name] = FENCE.exec(line.raw);
      const end = endOf(fence);
      const code = joined(take(({ raw }) => !end.test(raw)), shown, way, make("code"));
      at += 1;
      const label = name ? shown(line.slice(line.raw.lastIndexOf(name)), way, make("span", { class: "language" })) : "";
      into.append(make("pre", {}, label, code));
    } else if (kind.startsWith("row")) {
      const rows = make("div", { class: "table" });
      for (const { parts } of take((_, place) => kindAt(lines, place) === kind)) {
        for (const part of parts) if (opaque(part)) rows.append(way.draw(part, true));
      }
      into.append(make("div", { class: "written-table" }, rows)); // scrolls if it is wide
    } else if (kind === "table") {
      const first = at;
      into.append(table(take(({ raw }, place) => place < first + 2 || raw.includes("|")), way));
    } else if (kind === "quoted" && way.depth < DEEPEST) {
      const inner = take(({ raw }) => QUOTED.test(raw)).map((each) => each.slice(QUOTED.exec(each.raw)[0].length));
      into.append(blocks(inner, deeper, make("blockquote")));
    } else if (kind.endsWith("item") && way.depth < DEEPEST) {
      const [items, next] = itemsFrom(lines, at);
      at = next;
      const list = make(ITEM.exec(line.raw)[2] === undefined ? "ul" : "ol");
      for (const { number, inner } of items) {
        const item = blocks(inner, deeper, make("li", { value: number }));
        const text = item.firstChild;
        if (text?.nodeName === "P") {
          while (text.firstChild) text.before(text.firstChild);
          text.remove();
        }
        list.append(item);
      }
      into.append(list);
    } else {
      const first = at;
      // A number other than 1 may be part of a sentence.
      const text = take((_, place) => place === first || ["text", "later item"].includes(kindAt(lines, place)));
      into.append(joined(text, inline, way, make("p")));
    }
  }
  return into;
}

function kindAt(lines, at) {
  const { raw } = lines[at];
  if (!raw.trim()) return "blank";
  const row = rowOf(lines[at]);
  if (row && [lines[at - 1], lines[at + 1]].some((other) => other && rowOf(other) === row)) return `row ${row}`;
  if (FENCE.test(raw)) return "fence";
  if (HEADING.test(raw)) return "heading";
  if (RULE.test(raw)) return "rule";
  const under = lines[at + 1]?.raw.trim() ?? "";
  if (raw.includes("|") && under.includes("-") && DELIMITERS.test(under) && cellsOf(raw).length === cellsOf(under).length) return "table";
  if (QUOTED.test(raw)) return "quoted";
  const item = itemOf(lines[at]);
  if (item) return item[2] === undefined || item[2] === "1" ? "item" : "later item";
  return "text";
}

// The number of cells of a line that is one quoted row of a table; else 0.
const rowOf = ({ parts }) => Number(kindOf(parts).split(" ")[1] ?? 0);

function joined(lines, draw, way, into) {
  for (const [at, line] of lines.entries()) {
    if (at) into.append("\n");
    draw(line, way, into);
  }
  return into;
}

// The marker of a list item. A number that is a claim, as in "1985. The tower opened.", is text.
function itemOf(line) {
  const found = ITEM.exec(line.raw);
  return found && line.slice(0, found[0].length).parts.every(({ kind }) => kind !== "claim") ? found : null;
}

// The items of a list, each with its number and lines, and the index of the line after it.
function itemsFrom(lines, first) {
  const [, indent, number] = ITEM.exec(lines[first].raw);
  const items = [];
  const itemAt = (at) => {
    const found = at < lines.length ? itemOf(lines[at]) : null;
    return found && width(found[1]) <= width(indent) + 1 && (found[2] === undefined) === (number === undefined) ? found : null;
  };
  let at = first;
  for (let found = itemAt(at); found; found = itemAt(at)) {
    const inner = [lines[at].slice(found[0].length)];
    at += 1;
    // Indented lines belong to the item, also after an empty line.
    while (at < lines.length) {
      const next = lines[at].raw.trim() ? at : at + 1;
      const space = /^[ \t]*/.exec(lines[next]?.raw ?? "")[0];
      if (width(space) < width(indent) + 2 || !lines[next].raw.trim()) break;
      inner.push(...lines.slice(at, next), lines[next].slice(space.includes("\t") ? 1 : Math.min(found[0].length, space.length)));
      at = next + 1;
    }
    items.push({ number: found[2], inner });
    if (at < lines.length && !lines[at].raw.trim() && itemAt(at + 1)) at += 1;
  }
  return [items, at];
}

const width = (space) => space.replaceAll("\t", "    ").length;

// The start and end of each cell of a row.
function cellsOf(raw) {
  const first = raw.length - raw.trimStart().length;
  const end = raw.trimEnd().length;
  const borders = [...raw.matchAll(/\\[^]|\|/g)].filter(([found]) => found === "|").map(({ index }) => index);
  if (borders[0] !== first) borders.unshift(first - 1);
  if (borders.at(-1) !== end - 1 || borders.length < 2) borders.push(end);
  return borders.slice(1).map((border, at) => [borders[at] + 1, border]);
}

function table([head, , ...rows], way) {
  const row = (line, tag, given) => {
    const made = make("tr");
    for (const [start, end] of cellsOf(line.raw)) made.append(inline(line.slice(start, end), way, make(tag, given)));
    return made;
  };
  const body = make("tbody");
  for (const line of rows) body.append(row(line, "td"));
  return make("div", { class: "written-table" }, make("table", {}, make("thead", {}, row(head, "th", { scope: "col" })), body));
}

function shown(line, way, into) {
  for (const part of line.parts) into.append(way.draw(part, false));
  return into;
}

// Draws a line with emphasis, code and links.
function inline(line, way, into) {
  const found = [...tokens(line.raw)].filter(({ kind }) => kind !== "link" || !way.linked);
  const open = [into];
  let at = 0;
  for (const { start, end, kind, ...more } of emphasis(line.raw, found)) {
    shown(line.slice(at, start), way, open.at(-1));
    at = end;
    if (kind === "code") open.at(-1).append(shown(line.slice(more.from, more.to), way, make("code")));
    else if (kind === "link") link(line.slice(more.from, more.to), more.href, way, open.at(-1));
    else if (kind === "close") open.pop();
    else if (kind !== "escape") {
      open.push(make(kind));
      open.at(-2).append(open.at(-1));
    }
  }
  shown(line.slice(at), way, into);
  return into;
}

// A link names its host, because its text may name another. A quote is a link itself, so the link follows
// a text with quotes.
function link(label, href, way, into) {
  const url = new URL(href);
  const anchor = make("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", title: url.href });
  const around = label.raw.includes(MARK);
  if (label.raw === href) shown(label, way, anchor);
  else inline(label, { ...way, linked: true }, around ? into : anchor);
  if (around) into.append(" ");
  if (label.raw.replace(/^https?:\/\//i, "").split(/[/?#]/)[0] !== url.host) anchor.append(make("span", { class: "host" }, `${anchor.hasChildNodes() ? " " : ""}(${url.host})`));
  into.append(anchor);
}

// Escapes, code, links and runs of * or _, in order.
function* tokens(raw) {
  const unclosed = new Set(); // lengths of runs of backticks
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(raw); found; found = TOKEN.exec(raw)) {
    const [text, label, href] = found;
    const start = found.index;
    let end = start + text.length;
    if (text[0] === "\\") yield { kind: "escape", start, end: start + 1 };
    else if (text[0] === "`") {
      const close = unclosed.has(text.length) ? -1 : closing(raw, text, end);
      if (close < 0) unclosed.add(text.length);
      else {
        yield { kind: "code", start, end: close + text.length, from: end, to: close };
        end = close + text.length;
      }
    } else if (href) {
      const from = start + text.indexOf("[") + 1;
      if (URL.canParse(href)) yield { kind: "link", start, end, from, to: from + label.length, href };
    } else if (/^h/i.test(text)) {
      const ends = text.includes("(") ? AFTER_URL : `${AFTER_URL})`;
      while (ends.includes(raw[end - 1])) end -= 1;
      const bare = raw.slice(start, end);
      if (URL.canParse(bare)) yield { kind: "link", start, end, from: start, to: end, href: bare };
    } else yield { kind: "run", start, end };
    TOKEN.lastIndex = end;
  }
}

// Where the next run of exactly these backticks is; -1 if there is none.
function closing(raw, run, from) {
  for (let at = raw.indexOf(run, from); at >= 0; at = raw.indexOf(run, at)) {
    let end = at + run.length;
    while (raw[end] === "`") end += 1;
    if (end - at === run.length) return at;
    at = end;
  }
  return -1;
}

// Pairs the runs of * and _, much as CommonMark does. Returns the tokens in order, with the beginnings
// and ends of emphasis instead of the runs; runs without a partner are text.
function emphasis(raw, found) {
  const events = found.filter(({ kind }) => kind !== "run");
  const stack = [];
  const waiting = { "*": 0, _: 0 }; // number of runs on the stack
  for (const { kind, start, end } of found) {
    if (kind !== "run" || end - start > 3) continue;
    const run = { char: raw[start], start, end };
    const [before, after] = [raw[start - 1] ?? " ", raw[end] ?? " "];
    const inside = run.char === "_" ? WORD : DIGIT; // snake_case, 2*3*4
    if (inside.test(before) && inside.test(after)) continue;
    while (/\S/.test(before) && waiting[run.char] && run.start < run.end) {
      while (stack.at(-1).char !== run.char) waiting[stack.pop().char] -= 1;
      const opener = stack.at(-1);
      const length = Math.min(2, opener.end - opener.start, run.end - run.start);
      events.push({ kind: length === 2 ? "strong" : "em", start: opener.end - length, end: opener.end });
      events.push({ kind: "close", start: run.start, end: run.start + length });
      opener.end -= length;
      run.start += length;
      if (opener.start === opener.end) waiting[stack.pop().char] -= 1;
    }
    if (run.start < run.end && /\S/.test(after) && stack.length < DEEPEST) {
      stack.push(run);
      waiting[run.char] += 1;
    }
  }
  return events.sort((one, other) => one.start - other.start);
}
