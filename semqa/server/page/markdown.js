// An answer as Markdown: quotes in bold, each with a footnote that names its source.
// The same text as semqa.quotes.render.to_markdown; a test holds the two equal.

import { Points } from "./points.js";
import { noteOf } from "./verdict.js";

const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // as Python has it
const SPACES = new RegExp(`[${SPACE}]+`, "gu");
const EDGES = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const LINK = new RegExp(`^https?://[^${SPACE}<>]+$`, "u");
const LIST_ITEM = /^(\p{Nd}*)([.)+=-])/u;

const escape = (text) => text.replace(SPACES, " ").replace(/[\\`*_[\]<>#|~&!$]/g, "\\$&");

export function toMarkdown(answer) {
  const points = new Points(answer.plain);
  let body = "";
  let at = 0;
  for (const quote of answer.quotes) {
    body += escape(points.slice(at, quote.plain_start));
    const shown = escape(quote.text);
    const note = noteOf(quote);
    if (quote.status === "verified") body += `**${shown}**[^${quote.source}]${note ? ` *(${escape(note)})*` : ""}`;
    else body += `~~${shown}~~ *(${quote.status})*`;
    at = quote.plain_end;
  }
  body += escape(points.slice(at));
  const used = new Set(answer.quotes.filter((quote) => quote.status === "verified").map((quote) => quote.source));
  const notes = answer.sources
    .filter((source) => used.has(source.number))
    .sort((one, other) => one.number - other.number)
    .map(({ number, title, url }) => {
      const name = escape((title ?? "").replace(EDGES, "") || `Source ${number}`);
      return `[^${number}]: ${name}${url && LINK.test(url) ? ` <${url}>` : ""}`;
    });
  const text = body.replace(EDGES, "").replace(LIST_ITEM, "$1\\$2");
  return [text, ...(notes.length ? [notes.join("\n")] : [])].join("\n\n") + "\n";
}
