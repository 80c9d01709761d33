// The page: lines of a text field or a file, what the model says of them, what a person decides.
// All lines are read one after another; the line at hand is asked for before others.

import { asText, readRows, rowsOf, save } from "./files.js";
import { adopt, editsOf, hear, itemOf, keep, newRow, textOf, toggle, type, undo, write } from "./row.js";
import { size, visible } from "./text.js";
import { showEdits, showLine, showPrediction, showVersions, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 16; // lines that are asked for at once
const BEFORE = { lines: 256, chars: 100_000 }; // of the text before them, which tell what is code
const MODES = {
  edit: ["Edit a draft", "The model puts the draft right. Click a word to lock, strike or replace it."],
  correct: ["Correct", "Type or paste text, or open a file. Click an edit to accept or refuse it."],
  predict: ["Predict", "Type or paste a text, or open a file with one a line."],
};
const state = {
  ...{ rows: [newRow("", "")], at: 0, selected: 0, file: "text.txt", unsaved: false },
  ...{ model: {}, mode: "", least: 0 }, // how the model is asked
};
let words = []; // what each button of the line stands for
let asking = null; // for the line at hand: keys that follow wait for the answer
let working = null; // on all lines
let drawing = 0; // the list of edits

const row = () => state.rows[state.at];
const word = () => words[state.selected];
const least = () => (state.mode === "correct" ? state.least : 0);
const edits = (one) => editsOf(one, least());
const status = (text) => ($("status").textContent = text);

async function call(path, body) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, request).catch(() => {
    throw new Error("the server cannot be reached; is lev-serve still running?");
  });
  const found = await response.json().catch(() => ({ error: `the server answers ${response.status}` }));
  if (!response.ok) throw Object.assign(new Error(found.error), { status: response.status });
  return found;
}

// what the model said is known by what it was asked
const keyOf = (one) => JSON.stringify([state.mode, itemOf(one, state.mode)]);
const known = (one) => one.said?.key === keyOf(one);

function request(items, first) {
  if (state.mode === "edit") return { sentences: items };
  if (state.mode === "correct") return { lines: items, before: linesBefore(first), min_confidence: 0 };
  const { texts: sides, top_k } = state.model;
  const [texts, pairs] = [0, 1].map((side) => items.map((one) => one[side]));
  return sides > 1 ? { texts, pairs, top_k } : { texts: pairs, top_k };
}

function linesBefore(first) {
  let { chars } = BEFORE;
  const near = state.rows.slice(Math.max(0, first - BEFORE.lines), Math.max(0, first)).map((one) => one.text);
  return near.reverse().filter((text) => (chars -= size(text)) > 0 && size(text) <= state.model.chars).reverse();
}

// Has the model say something of lines; of one that it cannot read, why.
async function ask(some) {
  const { mode, model } = state;
  for (const one of some) {
    const long = Math.max(size(one.source), size(one.text));
    const error = long > model.chars && `${long} characters; the model reads ${model.chars}: split the line`;
    if (error || !(one.source + one.text).trim()) one.said = { key: keyOf(one), error };
  }
  const open = some.filter((one) => !known(one));
  const keys = open.map(keyOf);
  if (!open.length) return;
  try {
    const { results } = await call(mode, request(open.map((one) => itemOf(one, mode)), state.rows.indexOf(open[0])));
    open.forEach((one, i) => keyOf(one) === keys[i] && hear(one, mode, keys[i], results[i]));
  } catch (error) {
    const alone = open.length === 1; // of several, one may be at fault
    if (!error.status || error.status === 403 || (alone && error.status === 504)) throw error;
    if (alone) open[0].said = { key: keys[0], error: error.message };
    else for (const one of open) await ask([one]);
  }
}

// Until what the model said is of the line as it is.
async function fresh(one) {
  while (!known(one)) await (asking ??= ask([one]).finally(() => (asking = null)));
}

// The next lines, side by side, that the model has not read: behind the line at hand, else any.
function waiting() {
  const { rows, at } = state;
  let first = rows.findIndex((one, i) => i >= at && !known(one));
  if (first < 0) first = rows.findIndex((one) => !known(one));
  if (first < 0) return [];
  let end = first;
  while (end < rows.length && end - first < CHUNK && !known(rows[end])) end += 1;
  return rows.slice(first, end);
}

