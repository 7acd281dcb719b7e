// Finds the tables in the text of a source. Offsets are code points.

import { count } from "./points.js";

const DELIMITERS = /^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$/;

// Returns [{start, end, rows}]; a row is {cells: [[start, end]], head}. A table has at least two rows,
// with the same number of cells.
export function tables(text, offset) {
  const found = [];
  let start = offset;
  let open = null;
  for (const line of text.split(/(?<=\n)/)) {
    const end = start + count(line);
    const cells = cellsOf(line, start);
    if (!cells || open?.rows[0].cells.length !== cells.length) {
      open = cells && { start, rows: [] };
      if (open) found.push(open);
    }
    if (open) {
      open.end = end;
      if (DELIMITERS.test(line.trimEnd())) {
        for (const row of open.rows) row.head = true;
      } else open.rows.push({ cells, head: false });
    }
    start = end;
  }
  return found.filter(({ rows }) => rows.length > 1);
}

// The places of the cells of a row such as "| a | b |" or "a | b"; null if a line is no row.
function cellsOf(line, start) {
  const raw = line.trim();
  const bounded = raw.length > 2 && raw.startsWith("|") && raw.endsWith("|");
  if (!bounded && !raw.includes(" | ")) return null;
  const cells = [];
  let at = line.indexOf(raw) + (bounded ? 1 : 0);
  const last = line.indexOf(raw) + raw.length - (bounded ? 1 : 0);
  for (const text of line.slice(at, last).split(/(?<!\\)\|/)) {
    const begin = at + (text.length - text.trimStart().length);
    cells.push([start + count(line.slice(0, begin)), start + count(line.slice(0, Math.max(begin, at + text.trimEnd().length)))]);
    at += text.length + 1;
  }
  return cells;
}
