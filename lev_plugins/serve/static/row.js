// A line that is worked on: its text, what the person decided at which place, what the model said.

import { apply, clash, difference, disjoint, endOf, shift, size, slice } from "./text.js";

export function newRow(source, text, ending = "", tab = false) {
  return {
    ...{ source, text, ending, tab }, // how the line ends, a tab before its text: as the file has it
    decisions: [], // {kind, offset, length, before, after} of text: keep, refuse, drop, own, accept
    said: null, // of the request `key`: {hypotheses: [{edits, score}]}, {prediction} or {error}
    chosen: 0, // which hypothesis
    written: false, // the text is the model's, as there was none to edit
    ...{ accepted: null, past: [] },
  };
}

// Notes how a line stands, for undo(), which does not reach behind what was typed.
function remember(row) {
  const { text, decisions, chosen, written } = row;
  row.past.push({ text, decisions, chosen, written });
  row.accepted = null;
}

export const undo = (row) => Object.assign(row, row.past.pop(), { accepted: null });

export function type(row, text) {
  const change = difference(row.text, text);
  Object.assign(row, { text, decisions: shift(row.decisions, change), past: [], accepted: null });
  for (const one of row.said?.hypotheses ?? []) one.edits = shift(one.edits, change);
}

export function choose(row, number) {
  remember(row);
  row.chosen = number;
}

// What a person decides -------------------------------------------------------------------------

const stays = (one) => one.kind === "keep" || one.kind === "refuse";
const forced = (row) => row.decisions.filter((one) => one.kind === "own" || one.kind === "accept");

function decide(row, kind, { offset, length, before, after, probability = null }) {
  const made = { kind, offset, length, before, after, probability };
  const fits = (one) => !clash(one, made) || (stays(one) && stays(made) && one.kind !== kind);
  row.decisions = [...row.decisions.filter(fits), made];
  row.decisions.sort((a, b) => a.offset - b.offset || b.length - a.length);
}

function withdraw(row, kind, place) {
  const { length } = row.decisions;
  row.decisions = row.decisions.filter((one) => one.kind !== kind || !clash(one, place));
  return row.decisions.length < length;
}

// Accepts an edit or refuses it, as it is not; one of the person's own is taken back.
export function toggle(row, edit) {
  remember(row);
  if (edit.taken && ["own", "drop"].includes(edit.kind)) withdraw(row, edit.kind, edit);
  else decide(row, edit.taken ? "refuse" : edit.after.trim() ? "accept" : "drop", edit);
}

// Locks a word, or unlocks it; one that the model wrote stays with the edit that it is of.
export function keep(row, word) {
  remember(row);
  word = inText(row, word);
  if (word.side === "after") decide(row, "accept", word.edit);
  else if (!withdraw(row, "keep", word)) decide(row, "keep", { ...word, after: word.before });
}

// Puts a text in the place of a word, or strikes it; striking it again takes that back.
export function write(row, word, text) {
  remember(row);
  word = inText(row, word);
  const { edit } = word;
  if (word.side !== "after") {
    if (text) decide(row, "own", { ...word, after: text });
    else if (!withdraw(row, "drop", word)) decide(row, "drop", { ...withSpace(row, word), after: "" });
    return;
  }
  const [head, tail] = [slice(edit.after, 0, word.offset), slice(edit.after, endOf(word))];
  const after = text ? head + text + tail : (head + tail).replace(/\s+/gu, " ");
  if (after.trim()) decide(row, "own", { ...edit, after });
  else if (edit.before.trim()) decide(row, "drop", { ...edit, after });
  else if (!withdraw(row, "own", edit)) decide(row, "refuse", edit);
}

// A place in the text: an output that was written from nothing becomes the text first.
function inText(row, word) {
  if (row.text || !word.edit) return word;
  Object.assign(row, { text: word.edit.after, written: true, decisions: [], said: null });
  return { ...word, edit: null, side: "" };
}

