// The page: lines of a text field or a file, what the model says of them, what a person decides.
// One loop has the model read lines, the line at hand before others.

import * as Row from "./row.js";
import { clash, counted, difference, visible } from "./text.js";
import { element, showEdits, showLine, showPrediction, showVersions, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 16; // lines that are asked for at once
const REST = 20; // times as long as it took, the document is not drawn anew for an answer
const CONTEXT = { lines: 256, chars: 400 }; // beginnings of lines before, which tell what is code
const MODES = {
  edit: ["Edit a draft", "The model edits the draft. Click a word to lock, strike or replace it."],
  correct: ["Correct", "Type or paste text, or open a file. Click an edit to accept or refuse it."],
  predict: ["Predict", "Type or paste a text, or open a file with one a line."],
};
const KEPT = "lev-serve"; // of this tab's storage
const AGAIN = 2000; // ms until a server that is away is called again
const AWAY = "lev-serve cannot be reached. The text stays here; the page tries again.";
const ANEW = "lev-serve was started anew: in this tab, open the address that it printed. "
  + "The text stays.";
const SAID = { waiting: "waiting for the model", failed: "no answer", code: "left alone as code" };
const start = Row.newRow({});
// `box`: the lines in the fields, side by side; `row`: the one at hand, of them; `caret`: where the
// person typed last
const state = { rows: [start], box: [start], row: start, selected: 0, caret: -1 };
Object.assign(state, { file: "text.txt", unsaved: false, own: false }); // own: not the example
let model = {}; // what the server says of it
let mode = ""; // what it is to do
let least = 0; // probability of an edit that it makes, in "correct"
let trouble = ""; // that the server is away, or another one
let calling = null; // until it is there again
let keeping = 0; // of the text, soon
let reading = null; // until all lines are read
let drawing = 0; // of the document, in the next frame
let rested = 0; // from when on
let places = []; // edits of the document, as they were drawn

const at = (row = state.row) => state.rows.indexOf(row);
const words = () => [...$("words").querySelectorAll("button")];
const word = () => words()[state.selected]?.word;
const threshold = () => (mode === "correct" ? least : 0);
const edits = (row) => Row.editsOf(row, threshold());
const changes = (row) => edits(row).some(({ taken }) => taken);
const status = (text) => ($("status").textContent = text);

function applied(all) {
  const made = all.filter(({ taken }) => taken).length;
  return all.length ? `${made} of ${counted(all.length, "edit")} applied` : "nothing found";
}

// what the model is asked

async function call(path, body) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = { headers, method: body ? "POST" : "GET", body: JSON.stringify(body) };
  const response = await fetch(path, request).catch(() => ({}));
  const { status, ok } = response;
  trouble = !status ? AWAY : status === 403 ? ANEW : "";
  if (!status) calling ??= callAgain().finally(() => (calling = null));
  if (trouble) throw new Error(trouble);
  const answer = await response.json().catch(() => ({ error: `the server answers ${status}` }));
  if (!ok) throw Object.assign(new Error(answer.error), { status });
  return answer;
}

async function callAgain() {
  while (trouble === AWAY) {
    await new Promise((done) => setTimeout(done, AGAIN));
    const { signature } = await call("info").catch(() => model);
    if (signature !== model.signature) { // another model
      keep();
      return begin();
    }
  }
  return update();
}

// what the model said is known by what it was asked
const keyOf = (row) => JSON.stringify([mode, Row.itemOf(row, mode)]);
const blank = (row) => !(row.source + row.text).trim();
const known = (row) => blank(row) || row.said?.key === keyOf(row);
const kindOf = (row) => (known(row) ? row.said?.kind ?? "" : "waiting");

function request(rows) {
  const items = rows.map((row) => Row.itemOf(row, mode));
  if (mode === "edit") return { sentences: items };
  if (mode === "predict") {
    const [[source, text]] = items;
    const texts = model.texts > 1 ? { texts: [source], pairs: [text] } : { texts: [text] };
    return { ...texts, top_k: model.top_k };
  }
  const before = state.rows.slice(0, state.rows.indexOf(rows[0])).slice(-CONTEXT.lines);
  const beginnings = before.map(({ text }) => text.slice(0, CONTEXT.chars).toWellFormed());
  return { lines: items, before: beginnings, min_confidence: 0 };
}

