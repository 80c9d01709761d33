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

// Whether two places share a character, one is inside the other, or both are empty and the same.
export function clash(one, other) {
  const inside = one.offset < endOf(other) && endOf(one) > other.offset;
  return inside || (one.offset === other.offset && !one.before && !other.before);
}

// The text with the edits, which are disjoint and in order; `start`: where it begins.
export function apply(text, edits, start = 0) {
  const put = (done, { offset, before, after }) =>
    done.slice(0, offset - start) + after + done.slice(offset - start + before.length);
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

// The one stretch in which two texts differ, as an edit of the first; nothing behind `caret`, where
// a person typed, changed if that can be.
export function difference(before, after, caret = after.length) {
  const rest = after.length - caret;
  const least = before.endsWith(after.slice(caret)) ? rest : 0;
  const most = Math.min(before.length, after.length) - least;
  let [first, last] = [0, least];
  while (first < most && before[first] === after[first]) first += 1;
  while (last < most + least - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  const middle = (text) => text.slice(first, text.length - last);
  return { offset: first, before: middle(before), after: middle(after) };
}
