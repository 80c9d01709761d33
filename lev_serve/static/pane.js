// The pane: a textarea, so that typing, undo, paste, input methods, phones and screen readers are
// the browser's own, over a mirror of its text, on which the browser paints underlines.

import { apply, difference, endOf, visible } from "./text.js";

const $ = (id) => document.getElementById(id);
const SURE = 0.95; // probability below which it is shown
const TAKEN = 0.8; // from which on an edit has a wave, and *Correct all* makes it
const SLIP = 0.9; // the same, of an everyday slip: a right word in the wrong place
const mirror = $("mirror").appendChild(new Text(" "));
const field = $("text");
const LINES = 60; // that a browser inserts quickly
const OTHERS = 2; // words that are offered besides the likeliest
const BESIDE = matchMedia("(min-width: 60rem)"); // as in style.css
const LINE = 40; // pixels
// what the pop-up is, and was, about; what the list has the focus on; whether the text is being
// written
export const pop = { edit: null, last: null, chosen: null, busy: false };
// what undo and redo are to do: a browser forgets what it could undo once a script puts a text in
const [past, future] = [[], []];

export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Whether an edit is dotted and left to a person; all others have a wave and are made at once.
export function isDoubtful({ applied, reason, why = {}, probability = 1 }) {
  const isSlip = reason === "reported" && !Object.keys(why).length;
  return isSlip ? probability < SLIP : !applied || probability < TAKEN;
}

// What of the mirror is underlined for an edit: its words, or a letter beside what is inserted.
function stretch({ offset, before, after }) {
  const { data } = mirror;
  let [start, end] = [offset, offset + before.length];
  const isInside = !before && !after.startsWith("\n"); // a line
  if (isInside && offset && data[offset - 1] !== "\n") start -= 1;
  else if (isInside && offset < data.length - 1 && data[offset] !== "\n") end += 1;
  const [startContainer, endContainer] = [mirror, mirror];
  return { startContainer, startOffset: start, endContainer, endOffset: end };
}

function rectangle(edit) {
  const { startOffset, endOffset } = stretch(edit);
  const range = new Range();
  range.setStart(mirror, startOffset);
  range.setEnd(mirror, Math.max(endOffset, startOffset + 1));
  const sheet = $("sheet").getBoundingClientRect();
  const { left, bottom } = range.getClientRects()[0] ?? sheet;
  const top = bottom - sheet.top + $("sheet").scrollTop;
  return { left: left - sheet.left, top, width: sheet.width };
}

// Shows the text's edits; those of an empty line, in which no letter can be underlined, as a bar.
export function paint(edits) {
  const text = `${field.value} `; // a line break at the end needs something behind it
  if (mirror.data !== text) mirror.data = text;
  const seen = edits.map((edit) => ({ edit, range: new StaticRange(stretch(edit)) }));
  const kinds = { sure: [], doubt: [], chosen: [] };
  for (const { edit, range } of seen) {
    kinds[isDoubtful(edit) ? "doubt" : "sure"].push(range);
    if (edit === (pop.edit ?? pop.chosen)) kinds.chosen.push(range);
  }
  for (const [kind, ranges] of Object.entries(kinds)) {
    CSS.highlights?.set(kind, new Highlight(...ranges));
  }
  const empty = seen.filter(({ range }) => range.collapsed);
  $("gaps").replaceChildren(...empty.map(({ edit }) => element("i", {})));
  [...$("gaps").children].forEach((gap, i) => {
    const { left, top } = rectangle(empty[i].edit);
    Object.assign(gap.style, { left: `${left}px`, top: `${top}px` });
  });
}

// Has a button say what a word does that may come in an edit's place.
export function offer(button, { before }, after) {
  const [old, text] = [before, after].map((words) => visible(words.trim()));
  const does = !text ? "Delete" : old ? "" : "Insert";
  button.replaceChildren(does ? `${does} ` : "", element("span", {}, text || old));
  button.ariaLabel = does ? null : `${text}: replace ${old}`;
  return button;
}

// Why an edit is proposed, and how sure it is.
export function reasonOf(edit) {
  const { probability = 1 } = edit;
  const share = probability < SURE ? `${Math.floor(100 * probability)}\u00a0%\u00a0sure` : "";
  return [visible(edit.message ?? ""), share].filter(Boolean).join(" · ");
}