// Has the model read all lines.
async function work() {
  for (let some = waiting(); some.length; some = waiting()) {
    await ask(some);
    some.forEach(paint);
  }
}

const readAll = () => (working ??= work().finally(() => (working = null)));

async function update() {
  show();
  await fresh(row());
  show();
  if (state.mode !== "predict") await readAll();
}

function show() {
  const one = row();
  const { prediction, error } = one.said ?? {};
  const all = edits(one);
  for (const [id, text] of [["source", one.source], ["draft", one.text]]) {
    if ($(id).value !== text) $(id).value = text; // else the cursor moves
  }
  $("place").textContent = `line ${state.at + 1} of ${state.rows.length}`;
  $("moves").hidden = $("document").hidden = state.rows.length < 2;
  $("error").textContent = visible(error || "");
  status(sayOf(one, all));
  const focused = $("words").contains(document.activeElement);
  words = showWords($("words"), one, all, select);
  select(state.selected, focused);
  $("text").textContent = visible(textOf(one, least()));
  showPrediction($("predictions"), prediction);
  if (!$("document").hidden) layOut();
  paint(one);
}

function sayOf(one, all) {
  if (!(one.source + one.text).trim()) return "";
  if (!known(one)) return "waiting for the model";
  if (one.said.error) return "no answer";
  if (one.said.code) return "left alone as code";
  if (state.mode === "predict") return "";
  const made = all.filter((edit) => edit.taken);
  return all.length ? `${made.length} of ${all.length} edit${all.length > 1 ? "s" : ""} applied` : "nothing found";
}

const screen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    target.row.inView = isIntersecting;
    paint(target.row);
  }
}, { root: $("lines") });

// The elements of all lines, in order.
function layOut() {
  for (const one of state.rows.filter((it) => !it.item)) {
    one.item = Object.assign(document.createElement("li"), { row: one, dir: "auto" });
    screen.observe(one.item);
    paint(one);
  }
  const shown = $("lines").children;
  const same = shown.length === state.rows.length && state.rows.every((one, i) => shown[i] === one.item);
  if (!same) $("lines").replaceChildren(...state.rows.map((one) => one.item));
}

function paint(one) {
  const all = edits(one);
  if (known(one) && (one.inView || one === row())) one.seen = true;
  if (one.item) {
    const kind = (!known(one) && "waiting") || (one.said.error && "failed") || (one.said.code && "code") || "";
    showLine(one.item, one, all, kind);
    one.item.classList.toggle("at", one === row());
  }
  drawing ||= requestAnimationFrame(drawList);
}

function drawList() {
  drawing = 0;
  const groups = new Map();
  let [open, taken, count] = [0, 0, 0];
  state.rows.forEach((one, line) => {
    open += !known(one);
    for (const edit of edits(one)) {
      const name = JSON.stringify([edit.before.trim(), edit.after.trim()]);
      if (!groups.has(name)) groups.set(name, { before: edit.before, after: edit.after, places: [] });
      groups.get(name).places.push({ line, edit });
      taken += edit.taken;
      count += 1;
    }
  });
  const read = open ? `${state.rows.length - open} of ${state.rows.length} lines read, ` : "";
  $("summary").textContent = read + (count ? `${taken} of ${count} edits applied` : "nothing found");
  $("accept-all").disabled = taken === count;
  $("refuse-all").disabled = !taken;
  showEdits($("edits"), [...groups.values()], { go: goTo, set: setGroup });
}

// Accepts or refuses all edits for which `matches` holds; what was decided otherwise is taken back.
function setAll(rows, wanted, matches = () => true) {
  for (const one of rows) {
    const open = () => edits(one).find((edit) => edit.taken !== wanted && matches(edit));
    let tries = 2 * edits(one).length; // a refusal is taken back first, then an unsure edit is made
    for (let edit = open(); edit && tries; edit = open(), tries -= 1) toggle(one, edit);
    paint(one);
  }
  state.unsaved = true;
  return update();
}

