// Documents: which collection is asked, what is in it, and files on their way there.

import { call, upload } from "./api.js";
import { askForLine, askWhetherSure } from "./dialogs.js";
import { announce, find, iconButton, make, plural } from "./dom.js";
import { short, visible } from "./visible.js";

const PLACE = "semqa.collection";
const NEW = "\u0000new";
const FIRST = "documents"; // what the first collection is called where nobody names one

const select = find("collection");
const documents = find("documents");
const uploads = find("uploads");
const at = (name) => `/v1/collections/${encodeURIComponent(name)}`;

export class Library {
  name = "";
  #names = [];
  #changed;

  // `changed()` is called when another collection is chosen, or a chosen one has other documents.
  constructor(changed) {
    this.#changed = changed;
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

  async load() {
    try {
      this.#names = (await call("/v1/collections")).collections.map((each) => each.name);
    } catch (problem) {
      this.#tell(problem); // passages can be pasted all the same
    }
    const kept = localStorage.getItem(PLACE);
    await this.use(this.#names.includes(kept) ? kept : kept === "" ? "" : (this.#names[0] ?? ""));
  }

  // Answers come from this collection from now on; from pasted passages alone with "".
  async use(name, { remember = true } = {}) {
    this.name = name;
    if (remember) localStorage.setItem(PLACE, name);
    select.replaceChildren(
      make("option", { value: "" }, this.#names.length ? "No collection" : "No collection yet"),
      ...this.#names.map((each) => make("option", { value: each }, short(each, 60))),
      make("option", { value: NEW }, "New collection…"),
    );
    select.value = name;
    find("delete-collection").hidden = !name;
    await this.#list();
  }

  // Back to what the reader chose.
  async restore() {
    const kept = localStorage.getItem(PLACE);
    if (kept !== this.name && this.#names.includes(kept)) await this.use(kept);
  }

  // Sends files one after the other, each with its progress.
  async add(files) {
    if (!files.length) return;
    try {
      if (!this.name) await this.#create(FIRST);
    } catch (problem) {
      this.#tell(problem);
      return;
    }
    const into = this.name;
    const rows = files.map((file) => new Upload(file));
    uploads.append(...rows.map((row) => row.element));
    let done = 0;
    for (const row of rows) {
      if (await row.send(`${at(into)}/documents`)) done += 1;
    }
    announce(`${plural(done, "file")} added to ${into}${done < files.length ? `, ${files.length - done} refused` : ""}`);
    if (this.name === into) await this.#list();
  }

  async #create(name) {
    if (!this.#names.includes(name)) {
      await call("/v1/collections", { method: "POST", body: { name } });
      this.#names.push(name);
    }
    await this.use(name);
  }

  async #choose() {
    if (select.value !== NEW) return this.use(select.value);
    select.value = this.name;
    const name = await askForLine("New collection", "Name");
    if (name === null) return undefined;
    try {
      await this.#create(name);
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
      make("span", { class: "name", dir: "auto", title: `${visible(document.name)}, ${plural(document.passages ?? 0, "passage")}` }, short(document.name, 80)),
      make("span", { class: "hint" }, plural(document.passages ?? 0, "passage")),
      iconButton("delete", `Remove ${short(document.name, 60)}`, async () => {
        if (!(await askWhetherSure(`Remove ${short(document.name, 60)} from ${short(this.name, 40)}?`))) return;
        try {
          await call(`${at(this.name)}/documents/${encodeURIComponent(document.id)}`, { method: "DELETE" });
        } catch (problem) {
          this.#tell(problem);
        }
        await this.#list();
        find("add-files").focus();
      }));
  }

  async #drop() {
    if (!(await askWhetherSure(`Delete the collection ${short(this.name, 40)} and its ${plural(this.count ?? 0, "document")}?`))) return;
    try {
      await call(at(this.name), { method: "DELETE" });
      this.#names = this.#names.filter((each) => each !== this.name);
      await this.use(this.#names[0] ?? "");
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
      find("drop-name").textContent = this.name || FIRST;
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

// The files that were dropped; those of folders, too.
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
    this.#bar = make("progress", { max: 1, value: 0, "aria-label": `Upload of ${short(file.name, 60)}` });
    this.element = make("li", {}, make("span", { class: "name", dir: "auto" }, short(file.name, 60)), this.#state, this.#bar);
  }

  async send(path) {
    try {
      await upload(path, this.file, (part) => {
        this.#bar.value = part;
        this.#state.textContent = part < 1 ? `${Math.floor(part * 100)} %` : "reading…";
        if (part === 1) this.#bar.removeAttribute("value"); // at work, without a measure
      });
      this.element.remove();
      return true;
    } catch (problem) {
      this.#bar.remove();
      this.#state.remove();
      this.element.classList.add("problem");
      const about = `${this.file.name}: `; // which stands above it
      const said = problem.message.startsWith(about) ? problem.message.slice(about.length) : problem.message;
      this.element.append(make("span", { class: "said", role: "alert" }, visible(said)), iconButton("close", "Dismiss", () => this.element.remove()));
      return false;
    }
  }
}