// What else its words may become.
export const othersOf = ({ others = [] }) => others.slice(0, OTHERS);

// Opens the pop-up under an edit; `take` makes it with another word.
export function open(edit, take) {
  pop.edit = pop.last = edit;
  offer($("take"), edit, edit.after);
  $("others").replaceChildren(...othersOf(edit).map((word) =>
    offer(element("button", { onclick: () => take(edit, word) }), edit, word)));
  $("reason").textContent = reasonOf(edit);
  $("always").hidden = !edit.before.trim();
  $("pop").hidden = false;
  const { left, top, width } = rectangle(edit);
  const room = width - $("pop").offsetWidth;
  const place = { left: `${Math.max(0, Math.min(left, room))}px`, top: `${top + 4}px` };
  Object.assign($("pop").style, place);
  $("pop").scrollIntoView({ block: "nearest" });
}

// Shows where the edit is that the list has the focus on: scrolls the text, on a screen where it is
// above the list, or the page.
export function choose(edit) {
  pop.chosen = edit;
  const ranges = edit ? [new StaticRange(stretch(edit))] : [];
  CSS.highlights?.set("chosen", new Highlight(...ranges));
  if (!edit) return;
  const { top } = rectangle(edit);
  if (!BESIDE.matches) {
    $("sheet").scrollTo({ top: top - $("sheet").clientHeight / 2 });
    return;
  }
  const y = $("sheet").getBoundingClientRect().top + top;
  if (y < LINE || y > innerHeight - 2 * LINE) scrollBy({ top: y - innerHeight / 2 });
}

export function close() {
  if ($("pop").contains(document.activeElement)) field.focus({ preventScroll: true });
  $("pop").hidden = true;
  pop.edit = null;
}

// Makes a change as if a person had typed it. With many lines browsers are slow to do that (1,000:
// 13 s): those are put there at once.
function make({ offset, before, after }, detail) {
  const end = offset + before.length;
  const isLong = [before, after].some((text) => text.split("\n", LINES).length === LINES);
  field.focus({ preventScroll: true });
  field.setSelectionRange(offset, end);
  pop.busy = true;
  if (isLong) field.setRangeText(after, offset, end, "end");
  else if (after) document.execCommand("insertText", false, after);
  else document.execCommand("delete");
  pop.busy = false;
  field.dispatchEvent(new CustomEvent("input", { detail }));
}

export const write = ({ offset, before }, after) => make({ offset, before, after });

// Notes a change of a text for undo; with `joins`, as a part of the last one.
export function note(text, change, joins) {
  if (!change.before && !change.after) return;
  const old = joins && past.length ? apply(text, [past.pop()]) : text;
  past.push(inverse(difference(old, apply(text, [change]))));
  future.length = 0;
}

const inverse = ({ offset, before, after }) => ({ offset, before: after, after: before });

function move(from, to) {
  if (!from.length) return;
  const change = from.pop();
  to.push(inverse(change));
  make(change, "history");
}
export const undo = () => move(past, future);
export const redo = () => move(future, past);

// The edit at the caret, and the first one behind it or (`back`) the last before it, or the first.
export const at = (edits, caret) =>
  edits.find((edit) => edit.offset <= caret && caret <= endOf(edit));
export function beside(edits, back) {
  const { selectionStart: start, selectionEnd: end } = field;
  const next = (edit) => edit.offset >= end && edit !== pop.last;
  if (back) return edits.findLast(({ offset }) => offset < start) ?? edits.at(-1);
  return edits.find(next) ?? edits[0];
}

// A bar for each label, or for each word its tag; a value as it is.
export function showPrediction({ words, tags, scores, top = [], value, cut }) {
  const tagged = words?.map((word, i) => ({ label: `${word}: ${tags[i]}`, score: scores[i] }));
  const bars = (tagged ?? top).map(({ label, score }) => {
    const name = element("span", { dir: "auto" }, visible(label));
    return element("label", {}, name, element("meter", { value: score }), ` ${score.toFixed(2)}`);
  });
  const shown = value === undefined ? "" : element("output", {}, `${value}`);
  const note = cut ? element("p", {}, "The end of the text was cut off.") : "";
  $("predictions").replaceChildren(...bars, shown, note);
}
