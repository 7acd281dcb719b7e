// Shows control characters, such as those that reorder text, as `<U+202E>`.
// The same set as semqa.quotes.render.safe.

const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text) {
  return String(text)
    .replaceAll("\r\n", "\n")
    .replace(UNSAFE, (each) => `<U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

// Shortens a text to one line of at most `length` characters.
export function short(text, length) {
  const line = Array.from(visible(String(text).slice(0, length * 8)).replace(/\s+/g, " ").trim());
  return line.length > length ? line.slice(0, length - 1).join("").trimEnd() + "…" : line.join("");
}
