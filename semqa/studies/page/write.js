// The writing task: passages to quote from on the left, the answer on the right.

import { announce, make, plural } from "../dom.js";
import { visible } from "../visible.js";
import { countWords, words } from "./draft.js";
import { Editor } from "./editor.js";
import { address, colour, drawPart, numberChip } from "./parts.js";
import { Quotable } from "./quotable.js";

const same = (one, other) => one && other && ["source", "field", "start", "end"].every((name) => one[name] === other[name]);

export function draw(task, { parts, asked }, changed) {
  const stage = task.stages.at(-1);
  const [question, { sources, start, lost, max_words: limit }] = stage.parts;
  const given = { ...task.values, ...task.draft };
  const leftOut = new Set(given.left_out ?? []);
  const locked = task.accepted;
  let lacks = "";
  let warned = false;
  let current = 0;
  let shown = null;

  // The passages

  const passages = sources.map((source) => {
    const tint = colour(source.number);
    const label = `Passage ${source.number}`;
    const dragged = (quote, dragging) => {
      editor.resize(quote, dragging);
      if (!dragging) editor.focus();
    };
    const title = source.title ? new Quotable(source.title, { source: source.number, field: "title", tint, label: `${label}, title`, dragged }) : null;
    const body = new Quotable(source.text, { source: source.number, field: "body", tint, label, dragged });
    const leave = make("button", { type: "button", class: "quiet leave", "aria-pressed": "false", hidden: locked, onclick: () => setLeftOut(source.number, !leftOut.has(source.number)) }, "Leave out");
    const element = make("li", { class: "passage" }, make("div", { class: "head" }, numberChip(source.number), make("h3", {}, title ? title.element : label), leave), body.element, address(source.url));
    return { number: source.number, texts: [body, title].filter(Boolean), element, leave };
  });
  const texts = passages.flatMap((passage) => passage.texts);
  const textFor = (quote) => texts.find((text) => text.source === quote.source && text.field === quote.field);
  const quoted = () => new Set(editor.draft.quotes.map((quote) => quote.source));

  function setLeftOut(number, out) {
    if (out && quoted().has(number)) {
      notify(`Passage ${number} is quoted. Remove its quotes first.`, true);
      return;
    }
    if (out) leftOut.add(number);
    else leftOut.delete(number);
    update();
    changed();
  }

  // The answer

  const notice = make("p", { class: "hint notice-line" });
  function notify(text, seen = false) {
    notice.textContent = seen ? text : "";
    announce(text);
  }

  const editor = new Editor(given.answer ?? start, {
    textOf: (quote) => textFor(quote)?.text(quote) ?? "",
    notify,
    changed() {
      warned = false;
      update();
      changed();
    },
    id: "answer",
    "aria-label": "Your answer",
    "aria-describedby": "counts",
    "data-hint": "Select words in a passage and press Q, then continue typing here.",
  });
  if (locked) {
    editor.element.contentEditable = "false";
    editor.element.setAttribute("aria-readonly", "true");
  }

  const tool = (label, name, does) => make("button", { type: "button", class: "tool", "aria-label": name, title: name, onclick: () => { does(); editor.focus(); } }, label);
  const stretch = (side, step) => {
    const quote = editor.quote;
    const moved = quote && textFor(quote).stretch(quote, side, step);
    if (moved && !refused(moved)) {
      editor.resize(moved);
      announce(textFor(moved).text(moved));
    }
  };
  const tools = make("span", { class: "tools", role: "group", "aria-label": "Selected quote" },
    make("span", { class: "group" }, make("span", { class: "hint" }, "Start"), tool("−", "Start one word earlier", () => stretch("start", -1)), tool("+", "Start one word later", () => stretch("start", 1))),
    make("span", { class: "group" }, make("span", { class: "hint" }, "End"), tool("−", "End one word earlier", () => stretch("end", -1)), tool("+", "End one word later", () => stretch("end", 1))),
    make("span", { class: "group" }, make("span", { class: "hint" }, "Move"), tool("←", "Move left", () => editor.move(-1)), tool("→", "Move right", () => editor.move(1))),
    tool("Remove", "Remove the quote", () => editor.remove()),
  );
  const undo = tool("↶", "Undo (Ctrl+Z)", () => editor.undo());
  const redo = tool("↷", "Redo (Ctrl+Shift+Z)", () => editor.redo());
  const count = make("span", { class: "count" });
  const covered = make("span", { class: "count" });
  const comment = make("textarea", { id: "comment", rows: 2, maxlength: 10_000, dir: "auto", disabled: locked, oninput: changed });
  comment.value = given.comment ?? "";

  function update() {
    const total = words(editor.draft, (quote) => textFor(quote).text(quote));
    const used = quoted();
    count.textContent = `${total} of ${limit} words`;
    count.classList.toggle("problem", total > limit);
    covered.textContent = `${used.size} of ${plural(sources.length - leftOut.size, "passage")} quoted`;
    for (const { number, element, leave } of passages) {
      if (used.has(number)) leftOut.delete(number);
      element.classList.toggle("left", leftOut.has(number));
      element.classList.toggle("used", used.has(number));
      leave.setAttribute("aria-pressed", String(leftOut.has(number)));
      leave.textContent = leftOut.has(number) ? "Left out" : "Leave out";
    }
    const selected = editor.quote;
    for (const text of texts) {
      const own = editor.draft.quotes.filter((quote) => quote.source === text.source && quote.field === text.field && !same(quote, selected));
      text.show(own, selected && textFor(selected) === text ? selected : null);
    }
    tools.classList.toggle("off", !selected);
    if (selected && !same(selected, shown)) textFor(selected).reveal(selected);
    shown = selected;
    for (const button of tools.querySelectorAll("button")) button.disabled = !selected || locked;
    undo.disabled = locked || !editor.canUndo;
    redo.disabled = locked || !editor.canRedo;
  }

  // Quoting

  let pressed = false;
  const pick = make("button", { type: "button", class: "main pick", tabindex: "-1", hidden: true, onpointerdown: (event) => event.preventDefault(), onclick: quote }, "Quote ", make("kbd", {}, "Q"));

  const selection = () => (locked ? null : texts.map((text) => text.selection()).find(Boolean) ?? null);

  function refused(found) {
    if (!/[[\]]/.test(textFor(found).text(found))) return false;
    notify("A quote cannot contain a square bracket. Select the words before or after it.", true);
    return true;
  }

  function quote() {
    const found = selection();
    if (!found || refused(found)) return false;
    notice.textContent = "";
    current = passages.findIndex(({ number }) => number === found.source);
    document.getSelection().removeAllRanges();
    leftOut.delete(found.source);
    editor.insert(found);
    editor.focus();
    announce(`Quoted from passage ${found.source}`);
    return true;
  }

  function offer() {
    const found = pressed ? null : selection();
    pick.hidden = !found;
    if (!found) return;
    const rects = document.getSelection().getRangeAt(0).getClientRects();
    const last = rects[rects.length - 1];
    if (!last) return;
    pick.style.left = `${Math.max(8, Math.min(last.right - 20, innerWidth - pick.offsetWidth - 8))}px`;
    pick.style.top = `${Math.min(last.bottom + 6, innerHeight - pick.offsetHeight - 8)}px`;
  }

  const stop = new AbortController();
  document.addEventListener("selectionchange", offer, { signal: stop.signal });
  // Hide the button while the mouse is selecting, or it would be selected too.
  document.addEventListener("pointerdown", (event) => (pressed = event.pointerType === "mouse"), { signal: stop.signal });
  document.addEventListener("pointerup", () => {
    pressed = false;
    offer();
  }, { signal: stop.signal });
  document.addEventListener("scroll", offer, { signal: stop.signal, capture: true, passive: true });

  // Draw

  const remarks = task.reviews.filter(({ accepted, remark }) => !accepted && remark);
  const newest = task.reviews.at(-1);
  const notes = [
    locked ? make("p", { class: "note good" }, "A reviewer has accepted this answer.") : null,
    newest && !locked && !newest.accepted && newest.newest ? make("div", { class: "note remark" }, make("b", {}, "A reviewer sent this back: "), visible(remarks.at(-1).remark)) : null,
    lost.length && !task.finished ? make("p", { class: "note" }, `${plural(lost.length, "quote")} of this answer did not match any passage and became plain text: ${visible(lost.map((text) => `“${text}”`).join(", "))}`) : null,
  ].filter(Boolean);

  parts.replaceChildren(drawPart(question), make("ol", { class: "passages" }, ...passages.map(({ element }) => element)), pick);
  asked.replaceChildren(make("section", { class: "stage writing" },
    make("h2", {}, visible(stage.title)), ...notes,
    locked ? "" : make("div", { class: "toolbar" }, make("span", { class: "group" }, undo, redo), tools),
    editor.element,
    make("p", { class: "counts", id: "counts" }, count, " · ", covered), notice,
    make("details", { class: "remark-field", open: comment.value !== "" }, make("summary", {}, "Comment on the question"), make("label", { for: "comment", class: "sr" }, "Comment on the question"), comment)));
  update();

  editor.element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape" && !event.isComposing) {
      passages[current].texts[0].focus();
    } else if (step && event.shiftKey && editor.quote && !event.ctrlKey && !event.metaKey) {
      stretch(event.altKey ? "start" : "end", step);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    writes: true,
    locked,
    go: ["Send", "Ctrl+Enter"],
    values: () => ({ answer: editor.pieces, left_out: [...leftOut].sort(), comment: comment.value }),
    get lacks() {
      return lacks;
    },
    ready() {
      lacks = lacking();
      return !lacks;
    },
    key(event) {
      const text = texts.find(({ element }) => element === document.activeElement);
      if (event.key.toLowerCase() === "q" && !event.shiftKey) return quote();
      if (event.key === "Escape") {
        editor.focus();
        return true;
      }
      const digit = Number(event.key);
      const at = passages.findIndex(({ number }) => number === digit);
      if (at >= 0) {
        current = at;
        passages[at].texts[0].focus();
        return true;
      }
      if (event.key === "Backspace") return true;
      return text ? text.key(event) : false;
    },
    focus: () => locked || editor.focus(),
    end: () => stop.abort(),
    keys: [
      ["Q", "Quote the selected words"],
      ["Esc", "Switch between the answer and the passages"],
      ["1 – 8", "In the passages: go to the passage with this number"],
      ["← →", "In a passage: move from word to word; with Shift, select words"],
      ["← →", "In the answer: move, also onto quotes"],
      ["Shift ← →", "On a quote: move its end; with Alt, its start"],
      ["Alt ← →", "On a quote: move it"],
      ["Delete", "On a quote: remove it"],
      ["Ctrl Z", "Undo; with Shift, redo"],
    ],
  };

  // Why the answer cannot be sent yet, or "".
  function lacking() {
    const used = quoted();
    const open = passages.filter(({ number }) => !used.has(number) && !leftOut.has(number)).map(({ number }) => number);
    const total = words(editor.draft, (quote) => textFor(quote).text(quote));
    if (total > limit) return `The answer has ${total} words; the limit is ${limit}.`;
    if (used.size === 0) {
      if (open.length || editor.pieces.length) return "Nothing is quoted yet. If no passage answers the question, leave out all of them and clear the answer.";
      if (countWords(comment.value) === 0) {
        comment.closest("details").open = true;
        comment.focus();
        return "Please say in the comment why no passage answers the question.";
      }
      return "";
    }
    if (open.length && !warned) {
      warned = true;
      const which = open.length === 1 ? `Passage ${open[0]} is` : `Passages ${open.join(", ")} are`;
      return `${which} not quoted. Quote ${open.length === 1 ? "it" : "them"}, or send again to leave ${open.length === 1 ? "it" : "them"} out.`;
    }
    for (const number of open) leftOut.add(number);
    update();
    return "";
  }
}
