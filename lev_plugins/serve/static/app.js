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
const state = {
  model: {},
  mode: "",
  file: "text.txt",
  rows: [newRow("", "")],
  at: 0,
  selected: 0, // of the words of the line
  least: 0,
  nbest: 1,
  unsaved: false,
};
let words = []; // what each button of the line stands for
let timer = 0;
let asking = null; // for the line at hand
let search = null; // for the next line with edits

const row = () => state.rows[state.at];
const least = () => (state.mode === "correct" ? state.least : 0);
const edits = (one) => (state.mode === "predict" ? [] : editsOf(one, least()));

// asking ---------------------------------------------------------------------------------------

async function call(path, body) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, request).catch(() => {
    throw new Error("the server cannot be reached; is lev-serve still running?");
  });
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const said = found.error ?? `the server answers ${response.status}`;
  throw Object.assign(new Error(said), { status: response.status });
}

const keyOf = (one) => JSON.stringify([state.mode, state.nbest, itemOf(one, state.mode)]);
const known = (one) => one.said?.key === keyOf(one);

// Has the model say something of lines; of one that it cannot read, why.
async function ask(some) {
  const { mode, model, nbest } = state;
  for (const one of some) {
    const length = Math.max(size(one.source), size(one.text));
    const error = length > model.chars && `${length} characters; the model reads ${model.chars}: split the line`;
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

const status = (text) => ($("status").textContent = text);

function show(took = "") {
  const one = row();
  const { hypotheses = [], prediction, error } = one.said ?? {};
  const all = edits(one);
  if ($("source").value !== one.source) $("source").value = one.source;
  if ($("draft").value !== one.text) $("draft").value = one.text;
  $("place").textContent = `line ${state.at + 1} of ${state.rows.length}`;
  $("accepted").textContent = one.accepted === null ? "" : "accepted";
  $("moves").hidden = state.rows.length < 2;
  $("result").hidden = state.mode === "predict";
  $("predictions").hidden = !prediction;
  $("error").textContent = error ? visible(error) : "";
  const made = all.filter((edit) => edit.taken).length;
  status(all.length ? `${made} of ${all.length} edit${all.length > 1 ? "s" : ""} applied${took}` : "");
  if (prediction) showPrediction($("predictions"), prediction);
  if (state.mode === "predict") return;
  const focused = $("words").contains(document.activeElement);
  words = showWords($("words"), one, all);
  select(Math.min(state.selected, words.length - 1), focused);
  $("text").textContent = visible(textOf(one, least()));
  const texts = hypotheses.map((_, number) => textOf(one, least(), number));
  const chosen = (number) => attempt(change, choose, number);
  showHypotheses($("hypotheses"), hypotheses, texts, one.chosen, chosen);
}

function select(number, focus) {
  const buttons = $("words").querySelectorAll("button");
  state.selected = Math.max(0, number);
  buttons.forEach((button, i) => {
    button.tabIndex = i === state.selected ? 0 : -1;
    button.classList.toggle("selected", i === state.selected);
  });
  if (focus) buttons[state.selected]?.focus();
  const edit = words[state.selected]?.edit;
  $("accept").disabled = !edit;
  $("accept").firstChild.data = edit && !edit.taken ? "Accept " : "Refuse ";
  for (const id of ["keep", "drop", "own"]) $(id).disabled = !words.length;
  $("undo").disabled = !row().past.length;
}

// doing ----------------------------------------------------------------------------------------

// What a person does to the line, by a function of row.js.
function change(how, ...rest) {
  how(row(), ...rest);
  state.unsaved = true;
  return update();
}

const word = () => words[state.selected];
const along = (by) => select(Math.min(words.length - 1, Math.max(0, state.selected + by)), true);
const ACTIONS = {
  accept: () => word()?.edit && change(toggle, word().edit),
  keep: () => word() && change(keep, word()),
  drop: () => word() && change(write, word(), ""),
  own: () => $("own").focus(),
  undo: () => row().past.length && change(undo),
  done: accept,
  previous: () => go(state.at - 1),
  next: () => go(state.at + 1),
  "next-line": nextLine,
  "export-text": () => saveAs("", asText),
  "export-triples": () => saveAs(".triples.tsv", asTriples),
  forward: () => along(1),
  backward: () => along(-1),
  first: () => select(0, true),
  last: () => select(words.length - 1, true),
  "next-edit": () => step(1),
  "previous-edit": () => step(-1),
};
const CHORDS = { "ctrl Enter": "done", "alt ArrowUp": "previous", "alt ArrowDown": "next", "alt shift ArrowDown": "next-line" };
const KEYS = {
  ...{ Enter: "accept", " ": "accept", l: "keep", s: "drop", r: "own", u: "undo", n: "next-edit", p: "previous-edit" },
  ...{ ArrowLeft: "backward", ArrowRight: "forward", Home: "first", End: "last" },
};

function pressed(event) {
  const held = ["ctrl", "alt", "meta", "shift"].filter((name) => event[`${name}Key`]);
  let action = CHORDS[[...held, event.key].join(" ")];
  if ($("words").contains(event.target) && !held.some((name) => name !== "shift")) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };
    const rtl = getComputedStyle($("words")).direction === "rtl";
    action = KEYS[(rtl && turned[key]) || key];
    if (row().said?.hypotheses?.[key - 1]) attempt(change, choose, key - 1);
  }
  if (!action) return;
  event.preventDefault();
  attempt(ACTIONS[action]);
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
  if (state.rows[state.at + 1]) await go(state.at + 1);
  else show();
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

async function load(file) {
  if (!file || (state.unsaved && !confirm("What is not saved is lost. Open another file?"))) return;
  Object.assign(state, { rows: await readRows(file, state.mode), file: file.name, unsaved: false });
  await go(0);
}

// Saves all lines; the model is asked for those that nobody has looked at.
async function saveAs(ending, make) {
  for (let start = 0; start < state.rows.length; start += CHUNK) {
    status(`${start} of ${state.rows.length} lines`);
    await ask(state.rows.slice(start, start + CHUNK).filter((one) => !known(one)));
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

function clicked({ target }) {
  const button = target.closest("button");
  const number = [...$("words").querySelectorAll("button")].indexOf(button);
  if (number >= 0) select(number, true);
  else if (button?.value) attempt(setMode, button.value);
  else if (button) attempt(ACTIONS[button.id]);
}

function ownWord({ key, ctrlKey, target }) {
  if (key !== "Enter" || ctrlKey || !word()) return;
  const text = target.value.trim();
  target.value = "";
  attempt(change, write, word(), text);
  select(state.selected, true);
}

async function begin() {
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", pressed);
  window.addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
  $("source").addEventListener("input", ({ target }) => typed("source", "text", target.value));
  $("draft").addEventListener("input", ({ target }) => typed("text", "source", target.value));
  $("own").addEventListener("keydown", ownWord);
  for (const id of ["nbest", "least"]) $(id).addEventListener("input", (event) => attempt(setOption, event));
  $("load").addEventListener("change", ({ target }) => attempt(load, target.files[0]));
  const model = (state.model = await call("info"));
  document.title = $("model").textContent = visible(`${model.model ?? "lev-serve"}`);
  $("least").value = state.least = model.min_confidence ?? 0;
  const button = (name) => element("button", { type: "button", value: name }, TITLES[name]);
  $("modes").replaceChildren(...model.modes.map(button));
  $("modes").hidden = model.modes.length < 2;
  const ready = setMode(model.modes[0]);
  document.body.dataset.ready = "true";
  await ready;
}

attempt(begin);
