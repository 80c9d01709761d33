// The page: lines of a text field or a file, what the model says of them, what a person decides.

import { asText, asTriples, readRows, rowsOf, save } from "./files.js";
import { choose, editsOf, hear, itemOf, keep, newRow, textOf, toggle, type, undo, write } from "./row.js";
import { size, visible } from "./text.js";
import { element, showHypotheses, showPrediction, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 32; // lines that are asked for at once
const DELAY = 40; // milliseconds after a key before the model is asked
const TOO_MUCH = [400, 413, 422, 500, 504]; // for a chunk; each line by itself may do
const TITLES = { edit: "Edit a draft", correct: "Correct", predict: "Predict" };
const state = { rows: [newRow("", "")], at: 0, selected: 0, file: "text.txt", unsaved: false };
Object.assign(state, { model: {}, mode: "", least: 0, nbest: 1 }); // how the model is asked
let words = []; // what each button of the line stands for
let timer = 0;
let asking = null; // for the line at hand
let search = null; // for the next line with edits

const row = () => state.rows[state.at];
const word = () => words[state.selected];
const least = () => (state.mode === "correct" ? state.least : 0);
const edits = (one) => (state.mode === "predict" ? [] : editsOf(one, least()));
const status = (text) => ($("status").textContent = text);

// asking ---------------------------------------------------------------------------------------

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

const keyOf = (one) => JSON.stringify([state.mode, state.nbest, itemOf(one, state.mode)]);
const known = (one) => one.said?.key === keyOf(one);

// Has the model say something of lines; of one that it cannot read, why.
async function ask(some) {
  const { mode, model, nbest } = state;
  for (const one of some) {
    const long = Math.max(size(one.source), size(one.text));
    const error = long > model.chars && `${long} characters; the model reads ${model.chars}: split the line`;
    if (error || !(one.source + one.text).trim()) one.said = { key: keyOf(one), error };
  }
  const open = some.filter((one) => !known(one));
  if (!open.length) return;
  const [keys, items] = [open.map(keyOf), open.map((one) => itemOf(one, mode))];
  const [texts, pairs] = [0, 1].map((side) => items.map((one) => one[side]));
  const request = {
    edit: { sentences: items, nbest },
    correct: { lines: items, min_confidence: 0 },
    predict: model.texts > 1 ? { texts, pairs } : { texts: pairs },
  }[mode];
  if (mode === "predict" && model.labels.length) request.top_k = Math.min(8, model.labels.length);
  try {
    const { results } = await call(mode, request);
    open.forEach((one, i) => keyOf(one) === keys[i] && hear(one, mode, keys[i], results[i]));
  } catch (error) {
    if (!TOO_MUCH.includes(error.status)) throw error;
    if (open.length === 1) open[0].said = { key: keys[0], error: error.message };
    else for (const one of open) await ask([one]);
  }
}

// Until what the model said is of the line as it is.
async function fresh(one) {
  clearTimeout(timer);
  while (!known(one)) await (asking ??= ask([one]).finally(() => (asking = null)));
}

async function update() {
  show();
  const start = performance.now();
  await fresh(row());
  show(`, ${Math.round(performance.now() - start)} ms`);
}

// Calls a function, and shows what goes wrong.
async function attempt(action, ...rest) {
  try {
    await action(...rest);
  } catch (error) {
    search = null;
    $("error").textContent = visible(error.message);
  }
}

// showing --------------------------------------------------------------------------------------

function show(took = "") {
  const one = row();
  const { hypotheses = [], prediction, error } = one.said ?? {};
  const all = edits(one);
  const made = all.filter((edit) => edit.taken).length;
  for (const [id, text] of [["source", one.source], ["draft", one.text]]) {
    if ($(id).value !== text) $(id).value = text; // else the cursor moves
  }
  $("place").textContent = `line ${state.at + 1} of ${state.rows.length}`;
  $("accepted").textContent = one.accepted === null ? "" : "accepted";
  $("moves").hidden = state.rows.length < 2;
  $("result").hidden = state.mode === "predict";
  $("predictions").hidden = !prediction;
  $("error").textContent = error ? visible(error) : "";
  status(all.length ? `${made} of ${all.length} edit${all.length > 1 ? "s" : ""} applied${took}` : "");
  if (prediction) showPrediction($("predictions"), prediction);
  if (state.mode === "predict") return;
  const focused = $("words").contains(document.activeElement);
  words = showWords($("words"), one, all);
  select(Math.min(state.selected, words.length - 1), focused);
  $("text").textContent = visible(textOf(one, least()));
  const texts = hypotheses.map((_, number) => textOf(one, least(), number));
  showHypotheses($("hypotheses"), hypotheses, texts, one.chosen, (i) => attempt(change, choose, i));
}

function select(number, focus) {
  state.selected = Math.max(0, Math.min(words.length - 1, number));
  $("words").querySelectorAll("button").forEach((button, i) => {
    button.tabIndex = i === state.selected ? 0 : -1;
    button.classList.toggle("selected", i === state.selected);
    if (focus && i === state.selected) button.focus();
  });
  const edit = word()?.edit;
  $("accept").firstChild.data = edit && !edit.taken ? "Accept " : "Refuse ";
  $("accept").disabled = !edit;
  $("undo").disabled = !row().past.length;
  for (const id of ["keep", "drop", "own", "next-edit", "previous-edit"]) $(id).disabled = !words.length;
}

// doing ----------------------------------------------------------------------------------------

// What the buttons do; each has its key, on a word or (with others held) anywhere.
const ACTIONS = {
  accept: () => change(toggle, word().edit),
  keep: () => change(keep, word()),
  drop: () => change(write, word(), ""),
  undo: () => change(undo),
  "next-edit": () => step(1),
  "previous-edit": () => step(-1),
  done: accept,
  previous: () => go(state.at - 1),
  next: () => go(state.at + 1),
  "next-line": nextLine,
  "export-text": () => saveAs("", asText),
  "export-triples": () => saveAs(".triples.tsv", asTriples),
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
  const plain = held.length === 0 && $("words").contains(event.target);
  const right = getComputedStyle($("words")).direction === "rtl" ? -1 : 1;
  const moves = { ArrowLeft: -right, ArrowRight: right, Home: -words.length, End: words.length };
  const button = document.querySelector(`button[data-key="${CSS.escape([...held, key].join(" "))}"]`);
  if (plain && moves[key]) select(state.selected + moves[key], true);
  else if (plain && key === "r") $("own").focus();
  else if (plain && row().said?.hypotheses?.[key - 1]) attempt(change, choose, key - 1);
  else if (button && (plain || held.length)) button.click();
  else return;
  event.preventDefault();
}

function clicked({ target }) {
  const button = target.closest("button");
  const number = [...$("words").querySelectorAll("button")].indexOf(button);
  if (number >= 0) select(number, true);
  else if (button?.value) attempt(setMode, button.value);
  else if (button) attempt(ACTIONS[button.id]);
}

// The next edit or the one before; behind the last, that of the next line with edits.
async function step(by) {
  let next = state.selected + by;
  while (words[next] && (!words[next].edit || words[next].edit === word().edit)) next += by;
  if (!words[next] && by > 0 && (await nextLine())) next = words.findIndex((one) => one.edit);
  if (words[next]) select(next, true);
}

async function accept() {
  const one = row();
  await fresh(one);
  if (one !== row() || state.mode === "predict") return;
  one.accepted = textOf(one, least());
  state.unsaved = true;
  await (state.rows[state.at + 1] ? go(state.at + 1) : show());
}

async function go(number) {
  search = null;
  if (!state.rows[number]) return;
  Object.assign(state, { at: number, selected: 0 });
  await update();
}

// Whether there was another line with edits; it is the one at hand then.
async function nextLine() {
  const mine = (search = {});
  for (let i = state.at + 1; i < state.rows.length && search === mine; i += 1) {
    status(`looking at line ${i + 1} of ${state.rows.length}`);
    await ask(state.rows.slice(i, known(state.rows[i]) ? i : i + CHUNK));
    const found = edits(state.rows[i]).some((edit) => edit.taken);
    if (found && search === mine) return go(i).then(() => true);
  }
  if (search === mine) status("no edits in the lines that follow");
  return false;
}

// What was typed or pasted into a field; its further lines are lines of their own.
function typed(field, other, text) {
  const one = row();
  const [first = newRow("", ""), ...more] = rowsOf(text, "correct");
  if (field === "text") type(one, first.text);
  else Object.assign(one, { source: first.text, accepted: null });
  more.forEach((next, i) => {
    const below = state.rows[state.at + 1 + i];
    if (below?.[other] && !below[field]) below[field] = next.text; // its source was pasted before
    else state.rows.splice(state.at + 1 + i, 0, { ...next, text: "", [field]: next.text });
  });
  if (more.length) [one.ending, more.at(-1).ending] = [first.ending, one.ending];
  state.unsaved = true;
  search = null;
  clearTimeout(timer);
  timer = setTimeout(attempt, DELAY, update);
  show();
}

function ownWord({ key, ctrlKey, target }) {
  if (key !== "Enter" || ctrlKey || !word()) return;
  attempt(change, write, word(), target.value.trim());
  target.value = "";
  select(state.selected, true);
}

async function load(file) {
  if (!file || (state.unsaved && !confirm("What is not saved is lost. Open another file?"))) return;
  Object.assign(state, { rows: await readRows(file, state.mode), file: file.name, unsaved: false });
  await go(0);
}

// Saves all lines; the model is asked for those that nobody has looked at.
async function saveAs(ending, make) {
  for (let start = 0; start < state.rows.length; start += CHUNK) {
    status(`${start} of ${state.rows.length} lines`);
    await ask(state.rows.slice(start, start + CHUNK));
  }
  const lines = state.rows.map((one) => ({ row: one, text: one.accepted ?? textOf(one, least()) }));
  save(ending ? state.file.replace(/\.[^.]*$/, "") + ending : state.file, make(lines, state.mode));
  if (!ending) state.unsaved = false;
  show();
}

// beginning ------------------------------------------------------------------------------------

function setMode(mode) {
  state.mode = mode;
  $("source-field").hidden = mode !== "edit" && !(state.model.texts > 1);
  $("nbest-field").hidden = mode !== "edit";
  $("least-field").hidden = mode !== "correct";
  $("exports").hidden = mode === "predict";
  $("draft-name").textContent = mode === "edit" ? "Draft" : "Text";
  for (const one of $("modes").children) one.setAttribute("aria-pressed", String(one.value === mode));
  return update();
}

async function setOption({ target }) {
  if (target.value && target.checkValidity()) state[target.id] = Number(target.value);
  await update();
  if (!target.checkValidity()) throw new Error(target.validationMessage);
}

async function begin() {
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", pressed);
  window.addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
  const on = (id, event, action) => $(id).addEventListener(event, (it) => attempt(action, it));
  on("source", "input", ({ target }) => typed("source", "text", target.value));
  on("draft", "input", ({ target }) => typed("text", "source", target.value));
  on("own", "keydown", ownWord);
  for (const id of ["nbest", "least"]) on(id, "input", setOption);
  on("load", "change", ({ target }) => load(target.files[0]));
  const model = (state.model = await call("info"));
  document.title = $("model").textContent = visible(`${model.model ?? "lev-serve"}`);
  $("least").value = state.least = model.min_confidence ?? 0;
  const button = (name) => element("button", { type: "button", value: name }, TITLES[name]);
  $("modes").replaceChildren(...model.modes.map(button));
  $("modes").hidden = model.modes.length < 2;
  document.body.dataset.ready = "true";
  await setMode(model.modes[0]);
  if (!model.example) return;
  state.rows = [newRow("", model.example)]; // something to edit
  await go(0);
}

attempt(begin);
