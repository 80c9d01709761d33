// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, slice, visible } from "./text.js";

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);

// The words of a line as buttons; returns what each stands for, in order.
export function showWords(container, row, edits, select) {
  const words = [];
  const locks = row.decisions.filter((one) => one.kind === "keep");
  const show = (text, offset, edit, side) =>
    runs(text, offset).map((run) => {
      const shown = visible(run.text);
      if (!run.word) return shown;
      const lock = side !== "after" && locks.some((one) => clash(one, run));
      const about = lock ? { className: "word locked", ariaLabel: `${shown}, locked` } : { className: "word" };
      const number = words.length;
      const button = element("button", { ...about, type: "button", onclick: () => select(number, true) }, shown);
      words.push({ ...run, before: run.text, edit, side, button });
      return button;
    });
  const parts = [];
  let done = 0;
  for (const edit of edits) {
    parts.push(...show(slice(row.text, done, edit.offset), done));
    const part = element("span", { className: `edit ${edit.taken ? "taken" : "refused"}` });
    for (const [side, tag, offset] of [["before", "del", edit.offset], ["after", "ins", 0]]) {
      const shown = show(edit[side], offset, edit, side);
      if (shown.length) part.append(element(edit.taken ? tag : "span", { className: side }, ...shown));
    }
    if (edit.probability != null) part.append(element("sub", {}, percent(edit.probability)));
    parts.push(part);
    done = endOf(edit);
  }
  parts.push(...show(slice(row.text, done), done));
  container.replaceChildren(...parts);
  return words;
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
