// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, slice, visible } from "./text.js";

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);
const button = (text, onclick, more = {}) => element("button", { type: "button", onclick, ...more }, text);
const gone = (text) => element("del", {}, visible(text));
const come = (text) => element("ins", {}, visible(text));

// A line and its edits in place; `word` makes what stands for a run of letters.
function parts(row, edits, word) {
  const show = (text, offset, edit, side) =>
    runs(text, offset).map((run) => (run.word ? word(run, edit, side) : visible(run.text)));
  const shown = [];
  let done = 0;
  edits.forEach((edit, number) => {
    shown.push(...show(slice(row.text, done, edit.offset), done));
    const part = element("span", { className: `edit ${edit.taken ? "taken" : "refused"}` });
    part.dataset.number = number;
    for (const [side, tag, offset] of [["before", "del", edit.offset], ["after", "ins", 0]]) {
      const words = show(edit[side], offset, edit, side);
      if (words.length) part.append(element(edit.taken ? tag : "span", { className: side }, ...words));
    }
    if (edit.probability != null) part.append(element("sub", {}, percent(edit.probability)));
    shown.push(part);
    done = endOf(edit);
  });
  return [...shown, ...show(slice(row.text, done), done)];
}

// The words of a line as buttons; returns what each stands for, in order.
export function showWords(container, row, edits, select) {
  const words = [];
  const locks = row.decisions.filter((one) => one.kind === "keep");
  const word = (run, edit, side) => {
    const shown = visible(run.text);
    const lock = side !== "after" && locks.some((one) => clash(one, run));
    const about = lock ? { className: "word locked", ariaLabel: `${shown}, locked` } : { className: "word" };
    const number = words.length;
    const made = button(shown, () => select(number, true), about);
    words.push({ ...run, before: run.text, edit, side, button: made });
    return made;
  };
  container.replaceChildren(...parts(row, edits, word));
  return words;
}

// A line of the document; `kind`: waiting, failed, code, or "" for one that was read.
export function showLine(item, row, edits, kind) {
  item.className = kind;
  item.title = { waiting: "waiting for the model", failed: "no answer", code: "left alone as code" }[kind] ?? "";
  const source = row.source ? [element("span", { className: "note" }, visible(row.source), document.createElement("br"))] : [];
  item.replaceChildren(...source, ...parts(row, edits, (run) => visible(run.text)));
}

// The edits of all lines, those that are alike together: {before, after, places: [{line, edit}]}.
export function showEdits(list, groups, { go, set }) {
  list.replaceChildren(...groups.map((group) => {
    const { before, after, places } = group;
    const taken = places.filter(({ edit }) => edit.taken).length;
    const label = `${visible(before)} → ${visible(after)}`;
    const act = (text, wanted) =>
      button(text, () => set(group, wanted), { ariaLabel: `${text}: ${label}`, disabled: taken === (wanted ? places.length : 0) });
    const lines = places.map((place) =>
      button(`${place.line + 1}`, () => go(place), { className: place.edit.taken ? "line" : "line left", ariaLabel: `line ${place.line + 1}` }));
    return element("li", {}, before ? gone(before) : "", " ", after ? come(after) : "",
      element("span", { className: "options" }, act("Accept", true), act("Refuse", false)), "line ", ...lines);
  }));
}

// Outputs for a line, best first, and the iterations of each; `take` chooses one.
export function showVersions(section, hypotheses, take) {
  section.replaceChildren(...hypotheses.map(({ text, score, iterations = [] }) =>
    element("div", { className: "version" },
      element("p", {}, button("Take", () => take(text)), ` ${visible(text)} `, element("sub", {}, percent(score))),
      element("ol", {}, ...iterations.map((step) => element("li", { className: "tokens" }, ...merged(step)))))));
}

// The tokens of an iteration: those that stay, deleted ones where they stood, inserted ones.
function merged({ before, deleted, after, inserted }) {
  const shown = [];
  let place = 0;
  const insert = () => {
    for (; inserted[place]; place += 1) shown.push(come(after[place]), " ");
  };
  before.forEach((token, i) => {
    insert();
    shown.push(deleted[i] ? gone(token) : visible(token), " ");
    if (!deleted[i]) place += 1;
  });
  insert();
  return shown;
}

// A bar for each label, or for each word its tag; a value as it is.
export function showPrediction(section, found) {
  section.hidden = !found;
  if (!found) return;
  const { words, tags, top, labels, label, scores, score, value } = found;
  const several = (names) => names?.map((name, i) => [name, scores[i]]);
  const alone = value === undefined ? [[label, score]] : [];
  const bars = several(words?.map((word, i) => `${word}: ${tags[i]}`)) ??
    top?.map((one) => [one.label, one.score]) ?? several(labels) ?? alone;
  const shown = bars.map(([name, score]) => {
    const meter = element("span", {}, element("meter", { value: score }), ` ${percent(score)}`);
    return element("div", { className: "row" }, element("span", { className: "label", dir: "auto" }, visible(name)), meter);
  });
  if (value !== undefined) shown.push(element("output", {}, `${value}`));
  if (found.cut) shown.push(element("p", { className: "note" }, "The end of the text was cut off."));
  section.replaceChildren(...shown);
}
