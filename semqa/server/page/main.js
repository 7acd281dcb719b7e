// The page: sends questions, shows answers, and links quotes with their sources.

import { Answer } from "./answer.js";
import { ApiError, call, events, forgetKey, hasKey } from "./api.js";
import { Engines } from "./engines.js";
import { Conversations } from "./conversations.js";
import { askWhetherSure, coming } from "./dialogs.js";
import { announce, copied, find, icon, iconButton, make, plural, tell } from "./dom.js";
import { Library } from "./library.js";
import { showDocument, showLinked } from "./links.js";
import { toMarkdown } from "./markdown.js";
import { pane } from "./panes.js";
import { Passages } from "./passages.js";
import { hidePreview, showPreview } from "./preview.js";
import { SourcePanel } from "./sources.js";
import { verdictWords } from "./verdict.js";
import { visible } from "./visible.js";
import { welcome } from "./welcome.js";

const transcript = find("transcript");
const question = find("question");
const LONGEST = 8000; // characters of a question, the default of the server

const sources = new SourcePanel();
const conversations = new Conversations(open);
const library = new Library(said, (collection, id) => showDocument(showSource, collection, id));
const engines = new Engines();
const passages = new Passages(said);
let loaded = Promise.resolve(); // loads the collections and engines
let running = null; // aborts the running answer
let editing = null; // the turn whose question is in the box

// Called when a reader hovers over, focuses or opens a quote.
function follow(answer, index, why) {
  const quote = answer.quotes[index];
  if (why === "leave") {
    hidePreview();
    answer.light([index], false);
    if (sources.answer === answer) sources.light([index], false);
    return;
  }
  if (sources.answer !== answer) select(answer);
  if (why !== "open") {
    answer.light([index], true);
    sources.light([index], true);
    const source = answer.sources.find((each) => each.number === quote.source);
    showPreview(answer.linkOf(index), quote, source, why === "hover" ? 220 : 0);
    return;
  }
  hidePreview(true);
  pane("sources");
  if (!sources.goTo(index)) tell(`Not verified: ${quote.reason}`);
}

// Shows the sources of an answer on the right.
function select(answer) {
  for (const other of transcript.querySelectorAll(".answer.chosen")) other.classList.remove("chosen");
  answer?.element.classList.add("chosen");
  sources.show(answer);
}

// A question with its answer; `message` is the id of the stored question.
function turn(asked, answer, message) {
  const edit = iconButton("rename", "Edit the question and ask again", () => {
    edits(each);
    question.value = asked;
    resize();
    question.focus();
  });
  const section = make("section", { class: "turn" }, make("div", { class: "asks" }, make("h2", { class: "asked", dir: "auto" }, visible(asked)), edit), answer.element);
  const each = { asked, section, message };
  transcript.querySelector(".welcome")?.remove();
  transcript.append(section);
  return each;
}

function edits(each) {
  editing?.section.classList.remove("editing");
  editing = each;
  editing?.section.classList.add("editing");
  said();
}

// Asks in place of an earlier question and all that followed. Returns whether the reader agreed.
async function replace({ section, message }, asked) {
  const turns = [...transcript.querySelectorAll(".turn")];
  const later = turns.length - turns.indexOf(section) - 1;
  if (later && !(await askWhetherSure(`Replace this question and delete the ${plural(later, "question")} after it?`, "Replace"))) return false;
  edits(null);
  while (section.nextElementSibling) section.nextElementSibling.remove();
  section.remove();
  ask(asked, message);
  return true;
}

function addActions(answer, each) {
  const copy = make("button", { type: "button", class: "quiet", "aria-label": "Copy as Markdown", title: "Copy as Markdown" }, icon("copy"), "Copy");
  copy.addEventListener("click", async () => {
    const done = await copied(toMarkdown(answer.final));
    const told = done ? "Copied" : "The browser blocked copying";
    copy.lastChild.data = copy.ariaLabel = told;
    announce(told);
    setTimeout(() => {
      copy.lastChild.data = "Copy";
      copy.ariaLabel = "Copy as Markdown";
    }, 2500);
  });
  const show = make("button", { type: "button", class: "quiet show", onclick: () => {
    select(answer);
    pane("sources");
  } }, icon("sources"), "Sources");
  answer.element.querySelector("footer").append(copy, again(each), show);
}

