// Text, its words and its edits. Places are counted in characters (code points), as the server does.

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const escaped = (char) => "\\u" + char.codePointAt(0).toString(16).padStart(4, "0");

// What cannot be seen, or would reorder the line, as an escape; line breaks and tabs as spaces.
export const visible = (text) => text.replace(/[\t\n\r]/g, " ").replace(UNSEEN, escaped);

// A count with its noun.
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const points = (text) => Array.from(text);
export const size = (text) => points(text).length;
export const slice = (text, start, end) => points(text).slice(start, end).join("");
export const endOf = (place) => place.offset + place.length;

// The runs of text that are no whitespace, and those that are: {text, offset, length, word}.
export function runs(text, offset = 0) {
  return (text.match(/\s+|\S+/gu) ?? []).map((run) => {
    const length = size(run);
    offset += length;
    return { text: run, offset: offset - length, length, word: /\S/u.test(run) };
  });
}

// Whether two places share a character, one is inside the other, or both insert at the same place.
export function clash(one, other) {
  const inside = one.offset < endOf(other) && endOf(one) > other.offset;
  return inside || (one.offset === other.offset && !one.length && !other.length);
}

// Edits that do not clash, in order; the first of those that do wins.
export function disjoint(edits) {
  const kept = [];
  for (const edit of edits) if (!kept.some((one) => clash(one, edit))) kept.push(edit);
  return kept.sort((a, b) => a.offset - b.offset || a.length - b.length);
}

// The text with the edits, which are disjoint and in order.
export function apply(text, edits) {
  const parts = points(text);
  for (const { offset, length, after } of edits.toReversed()) parts.splice(offset, length, after);
  return parts.join("");
}

// Places moved along with a text in which a change was made; those that it touched are dropped.
export function shift(places, change) {
  const grown = size(change.after) - change.length;
  return places.flatMap((place) => {
    if (endOf(place) <= change.offset) return place;
    return place.offset >= endOf(change) ? { ...place, offset: place.offset + grown } : [];
  });
}

// The one stretch in which two texts differ, as an edit of the first.
export function difference(before, after) {
  const [x, y] = [points(before), points(after)];
  const most = Math.min(x.length, y.length);
  let [first, last] = [0, 0];
  while (first < most && x[first] === y[first]) first += 1;
  while (last < most - first && x.at(-1 - last) === y.at(-1 - last)) last += 1;
  return { offset: first, length: x.length - last - first, after: y.slice(first, y.length - last).join("") };
}
