// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, slice, visible } from "./text.js";

export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);
const button = (text, onclick, more) => element("button", { type: "button", onclick, ...more }, text);
const gone = (text) => (text ? element("del", {}, visible(text)) : "");
const come = (text) => (text ? element("ins", {}, visible(text)) : "");

// A line and its edits in place; `word` makes what stands for a run of letters.
function parts(row, edits, word) {
  const show = (text, offset, edit, side) =>
    runs(text, offset).map((run) => (run.word ? word(run, edit, side) : visible(run.text)));
  const shown = [];
  let done = 0;
  edits.forEach((edit, number) => {
    const part = element("span", { className: `edit ${edit.taken ? "taken" : "refused"}` });
    part.dataset.number = number;
    for (const [side, tag, offset] of [["before", "del", edit.offset], ["after", "ins", 0]]) {
      const words = show(edit[side], offset, edit, side);
      if (words.length) part.append(element(edit.taken ? tag : "span", { className: side }, ...words));
    }
    if (edit.probability != null) part.append(element("sub", {}, percent(edit.probability)));
    shown.push(...show(slice(row.text, done, edit.offset), done), part);
    done = endOf(edit);
  });
  return [...shown, ...show(slice(row.text, done), done)];
}

// The words of a line as buttons; returns what each stands for, in order.
export function showWords(container, row, edits, select) {
  const words = [];
  const locks = row.decisions.filter(({ kind }) => kind === "keep");
  container.replaceChildren(...parts(row, edits, (run, edit, side) => {
    const shown = visible(run.text);
    const number = words.length;
    const locked = side !== "after" && locks.some((lock) => clash(lock, run));
    const look = locked ? { className: "word locked", ariaLabel: `${shown}, locked` } : { className: "word" };
    const made = button(shown, () => select(number, true), look);
    words.push({ ...run, before: run.text, edit, side, button: made });
    return made;
  }));
  return words;
}

// A line of the document.
export function showLine(item, row, edits, className, title) {
  Object.assign(item, { className, title });
  const source = element("div", { className: "note" }, visible(row.source));
  item.replaceChildren(...(row.source ? [source] : []), ...parts(row, edits, (run) => visible(run.text)));
}

// The edits of all lines, those that are alike together, as groups of {line, edit}.
export function showEdits(list, groups, go, set) {
  list.replaceChildren(...groups.map((places) => {
    const { before, after } = places[0].edit;
    const act = (text, wanted) => button(text, () => set(places, wanted), {
      ariaLabel: `${text}: ${visible(before)} → ${visible(after)}`,
      disabled: places.every(({ edit }) => edit.taken === wanted),
    });
    const lines = places.map((place) => {
      const ariaLabel = `line ${place.line + 1}`;
      const className = place.edit.taken ? "line" : "line left";
      return button(ariaLabel, () => go(place), { ariaLabel, className });
    });
    const acts = element("span", { className: "options" }, act("Accept", true), act("Refuse", false));
    return element("li", {}, gone(before), " ", come(after), acts, ...lines);
  }));
}

// Outputs for a line, best first, and the iterations of each; `take` chooses one.
export function showVersions(section, hypotheses, take) {
  section.replaceChildren(...hypotheses.flatMap(({ text, score, iterations = [] }) => {
    const steps = iterations.map((step) => element("li", { className: "tokens" }, ...merged(step)));
    const choice = button("Take", () => take(text));
    return [element("p", {}, choice, ` ${visible(text)} `, element("sub", {}, percent(score))), element("ol", {}, ...steps)];
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
export function showPrediction(section, found) {
  section.hidden = !found;
  if (!found) return;
  const { words, tags, top, labels, label, scores, score, value, cut } = found;
  const names = words?.map((word, i) => `${word}: ${tags[i]}`) ?? labels ?? [label ?? ""];
  const rated = top ?? names.map((name, i) => ({ label: name, score: scores?.[i] ?? score }));
  const bars = rated.map((one) => {
    const name = element("span", { className: "label", dir: "auto" }, visible(one.label));
    const meter = element("meter", { value: one.score });
    return element("div", { className: "row" }, name, element("span", {}, meter, ` ${percent(one.score)}`));
  });
  section.replaceChildren(...(value === undefined ? bars : [element("output", {}, `${value}`)]));
  if (cut) section.append(element("p", { className: "note" }, "The end of the text was cut off."));
}
