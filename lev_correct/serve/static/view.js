// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, visible } from "./text.js";

export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);
const reasons = (why) => Object.entries(why).map(([name, nats]) => `${name}: ${nats}`).join("\n");
const rating = (value, why = {}) => element("sub", { title: reasons(why) }, percent(value));
const gone = (text) => (text ? element("del", {}, visible(text)) : "");
const come = (text) => (text ? element("ins", {}, visible(text)) : "");

// A line and its edits in place; `show` makes what stands for a word.
function parts(row, edits, show) {
  const runsOf = (text, start, edit, side) => runs(text, start).map((run) =>
    run.before.trim() ? show({ ...run, edit, side }) : visible(run.before));
  const shown = [];
  let done = 0;
  edits.forEach((edit, number) => {
    const { taken, probability } = edit;
    const part = element("span", { className: taken ? "edit" : "edit refused" });
    part.dataset.number = number;
    for (const [side, tag, start] of [["before", "del", edit.offset], ["after", "ins", 0]]) {
      const words = runsOf(edit[side], start, edit, side);
      if (words.length) part.append(element(taken ? tag : "span", { className: side }, ...words));
    }
    if (probability != null) part.append(rating(probability, edit.why));
    shown.push(...runsOf(row.text.slice(done, edit.offset), done), part);
    done = endOf(edit);
  });
  return [...shown, ...runsOf(row.text.slice(done), done)];
}

// The words of a line as buttons, each with the place that it stands for: its `word`.
export function showWords(container, row, edits) {
  const locks = row.decisions.filter(({ kind }) => kind === "keep");
  container.replaceChildren(...parts(row, edits, (word) => {
    const text = visible(word.before);
    const button = element("button", { word, className: "word" }, text);
    if (word.side !== "after" && locks.some((lock) => clash(lock, word))) {
      Object.assign(button, { className: "word locked", ariaLabel: `${text}, locked` });
    }
    return button;
  }));
}

// A line of the document.
export function showLine(row, edits) {
  const source = row.source ? element("div", { className: "note" }, visible(row.source)) : "";
  row.item.replaceChildren(source, ...parts(row, edits, ({ before }) => visible(before)));
}

// The edits of all lines, those that are alike together; each has the number of its `line`. The
// button that has the focus keeps it.
export function showEdits(list, groups, go, set) {
  const label = list.contains(document.activeElement) && document.activeElement.ariaLabel;
  list.replaceChildren(...groups.map((edits) => {
    const [{ before, after }] = edits;
    const act = (text, wanted) => element("button", {
      onclick: () => set(edits, wanted),
      ariaLabel: `${text}: ${visible(before)} → ${visible(after)}`,
      ariaDisabled: edits.every(({ taken }) => taken === wanted),
    }, text);
    const lines = edits.map((edit) => {
      const ariaLabel = `line ${edit.line}`;
      const className = edit.taken ? "line" : "line left";
      return element("button", { onclick: () => go(edit), ariaLabel, className }, ariaLabel);
    });
    const both = [act("Accept", true), act("Refuse", false)];
    const acts = element("span", { className: "options" }, ...both);
    return element("li", {}, gone(before), " ", come(after), acts, ...lines);
  }));
  const buttons = [...list.querySelectorAll("button")];
  if (label) buttons.find(({ ariaLabel }) => ariaLabel === label)?.focus({ preventScroll: true });
}

// Outputs for a line, best first, and the iterations of each; `take` chooses one.
export function showVersions(section, hypotheses, take) {
  section.replaceChildren(...hypotheses.flatMap(({ text, score, iterations = [] }) => {
    const choice = element("button", { onclick: () => take(text) }, "Take");
    const steps = iterations.map((step) => element("li", { className: "tokens" }, ...merged(step)));
    const version = element("p", {}, choice, ` ${visible(text)} `, rating(score));
    return [version, element("ol", {}, ...steps)];
  }));
}

// The tokens of an iteration: those that stay, deleted ones where they stood, inserted ones.
function merged({ before, deleted, after, inserted }) {
  const shown = [];
  let next = 0; // of those after
  for (const [i, token] of [...before, ""].entries()) {
    for (; inserted[next]; next += 1) shown.push(come(after[next]), " ");
    shown.push(deleted[i] ? gone(token) : visible(token), " ");
    if (!deleted[i]) next += 1;
  }
  return shown;
}

// A bar for each label, or for each word its tag; a value as it is.
export function showPrediction(section, { words, tags, scores, top = [], value, cut }) {
  const tagged = words?.map((word, i) => ({ label: `${word}: ${tags[i]}`, score: scores[i] }));
  const bars = (tagged ?? top).map(({ label, score }) => {
    const name = element("span", { className: "label", dir: "auto" }, visible(label));
    const bar = element("span", {}, element("meter", { value: score }), ` ${percent(score)}`);
    return element("label", { className: "row" }, name, bar);
  });
  section.replaceChildren(...bars, value === undefined ? "" : element("output", {}, `${value}`));
  if (cut) section.append(element("p", { className: "note" }, "The end of the text was cut off."));
}
