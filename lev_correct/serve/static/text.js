// Text and places in it: {offset, before}, where they begin, in units of a string, and what is
// there. An edit has what comes in its place as well: `after`.

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const escaped = (char) => "\\u" + char.codePointAt(0).toString(16).padStart(4, "0");

// What cannot be seen, or would reorder the line, as an escape; line breaks and tabs as spaces.
export const visible = (text) => text.replace(/[\t\n\r]/g, " ").replace(UNSEEN, escaped);

// A count with its noun.
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// An offset as the server counts it, in characters (code points), and back.
export const toPoints = (text, units) => [...text.slice(0, units)].length;
export const toUnits = (text, points) => [...text].slice(0, points).join("").length;

export const endOf = ({ offset, before }) => offset + before.length;

// The runs of a text that are whitespace, and those that are not, as places behind `start`.
export function runs(text, start = 0) {
  const matches = text.matchAll(/\s+|\S+/g);
  return Array.from(matches, ({ 0: before, index }) => ({ offset: start + index, before }));
}

// Whether two places share a character, one is inside the other, or both are empty and the same.
export function clash(one, other) {
  const inside = one.offset < endOf(other) && endOf(one) > other.offset;
  return inside || (one.offset === other.offset && !one.before && !other.before);
}

// Edits that do not clash, in order; the first of those that do wins.
export function disjoint(edits) {
  const kept = [];
  for (const edit of edits) if (!kept.some((other) => clash(other, edit))) kept.push(edit);
  return kept.sort((a, b) => a.offset - b.offset || endOf(a) - endOf(b));
}

// The text with the edits, which are disjoint and in order.
export function apply(text, edits) {
  const put = (done, edit) => done.slice(0, edit.offset) + edit.after + done.slice(endOf(edit));
  return edits.reduceRight(put, text);
}

// Places moved along with a text in which a change was made; those that it touched are dropped.
export function shift(places, change) {
  const grown = change.after.length - change.before.length;
  return places.flatMap((place) => {
    if (endOf(place) <= change.offset) return place;
    return place.offset >= endOf(change) ? { ...place, offset: place.offset + grown } : [];
  });
}

// The one stretch in which two texts differ, as an edit of the first.
export function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let [first, last] = [0, 0];
  while (first < most && before[first] === after[first]) first += 1;
  while (last < most - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  const middle = (text) => text.slice(first, text.length - last);
  return { offset: first, before: middle(before), after: middle(after) };
}
