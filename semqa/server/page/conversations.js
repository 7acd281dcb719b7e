// The list of conversations: opened, renamed, exported, deleted.

import { call, download } from "./api.js";
import { askForLine, askWhetherSure } from "./dialogs.js";
import { announce, find, iconButton, make } from "./dom.js";
import { forget } from "./passages.js";
import { short } from "./visible.js";

const list = find("conversations");
export const UNTITLED = "New conversation";

export class Conversations {
  #all = [];
  #open;

  // `open(id)` is called when a reader chooses a conversation, with null for a new one.
  constructor(open) {
    this.#open = open;
    find("new").addEventListener("click", () => open(null));
  }

  current = null;

  async load() {
    this.#all = (await call("/v1/conversations")).conversations;
    this.draw();
  }

  titleOf(id) {
    return this.#all.find((each) => each.id === id)?.title || UNTITLED;
  }

  draw() {
    find("no-conversations").hidden = this.#all.length > 0;
    list.replaceChildren(...this.#all.map((each) => this.#row(each)));
    find("title").textContent = this.current ? short(this.titleOf(this.current), 120) : UNTITLED;
    document.title = this.current ? `${short(this.titleOf(this.current), 60)} · semqa` : "semqa";
  }

  #row(each) {
    const name = short(each.title || UNTITLED, 90);
    const here = each.id === this.current;
    const link = make("a", { href: `/?c=${each.id}`, dir: "auto", "aria-current": here ? "page" : null, title: name }, name);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab is wanted
      event.preventDefault();
      this.#open(each.id);
    });
    return make("li", { class: here ? "here" : null }, link,
      make("span", { class: "tools" },
        iconButton("rename", `Rename ${name}`, () => this.#rename(each)),
        iconButton("download", `Export ${name} as Markdown`, () => this.#export(each)),
        iconButton("delete", `Delete ${name}`, () => this.#delete(each))));
  }

  async #rename(each) {
    const title = await askForLine("Rename the conversation", "Title", each.title);
    if (title === null) return;
    await call(`/v1/conversations/${each.id}`, { method: "PATCH", body: { title } });
    await this.load();
  }

  async #export(each) {
    const name = short(each.title || "conversation", 60).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
    await download(`/v1/conversations/${each.id}/export?format=markdown`, `${name || "conversation"}.md`);
  }

  async #delete(each) {
    if (!(await askWhetherSure(`Delete “${short(each.title || UNTITLED, 80)}”?`))) return;
    await call(`/v1/conversations/${each.id}`, { method: "DELETE" });
    forget(each.id);
    if (each.id === this.current) this.#open(null);
    await this.load();
    announce("Conversation deleted");
    find("new").focus();
  }
}
