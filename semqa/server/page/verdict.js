// What checking an answer showed, in words.

import { plural } from "./dom.js";

const WORDS = {
  misattributed: "stands in another source",
  fabricated: "stands in no source",
  malformed: "cannot be read",
};

export function noteOf(quote) {
  if (!quote.repaired) return "";
  return quote.repaired.source === quote.source ? "repaired" : `was [${quote.repaired.source}]`;
}

// Of one quote, for its preview and for those who listen.
export function outcome(quote) {
  if (quote.status !== "verified") return `Not verified: ${quote.reason || WORDS[quote.status]}`;
  const note = noteOf(quote);
  return note ? `Verified, ${note}` : "Verified, character for character";
}

// Of an answer: {kind, text}.
export function verdict(answer) {
  const total = answer.quotes.length;
  const good = answer.quotes.filter((quote) => quote.status === "verified").length;
  if (answer.abstained) return { kind: "none", text: "No source answers this. Nothing is quoted." };
  if (!total) return { kind: "none", text: "Nothing is quoted, so nothing can be checked." };
  if (good === total) return { kind: "good", text: `${plural(total, "quote")}, verified character for character` };
  return { kind: "poor", text: `${total - good} of ${plural(total, "quote")} not verified` };
}

// What else a reader should know of an answer, a sentence each.
export function remarks(answer) {
  const said = [];
  const repaired = answer.quotes.filter((quote) => quote.repaired).length;
  if (repaired) said.push(`${plural(repaired, "quote")} ${repaired === 1 ? "was" : "were"} written otherwise and made verbatim.`);
  const dropped = answer.dropped?.length ?? 0;
  if (dropped) said.push(`${plural(dropped, "mark")} ${dropped === 1 ? "was no quote and lost its" : "were no quotes and lost their"} brackets.`);
  if (answer.finished === false) said.push("The answer was cut off: its budget was spent.");
  return said;
}