function setGroup({ before, after, places }, wanted) {
  const alike = (edit) => edit.before.trim() === before.trim() && edit.after.trim() === after.trim();
  return setAll(new Set(places.map(({ line }) => state.rows[line])), wanted, alike);
}

// An edit of the document becomes the selected word.
async function goTo({ line, edit }) {
  await go(line);
  const alike = (one) => one.edit?.offset === edit.offset && one.edit.after === edit.after;
  select(Math.max(0, words.findIndex(alike)), true);
}

function clicked({ target }) {
  const item = target.closest("li");
  if (!item || !getSelection().isCollapsed) return null; // a person marks text
  const edit = edits(item.row)[target.closest(".edit")?.dataset.number];
  const line = state.rows.indexOf(item.row);
  return edit ? goTo({ line, edit }) : go(line);
}

function select(number, focus) {
  state.selected = Math.max(0, Math.min(words.length - 1, number));
  words.forEach(({ button }, i) => {
    button.tabIndex = i === state.selected ? 0 : -1;
    button.classList.toggle("selected", i === state.selected);
  });
  if (focus) word()?.button.focus();
  $("accept").firstChild.data = word()?.edit?.taken === false ? "Accept " : "Refuse ";
  $("accept").disabled = !word()?.edit;
  $("undo").disabled = !row().past.length;
  for (const id of ["keep", "drop", "own", "next-edit"]) $(id).disabled = !words.length;
}

// What the buttons do; each has its key, on a word or (with others held) anywhere.
const ACTIONS = {
  accept: () => change(toggle, word().edit),
  keep: () => change(keep, word()),
  drop: () => change(write, word(), ""),
  undo: () => change(undo),
  "next-edit": nextEdit,
  previous: () => go(state.at - 1),
  next: () => go(state.at + 1),
  "next-line": nextLine,
  save: saveText,
  copy: copyText,
  "accept-all": () => setAll(state.rows, true),
  "refuse-all": () => setAll(state.rows, false),
};

// What a person does to the line, by a function of row.js.
function change(how, ...rest) {
  how(row(), ...rest);
  state.unsaved = true;
  return update();
}

function pressed(event) {
  const held = ["ctrl", "alt", "meta", "shift"].filter((name) => event[`${name}Key`]);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const onWord = !held.length && $("words").contains(event.target);
  const right = getComputedStyle($("words")).direction === "rtl" ? -1 : 1;
  const move = { ArrowLeft: -right, ArrowRight: right, Home: -words.length, End: words.length }[key];
  const control = document.querySelector(`[data-key="${CSS.escape([...held, key].join(" "))}"]`);
  if (!(held.length ? control : onWord && (control || move))) return;
  event.preventDefault();
  if (!control) select(state.selected + move, true);
  else if (control === $("own")) control.focus();
  else control.click();
}

// The next edit; behind the last, that of the next line with edits.
async function nextEdit() {
  const { selected } = state;
  let next = words.findIndex((one, i) => i > selected && one.edit && one.edit !== words[selected].edit);
  if (next < 0 && (await nextLine())) next = words.findIndex((one) => one.edit);
  if (words[next]) select(next, true);
}

async function go(number) {
  if (!state.rows[number]) return false;
  const left = row();
  Object.assign(state, { at: number, selected: 0 });
  paint(left);
  show();
  row().item?.scrollIntoView({ block: "nearest" });
  showMore();
  await fresh(row());
  show();
  return true;
}

// Goes to the next line with edits, unless the person goes elsewhere; whether there was one.
async function nextLine() {
  const { rows, at } = state;
  for (let i = at + 1; i < rows.length; i += 1) {
    status(`looking at line ${i + 1} of ${rows.length}`);
    if (!known(rows[i])) await ask(rows.slice(i, i + CHUNK).filter((one) => !known(one)));
    if (rows !== state.rows || at !== state.at) return false;
    if (edits(rows[i]).some((edit) => edit.taken)) return go(i);
  }
  status("no edits in the lines that follow");
  return false;
}

const put = (one, field, text) => (field === "text" ? type(one, text) : (one.source = text));

