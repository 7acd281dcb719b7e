// A task as a form: what the stages show, and their questions. One question is current: digits choose
// its answer, and the next one becomes current.

import { make } from "../dom.js";
import { visible } from "../visible.js";
import { drawPart } from "./parts.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// What was answered in a stage that can no longer be changed.
function said(questions, values) {
  const rows = questions.flatMap(({ id, text, options, answer }) => {
    const value = values[id];
    if (value === undefined || value === null || (answer === "toggle" && !value)) return [];
    const labels = answer === "toggle" ? ["Yes"] : options.filter((option) => [value].flat().some((each) => same(each, option.value))).map((option) => option.label);
    return [make("dt", {}, visible(text)), make("dd", { dir: "auto" }, visible(options.length || answer === "toggle" ? labels.join(", ") : value))];
  });
  return make("dl", { class: "given" }, ...rows);
}

export function draw(task, { parts, asked }, changed) {
  const values = { ...task.values, ...task.draft };
  const open = [];
  parts.replaceChildren(...task.stages.flatMap((stage) => stage.parts).map(drawPart));
  asked.replaceChildren(...task.stages.map((stage, at) => {
    const drawn = stage.locked ? [said(stage.questions, task.values)] : stage.questions.map((question, place) => field(question, `q${at}-${place}`));
    return make("section", { class: "stage" }, make("h2", { class: task.stages.length > 1 || stage.more ? null : "sr" }, visible(stage.title)), ...drawn);
  }));

  function field(question, id) {
    const inputs = [];
    const choices = question.answer === "toggle" ? [] : question.options;
    const legend = make("legend", {}, visible(question.text));
    const hint = question.hint ? make("p", { class: "hint", id: `${id}-hint` }, visible(question.hint)) : null;
    const described = hint ? `${id}-hint` : null;
    let element;
    if (question.answer === "text") {
      const input = make("textarea", { id, rows: 1, maxlength: 10_000, dir: "auto", "aria-describedby": described });
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
    } else {
      const several = question.answer === "several";
      const labels = choices.map((option, at) => {
        const input = make("input", { type: several ? "checkbox" : "radio", name: id, id: `${id}-${at}` });
        input.checked = several ? (values[question.id] ?? []).some((each) => same(each, option.value)) : same(values[question.id], option.value);
        input.addEventListener("change", () => {
          set(several ? choices.filter((_, n) => inputs[n].checked).map((each) => each.value) : option.value);
        });
        inputs.push(input);
        return make("label", { for: `${id}-${at}` }, make("span", { class: "choose" }, input, at < 9 ? make("kbd", {}, String(at + 1)) : null), make("span", {}, visible(option.label)));
      });
      element = make("fieldset", { class: `question ${question.answer}`, "aria-describedby": described }, legend, hint, make("div", { class: "options" }, ...labels));
    }
    const entry = { question, element, inputs };
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
  const empty = ({ question }) => values[question.id] === undefined || values[question.id] === null || values[question.id] === "";
  const visibleOnes = () => open.filter((entry) => !entry.element.hidden);
  const missing = () => visibleOnes().find((entry) => entry.question.required && entry.question.answer !== "toggle" && empty(entry));
  let current = null;

  function reveal() {
    for (const entry of open) entry.element.hidden = !wanted(entry);
    if (current?.element.hidden) mark(missing() ?? null);
  }

  function mark(entry) {
    current?.element.classList.remove("current");
    current = entry;
    current?.element.classList.add("current");
  }

  function focus(entry) {
    mark(entry);
    const checked = entry.inputs.find((input) => input.checked) ?? entry.inputs[0];
    checked.focus({ preventScroll: true });
    entry.element.scrollIntoView({ block: "nearest" });
  }

  reveal();
  mark(missing() ?? visibleOnes().find((entry) => entry.question.options.length) ?? null);

  return {
    values() {
      const ids = new Set(visibleOnes().map(({ question }) => question.id));
      return Object.fromEntries(Object.entries(values).filter(([name, value]) => ids.has(name) && value !== undefined));
    },
    // Whether all is answered; if not, the first question that is not gets the focus.
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
      const digit = Number(event.key);
      if (!current || !(digit >= 1 && digit <= current.inputs.length) || current.question.answer === "text") return false;
      current.inputs[digit - 1].click();
      if (current.question.answer !== "several") {
        const rest = missing();
        if (rest) focus(rest);
      }
      return true;
    },
    keys: [
      ["1 – 9", "Choose an answer to the marked question"],
      ...(open.some(({ question }) => question.answer === "toggle") ? [["f", "Say that something is wrong with the task"]] : []),
    ],
  };
}