// Has the model say something of lines; of one that it cannot read, why.
async function ask(rows) {
  const asked = mode;
  const keys = rows.map(keyOf);
  try {
    const { results } = await call(asked, request(rows));
    rows.forEach((row, i) => keyOf(row) === keys[i] && Row.hear(row, asked, keys[i], results[i]));
  } catch (error) {
    const alone = rows.length === 1; // of several, one may be at fault
    if (!error.status || (alone && error.status === 504)) throw error;
    if (alone) rows[0].said = { key: keys[0], error: error.message, kind: "failed" };
    else for (const row of rows) await ask([row]);
  }
}

// The line at hand, or the next lines side by side, that the model has not read; of a text also
// the blank ones between, which may tell what is code.
function waiting() {
  const { rows, row } = state;
  if (!known(row)) return [row];
  if (mode === "predict") return [];
  const open = [...rows.slice(at()), ...rows].find((other) => !known(other));
  const next = open ? rows.slice(rows.indexOf(open)).slice(0, CHUNK) : [];
  const read = next.findIndex((other) => known(other) && !blank(other));
  const unread = read < 0 ? next : next.slice(0, read);
  return mode === "correct" ? unread : unread.filter((other) => !blank(other));
}

const redraw = () => (drawing ||= requestAnimationFrame(draw));

async function readLines() {
  for (let rows = waiting(); rows.length; rows = waiting()) {
    await ask(rows);
    if (rows.includes(state.row)) show();
    if (performance.now() > rested) redraw();
  }
}

function readAll() {
  reading ??= readLines().finally(() => {
    reading = null;
    redraw();
  });
  return reading;
}

function update() {
  clearTimeout(keeping);
  keeping = setTimeout(keep, 300);
  show();
  redraw();
  return readAll();
}

// what is shown

// The line at hand.
function show() {
  const { rows, row, selected } = state;
  const { prediction, error } = row.said ?? {};
  const found = blank(row) || prediction ? "" : applied(edits(row));
  const focused = $("words").contains(document.activeElement);
  fill($("source"), "source");
  fill($("draft"), "text");
  $("place").textContent = `line ${at() + 1} of ${rows.length}`;
  $("moves").hidden = $("document").hidden = rows.length < 2;
  $("error").textContent = visible(error ?? trouble);
  status(SAID[kindOf(row)] ?? found);
  showWords($("words"), row, edits(row));
  select(selected, focused);
  $("text").textContent = visible(Row.textOf(row, threshold()));
  showPrediction($("predictions"), prediction ?? {});
  row.seen = true;
}

const other = (field) => (field === "text" ? "source" : "text");

// Shows a field of the lines at hand, up to the last that only the other field has. What a person
// types there is never written anew: the caret would move, and a line end at the end be lost.
function fill(box, field) {
  const last = state.box.findLastIndex((row) => row[field] || !row[other(field)]);
  const content = state.box.slice(0, last + 1).map((row) => row[field]).join("\n");
  const [now, then] = [box.value, content].map((text) => text.replace(/\n+$/, ""));
  if (now !== then) box.value = content;
}

// The document, and the list of its edits.
function draw() {
  const { rows } = state;
  const started = performance.now();
  const read = rows.filter(known).length;
  const progress = read < rows.length ? `${read} of ${counted(rows.length, "line")} read, ` : "";
  drawing = 0;
  places = rows.flatMap(paint);
  $("summary").textContent = progress + applied(places);
  $("accept-all").ariaDisabled = !places.some(isRefused);
  $("refuse-all").ariaDisabled = !places.some(({ taken }) => taken);
  showEdits($("edits"), Object.values(Object.groupBy(places, nameOf)), goTo, setAll);
  const ended = performance.now();
  rested = ended + REST * (ended - started);
}

