// The page: one line at a time, from a text field or a file, and what a person does to it.

import { ask, info } from "./api.js";
import { asEdits, asText, asTriples, readRows, save } from "./files.js";
import { decide, editsOf, mark, newRow, requestFor, textOf, type, undo, write } from "./row.js";
import { visible } from "./text.js";
import { element, showHypotheses, showIterations, showPrediction, showWords } from "./view.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 32; // lines that are asked for at once, of a file
const DELAY = 40; // milliseconds after a key before the model is asked
const TITLES = { edit: "Edit a draft", correct: "Correct", predict: "Predict" };

let mode = "";
let rows = [newRow("", "")];
let at = 0;
let words = []; // what each button of the line stands for
let selected = 0;
let busy = false;
let again = false;
let timer = 0;
let waiting = false; // typed, and not asked for yet
let wanted = null; // the line to accept once the model has answered
let model = {};

const row = () => rows[at];
const least = () => Number($("least").value) || 0;
const nbest = () => Math.min(16, Math.max(1, Math.trunc(Number($("nbest").value)) || 1));
const edits = (one = row()) => editsOf(one, mode, least());

// asking ---------------------------------------------------------------------------------------

function soon() {
  clearTimeout(timer);
  timer = setTimeout(update, DELAY);
  waiting = true;
  wanted = null;
}

// Asks for the line at hand. One request at a time: what was typed meanwhile is asked for next.
async function update() {
  again = busy;
  waiting = false;
  if (busy) return;
  const one = row();
  busy = true;
  const start = performance.now();
  const asked = JSON.stringify(requestFor([one], mode, nbest()));
  try {
    const request = JSON.parse(asked);
    if (mode === "predict" && model.labels?.length) request.top_k = Math.min(8, model.labels.length);
    const [result] = empty(one) ? [null] : await ask(mode, request);
    if (asked === JSON.stringify(requestFor([one], mode, nbest()))) {
      one.result = result;
      one.chosen = Math.min(one.chosen, (result?.hypotheses?.length ?? 1) - 1);
      if (one === row()) show();
    } else {
      again = true;
    }
    say(result ? `${count(edits().length, "edit")}, ${Math.round(performance.now() - start)} ms` : "");
  } catch (error) {
    wanted = null;
    fail(error);
  }
  busy = false;
  if (again || one !== row()) update();
  else if (wanted === one) accept();
}

const empty = (one) => !one.base.trim() && !one.source.trim();
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

function say(text) {
  $("error").textContent = "";
  $("status").textContent = mode === "predict" ? text.replace(/^.*, /, "") : text;
}

function fail(error) {
  $("error").textContent = visible(error.message);
  $("status").textContent = "";
}

// showing --------------------------------------------------------------------------------------

function show() {
  const one = row();
  const result = one.result;
  $("place").textContent = `line ${at + 1} of ${rows.length}`;
  $("accepted").textContent = one.accepted === null ? "" : "accepted";
  $("result").hidden = mode === "predict" || !result;
  $("predictions").hidden = mode !== "predict" || !result;
  if (!result) return;
  if (mode === "predict") {
    showPrediction($("predictions"), result);
    return;
  }
  const focused = $("words").contains(document.activeElement);
  words = [];
  showWords($("words"), one, edits(), words);
  select(Math.min(selected, words.length - 1), focused);
  $("text").textContent = visible(textOf(one, mode, least()));
  const hypotheses = result.hypotheses;
  $("hypotheses").hidden = $("iterations").hidden = !hypotheses;
  if (hypotheses) {
    showHypotheses($("hypotheses"), result, one.chosen, choose);
    showIterations($("iterations"), hypotheses[one.chosen]);
  }
}

function fillIn() {
  $("source").value = row().source;
  $("draft").value = row().base;
}

function select(number, focus) {
  const buttons = $("words").querySelectorAll("button");
  selected = Math.max(0, number);
  buttons.forEach((button, i) => {
    button.tabIndex = i === selected ? 0 : -1;
    button.classList.toggle("selected", i === selected);
  });
  if (focus) buttons[selected]?.focus();
  const edit = words[selected]?.edit;
  $("accept").disabled = !edit;
  $("accept").firstChild.data = edit && !edit.taken ? "Accept " : "Refuse ";
  for (const id of ["keep", "drop", "replace", "own"]) $(id).disabled = !words.length;
  $("undo").disabled = !row().past.length;
}

// doing ----------------------------------------------------------------------------------------

function choose(number) {
  if (number >= (row().result?.hypotheses?.length ?? 0)) return;
  row().chosen = number;
  row().accepted = null;
  show();
}

function changed() {
  fillIn();
  show();
  update();
}

const ACTIONS = {
  accept(word) {
    if (!word.edit) return;
    decide(row(), word.edit, !word.edit.taken);
    show();
  },
  keep(word) {
    mark(row(), word, "keep");
    changed();
  },
  drop(word) {
    if (mode === "correct") write(row(), word, "", mode);
    else mark(row(), word, "drop");
    changed();
  },
  replace(word) {
    if (mode === "correct") $("own").focus();
    else {
      mark(row(), word, "replace");
      changed();
    }
  },
  own() {
    $("own").focus();
  },
  undo() {
    undo(row());
    changed();
  },
};
const KEYS = { Enter: "accept", " ": "accept", l: "keep", s: "drop", a: "replace", r: "own", u: "undo" };

