// A line that is worked on: its text, what the person decided at which place, what the model said.

import { apply, clash, difference, disjoint, endOf, shift, size, slice } from "./text.js";

export const newRow = (source, text, ending = "", tab = false) => ({
  ...{ source, text, ending, tab }, // how the line ends, a tab before its text: as the file has it
  decisions: [], // disjoint: {kind: keep, refuse or drop, offset, length, before, offered} of text
  said: null, // of the request `key`: {edits, obeys}, {prediction} or {error}
  past: [], // for undo()
  item: null, // its element in the document
  inView: false, // whether that is on the screen
  seen: false, // whether it was, with its edits
});

// A row for each line of a file or a paste, which remembers how it ended: \n, \r\n, \r, or not.
export function rowsOf(content, mode, name = "the text") {
  return (content.match(/[^\r\n]*(\r\n|\r|\n)|[^\r\n]+$/g) ?? []).map((line, number) => {
    const text = line.replace(/[\r\n]+$/, "");
    const ending = line.slice(text.length);
    const parts = text.split("\t");
    if (mode === "correct" || (mode === "predict" && parts.length < 2)) return newRow("", text, ending);
    const most = mode === "edit" ? 3 : 2; // source, draft, and the older source that it translates
    if (parts.length > most) throw new Error(`${name}: line ${number + 1} has several tabs`);
    const row = newRow(parts[0], parts[1] ?? "", ending, parts.length > 1);
    return Object.assign(row, { old: parts[2] ?? null });
  });
}

// The line as it is saved: as it was, but for what was changed.
export function lineOf(row, least) {
  const text = textOf(row, least);
  const tab = row.tab || (row.source && text) ? "\t" : "";
  return row.source + tab + text + (row.old == null ? "" : `\t${row.old}`) + row.ending;
}

// What undo() goes back to, which does not reach behind what was typed.
export const remember = ({ past, text, decisions, said }) => past.push({ text, decisions, said });
export const undo = (row) => Object.assign(row, row.past.pop());

// Puts `after` in the place of a stretch of the text; all else moves along.
function replace(row, change) {
  row.text = apply(row.text, [change]);
  row.decisions = shift(row.decisions, change);
  if (row.said?.edits) row.said = { ...row.said, edits: shift(row.said.edits, change) };
}

// Has another text, typed or of the model.
export const rewrite = (row, text) => replace(row, difference(row.text, text));

// `offered`: what the model would write there, and may not.
function decide(row, kind, { offset, length, before, probability }, offered) {
  const decision = { kind, offset, length, before, probability, offered };
  row.decisions = [...row.decisions.filter((other) => !clash(other, decision)), decision];
}

// Decides what the person had not decided, or takes it back.
function decideOrNot(row, kind, place) {
  const others = row.decisions.filter((decision) => decision.kind !== kind || !clash(decision, place));
  if (others.length === row.decisions.length) decide(row, kind, place);
  else row.decisions = others;
}

// Has words in the text, locked, that the person wrote or took from the model.
function settle(row, place, after) {
  replace(row, { ...place, after });
  decide(row, "keep", { offset: place.offset, length: size(after), before: after });
}

// Accepts an edit or refuses it, as it is not; what the person decided is taken back.
export function toggle(row, edit) {
  if (edit.kind) decideOrNot(row, edit.kind, edit);
  else if (edit.taken) decide(row, "refuse", edit, edit.after);
  else settle(row, edit, edit.after);
}

// Locks a word, or unlocks it; one that the model wrote stays with the edit that it is of.
export function keep(row, word) {
  word = inText(row, word);
  if (word.side === "after") settle(row, word.edit, word.edit.after);
  else decideOrNot(row, "keep", word);
}

// Puts a text in the place of a word, or strikes it; striking it again takes that back.
export function write(row, word, text) {
  word = inText(row, word);
  if (word.side === "after") writeInEdit(row, word, text);
  else if (text) settle(row, word, text);
  else if (row.decisions.some((decision) => clash(decision, word))) decideOrNot(row, "drop", word);
  else decide(row, "drop", withSpace(row, word));
}

// The same with a word that the model wrote: its edit becomes the person's.
function writeInEdit(row, word, text) {
  const { edit } = word;
  const [head, tail] = [slice(edit.after, 0, word.offset), slice(edit.after, endOf(word))];
  const after = text ? head + text + tail : (head + tail).replace(/\s+/gu, " ");
  if (after.trim()) settle(row, edit, after);
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
function withSpace(row, word) {
  const [head, tail] = [slice(row.text, 0, word.offset), slice(row.text, endOf(word))];
  const first = !head.trim();
  const before = first ? word.before + tail.match(/^\s*/u) : head.match(/\s*$/u) + word.before;
  const wide = { before, length: size(before), offset: first ? word.offset : endOf(word) - size(before) };
  return row.decisions.some((decision) => clash(decision, wide)) ? word : wide;
}

// All edits, disjoint and in order; `taken`: not refused, and not of the model below `least`.
export function editsOf(row, least) {
  const { edits = [], obeys } = row.said ?? {};
  const of = (kind) => row.decisions.filter((decision) => decision.kind === kind);
  const closed = [...of("keep"), ...of("refuse")];
  const sure = (edit) => edit.applied && (edit.probability ?? 1) >= least;
  const made = edits.filter((edit) => sure(edit) && !closed.some((decision) => forbids(decision, edit)));
  // An edit model may write another word in the place of one that was struck.
  const again = (place) => obeys && made.some((edit) => edit.after.trim() && clash(edit, place));
  const struck = of("drop").filter((decision) => !again(decision));
  const as = (taken, places) => places.map((place) => ({ after: place.offered ?? "", ...place, taken }));
  return disjoint([...as(true, [...struck, ...made]), ...as(false, [...of("refuse"), ...edits])]);
}

// Whether an edit is against what was locked or refused; right beside it, the refused words are.
function forbids(decision, edit) {
  if (clash(decision, edit)) return true;
  const beside = edit.offset <= endOf(decision) && endOf(edit) >= decision.offset;
  const [words, written] = [decision.offered ?? "", edit.after].map((text) => text.match(/\S+/gu) ?? []);
  return beside && words.length > 0 && words.every((word) => written.includes(word));
}

export const textOf = (row, least) => apply(row.text, editsOf(row, least).filter((edit) => edit.taken));

// What the model is asked of a line; what is decided stands in marks.
export function itemOf(row, mode) {
  if (mode === "correct") return row.text;
  if (mode === "predict") return [row.source, row.text];
  const marks = row.decisions.filter(({ before }) => before.trim()).map(({ kind, offset, before }) => {
    const start = offset + size(before) - size(before.trimStart());
    return { start, end: start + size(before.trim()), kind: kind === "drop" ? "drop" : "keep" };
  });
  marks.sort((a, b) => a.start - b.start);
  const older = row.old == null ? {} : { old_source: row.old };
  return { source: row.source.replace(/^\ufeff/, ""), draft: row.text || null, ...older, marks };
}

// Notes what the model said of a line.
export function hear(row, mode, key, result) {
  const anew = (after) => (after ? [{ offset: 0, length: 0, before: "", after, applied: true }] : []);
  const { edits, text } = result.hypotheses?.[0] ?? result;
  if (mode === "predict") row.said = { key, prediction: result };
  else if (mode === "correct") row.said = { key, edits, code: result.code };
  else row.said = { key, edits: result.draft ? edits : anew(text), obeys: true };
}
