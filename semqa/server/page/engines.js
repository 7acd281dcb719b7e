// The choice of an engine, if the server offers several.

import { call } from "./api.js";
import { find, make } from "./dom.js";
import { short } from "./visible.js";

const PLACE = "semqa.engine";
const select = find("engine");

export class Engines {
  #names = [];

  constructor() {
    select.addEventListener("change", () => localStorage.setItem(PLACE, select.value));
  }

  // The first is the default.
  async load() {
    const { data } = await call("v1/models");
    this.#names = data.map(({ id }) => id).filter((id) => id !== "semqa" && !id.startsWith("semqa/"));
    select.replaceChildren(...this.#names.map((each) => make("option", { value: each }, short(each, 60))));
    select.hidden = this.#names.length < 2;
    this.restore();
  }

  get chosen() {
    return this.#names.length > 1 ? select.value : "";
  }

  use(name) {
    select.value = this.#names.includes(name) ? name : (this.#names[0] ?? "");
  }

  restore() {
    this.use(localStorage.getItem(PLACE));
  }
}
