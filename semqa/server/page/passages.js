// Pasted passages, which are sent with each question.

import { askForPassage } from "./dialogs.js";
import { find, iconButton, make } from "./dom.js";
import { short } from "./visible.js";

const PLACE = "semqa.passages.";
const list = find("passages");

export class Passages {
  all = [];
  #changed;

  constructor(changed) {
    this.#changed = changed;
    find("paste").addEventListener("click", async () => {
      const passage = await askForPassage();
      if (passage) this.set([...this.all, passage]);
      find("question").focus();
    });
  }

  set(passages) {
    this.all = passages;
    list.replaceChildren(...passages.map((each, at) => {
      const name = short(each.title || each.text, 40);
      return make("li", {}, make("span", { dir: "auto" }, name), iconButton("close", `Remove the passage ${name}`, () => {
        this.set(this.all.filter((_, other) => other !== at));
        find("question").focus();
      }));
    }));
    this.#changed();
  }

  // Stores the passages of a conversation in this browser, if there is enough space.
  keep(conversation) {
    try {
      localStorage.setItem(PLACE + conversation, JSON.stringify(this.all));
    } catch {
      localStorage.removeItem(PLACE + conversation);
    }
  }

  // Restores the passages of a conversation; by default those that its last answer quoted.
  recall(conversation, quoted) {
    const kept = localStorage.getItem(PLACE + conversation);
    this.set(kept === null ? quoted : JSON.parse(kept));
  }
}

export function forget(conversation) {
  localStorage.removeItem(PLACE + conversation);
}
