// The page of a study: one item after the other, drafts kept as they are made, an answer taken as given
// only once the server has it.

import { announce, find, make } from "../dom.js";
import { ApiError, call, token } from "./api.js";
import { Clock } from "./clock.js";
import { showOwner } from "./owner.js";

const DRAFT_AFTER = 700;
const RETRY_AFTER = 3000;
const LOOK_AGAIN = 20_000;
const READ = "semqa.study.read";

const clock = new Clock();
let view = null;
let task = null;
let drawn = null;
let waiting = null;
let looking = null;
let sending = false;
// Whether something is not kept yet, and what keeps it.
let dirty = false;
let keeping = null;

async function begin() {
  if (!token()) {
    say("This link is not complete", "Open the whole link that you were given, with everything behind the “#”.");
    return;
  }
  let about;
  try {
    about = await persist("v1/study");
  } catch (problem) {
    say("This link does not work", problem.status === 401 ? "It may have been mistyped, or your part in the study may have ended." : problem.message);
    return;
  }
  document.title = about.title;
  find("title").textContent = about.title;
  if (about.role === "reviewer") {
    await (await import("./review.js")).showReviews();
    return;
  }
  if (about.role === "owner") {
    await showOwner();
    return;
  }
  view = await import(`./${about.view}.js`);
  const text = new DOMParser().parseFromString(about.guidelines, "text/html");
  find("guide-text").replaceChildren(...text.body.childNodes);
  if (sessionStorage.getItem(READ)) await next();
  else welcome();
}

function welcome() {
  const text = find("guide-text").cloneNode(true);
  text.id = "";
  const start = make("button", { type: "button", class: "main", onclick: () => {
    sessionStorage.setItem(READ, "1");
    find("message").hidden = true;
    next();
  } }, "Begin ", make("kbd", {}, "Enter"));
  find("work").hidden = true;
  find("message").replaceChildren(make("div", { class: "guide-text" }, ...text.childNodes), make("p", {}, start));
  find("message").hidden = false;
  start.focus({ preventScroll: true });
}

function say(heading, text, ...more) {
  find("work").hidden = true;
  for (const id of ["progress", "back", "open-guide", "open-keys"]) find(id).hidden = true;
  guide(false);
  find("count").textContent = "";
  find("message").replaceChildren(make("h2", {}, heading), make("p", {}, text), ...more.filter(Boolean));
  find("message").hidden = false;
  find("message").focus();
  ready();
}

// How often something new was drawn.
let drawings = 0;
const ready = () => (document.documentElement.dataset.ready = ++drawings);

// Ask until the server answers: it may be starting anew.
async function persist(path, given) {
  for (;;) {
    try {
      const said = await call(path, given);
      told("");
      return said;
    } catch (problem) {
      if (problem.status !== 0 && problem.status < 500) throw problem;
      const why = problem.status === 0 ? "No connection." : problem.message;
      told(`${why} Your answers are still here; trying again …`, true);
      await new Promise((done) => setTimeout(done, RETRY_AFTER));
    }
  }
}

function told(text, bad = false) {
  find("saved").textContent = text;
  find("saved").classList.toggle("problem", bad);
}

async function next() {
  const said = await persist("v1/next").catch(ended);
  if (said) show(said);
}

function ended(problem) {
  say("Your part in this study has ended", problem instanceof ApiError ? problem.message : String(problem));
  return null;
}

function show(given) {
  clearTimeout(looking);
  drawn?.end?.();
  drawn = task = null;
  dirty = false;
  if (given.end === "failed") {
    say("Thank you, this is the end", "This study needs raters whose first answers are close to ours. Yours were not, so there are no further items for you. Thank you for your time; the people who run the study can tell you more.");
    return;
  }
  if (given.end) {
    const last = given.last;
    const back = last ? make("button", { type: "button", class: "second", onclick: () => visit(last) }, "Look at the last item again") : null;
    const leave = "Leave this page open, or come back later.";
    if (given.end === "held") {
      say("Thank you! Now it is the reviewer’s turn", `You have finished the first round. When a reviewer has read your answers, you go on here: with the next items, or with those that came back. ${leave}`);
    } else if (given.unread) {
      say("All done. Thank you!", `A reviewer is still reading. If an answer comes back to you, it appears here. ${leave}`, back);
    } else if (given.more) {
      const look = make("button", { type: "button", class: "main", onclick: () => next() }, "Look for new items");
      say("Done for now. Thank you!", `You have finished your items. Others are still at work: where two of them disagree, you may be asked. ${leave}`, make("p", {}, look), back);
    } else {
      say("Done. Thank you!", "You have finished all of your items. You can close this page.", back);
    }
    if (given.end === "held" || given.unread || given.more) looking = setTimeout(next, LOOK_AGAIN);
    return;
  }
  task = given;
  clock.start(given.seconds);
  find("message").hidden = true;
  for (const id of ["work", "open-guide", "open-keys"]) find(id).hidden = false;
  find("problem").hidden = true;
  drawn = view.draw(given, { parts: find("parts"), asked: find("asked") }, change);
  const [label, key] = drawn.go ?? ["Save and go on", "Enter"];
  find("go").replaceChildren(`${label} `, make("kbd", {}, key));
  find("go").hidden = drawn.locked === true;
  find("count").textContent = `Item ${given.number} of ${given.total}${given.finished ? " · answered" : ""}`;
  find("back").hidden = given.previous === null;
  const bar = find("progress");
  bar.hidden = false;
  bar.setAttribute("aria-valuemax", given.total);
  bar.setAttribute("aria-valuenow", given.done);
  bar.firstElementChild.style.width = `${(100 * given.done) / given.total}%`;
  if (given.stage === 0) window.scrollTo(0, 0);
  else find("asked").querySelector(".open")?.scrollIntoView({ block: "nearest" });
  if (drawn.focus) drawn.focus();
  else find("item").focus({ preventScroll: true });
  announce(`Item ${given.number} of ${given.total}. ${given.stages.at(-1).title}`);
  ready();
}

