// Groups an answer into paragraphs, lists and tables. The same as semqa.quotes.render.blocks.

const ITEM = "- ";

// Returns [{kind, lines}]; `kind` is "text", "list" or "table", a line is an array of parts.
export function blocks(parts) {
  const found = [];
  let before = "";
  for (const line of linesOf(parts)) {
    const kind = kindOf(line);
    if (kind === before) found.at(-1).lines.push(line);
    else found.push({ kind: kind.split(" ")[0], lines: [line] });
    before = kind;
  }
  for (const block of found) {
    if (block.kind === "table" && block.lines.length < 2) block.kind = "text"; // a single row is not a table
    if (block.kind === "list") for (const [first] of block.lines) first.text = first.text.slice(ITEM.length);
  }
  return found;
}

// A row such as "| a | b |" without its outer bars.
export const unframed = (text) => text.trim().replace(/^\|(.*)\|$/s, "$1").trim();

export const cells = (quote) => unframed(quote.text).split("|").map((cell) => cell.trim());

function* linesOf(parts) {
  let line = [];
  for (const part of parts) {
    if (part.kind !== "text") {
      line.push(part);
      continue;
    }
    const [first, ...more] = part.text.split("\n");
    line.push({ kind: "text", text: first });
    for (const text of more) {
      yield line;
      line = [{ kind: "text", text }];
    }
  }
  yield line;
}

export function kindOf(line) {
  const shown = line.filter((part) => part.kind !== "text" || part.text.trim());
  const [only] = shown;
  if (shown.length === 1 && only.kind === "quote" && only.mark.status === "verified" && only.text.includes("|")) {
    return `table ${cells(only.mark).length}`;
  }
  return line[0]?.kind === "text" && line[0].text.startsWith(ITEM) ? "list" : "text";
}
