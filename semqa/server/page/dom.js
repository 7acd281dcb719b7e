// Creates elements in one call. Text always becomes a text node: text from sources, models or the
// server is never parsed as HTML.

import { visible } from "./visible.js";

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `page/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onclick, given = {}) {
  return make("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick, ...given }, icon(name));
}

// Announces a text to screen readers, one at a time.
export function announce(text) {
  const status = find("status");
  status.textContent = "";
  requestAnimationFrame(() => (status.textContent = text));
}

let shown;

// Announces a text, and shows it for some seconds.
export function tell(text) {
  announce(text);
  const toast = find("toast");
  toast.textContent = visible(text);
  toast.hidden = false;
  clearTimeout(shown);
  shown = setTimeout(() => (toast.hidden = true), 8000);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Plain HTTP from another machine is not a secure context and has no clipboard API: use execCommand.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "sr" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
