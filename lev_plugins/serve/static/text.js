// Text, its words and its edits. Places are counted in characters (code points), as the server does.

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;

// What cannot be seen, or would reorder the line, as an escape; line breaks and tabs as spaces.
export function visible(text) {
  return text
    .replace(/[\t\n\r]/g, " ")
    .replace(UNSEEN, (char) => "\\u" + char.codePointAt(0).toString(16).padStart(4, "0"));
}

export const points = (text) => Array.from(text);

// The runs of text that are no whitespace, and those that are: {text, start, end, word}.
export function runs(text, from = 0) {
  const found = [];
  let start = from;
  for (const run of text.match(/\s+|\S+/gu) ?? []) {
    const end = start + points(run).length;
    found.push({ text: run, start, end, word: !/^\s/u.test(run) });
    start = end;
  }
  return found;
}

export const endOf = (edit) => edit.offset + edit.length;

// Whether an edit changes something from start to end; one that only inserts does so inside alone.
export function touches(edit, start, end) {
  return edit.offset < end && endOf(edit) > start;
}

// Edits that do not overlap, in order; the first of those that do wins.
export function disjoint(edits) {
  const kept = [];
  for (const edit of edits) {
    const clash = (one) =>
      touches(one, edit.offset, endOf(edit)) ||
      (one.offset === edit.offset && (one.length === 0 || edit.length === 0));
    if (!kept.some(clash)) kept.push(edit);
  }
  return kept.sort((a, b) => a.offset - b.offset || a.length - b.length);
}

// The text with the edits, which are disjoint and in order.
export function apply(text, edits) {
  const before = points(text);
  const parts = [];
  let place = 0;
  for (const edit of edits) {
    parts.push(before.slice(place, edit.offset).join(""), edit.after);
    place = endOf(edit);
  }
  return parts.join("") + before.slice(place).join("");
}

// Marks moved along with a text in which `length` characters at `offset` gave way to `after`;
// those on what went are dropped.
export function shift(marks, offset, length, after) {
  const grown = points(after).length - length;
  return marks
    .filter((mark) => mark.end <= offset || mark.start >= offset + length)
    .map((mark) =>
      mark.end <= offset ? mark : { ...mark, start: mark.start + grown, end: mark.end + grown },
    );
}

// The one stretch in which two texts differ.
export function difference(before, after) {
  const [x, y] = [points(before), points(after)];
  let first = 0;
  while (first < Math.min(x.length, y.length) && x[first] === y[first]) first += 1;
  let last = 0;
  while (
    last < Math.min(x.length, y.length) - first &&
    x[x.length - 1 - last] === y[y.length - 1 - last]
  ) {
    last += 1;
  }
  return {
    offset: first,
    length: x.length - last - first,
    after: y.slice(first, y.length - last).join(""),
  };
}
