// A task as a form. One stage is open: the last one, or an earlier one that is being changed. One of
// its questions is current: digit keys choose its answer and move on to the next question.

import { make } from "../dom.js";
import { Points } from "../points.js";
import { visible } from "../visible.js";
import { markable } from "./marks.js";
import { drawPart } from "./parts.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The answers of a stage that is not open.
function givenAnswers(questions, values) {
  const rows = questions.flatMap(({ id, text, options, answer }) => {
    const value = values[id];
    if (value === undefined || value === null || (answer === "toggle" && !value)) return [];
    if (answer === "spans") return [];
    const labels = answer === "toggle" ? ["Yes"] : options.filter((option) => [value].flat().some((each) => same(each, option.value))).map((option) => option.label);
    return [make("dt", {}, visible(text)), make("dd", { dir: "auto" }, visible(options.length || answer === "toggle" ? labels.join(", ") : value))];
  });
  return make("dl", { class: "given" }, ...rows);
}

// Show the parts of the stages; a later part replaces an earlier one with the same id. Unchanged parts
// are not redrawn, so that they keep their search and scroll position.
function drawParts(place, stages) {
  const wanted = new Map();
  for (const { number, parts } of stages) for (const [at, part] of parts.entries()) wanted.set(part.id ?? `${number} ${at}`, part);
  const texts = [...wanted.values()].map((part) => JSON.stringify(part));
  const old = [...place.children];
  [...wanted.values()].forEach((part, at) => {
    if (old[at]?.drawnFrom === texts[at] && !part.words) return;
    const element = drawPart(part);
    element.drawnFrom = texts[at];
    if (old[at]) old[at].replaceWith(element);
    else place.append(element);
  });
  for (const element of old.slice(wanted.size)) element.remove();
}

