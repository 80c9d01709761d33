// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { clash, endOf, runs, slice, visible } from "./text.js";

export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const percent = (value) => Number(value).toFixed(2);

// The words of a line as buttons; returns what each stands for, in order.
export function showWords(container, row, edits) {
  const words = [];
  const locked = (word) => row.decisions.some((one) => one.kind === "keep" && clash(one, word));
  const show = (text, offset, edit, side) =>
    runs(text, offset).map((run) => {
      if (!run.word) return visible(run.text);
      words.push({ ...run, before: run.text, edit, side });
      const lock = side !== "after" && locked(run);
      const about = { type: "button", className: `word ${lock ? "mark-keep" : ""}`, tabIndex: -1 };
      if (lock) about.ariaLabel = `${visible(run.text)}, locked`;
      return element("button", about, visible(run.text));
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

// `texts` are what comes of each hypothesis, with what the person decided.
export function showHypotheses(field, hypotheses, texts, chosen, choose) {
  field.hidden = hypotheses.length < 2;
  const choices = hypotheses.map(({ score }, number) => {
    const onchange = () => choose(number);
    const about = { type: "radio", name: "hypothesis", checked: number === chosen, onchange };
    const text = element("span", { className: "tokens", dir: "auto", lang: "" }, visible(texts[number]));
    return element("label", {}, element("input", about), text, element("sub", {}, percent(score)));
  });
  field.replaceChildren(field.querySelector("legend"), ...choices);
}

// A bar for each label, or for each word its tag; a value as it is.
export function showPrediction(section, found) {
  const bar = (name, score) => {
    const label = element("span", { className: "label", dir: "auto" }, visible(name));
    const value = element("span", {}, element("meter", { value: score }), ` ${percent(score)}`);
    return element("div", { className: "row" }, label, value);
  };
  const several = (names) => names.map((name, i) => bar(name, found.scores[i]));
  let shown;
  if (found.words) shown = several(found.words.map((word, i) => `${word}: ${found.tags[i]}`));
  else if (found.value !== undefined) shown = [element("output", { className: "value" }, `${found.value}`)];
  else if (found.top) shown = found.top.map(({ label, score }) => bar(label, score));
  else shown = found.labels ? several(found.labels) : [bar(found.label, found.score)];
  if (found.cut) shown.push(element("p", { className: "note" }, "The end of the text was cut off."));
  section.replaceChildren(...shown);
}
