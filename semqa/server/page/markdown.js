// An answer as Markdown: quotes in bold, each with a footnote that names its source.
// The same text as semqa.quotes.render.to_markdown; a test holds the two equal.

import { parts } from "./parts.js";
import { SPACE, SPACES, noteOf, verdictText } from "./verdict.js";

const EDGES = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const LINK = new RegExp(`^https?://[^${SPACE}<>]+$`, "u");
const LIST_ITEM = /^(\p{Nd}*)([.)+=-])/u;

const escape = (text) => text.replace(SPACES, " ").replace(/[\\`*_[\]<>#|~&!$]/g, "\\$&");

export function toMarkdown(answer) {
  let body = "";
  for (const { kind, text, mark } of parts(answer)) {
    const shown = escape(text);
    if (kind === "dropped") body += `~~${shown}~~ *(dropped)*`;
    else if (kind !== "quote") body += shown;
    else if (mark.status === "verified") {
      const note = noteOf(mark);
      body += `**${shown}**[^${mark.source}]${note ? ` *(${escape(note)})*` : ""}`;
    } else body += `~~${shown}~~ *(${mark.status})*`;
  }
  const used = new Set(answer.quotes.filter((quote) => quote.status === "verified").map((quote) => quote.source));
  const notes = answer.sources
    .filter((source) => used.has(source.number))
    .sort((one, other) => one.number - other.number)
    .map(({ number, title, url }) => {
      const name = escape((title ?? "").replace(EDGES, "") || `Source ${number}`);
      return `[^${number}]: ${name}${url && LINK.test(url) ? ` <${url}>` : ""}`;
    });
  const text = body.replace(EDGES, "").replace(LIST_ITEM, "$1\\$2");
  const blocks = [text, `*${escape(verdictText(answer))}*`, notes.join("\n")];
  return blocks.filter((block) => block).join("\n\n") + "\n";
}
