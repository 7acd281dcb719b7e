// Splits an answer into quotes, dropped marks, claims and other text.
// The same as semqa.quotes.render.verdict.parts.

import { Points } from "./points.js";

// Yields {kind, text, mark, index}; `mark` is a quote with its `index`, or a dropped mark.
export function* parts(answer) {
  const points = new Points(answer.plain);
  const claims = answer.claims ?? [];
  let claim = 0;
  function* free(start, end) {
    let at = start;
    for (; claim < claims.length && claims[claim].plain_start < end; claim += 1) {
      const low = Math.max(at, claims[claim].plain_start);
      const high = Math.min(end, claims[claim].plain_end);
      if (low < high) {
        if (at < low) yield { kind: "text", text: points.slice(at, low) };
        yield { kind: "claim", text: points.slice(low, high) };
        at = high;
      }
      if (claims[claim].plain_end > end) break;
    }
    if (at < end) yield { kind: "text", text: points.slice(at, end) };
  }
  const marks = [
    ...(answer.dropped ?? []).map((mark) => ({ kind: "dropped", text: mark.text || `[${mark.source}]`, mark })),
    ...answer.quotes.map((mark, index) => ({ kind: "quote", text: mark.text, mark, index })),
  ].sort((one, other) => one.mark.plain_start - other.mark.plain_start);
  let at = 0;
  for (const part of marks) {
    yield* free(at, part.mark.plain_start);
    yield part;
    at = part.mark.plain_end;
  }
  yield* free(at, points.length);
}