// A word with the space before it (behind the first word), unless that is decided on.
function withSpace(row, word) {
  const [head, tail] = [slice(row.text, 0, word.offset), slice(row.text, endOf(word))];
  const first = !head.trim();
  const before = first ? word.before + tail.match(/^\s*/u) : head.match(/\s*$/u) + word.before;
  const wide = { before, length: size(before), offset: first ? word.offset : endOf(word) - size(before) };
  return row.decisions.some((one) => clash(one, wide)) ? word : wide;
}

// What comes of it ------------------------------------------------------------------------------

// All edits, disjoint and in order, each with `taken`; the model's below `least` are not.
export function editsOf(row, least, number = row.chosen) {
  const { hypotheses = [], obeys } = row.said ?? {};
  const given = (hypotheses[number] ?? hypotheses[0])?.edits ?? [];
  const open = (edit) => !row.decisions.some((one) => stays(one) && forbids(one, edit));
  const sure = (edit) => edit.applied && (edit.probability ?? 1) >= least;
  const judged = given.map((edit) => ({ ...edit, taken: sure(edit) && open(edit) }));
  const [taken, left] = [true, false].map((one) => judged.filter((edit) => edit.taken === one));
  // An edit model may write another word in the place of one that was struck.
  const anew = (one) => taken.some((edit) => obeys && edit.after.trim() && clash(edit, one));
  const done = (one) => one.kind === "drop" && anew(one);
  const own = row.decisions.filter((one) => !stays(one) && !done(one));
  const refused = row.decisions.filter((one) => one.kind === "refuse");
  const as = (some, taken) => some.map((one) => ({ ...one, taken }));
  return disjoint([...as(own, true), ...taken, ...as(refused, false), ...left]);
}

// Whether an edit is against what was locked or refused; right beside it, the refused words are.
function forbids(decision, edit) {
  if (clash(decision, edit)) return true;
  const beside = edit.offset <= endOf(decision) && endOf(edit) >= decision.offset;
  const [words, written] = [decision, edit].map((one) => one.after.split(/\s+/).filter(Boolean));
  const again = words.length > 0 && words.every((word) => written.includes(word));
  return decision.kind === "refuse" && beside && again;
}

export const textOf = (row, least, number = row.chosen) =>
  apply(row.text, editsOf(row, least, number).filter((edit) => edit.taken));

// What the model is asked of a line. Words that the person wants are in its draft, and locked.
export function itemOf(row, mode) {
  if (mode === "correct") return row.text;
  if (mode === "predict") return [row.source, row.text];
  const marks = [];
  let [draft, place] = ["", 0];
  for (const one of row.decisions) {
    if (one.offset < place) continue; // a word that is locked inside an edit that is refused
    draft += slice(row.text, place, one.offset);
    const text = forced(row).includes(one) ? one.after : one.before;
    const start = size(draft) + size(text) - size(text.trimStart());
    const end = size(draft) + size(text.trimEnd());
    if (start < end) marks.push({ start, end, kind: one.kind === "drop" ? "drop" : "keep" });
    draft += text;
    place = endOf(one);
  }
  draft += slice(row.text, place);
  const older = row.old == null ? {} : { old_source: row.old };
  return { source: row.source.replace(/^\ufeff/, ""), draft: draft || null, ...older, marks };
}

// Notes what the model said of a line, in places of its text.
export function hear(row, mode, key, result) {
  const anew = (after) => (after ? [{ offset: 0, length: 0, before: "", after, applied: true }] : []);
  const hypothesis = ({ score, edits, text }) => ({ score, edits: result.draft ? back(row, edits) : anew(text) });
  if (mode === "predict") row.said = { key, prediction: result };
  else if (mode === "correct") row.said = { key, hypotheses: [{ edits: result.edits }] };
  else row.said = { key, hypotheses: result.hypotheses.map(hypothesis), obeys: true };
}

// Edits of the draft that was asked for, without those of what is the person's.
function back(row, edits) {
  const grown = (one) => size(one.after) - one.length;
  let ahead = forced(row).reduce((sum, one) => sum + grown(one), 0);
  for (const one of forced(row).reverse()) {
    ahead -= grown(one);
    edits = shift(edits, { offset: one.offset + ahead, length: size(one.after), after: one.before });
  }
  return edits;
}
