// Opens documents, and the passages of links; citations in other apps use such links.

import { call } from "./api.js";
import { announce, find, make } from "./dom.js";
import { pane } from "./panes.js";
import { visible } from "./visible.js";

// Shows a document, or a place in it, with `show(source)`.
export async function showDocument(show, collection, id, place = null) {
  try {
    const found = await call(`v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(id)}`);
    const [start, end] = place ?? [0, 0];
    const page = place ? found.pages.filter((each) => each <= start).length : 0;
    show({ title: found.title, name: found.name, text: found.text, passage: { start, end }, ...(page ? { page } : {}) });
  } catch (problem) {
    announce(problem.message);
    find("source-list").replaceChildren(make("p", { class: "problem", role: "alert" }, problem.status === 404 ? "Document not found, or you do not have access to it." : visible(problem.message)));
    pane("sources");
  }
}

// Shows the passage that the URL of the page names.
export function showLinked(show) {
  const named = new URLSearchParams(location.search);
  // Open WebUI appends another fragment, for the text.
  const at = new URLSearchParams(location.hash.slice(1).split("#", 1)[0]);
  if (named.get("document")) {
    const place = /^(\d+),(\d+)$/.exec(at.get("char") ?? "");
    showDocument(show, named.get("collection") ?? "", named.get("document"), place && [Number(place[1]), Number(place[2])]);
  } else if (at.get("text")) {
    show({ title: at.get("title") ?? "", name: "A passage from the link; it is not stored", text: at.get("text") });
  }
}
