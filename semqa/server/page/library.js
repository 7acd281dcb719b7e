// Documents: chosen collections, their documents, and uploads.

import { call, upload } from "./api.js";
import { askForLine, askForSome, askWhetherSure } from "./dialogs.js";
import { find, iconButton, make, plural, tell } from "./dom.js";
import { short, visible } from "./visible.js";

const PLACE = "semqa.collection";
const ALL = "\u0000all";
const SOME = "\u0000some";
const NEW = "\u0000new";
const FIRST = "documents"; // default name of the first collection

const select = find("collection");
const documents = find("documents");
const uploads = find("uploads");
const at = (name) => `v1/collections/${encodeURIComponent(name)}`;

const keep = (chosen) => localStorage.setItem(PLACE, chosen === ALL ? ALL : JSON.stringify(chosen));

export class Library {
  #chosen = []; // names; or ALL
  #names = [];
  #created = new Map(); // name -> time
  #access = new Map(); // name -> "own", or "read" or "write" if another owner shares it
  #changed;
  #open;
  #reading = new Set(); // uploads under way

  // `changed()` is called when the chosen collections or their documents change;
  // `open(collection, id)` when a reader opens a document.
  constructor(changed, open) {
    this.#changed = changed;
    this.#open = open;
    select.addEventListener("change", () => this.#choose());
    find("add-files").addEventListener("click", () => find("files").click());
    find("files").addEventListener("change", async (event) => {
      const chosen = [...event.target.files];
      event.target.value = "";
      await this.add(chosen);
    });
    find("delete-collection").addEventListener("click", () => this.#drop());
    this.#takeDrops();
  }

  // The collections that answers come from.
  get chosen() {
    return this.#chosen === ALL ? this.#names : this.#chosen;
  }

  // The shown collection; "" if several or none are chosen.
  get name() {
    return this.chosen.length === 1 ? this.chosen[0] : "";
  }

  // The collection to which files are added.
  get #target() {
    return this.name || FIRST;
  }

  // Whether files can be added to it.
  get #writable() {
    return this.#access.get(this.#target) !== "read";
  }

