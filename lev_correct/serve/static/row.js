// A line that is worked on: its text, what the person decided at which place, what the model said.

import { apply, clash, difference, disjoint, endOf, shift, toPoints, toUnits } from "./text.js";
import { element } from "./view.js";

const COLUMNS = { edit: 3, correct: 1, predict: 2 }; // source, draft, source before it was changed

export function newRow(fields) {
  const row = {
    ...{ source: "", text: "", ending: "", tab: false, ...fields }, // as the file has it
    decisions: [], // disjoint places of the text, each with its `kind`: keep, refuse or drop
    said: null, // of the request `key`: {edits, obeys}, {prediction} or {error}, and its `kind`
    seen: false, // whether that was on the screen
    past: [], // for undo()
  };
  row.item = element("li", { row, dir: "auto" }); // in the document
  return row;
}

// A row for each line of a file, which remembers how it ended: \n, \r\n, \r, or not.
export function rowsOf(content, mode, name) {
  const lines = content.matchAll(/(?!$)([^\r\n]*)(\r\n?|\n|$)/g);
  return Array.from(lines, ([, line, ending], number) => {
    const columns = mode === "correct" ? [line] : line.split("\t");
    const tab = columns.length > 1;
    if (columns.length > COLUMNS[mode]) {
      throw new Error(`${name}: line ${number + 1} has several tabs`);
    }
    const [source, text = "", old] = tab || mode === "edit" ? columns : ["", line];
    return newRow({ source, text, old, tab, ending });
  });
}

// The line as it is saved: as it was, but for what was changed.
export function lineOf(row, least) {
  const text = textOf(row, least);
  const tab = row.tab || (row.source && text) ? "\t" : "";
  const old = row.old === undefined ? "" : `\t${row.old}`;
  return row.source + tab + text + old + row.ending;
}

// What undo() goes back to, which does not reach behind what was typed.
export const remember = ({ past, text, decisions, said }) => past.push({ text, decisions, said });
export const undo = (row) => Object.assign(row, row.past.pop());

// Puts `after` in a place of the text; all else moves along.
function replace(row, change) {
  row.text = apply(row.text, [change]);
  row.decisions = shift(row.decisions, change);
  if (row.said?.edits) row.said = { ...row.said, edits: shift(row.said.edits, change) };
}

// Has another text, typed or of the model.
export const rewrite = (row, text) => replace(row, difference(row.text, text));

// The decisions of lines side by side, as places of their whole text, after it was typed in; what
// is behind the caret stayed.
export function placesOf(rows, typed, caret) {
  const whole = rows.map(({ text }) => text).join("\n");
  const rest = whole.endsWith(typed.slice(caret)) ? typed.length - caret : 0;
  const [before, after] = [whole, typed].map((text) => text.slice(0, text.length - rest));
  let start = 0;
  const places = rows.flatMap(({ text, decisions }) => {
    const own = moved(decisions, start);
    start += text.length + 1;
    return own;
  });
  return shift(places, difference(before, after));
}

// Gives the lines their own of such places.
export function place(rows, places) {
  let start = 0;
  for (const row of rows) {
    const end = start + row.text.length;
    const own = places.filter((at) => at.offset >= start && endOf(at) <= end);
    row.decisions = moved(own, -start);
    start = end + 1;
  }
}

const moved = (places, by) => places.map((at) => ({ ...at, offset: at.offset + by }));

// Decides on a place; the same again takes it back. `after`: what the model may not write there.
function decide(row, kind, { offset, before, probability, applied }, after = "") {
  const decision = { kind, offset, before, probability, applied, after };
  const again = row.decisions.some((other) => other.kind === kind && clash(other, decision));
  const others = row.decisions.filter((other) => !clash(other, decision));
  row.decisions = again ? others : [...others, decision];
}

// Has words in the text, locked, that the person wrote or took from the model.
function settle(row, { offset, before }, after) {
  replace(row, { offset, before, after });
  decide(row, "keep", { offset, before: after });
}

// Accepts an edit or refuses it, as it is not; what the person decided is taken back.
export function toggle(row, edit) {
  if (edit.kind) decide(row, edit.kind, edit);
  else if (edit.taken) decide(row, "refuse", edit, edit.after);
  else settle(row, edit, edit.after);
}

// Locks a word, or unlocks it; one that the model wrote stays with the edit that it is of.
export function keep(row, word) {
  const place = inText(row, word);
  if (place.side === "after") settle(row, place.edit, place.edit.after);
  else decide(row, "keep", place);
}

