// The list of conversations: open, find by title, rename, export, delete.

import { call, download } from "./api.js";
import { askForLine, askWhetherSure } from "./dialogs.js";
import { announce, find, iconButton, make, tell } from "./dom.js";
import { forget } from "./passages.js";
import { short } from "./visible.js";

const list = find("conversations");
const wanted = find("wanted-title");
const further = find("more-conversations");
const UNTITLED = "New conversation";
const PART = 100; // number of conversations per request
const FEW = 15; // up to this many, the search field is hidden

const controls = (row) => [...(row?.querySelectorAll("a, button") ?? [])];

export class Conversations {
  #all = [];
  #more = false;
  #asked = 0; // number of requests, to ignore outdated replies
  #opened = { id: null, title: "" }; // may be missing from the loaded part of the list
  #open;

  // `open(id)` is called when a reader chooses a conversation, with null for a new one.
  constructor(open) {
    this.#open = open;
    find("new").addEventListener("click", () => open(null));
    let due = 0;
    wanted.addEventListener("input", () => {
      clearTimeout(due);
      due = setTimeout(() => this.#get(0).catch((problem) => tell(problem.message)), 200);
    });
    further.addEventListener("click", async () => {
      const first = this.#all.length;
      await this.#get(first).catch((problem) => tell(problem.message));
      list.children[first]?.querySelector("a").focus();
    });
  }

  current = null;

  async load() {
    await this.#get(0, Math.min(500, Math.max(PART, this.#all.length)));
  }

  // Loads a part of the list. Offset 0 replaces the list, other parts are appended.
  async #get(offset, limit = PART) {
    const mine = (this.#asked += 1);
    const found = await call(`v1/conversations?${new URLSearchParams({ limit, offset, title: wanted.value.trim().slice(0, 200) })}`);
    if (mine !== this.#asked) return;
    const before = offset ? this.#all : [];
    const known = new Set(before.map((each) => each.id)); // a conversation used meanwhile has moved up
    this.#all = [...before, ...found.conversations.filter((each) => !known.has(each.id))];
    this.#more = found.more;
    this.draw();
  }

  // Called when a conversation was loaded.
  opened({ id, title }) {
    this.#opened = { id, title };
    this.draw();
  }

  titleOf(id) {
    const known = this.#all.find((each) => each.id === id) ?? (this.#opened.id === id ? this.#opened : null);
    return known?.title || UNTITLED;
  }

  draw() {
    const looking = wanted.value.trim() !== "";
    find("no-conversations").hidden = this.#all.length > 0;
    find("no-conversations").textContent = looking ? "No matching conversations." : "Your conversations appear here.";
    wanted.hidden = !looking && !this.#more && this.#all.length <= FEW;
    further.hidden = !this.#more;
    const row = document.activeElement.closest("#conversations li");
    const control = row ? controls(row).indexOf(document.activeElement) : 0;
    list.replaceChildren(...this.#all.map((each) => this.#row(each)));
    if (row) controls([...list.children].find(({ dataset }) => dataset.id === row.dataset.id))[control]?.focus({ preventScroll: true });
    find("title").textContent = this.current ? short(this.titleOf(this.current), 120) : UNTITLED;
    document.title = this.current ? `${short(this.titleOf(this.current), 60)} · semqa` : "semqa";
  }

  #row(each) {
    const name = short(each.title || UNTITLED, 90);
    const here = each.id === this.current;
    const link = make("a", { href: `?c=${each.id}`, dir: "auto", "aria-current": here ? "page" : null, title: name }, name);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // open in a new tab or window
      event.preventDefault();
      this.#open(each.id);
    });
    return make("li", { class: here ? "here" : null, "data-id": each.id }, link,
      make("span", { class: "tools" },
        iconButton("rename", `Rename ${name}`, () => this.#rename(each)),
        iconButton("download", `Export ${name} as Markdown`, () => this.#export(each)),
        iconButton("delete", `Delete ${name}`, () => this.#delete(each))));
  }

  async #rename(each) {
    const title = await askForLine("Rename the conversation", "Title", each.title);
    if (title === null) return;
    const renamed = await call(`v1/conversations/${each.id}`, { method: "PATCH", body: { title } });
    if (each.id === this.#opened.id) this.#opened = renamed;
    await this.load();
    // If the list was drawn while the dialog was open, its focus could not return to the button.
    if (document.activeElement === document.body) [...list.children].find(({ dataset }) => dataset.id === each.id)?.querySelector("button").focus();
  }

  async #export(each) {
    const name = short(each.title || "conversation", 60).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
    await download(`v1/conversations/${each.id}/export?format=markdown`, `${name || "conversation"}.md`);
  }

  async #delete(each) {
    if (!(await askWhetherSure(`Delete “${short(each.title || UNTITLED, 80)}”?`))) return;
    await call(`v1/conversations/${each.id}`, { method: "DELETE" });
    forget(each.id);
    if (each.id === this.current) this.#open(null);
    await this.load();
    announce("Conversation deleted");
    find("new").focus();
  }
}
