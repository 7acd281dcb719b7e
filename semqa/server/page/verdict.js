// The verdict of an answer in words.

import { short } from "./visible.js";

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // the same characters as in Python
export const SPACES = new RegExp(`[${SPACE}]+`, "gu");

const WORDS = {
  misattributed: "it is in another source",
  fabricated: "it is in none of the sources",
  malformed: "its mark is malformed",
};

export function noteOf(quote) {
  const notes = [];
  if (quote.repaired) notes.push(quote.repaired.source === quote.source ? "repaired" : `was [${quote.repaired.source}]`);
  if (quote.cut) notes.push("cut");
  return notes.join(", ");
}

// The verdict of one quote, for its preview and for screen readers.
export function outcome(quote) {
  if (quote.nearest) return "Close to the question, but no answer";
  if (quote.status !== "verified") return `Not verified: ${quote.reason || WORDS[quote.status]}`;
  const relevance = quote.relevance ?? null;
  const suffix = relevance === null ? "" : `. Relevance: ${percent(relevance)}`;
  if (quote.cut) return `Verified, but it cuts a word of its source${suffix}`;
  return `Verified, ${noteOf(quote) || "character for character"}${suffix}`;
}

// Whether the quotes may not answer the question.
const isDoubtful = ({ relevance = null, answerable = null }) =>
  (answerable !== null && answerable < DOUBTFUL) || (relevance !== null && relevance < LOW);

// Whether an answer has a tick, the same as semqa.quotes.render.common.has_tick.
export const hasTick = ({ verdict, quotes, relevance, answerable, unanswered = [] }) =>
  verdict === "quoted" && !isDoubtful({ relevance, answerable }) && !unanswered.length && !quotes.some((quote) => quote.cut);

const percent = (share) => `${Math.floor(100 * share + 0.5)}%`;

const STATUSES = ["verified", "misattributed", "fabricated", "malformed"];
const MOST_CLAIMS = 5;
const LOW = 0.5;
const DOUBTFUL = 0.75;

// The verdict of an answer, the same as semqa.quotes.render.verdict_text; a test compares both.
export function verdictText({ verdict, quotes, dropped = [], claims = [], relevance = null, answerable = null, unanswered = [] }) {
  if (verdict === "abstained") return "No answer, so nothing to check.";
  const total = quotes.length + dropped.length;
  if (!total) return "! Nothing is quoted, so nothing can be checked.";
  const noun = total === 1 ? "quote" : "quotes";
  const sentences = [];
  if (verdict === "unverified") {
    const counts = STATUSES.map((status) => [quotes.filter((quote) => quote.status === status).length, status]);
    const named = [...counts, [dropped.length, "dropped"]].filter(([count]) => count).map((each) => each.join(" "));
    sentences.push(`✗ ${total} ${noun}: ${named.join(", ")}.`);
  } else sentences.push(`${hasTick({ verdict, quotes, relevance, answerable, unanswered }) ? "✓" : "!"} ${total} ${noun}, verified character for character.`);
  const repaired = quotes.filter((quote) => quote.repaired).length;
  if (repaired) sentences.push(`${repaired} ${repaired === 1 ? "was" : "were"} repaired.`);
  const cut = quotes.filter((quote) => quote.cut).length;
  if (cut) sentences.push(`${cut} ${cut === 1 ? "cuts a word" : "cut words"} of the source.`);
  if (claims.length) {
    const named = claims.slice(0, MOST_CLAIMS).map((claim) => `“${claim.text.replace(SPACES, " ")}”`);
    const more = claims.length - MOST_CLAIMS;
    sentences.push(`Not quoted: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`);
  } else if (verdict === "unquoted") sentences.push("No quote has a content word.");
  if (relevance !== null) {
    const doubt = relevance < LOW ? "; it may not answer the question" : ", but the sources may lack the answer";
    sentences.push(`Relevance: ${percent(relevance)}${isDoubtful({ relevance, answerable }) ? doubt : ""}.`);
  }
  const missing = unanswered.map((part) => `“${part.trim().replace(SPACES, " ")}”`);
  if (missing.length) sentences.push(`Not found in the sources: ${missing.join(", ")}.`);
  return sentences.join(" ");
}

// The same without the sign, which the page shows as an icon.
export const verdictWords = (answer) => verdictText(answer).replace(/^[✓✗!] /, "");

// An explanation of the verdict for new readers.
export function meaning({ verdict, quotes, claims = [] }) {
  if (quotes.some((quote) => quote.cut)) return "A quote marked “cut” begins or ends inside a word or number of its source, so it may say something else.";
  if (verdict === "quoted") return "Only the wording is checked: every quote is in its source, word for word. Whether it is true and answers the question is for you to judge.";
  if (verdict === "unverified") return "Text marked in red was presented as a quote, but is not in the cited source.";
  if (verdict === "unquoted" && claims.length) return "Text with a dotted underline is not quoted and was not checked.";
  return "";
}

// Further remarks about an answer, one sentence each.
export function remarks(answer) {
  const sentences = (answer.dropped ?? []).map((mark) => `“${short(mark.text || `[${mark.source}]`, 80)}” is not a quote: ${mark.reason}.`);
  if (answer.finished === false) sentences.push("The answer was cut off.");
  return sentences;
}