// Puts a text in the place of a word, or strikes it; striking it again takes that back.
export function write(row, word, text) {
  const place = inText(row, word);
  if (place.side === "after") writeInEdit(row, place, text);
  else if (text) settle(row, place, text);
  else decide(row, "drop", withSpace(row, place));
}

// The same with a word that the model wrote: its edit becomes the person's.
function writeInEdit(row, word, text) {
  const { edit } = word;
  const after = apply(edit.after, [{ ...word, after: text }]);
  if (after.trim()) settle(row, edit, text ? after : after.replace(/\s+/g, " "));
  else if (edit.before.trim()) decide(row, "drop", edit);
  else decide(row, "refuse", edit, edit.after);
}

// A place in the text: an output that was written from nothing becomes the text first.
function inText(row, word) {
  if (row.text || !word.edit) return word;
  Object.assign(row, { text: word.edit.after, said: null });
  return { ...word, edit: null, side: "" };
}

// A word with the space before it (behind the first word), unless that is decided on.
function withSpace(row, { offset, before: word }) {
  const [head] = row.text.slice(0, offset).match(/\s*$/);
  const [tail] = row.text.slice(offset + word.length).match(/^\s*/);
  const behind = head.length === offset;
  const wide = behind
    ? { offset, before: word + tail }
    : { offset: offset - head.length, before: head + word };
  return row.decisions.some((other) => clash(other, wide)) ? { offset, before: word } : wide;
}

// Whether an edit of the model is made by default.
export const isSure = ({ applied, probability }, least) => applied && (probability ?? 1) >= least;

// All edits, disjoint and in order; `taken`: not refused, and not of the model below `least`.
export function editsOf(row, least) {
  const { edits = [], obeys } = row.said ?? {};
  const of = (kind) => row.decisions.filter((decision) => decision.kind === kind);
  const closed = [...of("keep"), ...of("refuse")];
  const sure = edits.filter((edit) => isSure(edit, least));
  const made = sure.filter((edit) => !closed.some((decision) => forbids(decision, edit)));
  // An edit model may write another word in the place of one that was struck.
  const again = (place) => obeys && made.some((edit) => edit.after.trim() && clash(edit, place));
  const taken = [...of("drop").filter((decision) => !again(decision)), ...made];
  const places = [...taken, ...of("refuse"), ...edits];
  return disjoint(places.map((place, i) => ({ ...place, taken: i < taken.length })));
}

// Whether an edit is against what was locked or refused; right beside it, the refused words are.
function forbids(decision, edit) {
  if (clash(decision, edit)) return true;
  const beside = edit.offset <= endOf(decision) && endOf(edit) >= decision.offset;
  const [words, written] = [decision, edit].map(({ after }) => after.match(/\S+/g) ?? []);
  return beside && words.length > 0 && words.every((word) => written.includes(word));
}

export const textOf = (row, least) =>
  apply(row.text, editsOf(row, least).filter(({ taken }) => taken));

// What the model is asked of a line; what is decided stands in marks.
export function itemOf(row, mode) {
  const { source, text, old } = row;
  if (mode === "correct") return text;
  if (mode === "predict") return [source, text];
  const words = row.decisions.filter(({ before }) => before.trim());
  const marks = words.map(({ kind, offset, before }) => {
    const first = offset + before.length - before.trimStart().length;
    const [start, end] = [first, first + before.trim().length].map((at) => toPoints(text, at));
    return { start, end, kind: kind === "drop" ? "drop" : "keep" };
  });
  marks.sort((a, b) => a.start - b.start);
  return { source: source.replace(/^\ufeff/, ""), draft: text || null, old_source: old, marks };
}

// Notes what the model said of a line when it was asked `key`.
export function hear(row, mode, key, result) {
  const { edits = [], text } = result.hypotheses?.[0] ?? result;
  const moved = edits.map((edit) => ({ ...edit, offset: toUnits(row.text, edit.offset) }));
  const anew = text ? [{ offset: 0, before: "", after: text, applied: true }] : [];
  row.seen = false;
  if (mode === "predict") row.said = { key, prediction: result };
  else if (mode === "correct") row.said = { key, edits: moved, kind: result.code ? "code" : "" };
  else row.said = { key, edits: row.text ? moved : anew, obeys: true };
}
