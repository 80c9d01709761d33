// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, slice, visible } from "./text.js";

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);
const button = (text, onclick, more = {}) => element("button", { type: "button", onclick, ...more }, text);
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
    const made = button(shown, () => select(number, true), { className: "word" });
    const locked = side !== "after" && locks.some((lock) => clash(lock, run));
    if (locked) Object.assign(made, { className: "word locked", ariaLabel: `${shown}, locked` });
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

// The edits of all lines, those that are alike together: {before, after, places: [{line, edit}]}.
export function showEdits(list, groups, go, set) {
  list.replaceChildren(...groups.map((group) => {
    const { before, after, places } = group;
    const act = (text, wanted) => {
      const ariaLabel = `${text}: ${visible(before)} → ${visible(after)}`;
      const disabled = places.every(({ edit }) => edit.taken === wanted);
      return button(text, () => set(group, wanted), { ariaLabel, disabled });
    };
    const lines = places.map((place) => {
      const name = `line ${place.line + 1}`;
      const className = place.edit.taken ? "line" : "line left";
      return button(name, () => go(place), { className, ariaLabel: name });
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
  const [old, written] = [before.map((token, i) => [token, deleted[i]]), after.map((token, i) => [token, inserted[i]])];
  const shown = [];
  while (old.length || written.length) {
    if (written[0]?.[1]) shown.push(come(written.shift()[0]), " ");
    else {
      const [token, isGone] = old.shift();
      shown.push(isGone ? gone(token) : visible(token), " ");
      if (!isGone) written.shift();
    }
  }
  return shown;
}

// A bar for each label, or for each word its tag; a value as it is.
export function showPrediction(section, found) {
  section.hidden = !found;
  if (!found) return;
  const { words, tags, top, labels, label, scores, score, value, cut } = found;
  const names = words?.map((word, i) => `${word}: ${tags[i]}`) ?? labels;
  const several = top?.map((one) => [one.label, one.score]) ?? names?.map((name, i) => [name, scores[i]]);
  const bars = several ?? (value === undefined ? [[label, score]] : []);
  section.replaceChildren(...bars.map(([name, share]) => {
    const meter = element("span", {}, element("meter", { value: share }), ` ${percent(share)}`);
    return element("div", { className: "row" }, element("span", { className: "label", dir: "auto" }, visible(name)), meter);
  }));
  if (value !== undefined) section.append(element("output", {}, `${value}`));
  if (cut) section.append(element("p", { className: "note" }, "The end of the text was cut off."));
}