// A line of the document; returns its edits, with their places in the document.
function paint(row, number) {
  const kind = kindOf(row);
  const all = edits(row);
  const look = JSON.stringify([row.said?.key, row.source, row.text, all]);
  row.item.className = `${kind} ${row === state.row ? "at" : ""}`;
  row.item.title = SAID[kind] ?? "";
  if (row.look !== look) {
    showLine(row, all);
    screen.unobserve(row.item);
    screen.observe(row.item); // which tells anew whether it is on the screen
  }
  row.look = look;
  return all.map((edit, place) => ({ ...edit, row, number: place, line: number + 1 }));
}

// Notes which lines were on the screen.
const screen = new IntersectionObserver((lines) => {
  for (const { target, isIntersecting } of lines) target.row.seen ||= isIntersecting;
});

// Whether a person refused an edit that is made by default.
const isRefused = (edit) => edit.kind === "refuse" && Row.isSure(edit, threshold());

const nameOf = ({ before, after }) => JSON.stringify([before.trim(), after.trim()]);

// what a person does

// What a person does to the line, by a function of row.js; it can be undone.
function change(how, ...rest) {
  Row.remember(state.row);
  how(state.row, ...rest);
  return changed();
}

function changed() {
  state.unsaved = state.own = true;
  return update();
}

// Accepts or refuses edits of the document, the last first, as those before it stay in place.
function setAll(all, wanted) {
  const open = all.filter(({ taken }) => taken !== wanted).toReversed();
  new Set(open.map(({ row }) => row)).forEach(Row.remember);
  // what a person decided is taken back, then the model's edit is set
  for (const place of open.flatMap((edit) => [edit, edit])) {
    const edit = edits(place.row).find((other) => other.taken !== wanted && clash(other, place));
    if (edit) Row.toggle(place.row, edit);
  }
  return open.length && changed();
}

// An edit of the document becomes the selected word.
function goTo({ row, number }) {
  go(row);
  const edit = $("words").querySelector(`[data-number="${number}"] button`);
  if (edit) select(words().indexOf(edit), true);
}

function clicked({ target }) {
  const item = target.closest("li");
  if (!item || !getSelection().isCollapsed) return; // a person marks text
  goTo({ row: item.row, number: target.closest(".edit")?.dataset.number });
}

function select(number, focus) {
  const buttons = words();
  state.selected = Math.max(0, Math.min(buttons.length - 1, number));
  buttons.forEach((button, i) => (button.tabIndex = i === state.selected ? 0 : -1));
  if (focus) buttons[state.selected]?.focus();
  $("accept").firstChild.data = word()?.edit?.taken === false ? "Accept " : "Refuse ";
  $("accept").disabled = !word()?.edit;
  $("undo").disabled = !state.row.past.length;
  for (const id of ["keep", "drop", "own", "next-edit"]) $(id).disabled = !buttons.length;
}

function pressed(event) {
  const held = ["Control", "Alt", "Meta", "Shift"].filter((name) => event.getModifierState(name));
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const onWord = !held.length && $("words").contains(event.target);
  const right = getComputedStyle($("words")).direction === "rtl" ? -1 : 1;
  const move = { ArrowLeft: -right, ArrowRight: right, Home: -Infinity, End: Infinity }[key];
  const keys = CSS.escape([...held, key].join("+"));
  const control = document.querySelector(`[aria-keyshortcuts="${keys}"]`);
  if (!(held.length ? control : onWord && (control || move))) return;
  event.preventDefault();
  if (!control) select(state.selected + move, true);
  else if (control === $("own")) control.focus();
  else control.click();
}

function go(row) {
  if (!row) return;
  Object.assign(state, { row, box: [row], selected: 0 });
  update();
  row.item.scrollIntoView({ block: "nearest" });
  showMore();
}

// Goes to the next line with edits, unless the person goes elsewhere; whether there was one.
async function nextLine() {
  const { row } = state;
  const next = () => state.rows.slice(at() + 1).find((other) => known(other) && changes(other));
  if (!next()) {
    status("reading the lines that follow");
    await readAll();
  }
  if (row !== state.row) return false;
  if (!next()) status("no edits in the lines that follow");
  go(next());
  return row !== state.row;
}

// The next edit; behind the last, that of the next line with edits.
async function nextEdit() {
  const here = word()?.edit;
  const nextIn = (buttons) => buttons.find(({ word: { edit } }) => edit && edit !== here);
  let next = nextIn(words().slice(state.selected));
  if (!next && (await nextLine())) next = nextIn(words());
  if (next) select(words().indexOf(next), true);
}

