// The progress of the study, for its owner.

import { find, make, plural } from "../dom.js";
import { visible } from "../visible.js";
import { call } from "./api.js";

const EVERY = 10_000;

const clockTime = (seconds) => {
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

export async function showOwner() {
  find("work").hidden = true;
  const place = find("message");
  place.hidden = false;
  place.classList.add("wide-table");
  for (;;) {
    try {
      draw(place, await call("v1/progress"));
      find("saved").textContent = "";
    } catch (problem) {
      find("saved").textContent = problem.message;
    }
    document.documentElement.dataset.ready = "";
    await new Promise((done) => setTimeout(done, EVERY));
  }
}

function draw(place, progress) {
  const head = ["Rater", "Finished", "Gold correct", "Time", "Last answer", "State"].map((text) => make("th", { scope: "col" }, text));
  const rows = progress.raters.map((each) =>
    make("tr", {},
      make("th", { scope: "row" }, visible(each.name)),
      make("td", {}, `${each.done} of ${each.total}`),
      make("td", {}, each.gold_done ? `${each.gold_right} of ${each.gold_done}` : "–"),
      make("td", {}, clockTime(each.seconds)),
      make("td", {}, each.last ? new Date(each.last * 1000).toLocaleString() : "–"),
      make("td", {}, each.state === "failed" ? "not qualified" : each.state),
    ),
  );
  place.replaceChildren(...[
    make("h2", {}, `${progress.ratings} of ${plural(progress.wanted, "rating")}`),
    make("p", { class: "hint" }, `${plural(progress.items, "item")}, ${plural(progress.per_item, "rating")} each`),
    progress.unread ? make("p", { class: "hint" }, `${progress.unread} more finished, but not yet accepted by a reviewer`) : null,
    progress.missing ? make("p", { class: "problem" }, `${plural(progress.missing, "rating")} without a rater. Add one with semqa study raters --add.`) : null,
    make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Raters" }, make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))),
  ].filter(Boolean));
}
