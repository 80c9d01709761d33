// What is shown. Text only ever becomes a text node, so nothing in it is markup.

import { points, runs, visible } from "./text.js";

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.includes("-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

const percent = (value) => value.toFixed(2);
const NAMES = { keep: "locked", term: "locked", drop: "struck", replace: "another is wanted" };

// The words of a line as buttons; `words` gets what each stands for, in order.
export function showWords(container, row, edits, words) {
  const parts = [];
  const base = points(row.base);
  const button = (word, kind) => {
    const mark = row.marks.find((one) => one.start < word.end && one.end > word.start);
    const marked = mark && !(word.edit && word.side === "after") ? mark.kind : "";
    words.push(word);
    return element(
      "button",
      {
        type: "button",
        class: `word ${kind} ${marked && `mark-${marked}`}`,
        tabIndex: -1,
        title: marked ? NAMES[marked] : "",
        "aria-label": `${visible(word.text)}${marked ? `, ${NAMES[marked]}` : ""}`,
      },
      visible(word.text),
    );
  };
  const kept = (start, end) => {
    for (const run of runs(base.slice(start, end).join(""), start)) {
      parts.push(run.word ? button(run, "kept") : visible(run.text));
    }
  };
  let done = 0;
  for (const edit of edits) {
    kept(done, edit.offset);
    parts.push(showEdit(edit, button));
    done = edit.offset + edit.length;
  }
  kept(done, base.length);
  container.replaceChildren(...parts);
}

function showEdit(edit, button) {
  const side = (name, text, from) =>
    runs(text, from).map((run) =>
      run.word ? button({ ...run, edit, side: name }, name) : visible(run.text),
    );
  const parts = [];
  const [gone, come] = edit.taken ? ["del", "ins"] : ["span", "span"];
  if (edit.before) {
    parts.push(element(gone, { class: "before" }, ...side("before", edit.before, edit.offset)));
  }
  if (edit.after) parts.push(element(come, { class: "after" }, ...side("after", edit.after, 0)));
  if (edit.probability !== null) parts.push(element("sub", {}, percent(edit.probability)));
  return element("span", { class: edit.taken ? "edit taken" : "edit refused" }, ...parts);
}

export function showHypotheses(field, result, chosen, choose) {
  const found = result.hypotheses;
  field.hidden = found.length < 2;
  const legend = field.querySelector("legend");
  const choices = found.map((one, number) => {
    const input = element("input", {
      type: "radio",
      name: "hypothesis",
      checked: number === chosen,
      onchange: () => choose(number),
    });
    const text = element("span", { class: "tokens", dir: "auto", lang: "" }, visible(one.text));
    const score = element("sub", {}, Number(one.score).toFixed(2));
    return element("label", {}, input, text, score);
  });
  field.replaceChildren(legend, ...choices);
}

export function showIterations(details, hypothesis) {
  const steps = hypothesis?.iterations ?? [];
  details.hidden = steps.length === 0;
  const tokens = (all, marks, values, name) =>
    all.flatMap((token, i) => {
      const shown = visible(token);
      const value = values?.[i];
      const title = value === undefined ? "" : `${percent(value)}`;
      if (!marks[i]) return [element("span", { title }, shown), " "];
      return [element(name, { title }, shown), element("sub", {}, title), " "];
    });
  const line = (label, content) =>
    element(
      "div",
      { class: "row" },
      element("span", { class: "label" }, label),
      element("p", { class: "tokens", dir: "auto", lang: "" }, ...content),
    );
  const items = steps.map((step, i) =>
    element(
      "li",
      {},
      element("h3", {}, `Iteration ${i + 1}`),
      line("delete", tokens(step.before, step.deleted, step.delete_probabilities, "del")),
      line("insert", tokens(step.after, step.inserted, step.token_probabilities, "ins")),
    ),
  );
  details.querySelector("ol").replaceChildren(...items);
}

export function showPrediction(section, found) {
  const bar = (label, score) =>
    element(
      "div",
      { class: "row" },
      element("span", { class: "label", dir: "auto" }, visible(label)),
      element("span", {}, element("meter", { min: 0, max: 1, value: score }), ` ${percent(score)}`),
    );
  const parts = [];
  if (found.words) {
    const tagged = found.words.map((word, i) =>
      element(
        "span",
        { class: "tagged", title: percent(found.scores[i]) },
        element("span", { dir: "auto" }, visible(word)),
        element("sub", {}, visible(found.tags[i])),
      ),
    );
    parts.push(element("p", { class: "tokens", dir: "auto" }, ...tagged));
  } else if (found.value !== undefined) {
    parts.push(element("output", { class: "value" }, String(found.value)));
  } else {
    const best = found.top ?? (found.labels ?? []).map((label, i) => ({ label, score: found.scores[i] }));
    const shown = best.length || found.label === undefined ? best : [found];
    parts.push(...shown.map((one) => bar(one.label, one.score)));
  }
  if (found.cut) parts.push(element("p", { class: "note" }, "The end of the text was cut off."));
  section.replaceChildren(...parts);
}
