// Draws the parts of a stage, one function per kind of part. Text is never interpreted as HTML.

import { make } from "../dom.js";
import { pieces as cut } from "../pieces.js";
import { Points } from "../points.js";
import { visible } from "../visible.js";
import { words } from "./marks.js";
import { searchable } from "./search.js";

const COLOURS = 7;
const LINK = /^https?:\/\//i;
export const colour = (number) => `c${(number - 1) % COLOURS}`;

export const numberChip = (number) => make("span", { class: `number ${colour(number)}` }, String(number));

const body = (text) => make("p", { class: "prose", dir: "auto" }, visible(text));

function block(part, ...children) {
  return make("section", { id: part.id ? `part-${part.id}` : null, class: `part part-${part.kind}${part.main ? " major" : ""}` }, make("h2", {}, visible(part.label ?? "")), ...children);
}

const DRAW = {
  text(part) {
    const title = part.title ? make("h3", { dir: "auto" }, visible(part.title)) : null;
    let text = [body(part.text)];
    if (part.words) text = [make("p", { class: "prose", dir: "auto", "data-part": part.id }, ...words(part.text))];
    else if (part.search) text = searchable(part.text, part.label);
    return block(part, title, ...text, address(part.url));
  },

  // The sentences of a text, with the current one highlighted.
  sentences(part) {
    const drawn = part.sentences.flatMap((sentence, at) => {
      const number = make("sup", { class: "place" }, String(at + 1));
      const here = at === part.at;
      return [make(here ? "mark" : "span", { class: here ? "focus" : null, "aria-current": here ? "true" : null }, number, visible(sentence)), " "];
    });
    return block({ ...part, main: true }, make("p", { class: "prose", dir: "auto" }, ...drawn));
  },

  turns(part) {
    const turns = part.turns.map((turn) => {
      const { speaker = "", text } = typeof turn === "string" ? { text: turn } : turn;
      return make("li", {}, speaker ? make("b", { dir: "auto" }, visible(speaker)) : null, body(text));
    });
    return block(part, make("ol", { class: "turns" }, ...turns));
  },

  table(part) {
    const rows = part.rows.map((row) =>
      make("tr", {}, ...row.map((given) => {
        const cell = typeof given === "string" ? { text: given } : given;
        const held = visible(cell.text ?? "");
        return make(cell.header ? "th" : "td", { class: cell.highlighted ? "lit" : null, dir: "auto", colspan: cell.colspan, rowspan: cell.rowspan },
          cell.highlighted ? make("mark", {}, held) : held);
      })),
    );
    const titles = [part.title, part.section].filter(Boolean).map(visible).join(" — ");
    const table = make("table", {}, titles ? make("caption", { dir: "auto" }, titles) : null, make("tbody", {}, ...rows));
    return block(part, make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, table));
  },

  answer(part) {
    const empty = !part.pieces.some((piece) => piece.cite || piece.text.trim());
    if (empty) return block({ ...part, main: true }, make("p", { class: "hint" }, "This answer is empty."));
    const drawn = part.pieces.flatMap((piece) => {
      if (piece.cite) return [numberChip(piece.cite)];
      if (!piece.source) return [visible(piece.text)];
      return [make("mark", { class: `${colour(piece.source)} quoted`, title: `Source ${piece.source}` }, make("bdi", {}, visible(piece.text)), make("sup", {}, String(piece.source)))];
    });
    return block({ ...part, main: true }, make("p", { class: "prose", dir: "auto" }, ...drawn));
  },

  sources(part) {
    const cards = part.sources.map((source) => {
      const text = marked(source.text, source.marks, source.number);
      const title = source.title ? make("bdi", {}, ...marked(source.title, source.title_marks, source.number)) : null;
      return make("li", {}, make("h3", {}, numberChip(source.number), title), make("p", { class: "prose", dir: "auto" }, ...text), address(source.url));
    });
    return block(part, make("ol", { class: "cards" }, ...cards));
  },
};

// A text with its quoted spans marked; spans are [start, end] in code points.
function marked(text, places = [], number = 1) {
  const points = new Points(text);
  return cut(points, places.map(([start, end]) => ({ start, end }))).map(({ start, end, marks }) => {
    const held = visible(points.slice(start, end));
    return marks.length ? make("mark", { class: colour(number) }, held) : held;
  });
}

export function address(url) {
  if (!url || !LINK.test(url)) return null;
  return make("p", { class: "hint address" }, visible(url));
}

export const drawPart = (part) => DRAW[part.kind](part);
