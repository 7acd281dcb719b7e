// On narrow screens, the side panels are drawers over the chat. Only one is open; Escape closes it.

import { find } from "./dom.js";

const app = find("app");
// Up to these widths a panel covers the chat; the same as in layout.css.
const OVER = { side: matchMedia("(max-width: 76rem)"), sources: matchMedia("(max-width: 52rem)") };
let from = null;

// Opens "side" or "sources"; "" closes both. On a wide screen both are always visible.
export function pane(name) {
  const before = app.dataset.pane ?? "";
  if (name === before) return;
  if (name && !before) from = document.activeElement;
  app.dataset.pane = name;
  shut();
  if (!name && from?.isConnected) {
    if (find(before)?.contains(document.activeElement)) from.focus();
    from = null;
  }
}

// Makes the parts that a drawer covers inert.
function shut() {
  const name = app.dataset.pane ?? "";
  const covers = name !== "" && OVER[name].matches;
  for (const part of ["side", "chat", "sources"]) find(part).inert = covers && part !== name;
}

for (const media of Object.values(OVER)) media.addEventListener("change", shut);

for (const name of ["side", "sources"]) {
  find(`open-${name}`).addEventListener("click", () => {
    pane(name);
    find(`close-${name}`).focus();
  });
  find(`close-${name}`).addEventListener("click", () => pane(""));
}

find("app").addEventListener("click", (event) => {
  if (event.target === app) pane("");
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) pane("");
});