// Takes over what was typed or pasted into a field, `source` or `text`. Its lines are lines of the
// document, beside those of the other field, also of rows below that have none of this one yet.
function typed(field, target) {
  const { box, rows } = state;
  const lines = target.value.split("\n");
  const waits = (row) => row?.[other(field)] && !row[field];
  const first = at(box[0]);
  const below = () => rows[first + box.length];
  while (box.length < lines.length && waits(below())) box.push(below());
  const before = box.map((row) => row[field]);
  const places = field === "text" ? Row.placesOf(box, target.value, target.selectionStart) : null;
  const change = difference(before, lines);
  // side by side with others, lines stay in their rows; else rows move along
  const beside = box.some((row) => row[other(field)]);
  const put = beside ? { offset: 0, before, after: lines } : change;
  put.after.forEach((text, i) => {
    const place = put.offset + i;
    if (i >= put.before.length) box.splice(place, 0, addRow(first + place));
    write(box[place], field, text);
  });
  for (const row of box.slice(put.offset + put.after.length, put.offset + put.before.length)) {
    write(row, field, "");
    if (!row[other(field)]) removeRow(row);
  }
  if (places) Row.place(box, places);
  state.caret = target.selectionStart;
  // of several new lines the first; the caret is behind the last
  const row = box[change.after.length > 1 ? change.offset : lineOf(target)];
  Object.assign(state, { row, selected: 0 });
  return changed();
}

function write(row, field, text) {
  if (row[field] === text) return;
  if (field === "text") Row.rewrite(row, text);
  else row.source = text;
  if (blank(row)) row.said = null;
  row.past = [];
}

// Number of the line in a field where its caret is.
const lineOf = ({ value, selectionStart }) => value.slice(0, selectionStart).split("\n").length - 1;

function addRow(place) {
  const { rows } = state;
  const above = rows[place - 1];
  const ending = rows[0].ending || "\n";
  const added = Row.newRow({ ending: above?.ending ?? ending });
  if (above) above.ending ||= ending; // it was the last
  $("lines").insertBefore(added.item, rows[place]?.item ?? null);
  rows.splice(place, 0, added);
  return added;
}

function removeRow(row) {
  const place = at(row);
  if (place) state.rows[place - 1].ending = row.ending;
  for (const rows of [state.rows, state.box]) rows.splice(rows.indexOf(row), 1);
  screen.unobserve(row.item);
  row.item.remove();
}

// The line with the caret is the one at hand.
function moved() {
  const { activeElement } = document;
  if (!activeElement.matches("#source, #draft")) return;
  if (activeElement.selectionStart === state.caret) return; // it was typed there
  const row = state.box[lineOf(activeElement)] ?? state.row;
  if (row === state.row) return;
  Object.assign(state, { row, selected: 0 });
  update();
}

function ownWord({ target }) {
  const done = change(Row.write, word(), target.value.trim());
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
  const rows = Row.rowsOf(content, mode, file.name);
  open(rows, 0, { file: file.name, unsaved: false });
  await update();
}

function open(rows, place, more) {
  const row = rows[place];
  Object.assign(state, { rows, row, box: [row], selected: 0, own: true }, more);
  $("lines").replaceChildren(...rows.map(({ item }) => item));
}

// Keeps the text in this tab, for a page that is opened in it later.
function keep() {
  if (!state.own) return;
  const { file, unsaved } = state;
  const rows = state.rows.map(({ source, text, old, tab, ending, decisions }) => (
    { source, text, old, tab, ending, decisions }));
  const kept = { rows, file, unsaved, place: at(), mode, least, signature: model.signature };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
  } catch { // it is full, or the browser has none
    sessionStorage.removeItem(KEPT);
    $("kept").textContent = "This tab cannot keep the text: save it.";
  }
}

// Opens what this tab keeps; returns it, or nothing.
function restore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT));
    const rows = kept.rows.map((row) => Object.assign(Row.newRow(row), row));
    open(rows, kept.place, { file: kept.file, unsaved: kept.unsaved });
    return kept;
  } catch {
    return null;
  }
}

