// Modal dialogs. They are native, so they trap the focus and close with Escape.

import { find, make } from "./dom.js";
import { visible } from "./visible.js";

for (const button of document.querySelectorAll("dialog button[value=cancel]")) {
  button.addEventListener("click", () => button.closest("dialog").close("cancel"));
}

function open(id) {
  const dialog = find(id);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true });
  });
}

const field = (id, name) => find(id).querySelector(`[name=${name}]`);

// The text that an input event inserts: typed, pasted or dropped.
export const coming = (event) => event.data ?? event.dataTransfer?.getData("text/plain") ?? "";

const MOST_SHOWN = 20_000; // characters; a much longer text could block the browser for minutes
let long = null;

// Longer text is added directly, without showing it first.
field("passage-dialog", "text").addEventListener("beforeinput", (event) => {
  const text = coming(event);
  if (text.length <= MOST_SHOWN) return;
  event.preventDefault();
  const { value, selectionStart, selectionEnd } = event.target;
  long = value.slice(0, selectionStart) + text + value.slice(selectionEnd);
  find("passage-dialog").close("ok");
});

export async function askForPassage() {
  long = null;
  field("passage-dialog", "title").value = field("passage-dialog", "text").value = "";
  const said = open("passage-dialog");
  field("passage-dialog", "text").focus();
  if (!(await said)) return null;
  const text = long ?? field("passage-dialog", "text").value;
  return text.trim() ? { title: field("passage-dialog", "title").value.trim(), text } : null;
}

export async function askForLine(heading, label, value = "") {
  find("line-heading").textContent = heading;
  find("line-label").textContent = label;
  const input = field("line-dialog", "line");
  input.value = value;
  const said = open("line-dialog");
  input.select();
  return (await said) && input.value.trim() ? input.value.trim() : null;
}

// Asks which of several names to use, with checkboxes; null if the dialog is cancelled.
export async function askForSome(names, ticked) {
  find("some-choices").replaceChildren(...names.map((name) => make("label", { class: "check" },
    make("input", { type: "checkbox", value: name, checked: ticked.includes(name) }), make("span", { dir: "auto" }, visible(name)))));
  if (!(await open("some-dialog"))) return null;
  return [...find("some-choices").querySelectorAll(":checked")].map((box) => box.value);
}

export function askWhetherSure(heading, action = "Delete") {
  find("sure-heading").textContent = heading;
  find("sure-dialog").querySelector(".main").textContent = action;
  return open("sure-dialog");
}

export async function askForKey(refused) {
  find("key-problem").textContent = refused ? "This API key is not valid." : "";
  const input = field("key-dialog", "key");
  input.value = "";
  while (!(await open("key-dialog")) || !input.value.trim());
  return { secret: input.value.trim(), keep: field("key-dialog", "keep").checked };
}
