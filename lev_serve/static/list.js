// The list of findings, which are taken or ignored without opening them. Its rows are reached by
// Tab, what is in a row by the arrows.

import { choose, element, offer, othersOf, pop, reasonOf } from "./pane.js";
import { counted, endOf, visible } from "./text.js";

const $ = (id) => document.getElementById(id);
const MOST = 50; // rows
const STEPS = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
let listed = []; // edits, one a row
let first = 0; // number of the first row's
let rendered = ""; // content of the rows
let acting = false; // while a row does something, for which the text takes the focus
let actions = {};

const buttons = (row) => [...($("list").children[row]?.querySelectorAll("button") ?? [])];

// Row and column of the focus; -1 outside of the list.
function place() {
  const row = [...$("list").children].findIndex((each) => each.contains(document.activeElement));
  return [row, buttons(row).indexOf(document.activeElement)];
}

function focus(row, column = 0) {
  const there = buttons(Math.max(0, Math.min(row, listed.length - 1)));
  (there[Math.min(column, there.length - 1)] ?? $("text")).focus();
}

// Lists edits; of many those from the caret on. The focus stays at its edit, or its place.
export function list(edits, caret) {
  const [row, column] = place();
  const chosen = listed[row];
  if (row < 0 && !acting) first = edits.findIndex((edit) => endOf(edit) >= caret);
  first = Math.max(0, Math.min(first < 0 ? edits.length : first, edits.length - MOST));
  listed = edits.slice(first, first + MOST);
  const rows = JSON.stringify(listed.map(({ offset, line, ...said }) => said));
  if (rows !== rendered) {
    rendered = rows;
    $("list").replaceChildren(...listed.map(draw));
    const same = listed.findIndex(({ offset, before }) =>
      offset === chosen?.offset && before === chosen.before);
    if (row >= 0) focus(same < 0 ? row : same, same < 0 ? 0 : column);
  }
  pop.chosen = listed[place()[0]];
  const rest = [["before", first], ["after", edits.length - first - listed.length]];
  $("rest").textContent = rest.filter(([, count]) => count).map(([where, count]) =>
    `${counted(count, "other")} ${where} these.`).join(" ");
}

function draw(edit, row) {
  const id = `reason-${row}`;
  const does = (name, word) => element("button", {
    className: name, tabIndex: name === "take" ? 0 : -1, onclick: () => act(row, name, word),
  });
  const words = [edit.after, ...othersOf(edit)].map((word, i) =>
    offer(does(i ? "other" : "take", word), edit, word));
  const ignore = does("ignore");
  ignore.append("×");
  ignore.title = "Ignore";
  ignore.ariaLabel = `Ignore ${visible(edit.before.trim() || edit.after)}`;
  for (const button of words) button.setAttribute("aria-describedby", id);
  const old = edit.after.trim() ? visible(edit.before.trim()) : "";
  const reason = element("span", { id, className: "reason", lang: "en", translate: true }, reasonOf(edit));
  const written = element("s", { ariaHidden: "true" }, old);
  return element("li", {}, element("div", { className: "bar" }, written, ...words), ignore, reason);
}

function act(row, name, word) {
  acting = true;
  actions[name](listed[row], word);
  acting = false;
  focus(row);
}

function pressed(event) {
  const [row, column] = place();
  const step = event.altKey ? null : STEPS[event.key];
  if (step) focus(row + step[0], step[0] ? 0 : Math.max(0, column + step[1]));
  else if (event.key === "Delete") act(row, "ignore");
  else if (event.key === "Escape") actions.leave(listed[row]);
  else return;
  event.preventDefault();
}

// `does`: what taking an edit, with its word or another one, ignoring and leaving it does.
export function listen(does) {
  actions = does;
  $("list").addEventListener("keydown", pressed);
  $("list").addEventListener("focusin", () => choose(listed[place()[0]]));
  $("list").addEventListener("focusout", () => choose(null));
}