// Does something with the whole text, once the model has read it and a person wants no more of it.
async function finish(what, use) {
  const agreed = (why) => confirm(`${why} ${what} all the same?`);
  const error = await readAll().catch((reason) => reason);
  const unread = state.rows.filter((row) => !known(row)).length;
  if (error && !agreed(`${error.message}\n${counted(unread, "line")} not read.`)) return;
  await new Promise(requestAnimationFrame); // draws what was read
  await new Promise(requestAnimationFrame); // knows what of it is on the screen
  const unseen = state.rows.filter((row) => !row.seen && changes(row));
  const lines = counted(unseen.length, "line");
  if (unseen.length && !agreed(`Edits in ${lines} not on the screen yet.`)) go(unseen[0]);
  else await use(state.rows.map((row) => Row.lineOf(row, threshold())).join(""));
}

function save(text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  element("a", { href, download: state.file }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  state.unsaved = false;
}

async function copy(text) {
  if (!navigator.clipboard) {
    throw new Error("the browser copies on localhost and https alone; save the text");
  }
  await navigator.clipboard.writeText(text);
  status("copied");
}

// Other outputs for the line at hand, and the iterations that led to them.
async function showMore() {
  const { row } = state;
  if (!$("more").open || mode !== "edit") return;
  const { results } = await call("edit", { sentences: [Row.itemOf(row, "edit")], nbest: 4 });
  const take = (text) => change(Row.rewrite, text).then(showMore);
  if (row === state.row) showVersions($("versions"), results[0].hypotheses, take);
}

function setMode(wanted) {
  document.body.dataset.mode = mode = wanted;
  $("help").textContent = MODES[mode][1];
  $("source-field").hidden = mode !== "edit" && !(model.texts > 1);
  return update();
}

async function setLeast({ target }) {
  if (target.checkValidity() && target.value) least = target.valueAsNumber;
  await update();
  if (!target.checkValidity()) throw new Error(target.validationMessage);
}

// What controls do; buttons have their key, on a word or (with others held) anywhere.
function on(event, actions) {
  for (const [id, action] of Object.entries(actions)) {
    $(id).addEventListener(event, async (it) => action(it));
  }
}
on("click", {
  accept: () => change(Row.toggle, word().edit),
  keep: () => change(Row.keep, word()),
  drop: () => change(Row.write, word(), ""),
  undo: () => changed(Row.undo(state.row)),
  "next-edit": nextEdit,
  previous: () => go(state.rows[at() - 1]),
  next: () => go(state.rows[at() + 1]),
  "next-line": nextLine,
  save: () => finish("Save", save),
  copy: () => finish("Copy", copy),
  "accept-all": () => setAll(places.filter(isRefused), true),
  "refuse-all": () => setAll(places, false),
  load: ({ target }) => (target.value = ""), // so that the same file can be opened again
  lines: clicked,
  words: ({ target }) => target.word && select(words().indexOf(target), true),
});
on("input", {
  source: ({ target }) => typed("source", target),
  draft: ({ target }) => typed("text", target),
  mode: ({ target }) => setMode(target.value),
  least: setLeast,
});
on("change", { own: ownWord, load });
on("toggle", { more: showMore });
window.addEventListener("keydown", pressed);
document.addEventListener("selectionchange", moved);
window.addEventListener("pagehide", keep);
window.addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  $("error").textContent = visible(event.reason.message);
});

async function begin() {
  model = await call("info");
  document.title = $("model").textContent = visible(`${model.title ?? model.model ?? "lev-serve"}`);
  least = model.min_confidence ?? 0;
  let [wanted] = model.modes;
  const kept = restore();
  if (!kept) {
    start.text = model.example ?? ""; // something to edit
    $("lines").replaceChildren(start.item);
  } else if (kept.signature === model.signature) ({ mode: wanted, least } = kept);
  $("least").value = least;
  $("mode").replaceChildren(...model.modes.map((name) => new Option(MODES[name][0], name)));
  $("mode").value = wanted;
  $("mode").hidden = model.modes.length < 2;
  document.body.dataset.ready = "true";
  await setMode(wanted);
}

begin();