// What was typed or pasted into a field; its further lines are lines of their own.
async function typed(field, other, text) {
  const one = row();
  const [first = newRow("", ""), ...more] = rowsOf(text, "correct");
  put(one, field, first.text);
  more.forEach((next, i) => {
    const place = state.at + 1 + i;
    const waits = state.rows[place]?.[other] && !state.rows[place][field]; // source or text came before
    if (!waits) {
      const before = state.rows[place - 1];
      state.rows.splice(place, 0, newRow("", "", before.ending));
      before.ending ||= "\n";
    }
    put(state.rows[place], field, next.text);
  });
  state.unsaved = true;
  await update();
}

async function ownWord({ target }) {
  const done = change(write, word(), target.value.trim());
  target.value = "";
  select(state.selected, true);
  await done;
}

async function load({ target: { files: [file] } }) {
  if (!file || (state.unsaved && !confirm("What is not saved is lost. Open another file?"))) return;
  Object.assign(state, { rows: await readRows(file, state.mode), at: 0, selected: 0, file: file.name, unsaved: false });
  await update();
}

// The whole text once the model has read it; null where a person wants to see more of it first.
async function finished(what) {
  try {
    await readAll();
  } catch (error) {
    const open = state.rows.filter((one) => !known(one)).length;
    if (!confirm(`${error.message}\n${open} lines stay as they are. ${what}?`)) return null;
  }
  const unseen = state.rows.filter((one) => !one.seen && edits(one).some((edit) => edit.taken));
  if (unseen.length && !confirm(`Edits in ${unseen.length} lines were not on the screen yet. ${what}?`)) {
    await go(state.rows.indexOf(unseen[0]));
    return null;
  }
  return asText(state.rows.map((one) => ({ row: one, text: textOf(one, least()) })));
}

async function saveText() {
  const text = await finished("Save all the same");
  if (text === null) return;
  save(state.file, text);
  state.unsaved = false;
  show();
}

async function copyText() {
  const text = await finished("Copy all the same");
  if (text === null) return;
  if (!navigator.clipboard) throw new Error("the browser copies on localhost and https alone; save the text");
  await navigator.clipboard.writeText(text);
  status("copied");
}

// Other outputs for the line at hand, and the iterations that led to them.
async function showMore() {
  const one = row();
  if (!$("more").open || state.mode !== "edit") return;
  const { results } = await call("edit", { sentences: [itemOf(one, "edit")], nbest: 4 });
  const take = (text) => change(adopt, text).then(showMore);
  if (one === row()) showVersions($("versions"), results[0].hypotheses, take);
}

function setMode(mode) {
  document.body.dataset.mode = state.mode = mode;
  $("help").textContent = MODES[mode][1];
  $("source-field").hidden = mode !== "edit" && !(state.model.texts > 1);
  return update();
}

async function setLeast({ target }) {
  if (target.checkValidity() && target.value) state.least = target.valueAsNumber;
  await update();
  if (!target.checkValidity()) throw new Error(target.validationMessage);
}

async function begin() {
  window.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    $("error").textContent = visible(event.reason.message);
  });
  window.addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
  window.addEventListener("keydown", pressed);
  const on = (id, event, action) => $(id).addEventListener(event, async (it) => action(it));
  for (const [id, action] of Object.entries(ACTIONS)) on(id, "click", () => action());
  on("source", "input", ({ target }) => typed("source", "text", target.value));
  on("draft", "input", ({ target }) => typed("text", "source", target.value));
  on("own", "change", ownWord);
  on("mode", "input", ({ target }) => setMode(target.value));
  on("least", "input", setLeast);
  on("load", "change", load);
  on("lines", "click", clicked);
  on("more", "toggle", showMore);
  const model = (state.model = await call("info"));
  document.title = $("model").textContent = visible(`${model.title ?? model.model ?? "lev-serve"}`);
  $("least").value = state.least = model.min_confidence ?? 0;
  $("mode").replaceChildren(...model.modes.map((mode) => new Option(MODES[mode][0], mode)));
  $("mode").hidden = model.modes.length < 2;
  if (model.example) state.rows = [newRow("", model.example)]; // something to edit
  document.body.dataset.ready = "true";
  await setMode(model.modes[0]);
}

begin();
