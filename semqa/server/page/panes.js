// On a narrow screen, the two sides are drawers over the chat: one at a time, Escape closes it.

import { find } from "./dom.js";

const app = find("app");
// Below these widths it stands over the chat; the same as in layout.css.
const OVER = { side: matchMedia("(max-width: 76rem)"), sources: matchMedia("(max-width: 52rem)") };
let from = null;

// Opens "side" or "sources", or neither with "". On a wide screen both stand anyway.
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

// What a drawer covers is out of reach while it is open.
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
