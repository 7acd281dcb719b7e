// What checking an answer showed, in words.

import { short } from "./visible.js";

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // as Python has it
export const SPACES = new RegExp(`[${SPACE}]+`, "gu");

const WORDS = {
  misattributed: "stands in another source",
  fabricated: "stands in no source",
  malformed: "cannot be read",
};

export function noteOf(quote) {
  const notes = [];
  if (quote.repaired) notes.push(quote.repaired.source === quote.source ? "repaired" : `was [${quote.repaired.source}]`);
  if (quote.cut) notes.push("cut");
  return notes.join(", ");
}

// Of one quote, for its preview and for those who listen.
export function outcome(quote) {
  if (quote.status !== "verified") return `Not verified: ${quote.reason || WORDS[quote.status]}`;
  const relevance = quote.relevance ?? null;
  const told = relevance === null ? "" : `. Relevance: ${percent(relevance)}`;
  if (quote.cut) return `Verified, but it cuts a word of its source${told}`;
  return `Verified, ${noteOf(quote) || "character for character"}${told}`;
}

export const isLow = ({ relevance = null }) => relevance !== null && relevance < LOW;

export const percent = (share) => `${Math.floor(100 * share + 0.5)}%`;

const STATUSES = ["verified", "misattributed", "fabricated", "malformed"];
const MOST_CLAIMS = 5;
const LOW = 0.2;

// Of an answer, the same words as semqa.quotes.render.verdict.verdict_text; a test holds the two equal.
export function verdictText({ verdict, quotes, dropped = [], claims = [], relevance = null, unanswered = [] }) {
  if (verdict === "abstained") return "No answer, so nothing to check.";
  const total = quotes.length + dropped.length;
  if (!total) return "! Nothing is quoted, so nothing can be checked.";
  const noun = total === 1 ? "quote" : "quotes";
  const said = [];
  if (verdict === "unverified") {
    const counts = STATUSES.map((status) => [quotes.filter((quote) => quote.status === status).length, status]);
    const told = [...counts, [dropped.length, "dropped"]].filter(([count]) => count).map((each) => each.join(" "));
    said.push(`✗ ${total} ${noun}: ${told.join(", ")}.`);
  } else said.push(`${verdict === "quoted" && !isLow({ relevance }) ? "✓" : "!"} ${total} ${noun}, verified character for character.`);
  const repaired = quotes.filter((quote) => quote.repaired).length;
  if (repaired) said.push(`${repaired} ${repaired === 1 ? "was" : "were"} repaired.`);
  const cut = quotes.filter((quote) => quote.cut).length;
  if (cut) said.push(`${cut} ${cut === 1 ? "cuts a word" : "cut words"} of the source.`);
  if (claims.length) {
    const named = claims.slice(0, MOST_CLAIMS).map((claim) => `“${claim.text.replace(SPACES, " ")}”`);
    const more = claims.length - MOST_CLAIMS;
    said.push(`Not quoted: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`);
  }
  if (relevance !== null) said.push(`Relevance: ${percent(relevance)}${isLow({ relevance }) ? "; see whether it answers the question" : ""}.`);
  for (const part of unanswered) said.push(`Nothing found for: “${part.trim().replace(SPACES, " ")}”.`);
  return said.join(" ");
}

// The same without its sign, which an icon stands for.
export const verdictWords = (answer) => verdictText(answer).replace(/^[✓✗!] /, "");

// What the verdict means, for a reader who does not know how answers are checked.
export function meaning({ verdict, claims = [] }) {
  if (verdict === "quoted") return "Checked: every quote is in its source, word for word. Not checked: whether the answer is right.";
  if (verdict === "unverified") return "Words marked in red were presented as quotes and are not in the source they name.";
  if (verdict === "unquoted" && claims.length) return "Words with dots underneath are not in a quote. Nothing was checked about them.";
  return "";
}

// What else a reader should know of an answer, a sentence each.
export function remarks(answer) {
  const said = (answer.dropped ?? []).map((mark) => `“${short(mark.text || `[${mark.source}]`, 80)}” is not a quote: ${mark.reason}.`);
  if (answer.finished === false) said.push("The answer was cut off.");
  return said;
}
