// The page of a reviewer: a list of finished answers, and the selected one, which is accepted or sent
// back with a remark.

import { announce, find, make, plural } from "../dom.js";
import { short, visible } from "../visible.js";
import { call } from "./api.js";
import { drawPart } from "./parts.js";

const EVERY = 10_000;
const STATES = { waiting: "to read", accepted: "accepted", returned: "sent back" };

let rows = [];
let open = null;
const groupsOpen = new Set();

export async function showReviews() {
  document.body.classList.add("reviews");
  find("work").hidden = false;
  find("questions").addEventListener("submit", (event) => event.preventDefault());
  await refresh();
  await first();
  setInterval(() => refresh().catch((problem) => showStatus(problem.message, true)), EVERY);
}

function showStatus(text, bad = false) {
  find("saved").textContent = text;
  find("saved").classList.toggle("problem", bad);
}

async function refresh() {
  const found = (await call("v1/reviews")).answers;
  showStatus("");
  if (JSON.stringify(found) !== JSON.stringify(rows) || !find("review-list")) {
    rows = found;
    list();
  }
  // If no answer is open, show the first new one.
  if (!open) await first();
}

async function first() {
  const next = rows.find(({ state }) => state === "waiting");
  if (next) await read(next.id);
  else rest();
}

const label = (row) => (row.pilot ? "Pilot" : `Batch ${row.round}`);

function list() {
  const waiting = rows.filter(({ state }) => state === "waiting").length;
  find("count").textContent = `${waiting} to read, ${rows.filter(({ state }) => state === "accepted").length} of ${rows.length} accepted`;
  const groups = [...new Set(rows.map(label))].map((name) => {
    const own = rows.filter((row) => label(row) === name);
    const items = own.map((row) => {
      const now = open?.id === row.id;
      return make("li", {}, make("button", { type: "button", class: `pickable ${row.state}`, "aria-current": now ? "true" : null, onclick: () => read(row.id) },
        make("span", { class: "who" }, visible(row.writer)), make("span", { class: "state" }, row.state === "waiting" && row.again ? "revised" : STATES[row.state]), make("span", { class: "what" }, short(row.item, 90))));
    });
    const wanted = own.some((row) => row.state === "waiting" || row.id === open?.id) || groupsOpen.has(name);
    return make("details", { open: wanted, ontoggle: (event) => (event.target.open ? groupsOpen.add(name) : groupsOpen.delete(name)) },
      make("summary", {}, `${name}, ${own.filter(({ state }) => state === "accepted").length} of ${own.length} accepted`), make("ul", {}, ...items));
  });
  const nav = find("review-list") ?? make("nav", { id: "review-list", "aria-label": "Answers", class: "review-list" });
  const focused = nav.contains(document.activeElement) ? [...nav.querySelectorAll("button")].indexOf(document.activeElement) : -1;
  nav.replaceChildren(...groups);
  if (!nav.isConnected) find("work").prepend(nav);
  if (focused >= 0) nav.querySelectorAll("button")[focused]?.focus();
}

function rest() {
  open = null;
  find("parts").replaceChildren(make("section", { class: "part" }, make("h2", {}, "Nothing to read"), make("p", {}, rows.length ? "You have read all finished answers. New ones appear here." : "No answer is finished yet. New ones appear here.")));
  find("asked").replaceChildren();
  list();
  ready();
}

const ready = () => (document.documentElement.dataset.ready = Number(document.documentElement.dataset.ready ?? 0) + 1);

async function read(id) {
  open = await call(`v1/reviews/${id}`);
  const shown = open;
  const remark = make("textarea", { id: "remark", rows: 4, maxlength: 10_000, dir: "auto" });
  const problem = make("p", { class: "problem", role: "alert" });
  const submit = async (accepted) => {
    problem.textContent = "";
    if (!accepted && !remark.value.trim()) {
      problem.textContent = "Say what the writer should change.";
      remark.focus();
      return;
    }
    try {
      rows = (await call(`v1/reviews/${shown.id}`, { method: "POST", body: { answer: shown.answer, accepted, remark: remark.value } })).answers;
      open = null;
      announce(accepted ? "Accepted" : "Sent back");
      await first();
    } catch (failed) {
      if (failed.status === 409) {
        await read(shown.id);
        find("remark").value = remark.value;
      }
      find("asked").querySelector("[role=alert]").textContent = failed.message;
    }
  };
  const [question, answer, ...others] = shown.parts.map(drawPart);
  find("parts").replaceChildren(question, answer, ...others);
  const past = shown.history.slice(0, shown.state === "waiting" ? -1 : undefined).flatMap((each, at) => [
    make("details", {}, make("summary", {}, `Version ${at + 1}, ${new Date(each.saved * 1000).toLocaleString()}`), ...each.parts.map(drawPart)),
    ...each.said.map((one) => make("p", { class: "hint" }, `${visible(one.reviewer)}: ${one.accepted ? "accepted" : "sent back"}${one.remark ? `: ${visible(one.remark)}` : ""}`)),
  ]);
  find("asked").replaceChildren(make("section", { class: "stage review" },
    make("h2", {}, `${visible(shown.writer)}, ${plural(Math.round(shown.seconds), "second")}`),
    shown.state === "waiting" ? null : make("p", { class: "note" }, `This answer was ${STATES[shown.state]}.`),
    make("div", { class: "question writes" }, make("label", { for: "remark" }, "Remark for the writer"), remark),
    problem,
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "second", onclick: () => submit(false) }, "Send back ", make("kbd", {}, "r")),
      make("button", { type: "button", class: "main", disabled: shown.state === "accepted", onclick: () => submit(true) }, "Accept ", make("kbd", {}, "a"))),
    past.length ? make("section", { class: "past" }, make("h2", {}, "Earlier versions"), ...past) : null));
  list();
  window.scrollTo(0, 0);
  announce(`Answer by ${shown.writer}`);
  ready();
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, input")) return;
    if (event.key === "a" && shown.state !== "accepted") submit(true);
    else if (event.key === "r") remark.value.trim() ? submit(false) : remark.focus();
    else return;
    event.preventDefault();
  };
}
