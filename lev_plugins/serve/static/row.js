// A line that is worked on: what was given, what the model says, and what the person wants.

import { apply, difference, disjoint, points, shift, touches } from "./text.js";

export function newRow(source, draft) {
  return {
    source,
    draft, // as it was given; null: there is none
    base: draft ?? "", // what the model is asked to edit
    absorbed: false, // base has words of the model or of the person
    marks: [], // of base: {start, end, kind}
    own: [], // edits of the person's
    decisions: new Map(), // edits that were accepted or refused by hand
    chosen: 0, // which hypothesis
    result: null,
    accepted: null,
    past: [],
  };
}

const KEPT = ["base", "absorbed", "marks", "own", "decisions", "chosen", "result"];

// Notes how a line stands, for undo().
export function remember(row) {
  row.past.push(Object.fromEntries(KEPT.map((name) => [name, row[name]])));
  if (row.past.length > 100) row.past.shift();
}

export function undo(row) {
  const before = row.past.pop();
  if (before) Object.assign(row, before);
  return Boolean(before);
}

export function type(row, text) {
  const change = difference(row.base, text);
  row.marks = shift(row.marks, change.offset, change.length, change.after);
  row.base = text;
  if (!row.absorbed) row.draft = text;
  row.own = [];
  row.decisions = new Map();
  row.accepted = null;
}

export const keyOf = (edit) => JSON.stringify([edit.offset, edit.before, edit.after]);

// All edits of a line, disjoint and in order, each with `taken`.
export function editsOf(row, mode, least) {
  const given = offered(row, mode);
  const judged = given.map((edit) => ({ ...edit, taken: isTaken(row, edit, mode, least) }));
  const first = judged.filter((edit) => edit.taken);
  return disjoint([...row.own, ...first, ...judged.filter((edit) => !edit.taken)]);
}

function offered(row, mode) {
  if (!row.result) return [];
  if (mode === "correct") return row.result.edits;
  const best = row.result.hypotheses[row.chosen] ?? row.result.hypotheses[0];
  if (row.base) return best.edits;
  const all = { offset: 0, length: 0, before: "", after: best.text, probability: null };
  return best.text ? [{ ...all, applied: true }] : [];
}

function isTaken(row, edit, mode, least) {
  const decided = row.decisions.get(keyOf(edit));
  if (decided !== undefined) return decided;
  if (mode !== "correct") return edit.applied;
  const kept = row.marks.some((mark) => touches(edit, mark.start, mark.end));
  const sure = edit.probability >= least && (edit.applied || edit.reason === "confidence");
  return sure && !kept;
}

export function textOf(row, mode, least) {
  return apply(row.base, editsOf(row, mode, least).filter((edit) => edit.taken));
}

export function decide(row, edit, taken) {
  remember(row);
  row.own = row.own.filter((one) => keyOf(one) !== keyOf(edit));
  row.decisions = new Map(row.decisions).set(keyOf(edit), taken);
  row.accepted = null;
}

// Puts a mark on a word, takes the same mark away again, or changes it.
export function mark(row, word, kind) {
  const { start, end } = place(row, word);
  const same = row.marks.find((one) => one.start === start && one.end === end);
  row.marks = row.marks.filter((one) => one.end <= start || one.start >= end);
  if (same?.kind !== kind) row.marks.push({ start, end, kind });
  row.marks.sort((a, b) => a.start - b.start);
  row.accepted = null;
}

// Where a word is in base; an inserted one is put there first, with the edit that it is of.
function place(row, word) {
  remember(row);
  if (!word.edit || word.side === "before") return word;
  absorb(row, word.edit);
  return { start: word.edit.offset + word.start, end: word.edit.offset + word.end };
}

function absorb(row, edit) {
  row.marks = shift(row.marks, edit.offset, edit.length, edit.after);
  row.base = apply(row.base, [edit]);
  row.absorbed = true;
  row.own = [];
  row.decisions = new Map();
}

// A word of the person's in the place of one of base, or none.
export function write(row, word, text, mode) {
  if (mode === "correct" && !(word.edit && word.side === "after")) {
    remember(row);
    const offset = word.edit ? word.edit.offset : word.start;
    const before = word.edit ? word.edit.before : word.text;
    const length = points(before).length;
    const clear = (one) => !touches(one, offset, offset + Math.max(length, 1));
    const own = { offset, length, before, after: text, probability: null, own: true, taken: true };
    row.own = [...row.own.filter(clear), own];
  } else {
    const { start, end } = place(row, word);
    const before = points(row.base).slice(start, end).join("");
    absorb(row, { offset: start, length: end - start, before, after: text });
    const size = points(text).length;
    if (size && mode !== "correct") row.marks.push({ start, end: start + size, kind: "keep" });
    row.marks.sort((a, b) => a.start - b.start);
  }
  row.accepted = null;
}

// What the server is asked for lines like this one.
export function requestFor(rows, mode, nbest) {
  if (mode === "correct") return { lines: rows.map((row) => row.base), min_confidence: 0 };
  if (mode === "predict") {
    const texts = rows.map((row) => row.base);
    return rows.some((row) => row.source)
      ? { texts: rows.map((row) => row.source), pairs: texts }
      : { texts };
  }
  const sentences = rows.map((row) => ({
    source: row.source,
    draft: row.draft === null && !row.base ? null : row.base,
    marks: row.marks.filter((mark) => mark.end <= points(row.base).length),
  }));
  return { sentences, nbest };
}