function act(name) {
  const word = words[selected];
  if (word || name === "undo") ACTIONS[name](word);
}

function inWords(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const forward = getComputedStyle($("words")).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  const moves = {
    ArrowLeft: forward === "ArrowLeft" ? 1 : -1,
    ArrowRight: forward === "ArrowRight" ? 1 : -1,
    Home: -selected,
    End: words.length - 1 - selected,
  };
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key in moves) {
    select(Math.min(words.length - 1, Math.max(0, selected + moves[key])), true);
  } else if (key in KEYS) act(KEYS[key]);
  else if (/^[1-9]$/.test(key)) choose(Number(key) - 1);
  else return;
  event.preventDefault();
}

function everywhere(event) {
  if (event.ctrlKey && event.key === "Enter") {
    accept();
    event.preventDefault();
  } else if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    move(event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  }
}

function accept() {
  if (mode === "predict" || !row().result) return;
  wanted = busy || waiting ? row() : null;
  if (waiting) {
    clearTimeout(timer);
    update();
  }
  if (wanted) return; // what is shown is of the text before
  row().accepted = textOf(row(), mode, least());
  if (at + 1 < rows.length) move(1);
  else show();
}

function move(by) {
  const next = Math.min(rows.length - 1, Math.max(0, at + by));
  if (next === at) return;
  at = next;
  selected = 0;
  fillIn();
  show();
  if (!row().result) update();
}

async function load(file) {
  try {
    rows = await readRows(file, mode);
  } catch (error) {
    fail(error);
    return;
  }
  at = selected = 0;
  $("moves").hidden = false;
  fillIn();
  show();
  update();
}

// The lines of all rows; the model is asked for those that nobody has looked at.
async function finished() {
  const open = rows.filter((one) => !one.result && !empty(one));
  for (let start = 0; start < open.length; start += CHUNK) {
    say(`${start} of ${open.length} lines`);
    const part = open.slice(start, start + CHUNK);
    const results = await ask(mode, requestFor(part, mode, nbest()));
    part.forEach((one, i) => (one.result = results[i]));
  }
  say(count(rows.length, "line"));
  return rows.map((one, i) => ({
    row: one,
    number: i + 1,
    text: one.accepted ?? textOf(one, mode, least()),
    edits: edits(one),
  }));
}

async function exportAs(name, make) {
  try {
    save(name, make(await finished(), mode));
  } catch (error) {
    fail(error);
  }
}

// beginning ------------------------------------------------------------------------------------

function setMode(next) {
  mode = next;
  const pairs = mode === "predict" && model.texts > 1;
  $("source-field").hidden = $("nbest-field").hidden = mode !== "edit";
  if (pairs) $("source-field").hidden = false;
  $("least-field").hidden = mode !== "correct";
  $("exports").hidden = mode === "predict";
  $("draft-name").textContent = mode === "edit" ? "Draft" : "Text";
  for (const button of $("modes").children) {
    button.setAttribute("aria-pressed", String(button.value === mode));
  }
  for (const one of rows) Object.assign(one, { result: null, marks: [], own: [], past: [] });
  show();
  update();
}

function listen() {
  const typed = (change) => (event) => {
    change(event.target.value);
    row().accepted = null;
    soon();
  };
  $("source").addEventListener("input", typed((text) => (row().source = text)));
  $("draft").addEventListener("input", typed((text) => type(row(), text)));
  $("nbest").addEventListener("input", soon);
  $("least").addEventListener("input", () => show());
  $("words").addEventListener("keydown", inWords);
  for (const event of ["click", "focusin"]) {
    $("words").addEventListener(event, ({ target }) => {
      const number = [...$("words").querySelectorAll("button")].indexOf(target.closest("button"));
      if (number >= 0) select(number, event === "click");
    });
  }
  for (const id of ["accept", "keep", "drop", "replace", "undo"]) {
    $(id).addEventListener("click", () => act(id));
  }
  $("own").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || !words[selected]) return;
    write(row(), words[selected], event.target.value.trim(), mode);
    event.target.value = "";
    changed();
    select(selected, true);
  });
  $("done").addEventListener("click", accept);
  $("copy").addEventListener("click", () =>
    navigator.clipboard?.writeText(textOf(row(), mode, least())).then(() => say("copied"), fail),
  );
  $("previous").addEventListener("click", () => move(-1));
  $("next").addEventListener("click", () => move(1));
  $("load").addEventListener("change", (event) => event.target.files[0] && load(event.target.files[0]));
  $("export-text").addEventListener("click", () => exportAs("accepted.txt", asText));
  $("export-edits").addEventListener("click", () => exportAs("edits.jsonl", asEdits));
  $("export-triples").addEventListener("click", () => exportAs("triples.tsv", asTriples));
  document.addEventListener("keydown", everywhere);
}

async function begin() {
  listen();
  model = await info();
  document.title = $("model").textContent = visible(`${model.model ?? "lev-serve"}`);
  $("least").value = model.min_confidence ?? 0;
  const buttons = model.modes.map((name) =>
    element("button", { type: "button", value: name, onclick: () => setMode(name) }, TITLES[name]),
  );
  $("modes").replaceChildren(...buttons);
  $("modes").hidden = buttons.length < 2;
  setMode(model.modes[0]);
  document.body.dataset.ready = "true";
}

begin().catch(fail);