  // The chosen collections in words.
  get told() {
    if (this.#chosen === ALL && this.#names.length > 1) return "all collections";
    if (this.chosen.length > 1) return `${this.chosen.length} of ${plural(this.#names.length, "collection")}`;
    return this.name && `the collection ${short(this.name, 60)}`;
  }

  async load() {
    try {
      const { collections } = await call("v1/collections");
      this.#names = collections.map((each) => each.name);
      this.#access = new Map(collections.map((each) => [each.name, each.access]));
      this.#created = new Map(collections.map((each) => [each.name, each.created]));
    } catch (problem) {
      this.#tell(problem); // pasting passages still works
    }
    await this.use(this.#kept());
  }

  // The stored choice; all collections by default.
  #kept() {
    const kept = localStorage.getItem(PLACE);
    if (kept === null || kept === ALL) return ALL;
    const names = kept.startsWith("[") ? JSON.parse(kept) : [kept];
    const there = names.filter((each) => this.#names.includes(each));
    return there.length || kept === "[]" ? there : ALL;
  }

  // Chooses what a stored question was answered from. If that was all collections of its time, it is
  // all collections now.
  async reuse(names, asked) {
    const second = (time) => time.slice(0, 19); // collections have no fractions
    const then = this.#names.filter((each) => second(this.#created.get(each)) < second(asked));
    await this.use(names.length > 1 && then.every((each) => names.includes(each)) ? ALL : names);
  }

  // Chooses the collections to answer from; [] means pasted passages only.
  async use(chosen, { remember = false } = {}) {
    const all = chosen === ALL || (chosen.length > 1 && this.#names.every((each) => chosen.includes(each)));
    this.#chosen = all ? ALL : chosen.filter((each) => this.#names.includes(each));
    if (remember) keep(this.#chosen);
    const several = this.#names.length > 1;
    const some = this.#chosen !== ALL && this.#chosen.length > 1;
    select.replaceChildren(
      ...(several ? [make("option", { value: ALL }, "All collections")] : []),
      make("option", { value: "" }, this.#names.length ? "No collection" : "No collection yet"),
      ...this.#names.map((each) => make("option", { value: each }, short(each, 60))),
      ...(several ? [make("option", { value: SOME }, some ? `${this.#chosen.length} collections…` : "Select collections…")] : []),
      make("option", { value: NEW }, "New collection…"),
    );
    select.value = some ? SOME : this.name || (this.#chosen === ALL && several ? ALL : "");
    const access = this.#access.get(this.name) ?? "own";
    const remove = find("delete-collection");
    remove.hidden = !this.name || access !== "own";
    remove.ariaLabel = remove.title = `Delete the collection ${short(this.name, 60)}`;
    find("add-files").hidden = !this.#writable;
    find("shared-told").hidden = access === "own";
    find("shared-told").textContent = access === "read" ? "Shared with you (read-only)" : "Shared with you";
    find("collections-told").hidden = !some;
    find("collections-told").textContent = some ? this.#chosen.map((each) => short(each, 40)).join(", ") : "";
    await this.#list();
  }

  // Restores the stored choice.
  async restore() {
    await this.use(this.#kept());
  }

  // Waits for running uploads.
  async settled() {
    while (this.#reading.size) await Promise.allSettled(this.#reading);
  }

  get reading() {
    return this.#reading.size;
  }

  // Uploads files one by one and shows their progress.
  async add(files) {
    if (!files.length) return;
    if (!this.#writable) {
      this.#tell({ message: `You have read-only access to ${short(this.#target, 60)}.` });
      return;
    }
    const into = this.#target;
    try {
      await this.#create(into);
      await this.#include(into);
    } catch (problem) {
      this.#tell(problem);
      return;
    }
    const rows = files.map((file) => new Upload(file));
    uploads.append(...rows.map((row) => row.element));
    let done = 0;
    const sending = (async () => {
      for (const row of rows) if (await row.send(`${at(into)}/documents`)) done += 1;
    })();
    this.#reading.add(sending);
    await sending;
    this.#reading.delete(sending);
    const failed = files.length - done;
    tell([
      ...(done ? [`${plural(done, "file")} added to ${into}`] : []),
      ...(failed ? [`${plural(failed, "file")} could not be added; the list of documents says why`] : []),
    ].join(", "));
    if (this.name === into) await this.#list();
  }

  async #create(name) {
    if (this.#names.includes(name)) return;
    const { created } = await call("v1/collections", { method: "POST", body: { name } });
    this.#names.push(name);
    this.#created.set(name, created);
  }

  // Answers from a collection too, here and in new conversations.
  async #include(name) {
    const more = (chosen) => (chosen === ALL || chosen.includes(name) ? chosen : [...chosen, name]);
    keep(more(this.#kept()));
    await this.use(more(this.#chosen));
  }

  async #choose() {
    const value = select.value;
    if (value === ALL) return this.use(ALL, { remember: true });
    if (value !== NEW && value !== SOME) return this.use(value ? [value] : [], { remember: true });
    await this.use(this.#chosen); // keep the choice until the dialog is confirmed
    if (value === SOME) {
      const some = await askForSome(this.#names, this.chosen);
      return some === null ? undefined : this.use(some, { remember: true });
    }
    const name = await askForLine("New collection", "Name");
    if (name === null) return undefined;
    try {
      await this.#create(name);
      await this.use([name], { remember: true });
    } catch (problem) {
      this.#tell(problem);
    }
    return undefined;
  }

  async #list() {
    const asked = this.name;
    let found = [];
    try {
      if (asked) found = (await call(`${at(asked)}/documents`)).documents;
    } catch (problem) {
      this.#tell(problem);
    }
    if (asked !== this.name) return;
    documents.replaceChildren(...found.map((each) => this.#row(each)));
    this.count = found.length;
    this.#changed();
  }

  #row(document) {
    return make("li", {},
      make("button", { type: "button", class: "name", dir: "auto", title: `Open ${visible(document.name)}`, onclick: () => this.#open(this.name, document.id) }, short(document.name, 80)),
      make("span", { class: "hint" }, plural(document.passages ?? 0, "passage")),
      this.#writable ? iconButton("delete", `Remove ${short(document.name, 60)}`, async () => {
        if (!(await askWhetherSure(`Remove ${short(document.name, 60)} from ${short(this.name, 40)}?`))) return;
        try {
          await call(`${at(this.name)}/documents/${encodeURIComponent(document.id)}`, { method: "DELETE" });
        } catch (problem) {
          this.#tell(problem);
        }
        await this.#list();
        find("add-files").focus();
      }) : null);
  }

  async #drop() {
    if (!(await askWhetherSure(`Delete the collection ${short(this.name, 40)} and its ${plural(this.count ?? 0, "document")}?`))) return;
    try {
      await call(at(this.name), { method: "DELETE" });
      this.#names = this.#names.filter((each) => each !== this.name);
      await this.use(ALL, { remember: true });
      select.focus();
    } catch (problem) {
      this.#tell(problem);
    }
  }

  #tell(problem) {
    const line = make("li", { class: "problem", role: "alert" }, visible(problem.message));
    uploads.append(line);
    setTimeout(() => line.remove(), 12_000);
  }

  #takeDrops() {
    const veil = find("drop");
    let depth = 0;
    const files = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragenter", (event) => {
      if (!files(event)) return;
      event.preventDefault();
      depth += 1;
      find("drop-name").textContent = this.#target;
      veil.hidden = false;
    });
    addEventListener("dragover", (event) => files(event) && event.preventDefault());
    addEventListener("dragleave", (event) => {
      if (files(event) && (depth -= 1) <= 0) veil.hidden = true;
    });
    addEventListener("drop", async (event) => {
      if (!files(event)) return;
      event.preventDefault();
      depth = 0;
      veil.hidden = true;
      try {
        await this.add(await dropped(event.dataTransfer));
      } catch (problem) {
        this.#tell(problem);
      }
    });
  }
}

// The dropped files, including those in folders.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  while (entries.length) {
    const entry = entries.shift();
    if (entry.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) break;
        entries.push(...some);
      }
    }
  }
  return found;
}

class Upload {
  #bar;
  #state = make("span", { class: "hint" }, "waiting");

  constructor(file) {
    this.file = file;
    this.#bar = make("progress", { max: 1, value: 0, "aria-label": `Uploading ${short(file.name, 60)}` });
    this.element = make("li", {}, make("span", { class: "name", dir: "auto" }, short(file.name, 60)), this.#state, this.#bar);
  }

  async send(path) {
    try {
      await upload(path, this.file, (part) => {
        this.#bar.value = part;
        this.#state.textContent = part < 1 ? `${Math.floor(part * 100)} %` : "processing…";
        if (part === 1) this.#bar.removeAttribute("value"); // indeterminate
      });
      this.element.remove();
      return true;
    } catch (problem) {
      this.#bar.remove();
      this.#state.remove();
      this.element.classList.add("problem");
      const about = `${this.file.name}: `; // already shown above
      const said = problem.message.startsWith(about) ? problem.message.slice(about.length) : problem.message;
      this.element.append(make("span", { class: "said", role: "alert" }, visible(said)), iconButton("close", "Dismiss", () => this.element.remove()));
      return false;
    }
  }
}