function again(each) {
  return make("button", { type: "button", class: "quiet again", onclick: () => !running && replace(each, each.asked) }, icon("again"), "Ask again");
}

// Asks a question, in place of a stored one if its id is given.
async function ask(asked, replaced = null) {
  const answer = new Answer(follow);
  const each = turn(asked, answer, replaced);
  answer.sources = [];
  select(answer);
  atEnd = true;
  showLast();
  const mine = new AbortController();
  busy(mine);
  announce("Answering");
  let begun = null;
  try {
    if (!conversations.current) {
      begun = await call("v1/conversations", { method: "POST", body: {}, signal: mine.signal });
      conversations.current = begun.id;
      history.pushState(null, "", `?c=${begun.id}`);
    }
    passages.keep(conversations.current);
    if (library.reading) {
      answer.wait("Waiting for your files to be processed…");
      await Promise.race([library.settled(), new Promise((_, reject) => mine.signal.addEventListener("abort", () => reject(new DOMException("", "AbortError"))))]);
      answer.wait("");
    }
    await write(answer, each, mine.signal);
    addActions(answer, each);
    announce(`The answer is complete. ${visible(verdictWords(answer.final))}`);
  } catch (problem) {
    const stopped = problem.name === "AbortError";
    if (begun && problem.status >= 400) await takeBack(begun.id); // the server refused the question
    answer.fail(stopped ? "Stopped." : problem.message);
    answer.element.append(make("footer", {}, again(each)));
    if (!stopped) question.value ||= asked;
    resize();
  } finally {
    if (running === mine) busy(null);
    conversations.load().catch(() => {});
  }
}

// Deletes an empty conversation.
async function takeBack(id) {
  await call(`v1/conversations/${id}`, { method: "DELETE" }).catch(() => {});
  if (conversations.current !== id) return;
  conversations.current = null;
  history.replaceState(null, "", "./");
}

async function write(answer, each, signal) {
  const body = { question: each.asked, stream: true, conversation: conversations.current };
  if (each.message) body.replace = each.message;
  if (library.chosen.length) body.collection = library.chosen;
  if (engines.chosen) body.engine = engines.chosen;
  if (passages.all.length) body.sources = passages.all;
  for await (const { event, data } of events("v1/answers", body, signal)) {
    if (event === "sources") {
      answer.sources = data.sources;
      each.message = data.asked;
      if (sources.answer === answer) sources.show(answer);
    } else if (event === "text") answer.addText(data.text);
    else if (event === "quote") {
      answer.addQuote(data);
      if (sources.answer === answer) sources.add(answer.quotes.length - 1);
    } else if (event === "done") {
      answer.finish(data);
      if (sources.answer === answer) sources.show(answer);
    } else if (event === "error") throw new ApiError(0, data.error?.message ?? "The answer was cut off.");
    keepEnd();
  }
  if (!answer.final) throw new ApiError(0, "The answer was cut off: the connection ended before it was complete.");
}

// Scrolls with the answer if the reader is at the end of the transcript, until the question is at the
// top. Does not scroll if the reader scrolled up.
let atEnd = true;
let due = false;
transcript.addEventListener("scroll", () => {
  atEnd = transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight < 80;
}, { passive: true });

function keepEnd() {
  if (due || !atEnd) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    showLast();
  });
}

function showLast() {
  const last = transcript.lastElementChild;
  if (!last) return;
  const top = last.getBoundingClientRect().top - transcript.getBoundingClientRect().top + transcript.scrollTop;
  transcript.scrollTop = Math.min(top, transcript.scrollHeight);
}

function busy(controller) {
  running = controller;
  find("send").hidden = controller !== null;
  find("stop").hidden = controller === null;
}

let opened = 0;

// Opens a conversation, or an empty one.
async function open(id, { push = true } = {}) {
  running?.abort();
  opened += 1;
  pane("");
  if (push) history.pushState(null, "", id ? `?c=${encodeURIComponent(id)}` : "./");
  conversations.current = id;
  transcript.replaceChildren();
  edits(null);
  select(null);
  conversations.draw();
  if (id) await read(id);
  else {
    library.restore();
    engines.restore();
    passages.set([]);
    transcript.append(welcome(tryExample, () => find("files").click()));
  }
  if (push) question.focus();
}