// Something was entered, or an earlier stage is to be changed.
function change({ edit } = {}) {
  find("problem").hidden = true;
  if (edit !== undefined) {
    task.draft = drawn.values();
    drawn = view.draw(task, { parts: find("parts"), asked: find("asked") }, change, edit);
    find("questions").querySelector(".open").scrollIntoView({ block: "nearest" });
    find("questions").focus({ preventScroll: true });
    announce(`Change: ${task.stages.find((stage) => stage.number === edit).title}`);
    ready();
  }
  dirty = true;
  if (drawn?.writes) told("");
  waiting ??= setTimeout(keep, DRAFT_AFTER);
}

// Keep a draft, one at a time, so that an older one never comes after a newer one.
function keep() {
  clearTimeout(waiting);
  waiting = null;
  keeping ??= (async () => {
    while (dirty && drawn && !sending) {
      dirty = false;
      try {
        await persist(`v1/tasks/${task.id}/draft`, { method: "PUT", body: draft() });
        if (drawn?.writes && !dirty) told("Draft saved");
      } catch (failed) {
        problem(failed.message);
      }
    }
    keeping = null;
  })();
  return keeping;
}

const draft = () => ({ stage: task.stage, values: drawn.values(), seconds: clock.seconds });

// The page is being left: there is no time to wait for a reply.
function keepLeaving() {
  if (!dirty || !drawn || sending) return;
  call(`v1/tasks/${task.id}/draft`, { method: "PUT", body: draft(), keepalive: true }).catch(() => {});
}

async function submit() {
  if (sending || !task || !drawn.ready()) {
    if (!sending && task) problem(drawn.lacks ?? "Please answer the marked question.");
    return;
  }
  sending = true;
  find("go").disabled = true;
  // What is changed now would not be sent.
  find("work").inert = Boolean(drawn.writes);
  clearTimeout(waiting);
  waiting = null;
  await keeping;
  try {
    const stage = drawn.stage ?? task.stage;
    const body = { ...draft(), stage };
    const said = await persist(`v1/tasks/${task.id}/answers`, { method: "POST", body });
    sending = false;
    if (stage !== task.stage) {
      // An earlier stage was changed; what was begun in the open one is kept.
      const begun = said.stages.at(-1).questions.map(({ id }) => id);
      said.draft = Object.fromEntries(Object.entries(body.values).filter(([id]) => begun.includes(id)));
      told("Saved");
      show(said);
      dirty = true;
      keep();
    } else if (said.finished) {
      told("Saved");
      await next();
    } else {
      show(said);
    }
  } catch (failed) {
    // Answered meanwhile in another window: show how things stand.
    if (failed.status === 409) show(await persist(`v1/tasks/${task.id}`));
    problem(failed.message);
  } finally {
    sending = false;
    find("go").disabled = false;
    find("work").inert = false;
    drawn?.focus?.();
  }
}

function problem(text) {
  find("problem").textContent = text;
  find("problem").hidden = false;
}

async function visit(id) {
  await keep();
  const said = await persist(`v1/tasks/${id}`).catch(ended);
  if (said) show(said);
}

function guide(open = find("guide").hidden) {
  find("guide").hidden = !open;
  find("open-guide").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("with-guide", open);
  if (open) find("guide").focus({ preventScroll: true });
}

function keys() {
  const known = [...(drawn?.keys ?? []), (drawn?.go ?? ["Save and go on", "Enter"]).toReversed(), ["b", "Back to the item before, to correct it"], ["g", "Show or hide the guidelines"], ["?", "Show these keys"]];
  find("key-list").replaceChildren(...known.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]));
  find("keys").showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing || event.defaultPrevented || find("keys").open) return;
  const control = event.ctrlKey !== event.metaKey;
  // In a text of several lines, Enter begins a new one.
  const lines = drawn?.writes || event.target.matches("textarea.lines");
  if (event.key === "Enter" && !event.shiftKey && control === Boolean(lines) && (control || !event.target.closest("button, a"))) {
    if (event.repeat || find("work").hidden || !drawn || drawn.locked) return;
    event.preventDefault();
    submit();
    return;
  }
  const writes = event.target.isContentEditable || event.target.matches("textarea, input:not([type=radio]):not([type=checkbox])");
  if (control || writes || find("work").hidden || !drawn) return;
  if (!drawn.key(event)) {
    const does = { "?": keys, g: () => guide(), b: back, Backspace: back }[event.key];
    if (!does) return;
    does();
  }
  event.preventDefault();
});

function back() {
  if (!find("back").hidden && !sending) visit(task.previous);
}

find("back").addEventListener("click", back);
find("open-guide").addEventListener("click", () => guide());
find("close-guide").addEventListener("click", () => guide(false));
find("open-keys").addEventListener("click", keys);
find("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keepLeaving());
window.addEventListener("beforeunload", (event) => {
  if (drawn?.writes && (dirty || keeping) && !sending) event.preventDefault();
});
window.addEventListener("hashchange", () => location.reload());

begin();
