// The page of a study: shows one item after the other, saves drafts, and moves on only after the
// server has confirmed an answer.

import { announce, find, make } from "../dom.js";
import { ApiError, call, token } from "./api.js";
import { Clock } from "./clock.js";
import { showOwner } from "./owner.js";

const DRAFT_AFTER = 700;
const RETRY_AFTER = 3000;
const CHECK_AGAIN = 20_000;
const READ = "semqa.study.read";

const clock = new Clock();
let view = null;
let task = null;
let drawn = null;
let waiting = null;
let looking = null;
let sending = false;
// Whether there are unsaved changes, and the promise of the save in progress.
let dirty = false;
let keeping = null;

async function begin() {
  if (!token()) {
    showMessage("This link is incomplete", "Please open the whole link that you were given, including everything after the “#”.");
    return;
  }
  let about;
  try {
    about = await persist("v1/study");
  } catch (problem) {
    showMessage("This link does not work", problem.status === 401 ? "It may be mistyped, or your part in the study may have ended." : problem.message);
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
  if (sessionStorage.getItem(READ) === token()) await next();
  else welcome();
}

function welcome() {
  const text = find("guide-text").cloneNode(true);
  text.id = "";
  const start = make("button", { type: "button", class: "main", onclick: () => {
    sessionStorage.setItem(READ, token());
    find("message").hidden = true;
    next();
  } }, "Begin ", make("kbd", {}, "Enter"));
  find("work").hidden = true;
  find("message").replaceChildren(make("div", { class: "guide-text" }, ...text.childNodes), make("p", {}, start));
  find("message").hidden = false;
  start.focus({ preventScroll: true });
}

function showMessage(heading, text, ...more) {
  find("work").hidden = true;
  for (const id of ["progress", "back", "open-guide", "open-keys"]) find(id).hidden = true;
  guide(false);
  find("count").textContent = "";
  find("message").replaceChildren(make("h2", {}, heading), make("p", {}, text), ...more.filter(Boolean));
  find("message").hidden = false;
  find("message").focus();
  ready();
}

// Counts redraws, so that tests can wait for the next one.
let drawings = 0;
const ready = () => (document.documentElement.dataset.ready = ++drawings);

// Retry until the server responds: it may be restarting.
async function persist(path, given) {
  for (;;) {
    try {
      const reply = await call(path, given);
      showStatus("");
      return reply;
    } catch (problem) {
      if (problem.status !== 0 && problem.status < 500) throw problem;
      const why = problem.status === 0 ? "No connection." : problem.message;
      showStatus(`${why} Your answers are still here; retrying …`, true);
      await new Promise((done) => setTimeout(done, RETRY_AFTER));
    }
  }
}

function showStatus(text, bad = false) {
  find("saved").textContent = text;
  find("saved").classList.toggle("problem", bad);
}

async function next() {
  const reply = await persist("v1/next").catch(ended);
  if (reply) show(reply);
}

function ended(problem) {
  showMessage("Your part in this study has ended", problem instanceof ApiError ? problem.message : String(problem));
  return null;
}

function show(given) {
  clearTimeout(looking);
  drawn?.end?.();
  drawn = task = null;
  dirty = false;
  if (given.end === "failed") {
    showMessage("Thank you for your time", "This study needs raters whose first answers agree closely with ours. Yours differed, so there are no further items for you. The people who run the study can tell you more.");
    return;
  }
  if (given.end) {
    const last = given.last;
    const back = last ? make("button", { type: "button", class: "second", onclick: () => visit(last) }, "Review the last item") : null;
    const leave = "Leave this page open, or come back later.";
    if (given.end === "held") {
      showMessage("Thank you! Now it is the reviewer’s turn", `You have finished the first round. Once a reviewer has read your answers, you continue here with the next items or with those sent back to you. ${leave}`);
    } else if (given.unread) {
      showMessage("All done. Thank you!", `A reviewer is still reading. If an answer is sent back to you, it appears here. ${leave}`, back);
    } else if (given.more) {
      const look = make("button", { type: "button", class: "main", onclick: () => next() }, "Check for new items");
      showMessage("Done for now. Thank you!", `You have finished your items. Others are still working; if two of them disagree, you may get more items. ${leave}`, make("p", {}, look), back);
    } else {
      showMessage("Done. Thank you!", "You have finished all your items. You can close this page.", back);
    }
    if (given.end === "held" || given.unread || given.more) looking = setTimeout(next, CHECK_AGAIN);
    return;
  }
  task = given;
  clock.start(given.seconds);
  find("message").hidden = true;
  for (const id of ["work", "open-guide", "open-keys"]) find(id).hidden = false;
  find("problem").hidden = true;
  drawn = view.draw(given, { parts: find("parts"), asked: find("asked") }, change);
  const [label, key] = drawn.go ?? ["Save and continue", "Enter"];
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

// Called after an input, or to change an earlier stage.
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
  if (drawn?.writes) showStatus("");
  waiting ??= setTimeout(keep, DRAFT_AFTER);
}

// Save drafts one at a time, so that an older one never overwrites a newer one.
function keep() {
  clearTimeout(waiting);
  waiting = null;
  keeping ??= (async () => {
    while (dirty && drawn && !sending) {
      dirty = false;
      try {
        await persist(`v1/tasks/${task.id}/draft`, { method: "PUT", body: draft() });
        if (drawn?.writes && !dirty) showStatus("Draft saved");
      } catch (failed) {
        problem(failed.message);
      }
    }
    keeping = null;
  })();
  return keeping;
}

const draft = () => ({ stage: task.stage, values: drawn.values(), seconds: clock.seconds });

// Save without waiting for the response, because the page is being closed.
function keepLeaving() {
  if (!dirty || !drawn || sending) return;
  call(`v1/tasks/${task.id}/draft`, { method: "PUT", body: draft(), keepalive: true }).catch(() => {});
}

async function submit() {
  if (sending || !task || !drawn.ready()) {
    if (!sending && task) problem(drawn.lacks ?? "Please answer the highlighted question.");
    return;
  }
  sending = true;
  find("go").disabled = true;
  // Changes made now would not be sent.
  find("work").inert = Boolean(drawn.writes);
  clearTimeout(waiting);
  waiting = null;
  await keeping;
  try {
    const stage = drawn.stage ?? task.stage;
    const body = { ...draft(), stage };
    const reply = await persist(`v1/tasks/${task.id}/answers`, { method: "POST", body });
    sending = false;
    if (stage !== task.stage) {
      // An earlier stage was changed: keep the draft of the open one.
      const begun = reply.stages.at(-1).questions.map(({ id }) => id);
      reply.draft = Object.fromEntries(Object.entries(body.values).filter(([id]) => begun.includes(id)));
      showStatus("Saved");
      show(reply);
      dirty = true;
      keep();
    } else if (reply.finished) {
      showStatus("Saved");
      await next();
    } else {
      show(reply);
    }
  } catch (failed) {
    // Answered in another window in the meantime: show the current state.
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
  const reply = await persist(`v1/tasks/${id}`).catch(ended);
  if (reply) show(reply);
}

function guide(open = find("guide").hidden) {
  find("guide").hidden = !open;
  find("open-guide").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("with-guide", open);
  if (open) find("guide").focus({ preventScroll: true });
}

function keys() {
  const known = [...(drawn?.keys ?? []), (drawn?.go ?? ["Save and continue", "Enter"]).toReversed(), ["b", "Back to the previous item, to correct it"], ["g", "Show or hide the guidelines"], ["?", "Show this list"]];
  find("key-list").replaceChildren(...known.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]));
  find("keys").showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing || event.defaultPrevented || find("keys").open) return;
  const control = event.ctrlKey !== event.metaKey;
  // In a multi-line text, Enter starts a new line.
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
