// Marking spans of a text, word by word: with the mouse, by tapping the first and the last word, or with
// the keyboard. Offsets are in code points, as on the server.

import { announce, make } from "../dom.js";
import { Points } from "../points.js";
import { visible } from "../visible.js";

const WORD = /\S+/g;
const SENTENCE_END = /[.!?]["'”’)\]]*$/;

// The words of a text as elements, with the text between them.
export function words(text) {
  const drawn = [];
  let at = 0;
  let points = 0;
  for (const match of text.matchAll(WORD)) {
    const between = text.slice(at, match.index);
    points += new Points(between).length;
    const length = new Points(match[0]).length;
    drawn.push(make("span", {}, visible(between)), make("span", { class: "word", "data-start": points, "data-end": points + length }, visible(match[0])));
    points += length;
    at = match.index + match[0].length;
  }
  drawn.push(visible(text.slice(at)));
  return drawn;
}

// Sort spans, and merge those that touch or overlap.
function merged(spans) {
  const found = [];
  for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
}

// Make a text markable. `get` returns its spans, `set` replaces them.
export function markable(place, name, { get, set }) {
  const all = [...place.querySelectorAll(".word")];
  const range = (word) => [Number(word.dataset.start), Number(word.dataset.end)];
  let cursor = 0;
  let anchor = null;
  let dragged = false;

  place.tabIndex = 0;
  place.setAttribute("role", "application");
  place.setAttribute("aria-label", `${name}: text to mark. Arrow keys move by word and by sentence, Space starts and ends a mark, Delete removes it, Tab leaves the text.`);
  place.classList.add("markable");

  const between = (one, other) => [range(all[Math.min(one, other)])[0], range(all[Math.max(one, other)])[1]];
  const over = (spans, word) => spans.some(([start, end]) => start < range(word)[1] && range(word)[0] < end);

  function paint() {
    const spans = get();
    const begun = anchor === null ? [] : [between(anchor, cursor)];
    for (const [at, word] of all.entries()) {
      const on = over(spans, word);
      word.classList.toggle("on", on);
      // The gap after a word is marked if the mark continues.
      const continues = at + 1 < all.length && spans.some(([start, end]) => start < range(word)[1] && end > range(all[at + 1])[0]);
      word.nextElementSibling?.classList.toggle("on", continues);
      word.classList.toggle("begun", over(begun, word));
      word.classList.toggle("cursor", at === cursor);
    }
  }

  const text = (at) => all[at].textContent;

  function add(span) {
    anchor = null;
    set(merged([...get(), span]));
    paint();
  }

  function remove(word) {
    set(get().filter((span) => !over([span], word)));
    anchor = null;
    paint();
    announce("Mark removed");
  }

  // Start or end a mark at the cursor.
  function press() {
    if (anchor === null) {
      anchor = cursor;
      announce(`Mark starts at ${text(cursor)}`);
      paint();
    } else {
      const [from, to] = [Math.min(anchor, cursor), Math.max(anchor, cursor)];
      add(between(from, to));
      announce(`Marked: ${all.slice(from, to + 1).map((word) => word.textContent).join(" ")}`);
    }
  }

  function sentence(step) {
    let at = cursor;
    if (step > 0) {
      while (at + 1 < all.length && !SENTENCE_END.test(text(at))) at += 1;
      return Math.min(all.length - 1, at + 1);
    }
    at = Math.max(0, at - 1);
    while (at > 0 && !SENTENCE_END.test(text(at - 1))) at -= 1;
    return at;
  }

  function move(to) {
    cursor = Math.max(0, Math.min(all.length - 1, to));
    paint();
    all[cursor].scrollIntoView({ block: "nearest" });
    announce(text(cursor));
  }

  place.addEventListener("keydown", (event) => {
    if (!all.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const does = {
      ArrowRight: () => move(cursor + 1), ArrowLeft: () => move(cursor - 1),
      ArrowDown: () => move(sentence(1)), ArrowUp: () => move(sentence(-1)),
      Home: () => move(0), End: () => move(all.length - 1), " ": press,
      Delete: () => remove(all[cursor]), Backspace: () => remove(all[cursor]),
      Escape: () => { anchor = null; paint(); },
    }[event.key];
    if (!does || (event.key === "Escape" && anchor === null)) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  });

  place.addEventListener("pointerdown", () => (dragged = false));
  place.addEventListener("pointerup", (event) => {
    const chosen = getSelection();
    if (event.pointerType === "touch" || chosen.isCollapsed) return;
    const held = chosen.getRangeAt(0);
    const taken = all.filter((word) => held.intersectsNode(word) && cuts(held, word));
    if (!taken.length) return;
    dragged = true;
    chosen.removeAllRanges();
    add([range(taken[0])[0], range(taken.at(-1))[1]]);
  });
  place.addEventListener("click", (event) => {
    const word = event.target.closest(".word");
    if (!word || dragged) return;
    cursor = all.indexOf(word);
    if (anchor === null && over(get(), word)) remove(word);
    else press();
  });

  paint();
  return { paint, focus: () => place.focus({ preventScroll: false }) };
}

// Whether a range contains a part of a word, not only its edge.
function cuts(held, word) {
  const own = document.createRange();
  own.selectNodeContents(word);
  return held.compareBoundaryPoints(Range.END_TO_START, own) < 0 && held.compareBoundaryPoints(Range.START_TO_END, own) > 0;
}