async function read(id) {
  const mine = opened;
  let found;
  try {
    found = await call(`v1/conversations/${encodeURIComponent(id)}`);
  } catch (problem) {
    if (mine !== opened) return;
    conversations.current = null;
    conversations.draw();
    transcript.append(make("p", { class: "problem", role: "alert" }, problem.status === 404 ? "Conversation not found, or you do not have access to it." : visible(problem.message)));
    return;
  }
  if (mine !== opened) return; // another conversation was opened meanwhile
  conversations.opened(found);
  let asked = null;
  let message = null;
  let last = null;
  let set = null; // the settings of the last question
  let time = null;
  const unanswered = () => {
    if (asked === null) return;
    const answer = new Answer(follow);
    const each = turn(asked, answer, message);
    answer.fail("This answer is incomplete.");
    answer.element.append(make("footer", {}, again(each)));
  };
  for (const { id: number, role, content, created } of found.messages) {
    if (role === "user") {
      unanswered();
      message = number;
      asked = content.question ?? "";
      set = content;
      time = created;
      continue;
    }
    const told = asked ?? content.question ?? "";
    last = new Answer(follow);
    const each = turn(told, last, message);
    asked = null;
    last.finish(content);
    addActions(last, each);
  }
  unanswered();
  if (last) {
    select(last);
  }
  const pasted = (last?.sources ?? []).filter((each) => !each.collection);
  if (set) {
    const quoted = (last?.sources ?? []).flatMap(({ collection }) => collection ?? []);
    await loaded.catch(() => {});
    if (mine !== opened) return;
    await library.reuse(set.collections ?? [...new Set(quoted)], time);
    engines.use(set.engine ?? "");
  }
  passages.recall(id, pasted.map(({ title, text, url }) => ({ title, text, ...(url ? { url } : {}) })));
  showLast();
}

function tryExample(example) {
  passages.set(example.passages);
  library.use([]).finally(() => {
    question.value = example.question;
    find("ask").requestSubmit();
  });
}

// Shows below the question which collections and passages the answer will use.
function said() {
  const parts = [];
  if (library.told) parts.push(library.told);
  if (passages.all.length) parts.push(plural(passages.all.length, "pasted passage"));
  if (editing) find("answers-from").textContent = "Replaces the question. Escape cancels.";
  else find("answers-from").textContent = parts.length ? `Answers from ${parts.join(" and ")}` : "";
}

function showSource(source) {
  select(null);
  sources.showAlone(source);
  pane("sources");
  find("source-list").focus();
}

function resize() {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, innerHeight / 3)}px`;
}

find("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = question.value.trim();
  if (!asked || running) return;
  if (!library.chosen.length && !passages.all.length) {
    find("answers-from").textContent = "Add files or paste a passage first.";
    announce(find("answers-from").textContent);
    return;
  }
  const edited = editing;
  if (!edited) ask(asked);
  else if (!(await replace(edited, asked))) return;
  question.value = "";
  resize();
});
question.addEventListener("input", () => {
  if (editing && !question.value) edits(null);
  resize();
});
// A text that is too long for a question becomes a passage. In the text field, it could also block the
// browser for minutes.
question.addEventListener("beforeinput", (event) => {
  const text = coming(event);
  if (text.length <= LONGEST) return;
  event.preventDefault();
  passages.set([...passages.all, { title: "", text }]);
  tell("Too long for a question, so it was added as a passage.");
});
question.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && editing) {
    edits(null);
    question.value = "";
    resize();
  }
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    find("ask").requestSubmit();
  }
});
find("stop").addEventListener("click", () => {
  running?.abort();
  question.focus();
});
find("source-list").addEventListener("back", () => pane(""));
addEventListener("popstate", () => open(new URLSearchParams(location.search).get("c"), { push: false }));

try {
  loaded = Promise.all([library.load(), engines.load()]);
  await Promise.all([conversations.load(), loaded]);
  if (!opened) await open(new URLSearchParams(location.search).get("c"), { push: false });
} catch (problem) {
  transcript.append(make("p", { class: "problem", role: "alert" }, visible(problem.message)));
}
find("forget-key").hidden = !hasKey();
find("forget-key").addEventListener("click", () => {
  forgetKey();
  location.assign("./");
});
if (matchMedia("(hover: hover)").matches) question.focus();
showLinked(showSource);
addEventListener("hashchange", () => showLinked(showSource));
document.documentElement.dataset.ready = "yes";
