// The preview of a quote: the text around it in its source.

import { find, make } from "./dom.js";
import { Points, endOfWord, startOfWord } from "./points.js";
import { outcome } from "./verdict.js";
import { short, visible } from "./visible.js";

const AROUND = 150;
const box = find("preview");
let due = 0;
let over = null;

box.addEventListener("pointerenter", () => clearTimeout(due));
box.addEventListener("pointerleave", () => hidePreview());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hidePreview(true);
});
document.addEventListener("scroll", () => hidePreview(true), { capture: true, passive: true });

export function showPreview(link, quote, source, wait) {
  clearTimeout(due);
  due = setTimeout(() => {
    hide();
    if (!link.isConnected) return;
    box.replaceChildren(...content(quote, source));
    box.className = `preview ${/\bc\d\b/.exec(link.className)?.[0] ?? "bad"}`;
    box.hidden = false;
    over = link;
    link.setAttribute("aria-describedby", "preview");
    place(link);
  }, wait);
}

export function hidePreview(now = false) {
  clearTimeout(due);
  if (now) hide();
  else due = setTimeout(hide, 120);
}

function hide() {
  box.hidden = true;
  over?.removeAttribute("aria-describedby");
  over = null;
}

function content(quote, source) {
  const end = make("p", { class: "outcome" }, visible(outcome(quote)));
  if (quote.status !== "verified" || !source) return [end];
  const title = make("p", { class: "from" }, make("span", { class: "number", "aria-hidden": "true" }, String(quote.source)), make("bdi", {}, short(source.title || `Source ${quote.source}`, 80)));
  const points = new Points(quote.field === "title" ? source.title : source.text);
  const [start, stop] = [quote.source_start, quote.source_end];
  const first = Math.min(start, startOfWord(points, Math.max(0, start - AROUND)));
  const last = Math.max(stop, endOfWord(points, Math.min(points.length, stop + AROUND)));
  const before = `${first > 0 ? "… " : ""}${visible(points.slice(first, start))}`;
  const after = `${visible(points.slice(stop, last))}${last < points.length ? " …" : ""}`;
  const quoted = points.slice(start, stop);
  return [title, make("p", { class: "around", dir: "auto" }, before, make("mark", {}, visible(quoted.length > 900 ? short(quoted, 600) : quoted)), after), end];
}

// Places the preview above the line, or below it if there is no room.
function place(link) {
  const line = link.getClientRects()[0] ?? link.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  // Keep it off the source panel, where the place itself is highlighted.
  const right = find("chat").getBoundingClientRect().right - 12;
  const left = Math.max(12, Math.min(line.left, right - width));
  const top = line.top - height - 8 > 8 ? line.top - height - 8 : link.getBoundingClientRect().bottom + 8;
  box.style.left = `${left}px`;
  box.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
}
