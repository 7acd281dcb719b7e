// The server counts in Unicode code points, JavaScript in UTF-16 units.
// `Points` slices a text by code points.

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

export class Points {
  #wide = [];

  constructor(text) {
    this.text = text;
    // Positions of surrogate pairs, in code points.
    for (const match of text.matchAll(PAIR)) this.#wide.push(match.index - this.#wide.length);
    this.length = text.length - this.#wide.length;
  }

  // The UTF-16 offset of a code point.
  at(point) {
    let low = 0;
    let high = this.#wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#wide[middle] < point) low = middle + 1;
      else high = middle;
    }
    return point + low;
  }

  slice(start, end = this.length) {
    return this.text.slice(this.at(Math.max(0, start)), this.at(Math.min(this.length, end)));
  }
}

// Texts are cut between words if there is a space within this many characters.
const NEAR = 40;

// The last end of a word at or before a point.
export function endOfWord(points, point) {
  if (point <= 0 || point >= points.length) return point;
  const near = Array.from(points.slice(point - NEAR, point));
  const space = near.findLastIndex((each) => /\s/.test(each));
  return space < 0 ? point : point - near.length + space;
}

// The first start of a word at or after a point.
export function startOfWord(points, point) {
  if (point <= 0 || point >= points.length) return point;
  const space = Array.from(points.slice(point - 1, point + NEAR)).findIndex((each) => /\s/.test(each));
  return space < 0 ? point : point + space;
}

// The number of code points of a text.
export function count(text) {
  let pairs = 0;
  for (const _ of text.matchAll(PAIR)) pairs += 1;
  return text.length - pairs;
}
