// An answer as Markdown: quotes in bold, each with a footnote that names its source.
// The same as semqa.quotes.render.to_markdown; a test compares both.

import { blocks, cells } from "./blocks.js";
import { parts } from "./parts.js";
import { SPACE, SPACES, noteOf, verdictText } from "./verdict.js";

const EDGES = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const LINK = new RegExp(`^https?://[^${SPACE}<>]+$`, "u");
const LIST_ITEM = /^(\p{Nd}*)([.)+=-])/u;

const escape = (text) => text.replace(SPACES, " ").replace(/[\\`*_[\]<>#|~&!$]/g, "\\$&");

export function toMarkdown(answer) {
  const body = blocks(parts(answer)).map(block);
  const used = new Set(answer.quotes.filter((quote) => quote.status === "verified").map((quote) => quote.source));
  const notes = answer.sources
    .filter((source) => used.has(source.number))
    .sort((one, other) => one.number - other.number)
    .map(({ number, title, url }) => {
      const name = escape((title ?? "").replace(EDGES, "") || `Source ${number}`);
      return `[^${number}]: ${name}${url && LINK.test(url) ? ` <${url}>` : ""}`;
    });
  return [...body, `*${escape(verdictText(answer))}*`, notes.join("\n")].filter((each) => each).join("\n\n") + "\n";
}

function block({ kind, lines }) {
  if (kind === "list") return lines.map((parts) => `- ${line(parts)}`).join("\n");
  if (kind === "text") return lines.map(line).filter((each) => each).join("\n\n");
  const quotes = lines.flat().filter((part) => part.kind === "quote");
  const rows = quotes.map(({ mark }) => [...cells(mark).map((cell) => (cell ? `**${escape(cell)}**` : "")), footnote(mark)]);
  rows.splice(1, 0, rows[0].map(() => "---"));
  return rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const line = (parts) => parts.map(shown).join("").replace(EDGES, "").replace(LIST_ITEM, "$1\\$2");

function shown({ kind, text, mark }) {
  const escaped = escape(text);
  if (kind === "dropped") return `~~${escaped}~~ *(dropped)*`;
  if (kind !== "quote") return escaped;
  if (mark.status === "verified") return `**${escaped}**${footnote(mark)}`;
  return `~~${escaped}~~ *(${mark.status})*`;
}

function footnote(mark) {
  const note = noteOf(mark);
  return `[^${mark.source}]${note ? ` *(${escape(note)})*` : ""}`;
}
