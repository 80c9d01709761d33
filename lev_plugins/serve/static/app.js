// The page: lines of a text field or a file, what the model says of them, what a person decides.

import { asText, readRows, rowsOf, save } from "./files.js";
import { editsOf, hear, itemOf, keep, newRow, textOf, toggle, type, undo, write } from "./row.js";
import { size, visible } from "./text.js";
import { showPrediction, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 32; // lines that are asked for at once
const TITLES = { edit: "Edit a draft", correct: "Correct", predict: "Predict" };
const state = {
  ...{ rows: [newRow("", "")], at: 0, selected: 0, file: "text.txt", unsaved: false },
  ...{ model: {}, mode: "", least: 0 }, // how the model is asked
};
let words = []; // what each button of the line stands for
let asking = null; // for the line at hand: keys that follow wait for the answer

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

function request(items) {
  if (state.mode === "edit") return { sentences: items };
  if (state.mode === "correct") return { lines: items, min_confidence: 0 };
  const { texts: sides, top_k } = state.model;
  const [texts, pairs] = [0, 1].map((side) => items.map((one) => one[side]));
  return sides > 1 ? { texts, pairs, top_k } : { texts: pairs, top_k };
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
    const { results } = await call(mode, request(open.map((one) => itemOf(one, mode))));
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

async function update() {
  show();
  await fresh(row());
  show();
}

function show() {
  const one = row();
  const { prediction, error } = one.said ?? {};
  const all = edits(one);
  const made = all.filter((edit) => edit.taken);
  for (const [id, text] of [["source", one.source], ["draft", one.text]]) {
    if ($(id).value !== text) $(id).value = text; // else the cursor moves
  }
  $("place").textContent = `line ${state.at + 1} of ${state.rows.length}`;
  $("moves").hidden = state.rows.length < 2;
  $("error").textContent = visible(error || "");
  status(all.length ? `${made.length} of ${all.length} edit${all.length > 1 ? "s" : ""} applied` : "");
  const focused = $("words").contains(document.activeElement);
  words = showWords($("words"), one, all, select);
  select(state.selected, focused);
  $("text").textContent = visible(textOf(one, least()));
  showPrediction($("predictions"), prediction);
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
  Object.assign(state, { at: number, selected: 0 });
  await update();
  return true;
}

// Goes to the next line with edits, unless the person goes elsewhere; whether there was one.
async function nextLine() {
  const { rows, at } = state;
  for (let i = at + 1; i < rows.length; i += 1) {
    status(`looking at line ${i + 1} of ${rows.length}`);
    if (!known(rows[i])) await ask(rows.slice(i, i + CHUNK));
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
  Object.assign(state, { rows: await readRows(file, state.mode), file: file.name, unsaved: false });
  await go(0);
}

// Saves all lines; the model is asked for those that nobody has looked at.
async function saveText() {
  for (let start = 0; start < state.rows.length; start += CHUNK) {
    status(`${start} of ${state.rows.length} lines`);
    await ask(state.rows.slice(start, start + CHUNK));
  }
  save(state.file, asText(state.rows.map((one) => ({ row: one, text: textOf(one, least()) }))));
  state.unsaved = false;
  show();
}

function setMode(mode) {
  document.body.dataset.mode = state.mode = mode;
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
  const model = (state.model = await call("info"));
  document.title = $("model").textContent = visible(`${model.model ?? "lev-serve"}`);
  $("least").value = state.least = model.min_confidence ?? 0;
  $("mode").replaceChildren(...model.modes.map((mode) => new Option(TITLES[mode], mode)));
  $("mode").hidden = model.modes.length < 2;
  if (model.example) state.rows = [newRow("", model.example)]; // something to edit
  document.body.dataset.ready = "true";
  await setMode(model.modes[0]);
}

begin();
