// The page: lines of a text field or a file, what the model says of them, what a person decides.
// One loop has the model read lines, the line at hand before others.

import { editsOf, hear, itemOf, keep, lineOf, newRow, remember, rewrite, rowsOf, textOf, toggle, undo, write } from "./row.js";
import { counted, slice, visible } from "./text.js";
import { element, showEdits, showLine, showPrediction, showVersions, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 16; // lines that are asked for at once
const BEFORE = { lines: 256, chars: 400 }; // beginnings of lines before them, which tell what is code
const MODES = {
  edit: ["Edit a draft", "The model puts the draft right. Click a word to lock, strike or replace it."],
  correct: ["Correct", "Type or paste text, or open a file. Click an edit to accept or refuse it."],
  predict: ["Predict", "Type or paste a text, or open a file with one a line."],
};
const SAID = { waiting: "waiting for the model", failed: "no answer", code: "left alone as code" };
const state = {
  ...{ rows: [newRow("", "")], at: 0, selected: 0, file: "text.txt", unsaved: false },
  ...{ model: {}, mode: "", least: 0 }, // how the model is asked
};
let words = []; // what each button of the line stands for
let reading = null; // until all lines are read
let drawing = 0; // the list of edits

const row = () => state.rows[state.at];
const word = () => words[state.selected];
const least = () => (state.mode === "correct" ? state.least : 0);
const edits = (one) => editsOf(one, least());
const taken = (one) => edits(one).filter((edit) => edit.taken);
const applied = (made, all) => (all ? `${made} of ${counted(all, "edit")} applied` : "nothing found");
const status = (text) => ($("status").textContent = text);

// what the model is asked

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
const blank = (one) => !(one.source + one.text).trim();
const known = (one) => blank(one) || one.said?.key === keyOf(one);

function request(rows) {
  const items = rows.map((one) => itemOf(one, state.mode));
  if (state.mode === "edit") return { sentences: items };
  if (state.mode === "predict") {
    const { texts: sides, top_k } = state.model;
    const [texts, pairs] = [0, 1].map((side) => items.map((one) => one[side]));
    return sides > 1 ? { texts, pairs, top_k } : { texts: pairs, top_k };
  }
  const end = Math.max(0, state.rows.indexOf(rows[0]));
  const before = state.rows.slice(Math.max(0, end - BEFORE.lines), end);
  return { lines: items, before: before.map(({ text }) => slice(text, 0, BEFORE.chars)), min_confidence: 0 };
}

// Has the model say something of lines; of one that it cannot read, why.
async function ask(rows) {
  const { mode } = state;
  const keys = rows.map(keyOf);
  try {
    const { results } = await call(mode, request(rows));
    rows.forEach((one, i) => keyOf(one) === keys[i] && hear(one, mode, keys[i], results[i]));
  } catch (error) {
    const alone = rows.length === 1; // of several, one may be at fault
    if (!error.status || error.status === 403 || (alone && error.status === 504)) throw error;
    if (alone) rows[0].said = { key: keys[0], error: error.message };
    else for (const one of rows) await ask([one]);
  }
}

// The line at hand, or the next lines side by side, that the model has not read.
function waiting() {
  const { rows, at, mode } = state;
  if (!known(row())) return [row()];
  const open = (from) => rows.findIndex((one, i) => i >= from && !known(one));
  const first = mode === "predict" ? -1 : Math.max(open(at), open(0));
  const next = first < 0 ? [] : rows.slice(first, first + CHUNK);
  const read = next.findIndex((one) => known(one) && !blank(one));
  return next.slice(0, read < 0 ? CHUNK : read).filter((one) => !known(one));
}

async function readLines() {
  for (let rows = waiting(); rows.length; rows = waiting()) {
    await ask(rows);
    for (const one of rows) {
      screen.observe(one.item);
      paint(one);
    }
    if (rows.includes(row())) show();
  }
}

const readAll = () => (reading ??= readLines().finally(() => (reading = null)));

function update() {
  show();
  return readAll();
}

// what is shown

function kindOf(one) {
  if (!known(one)) return "waiting";
  return (one.said?.error && "failed") || (one.said?.code && "code") || "";
}

function show() {
  const one = row();
  const { prediction, error } = one.said ?? {};
  const all = edits(one);
  $("source").value = one.source;
  $("draft").value = one.text;
  $("place").textContent = `line ${state.at + 1} of ${state.rows.length}`;
  $("moves").hidden = $("document").hidden = state.rows.length < 2;
  $("error").textContent = visible(error || "");
  status(SAID[kindOf(one)] ?? (blank(one) || prediction ? "" : applied(taken(one).length, all.length)));
  const focused = $("words").contains(document.activeElement);
  words = showWords($("words"), one, all, select);
  select(state.selected, focused);
  $("text").textContent = visible(textOf(one, least()));
  showPrediction($("predictions"), prediction);
  paint(one);
}

// Notes which lines are on the screen with what the model said of them.
const screen = new IntersectionObserver((items) => {
  for (const { target, isIntersecting } of items) {
    target.row.inView = isIntersecting;
    target.row.seen ||= isIntersecting && known(target.row);
  }
}, { root: $("lines") });

// The same, asked now: an observer is told a frame later.
function isOnScreen(item) {
  const [place, view] = [item, $("lines")].map((shown) => shown.getBoundingClientRect());
  return place.height > 0 && place.bottom > view.top && place.top < view.bottom;
}

// Has other lines in the place of some.
function putRows(place, gone, ...rows) {
  state.rows.splice(place, gone, ...rows);
  for (const one of rows) one.item = element("li", { row: one, dir: "auto" });
  $("lines").replaceChildren(...state.rows.map(({ item }) => item));
  rows.forEach(paint);
}

function paint(one) {
  const kind = kindOf(one);
  one.seen ||= known(one) && (one.inView || one === row());
  showLine(one.item, one, edits(one), `${kind} ${one === row() ? "at" : ""}`.trim(), SAID[kind] ?? "");
  drawing ||= requestAnimationFrame(drawList);
}

const nameOf = ({ before, after }) => JSON.stringify([before.trim(), after.trim()]);

function drawList() {
  drawing = 0;
  const places = state.rows.flatMap((one, number) => edits(one).map((edit) => ({ line: number, edit })));
  const made = places.filter(({ edit }) => edit.taken).length;
  const read = state.rows.filter(known).length;
  const progress = read < state.rows.length ? `${read} of ${counted(state.rows.length, "line")} read, ` : "";
  $("summary").textContent = progress + applied(made, places.length);
  $("accept-all").disabled = made === places.length;
  $("refuse-all").disabled = !made;
  const groups = Object.values(Object.groupBy(places, ({ edit }) => nameOf(edit)));
  showEdits($("edits"), groups, goTo, setGroup);
}

// what a person does

// What a person does to the line, by a function of row.js; it can be undone.
function change(how, ...rest) {
  remember(row());
  how(row(), ...rest);
  return changed();
}

function changed() {
  state.unsaved = true;
  return update();
}

// Accepts or refuses all edits for which `matches` holds; what was decided otherwise is taken back.
function setAll(rows, wanted, matches = () => true) {
  for (const one of rows) {
    const open = () => edits(one).find((edit) => edit.taken !== wanted && matches(edit));
    let tries = 2 * edits(one).length; // a refusal is taken back first, then an unsure edit is made
    if (open()) remember(one);
    for (let edit = open(); edit && tries; edit = open(), tries -= 1) toggle(one, edit);
    paint(one);
  }
  return changed();
}

function setGroup(places, wanted) {
  const rows = new Set(places.map((place) => state.rows[place.line]));
  return setAll(rows, wanted, (edit) => nameOf(edit) === nameOf(places[0].edit));
}

// An edit of the document becomes the selected word.
function goTo({ line, edit: { offset, after } }) {
  go(line);
  select(words.findIndex(({ edit }) => edit?.offset === offset && edit.after === after), true);
}

function clicked({ target }) {
  const item = target.closest("li");
  if (!item || !getSelection().isCollapsed) return; // a person marks text
  const edit = edits(item.row)[target.closest(".edit")?.dataset.number];
  const line = state.rows.indexOf(item.row);
  if (edit) goTo({ line, edit });
  else go(line);
}

function select(number, focus) {
  state.selected = Math.max(0, Math.min(words.length - 1, number));
  words.forEach(({ button }, i) => (button.tabIndex = i === state.selected ? 0 : -1));
  if (focus) word()?.button.focus();
  $("accept").firstChild.data = word()?.edit?.taken === false ? "Accept " : "Refuse ";
  $("accept").disabled = !word()?.edit;
  $("undo").disabled = !row().past.length;
  for (const id of ["keep", "drop", "own", "next-edit"]) $(id).disabled = !words.length;
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

function go(number) {
  if (!state.rows[number]) return;
  const left = row();
  Object.assign(state, { at: number, selected: 0 });
  paint(left);
  update();
  row().item.scrollIntoView({ block: "nearest" });
  showMore();
}

// Goes to the next line with edits, unless the person goes elsewhere; whether there was one.
async function nextLine() {
  const { rows, at } = state;
  const next = () => rows.findIndex((one, i) => i > at && known(one) && taken(one).length);
  if (next() < 0) {
    status("looking further");
    await readAll();
  }
  if (at !== state.at) return false;
  if (next() < 0) status("no edits in the lines that follow");
  else go(next());
  return at !== state.at;
}

// The next edit; behind the last, that of the next line with edits.
async function nextEdit() {
  let next = words.findIndex((one, i) => i > state.selected && one.edit && one.edit !== word().edit);
  if (next < 0 && (await nextLine())) next = words.findIndex((one) => one.edit);
  if (next >= 0) select(next, true);
}

// What was typed or pasted into a field, `source` or `text`; its further lines are lines of their
// own, beside those that were pasted into the other field.
function typed(field, content) {
  const other = field === "text" ? "source" : "text";
  const [first, ...more] = content ? rowsOf(content, "correct") : [newRow("", "")];
  put(row(), field, first.text);
  if (blank(row())) row().said = null;
  more.forEach(({ text }, i) => {
    const place = state.at + 1 + i;
    const before = state.rows[place - 1];
    const waits = state.rows[place]?.[other] && !state.rows[place][field];
    if (!waits) putRows(place, 0, newRow("", "", before.ending));
    before.ending ||= "\n";
    put(state.rows[place], field, text);
  });
  return changed();
}

function put(one, field, text) {
  if (field === "source") one.source = text;
  else rewrite(one, text);
  one.past = [];
}

function ownWord({ target }) {
  const done = change(write, word(), target.value.trim());
  target.value = "";
  select(state.selected, true);
  return done;
}

async function load({ target: { files: [file] } }) {
  if (!file || (state.unsaved && !confirm("What is not saved is lost. Open another file?"))) return;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const content = await file.arrayBuffer().then((bytes) => decoder.decode(bytes)).catch(() => {
    throw new Error(`${file.name} is not UTF-8; convert it: iconv -f ITS_ENCODING -t UTF-8`);
  });
  if (!content) throw new Error(`${file.name} is empty`);
  const rows = rowsOf(content, state.mode, file.name);
  Object.assign(state, { at: 0, selected: 0, file: file.name, unsaved: false });
  putRows(0, state.rows.length, ...rows);
  await update();
}

// Does something with the whole text, once the model has read it and a person wants no more of it.
async function finish(what, use) {
  try {
    await readAll();
  } catch (error) {
    const open = state.rows.filter((one) => !known(one)).length;
    if (!confirm(`${error.message}\n${counted(open, "line")} not read. ${what} all the same?`)) return;
  }
  const unseen = state.rows.filter((one) => !one.seen && taken(one).length && !isOnScreen(one.item));
  const question = `Edits in ${counted(unseen.length, "line")} not on the screen yet. ${what} all the same?`;
  if (unseen.length && !confirm(question)) go(state.rows.indexOf(unseen[0]));
  else await use(state.rows.map((one) => lineOf(one, least())).join(""));
}

function save(text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  element("a", { href, download: state.file }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  state.unsaved = false;
}

async function copy(text) {
  if (!navigator.clipboard) throw new Error("the browser copies on localhost and https alone; save the text");
  await navigator.clipboard.writeText(text);
  status("copied");
}

// Other outputs for the line at hand, and the iterations that led to them.
async function showMore() {
  const one = row();
  if (!$("more").open || state.mode !== "edit") return;
  const { results } = await call("edit", { sentences: [itemOf(one, "edit")], nbest: 4 });
  const take = (text) => change(rewrite, text).then(showMore);
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
  state.rows.forEach(paint);
  await update();
  if (!target.checkValidity()) throw new Error(target.validationMessage);
}

// What the controls do; buttons have their key, on a word or (with others held) anywhere.
const ACTIONS = {
  click: {
    accept: () => change(toggle, word().edit),
    keep: () => change(keep, word()),
    drop: () => change(write, word(), ""),
    undo: () => changed(undo(row())),
    "next-edit": nextEdit,
    previous: () => go(state.at - 1),
    next: () => go(state.at + 1),
    "next-line": nextLine,
    save: () => finish("Save", save),
    copy: () => finish("Copy", copy),
    "accept-all": () => setAll(state.rows, true),
    "refuse-all": () => setAll(state.rows, false),
    lines: clicked,
  },
  input: {
    source: ({ target }) => typed("source", target.value),
    draft: ({ target }) => typed("text", target.value),
    mode: ({ target }) => setMode(target.value),
    least: setLeast,
  },
  change: { own: ownWord, load },
  toggle: { more: showMore },
};

async function begin() {
  window.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    $("error").textContent = visible(event.reason.message);
  });
  window.addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
  window.addEventListener("keydown", pressed);
  for (const [event, actions] of Object.entries(ACTIONS)) {
    for (const [id, action] of Object.entries(actions)) $(id).addEventListener(event, async (it) => action(it));
  }
  const model = (state.model = await call("info"));
  document.title = $("model").textContent = visible(`${model.title ?? model.model ?? "lev-serve"}`);
  $("least").value = state.least = model.min_confidence ?? 0;
  $("mode").replaceChildren(...model.modes.map((mode) => new Option(MODES[mode][0], mode)));
  $("mode").hidden = model.modes.length < 2;
  putRows(0, 1, newRow("", model.example ?? "")); // something to edit
  document.body.dataset.ready = "true";
  await setMode(model.modes[0]);
}

begin();