export function draw(task, { parts, asked }, changed, editing = task.stage) {
  const values = { ...task.values, ...task.draft };
  const open = [];
  const marking = [];
  // The parts of the open stage take precedence.
  drawParts(parts, [...task.stages, ...task.stages.filter((stage) => stage.number === editing)]);
  asked.replaceChildren(...task.stages.map((stage, at) => {
    const here = stage.number === editing;
    const drawn = here ? stage.questions.map((question, place) => field(question, `q${at}-${place}`)) : [givenAnswers(stage.questions, task.values)];
    const change = !here && (stage.revisable || stage.number === task.stage)
      ? make("button", { type: "button", class: "quiet change", "aria-label": `${stage.revisable ? "Change" : "Back to"}: ${stage.title}`, onclick: () => changed({ edit: stage.number }) }, stage.revisable ? "Change" : "Back to this stage")
      : null;
    return make("section", { class: here ? "stage open" : "stage" }, make("h2", { class: task.stages.length > 1 || stage.more ? null : "sr" }, visible(stage.title), change), ...drawn);
  }));
  for (const entry of open.filter(({ question }) => question.answer === "spans")) {
    const place = parts.querySelector(`[data-part="${CSS.escape(entry.question.part)}"]`);
    if (place) marking.push({ entry, marker: null, place });
  }

  function field(question, id) {
    const inputs = [];
    const choices = question.answer === "toggle" ? [] : question.options;
    const legend = make("legend", {}, visible(question.text));
    const hint = question.hint ? make("p", { class: "hint", id: `${id}-hint` }, visible(question.hint)) : null;
    const described = hint ? `${id}-hint` : null;
    let element;
    if (question.answer === "text" || question.answer === "lines") {
      const lines = question.answer === "lines";
      const input = make("textarea", { id, rows: lines ? 7 : 1, class: lines ? "lines" : null, maxlength: 10_000, dir: "auto", "aria-describedby": described });
      input.value = values[question.id] ?? "";
      input.addEventListener("input", () => set(input.value));
      inputs.push(input);
      element = make("div", { class: "question writes" }, make("label", { for: id }, visible(question.text)), hint, input);
    } else if (question.answer === "toggle") {
      const input = make("input", { type: "checkbox", id, "aria-describedby": described });
      input.checked = values[question.id] === true;
      input.addEventListener("change", () => set(input.checked));
      inputs.push(input);
      element = make("div", { class: "question toggles" }, make("label", { for: id }, input, make("span", {}, visible(question.text)), make("kbd", {}, "f")), hint);
    } else if (question.answer === "spans") {
      element = make("div", { class: "question marks", role: "group", "aria-labelledby": `${id}-text` },
        make("p", { class: "legend", id: `${id}-text` }, visible(question.text)), hint,
        make("ul", { class: "chips" }),
        make("button", { type: "button", class: "quiet", onclick: () => mark(entry, true) }, "Mark with the keyboard ", make("kbd", {}, "m")));
    } else {
      const several = question.answer === "several";
      const labels = choices.map((option, at) => {
        const input = make("input", { type: several ? "checkbox" : "radio", name: id, id: `${id}-${at}` });
        input.checked = several ? (values[question.id] ?? []).some((each) => same(each, option.value)) : same(values[question.id], option.value);
        input.addEventListener("change", () => {
          if (several && input.checked) {
            for (const [n, other] of choices.entries()) if (n !== at && (option.alone || other.alone)) inputs[n].checked = false;
          }
          set(several ? choices.filter((_, n) => inputs[n].checked).map((each) => each.value) : option.value);
        });
        inputs.push(input);
        const meant = option.hint ? make("span", { class: "hint" }, visible(option.hint)) : null;
        const digit = at < 9 ? make("kbd", {}, String(at + 1)) : null;
        return make("label", { for: `${id}-${at}` }, make("span", { class: "choose" }, input, digit), make("span", {}, make("span", {}, visible(option.label)), meant));
      });
      element = make("fieldset", { class: `question ${question.answer}`, "aria-describedby": described }, legend, hint, make("div", { class: "options" }, ...labels));
    }
    const entry = { question, element, inputs, set };
    open.push(entry);
    element.addEventListener("focusin", () => mark(entry));
    function set(value) {
      values[question.id] = value;
      reveal();
      changed();
    }
    return element;
  }

  const wanted = ({ question }) => question.when.every(([name, among]) => among.some((value) => same(values[name] ?? (isToggle(name) ? false : undefined), value)));
  const isToggle = (name) => open.some(({ question }) => question.id === name && question.answer === "toggle");
  const empty = ({ question }) => values[question.id] === undefined || values[question.id] === null || values[question.id] === "" || values[question.id].length === 0;
  const visibleOnes = () => open.filter((entry) => !entry.element.hidden);
  const missing = () => visibleOnes().find((entry) => entry.question.required && entry.question.answer !== "toggle" && empty(entry));
  let current = null;

  function reveal() {
    for (const entry of open) entry.element.hidden = !wanted(entry);
    if (current?.element.hidden) mark(missing() ?? null);
    for (const each of marking) drawMarks(each);
  }

  // Show the marks of a question, and make its text markable while the question is visible.
  function drawMarks(each) {
    const { entry, place } = each;
    if (entry.element.hidden) return;
    const spans = () => values[entry.question.id] ?? [];
    each.marker ??= markable(place, place.closest(".part").querySelector("h2").textContent, {
      get: spans,
      set: (found) => {
        mark(entry);
        entry.set(found.length ? found : undefined);
      },
    });
    each.marker.paint();
    const points = new Points(task.stages.flatMap((stage) => stage.parts).find((part) => part.id === entry.question.part).text);
    entry.element.querySelector(".chips").replaceChildren(...spans().map((span) => {
      const text = visible(points.slice(...span));
      const remove = () => entry.set(spans().filter((other) => other !== span));
      return make("li", {}, make("q", { dir: "auto" }, text), make("button", { type: "button", class: "icon", title: "Remove", "aria-label": `Remove mark: ${text}`, onclick: remove }, "✕"));
    }));
  }

  function mark(entry, enter = false) {
    current?.element.classList.remove("current");
    current = entry;
    current?.element.classList.add("current");
    if (enter) marking.find((each) => each.entry === entry)?.marker?.focus();
  }

  function focus(entry) {
    mark(entry);
    if (entry.question.answer === "spans") {
      entry.element.scrollIntoView({ block: "nearest" });
      mark(entry, true);
      return;
    }
    const checked = entry.inputs.find((input) => input.checked) ?? entry.inputs[0];
    checked.focus({ preventScroll: true });
    entry.element.scrollIntoView({ block: "nearest" });
  }

  reveal();
  mark(missing() ?? visibleOnes().find((entry) => entry.question.options.length) ?? null);

  return {
    stage: editing,
    values() {
      const ids = new Set(visibleOnes().map(({ question }) => question.id));
      // Include the draft of the last stage while an earlier one is changed.
      if (editing !== task.stage) for (const { id } of task.stages.at(-1).questions) ids.add(id);
      return Object.fromEntries(Object.entries(values).filter(([name, value]) => ids.has(name) && value !== undefined));
    },
    // Whether all required questions are answered; if not, focus the first one that is missing.
    ready() {
      const entry = missing();
      if (entry) focus(entry);
      return !entry;
    },
    key(event) {
      const flags = visibleOnes().find(({ question }) => question.answer === "toggle");
      if (event.key === "f" && flags) {
        flags.inputs[0].click();
        return true;
      }
      const texts = marking.filter(({ entry }) => !entry.element.hidden);
      if (event.key === "m" && texts.length) {
        const at = texts.findIndex(({ entry }) => entry === current);
        mark(texts[(document.activeElement === texts[at]?.place ? at + 1 : Math.max(at, 0)) % texts.length].entry, true);
        return true;
      }
      const field = parts.querySelector(".search");
      if (event.key === "/" && field) {
        field.focus();
        field.select();
        return true;
      }
      const digit = Number(event.key);
      // Words to mark have no digits: these correct the choice above.
      const shown = visibleOnes();
      const above = shown.slice(0, current ? shown.indexOf(current) : shown.length);
      const entry = current?.inputs.length ? current : above.findLast(({ question }) => question.options.length);
      if (!entry || !(digit >= 1 && digit <= entry.inputs.length) || entry.inputs[0].matches("textarea")) return false;
      entry.inputs[digit - 1].click();
      if (entry.question.answer !== "several") {
        const rest = missing();
        if (rest) focus(rest);
        else if (!current) mark(entry);
      }
      return true;
    },
    keys: [
      ["1 – 9", marking.length ? "Answer the highlighted question; while you mark words, correct the choice above" : "Answer the highlighted question"],
      ...(open.filter(({ question }) => question.options.length).length > 1 ? [["Shift Tab", "Back to the question above"]] : []),
      ...(open.some(({ question }) => question.answer === "toggle") ? [["f", "Report that something is wrong with the task"]] : []),
      ...(marking.length ? [["m", "Go to the text to mark; press again for the next text"], ["← → ↑ ↓", "In that text: move by word or sentence"], ["Space", "In that text: start or end a mark"], ["Delete", "In that text: remove the mark"]] : []),
      ...(open.some(({ question }) => question.answer === "lines") ? [["Ctrl Enter", "Save from a multi-line text"]] : []),
      ...(parts.querySelector(".search") ? [["/", "Search the document; Enter goes to the next match"]] : []),
    ],
  };
}
