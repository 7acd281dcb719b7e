// Cuts a text at the ends of its marks, in code points.

// Marks are {start, end, …}. Each piece lists the marks that cover it; all pieces together are the text.
// Marks outside of the text are ignored.
export function pieces(points, marks) {
  const fitting = marks.filter((mark) => mark.start >= 0 && mark.start < mark.end && mark.end <= points.length);
  const borders = [...new Set([0, points.length, ...fitting.flatMap((mark) => [mark.start, mark.end])])];
  borders.sort((one, other) => one - other);
  const begin = new Map();
  for (const mark of fitting) begin.set(mark.start, [...(begin.get(mark.start) ?? []), mark]);
  const covering = new Set();
  const found = [];
  for (let at = 0; at + 1 < borders.length; at += 1) {
    const [start, end] = [borders[at], borders[at + 1]];
    for (const mark of covering) if (mark.end <= start) covering.delete(mark);
    for (const mark of begin.get(start) ?? []) covering.add(mark);
    found.push({ start, end, marks: [...covering] });
  }
  return found;
}
