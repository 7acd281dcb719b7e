// A long text with a search field.

import { make } from "../dom.js";
import { visible } from "../visible.js";

const MOST = 500;

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");

export function searchable(text, label) {
  const shown = visible(text);
  const held = make("p", { class: "prose", dir: "auto" }, shown);
  const box = make("div", { class: "long", tabindex: "0", role: "group", "aria-label": label }, held);
  const said = make("span", { class: "hint", role: "status" });
  const input = make("input", { type: "search", class: "search", placeholder: "Search", "aria-label": `Search: ${label}`, autocomplete: "off", spellcheck: "false" });
  let found = [];
  let at = 0;

  function search() {
    const wanted = input.value.trim();
    found = [];
    if (wanted) {
      const pieces = [];
      let from = 0;
      for (const match of shown.matchAll(new RegExp(escaped(wanted), "giu"))) {
        const mark = make("mark", { class: "c3" }, match[0]);
        pieces.push(shown.slice(from, match.index), mark);
        found.push(mark);
        from = match.index + match[0].length;
        if (found.length >= MOST) break;
      }
      held.replaceChildren(...pieces, shown.slice(from));
    } else {
      held.replaceChildren(shown);
    }
    at = 0;
    show();
  }

  function show() {
    for (const [place, mark] of found.entries()) mark.classList.toggle("here", place === at);
    said.textContent = found.length ? `${at + 1} of ${found.length}` : input.value.trim() ? "not found" : "";
    const here = found[at];
    if (here) box.scrollTop += here.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  }

  function step(by) {
    if (!found.length) return;
    at = (at + by + found.length) % found.length;
    show();
  }

  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      input.value = "";
      search();
      input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const next = make("button", { type: "button", class: "quiet", "aria-label": "Next match", onclick: () => step(1) }, "↓");
  const before = make("button", { type: "button", class: "quiet", "aria-label": "Previous match", onclick: () => step(-1) }, "↑");
  return [make("div", { class: "finding" }, input, said, before, next), box];
}
