// The page: a text that a person writes, and what the model says of its lines. One loop has the
// model read lines, the one at the caret before others.

import { list, listen } from "./list.js";
import {
  at, beside, close, element, isDoubtful, note, open, paint, pop, redo, showPrediction, undo, write,
} from "./pane.js";
import { apply, clash, counted, difference, endOf, shift, toPoints, toUnits, visible } from "./text.js";

const $ = (id) => document.getElementById(id);
const CHUNK = 16; // lines that are asked for at once
const CONTEXT = { lines: 256, chars: 400 }; // beginnings of lines before, which tell what is code
const WORTH = 0.02; // probability from which on an edit that is not made is shown
const KEPT = "lev-serve"; // of the browser's storage
const AGAIN = 2000; // ms until a server that is away is called again
const CALM = 700; // ms without a key until the word at the caret is finished
const LETTERS = ["insertText", "deleteContentBackward", "deleteContentForward"]; // by an input event
const COMPOSED = "insertCompositionText";
const MODES = { edit: "Edit a draft", correct: "Correct a text", predict: "Predict" };
const EMPTY = { // what a field says that has no text
  source: "What the text is to say, such as the sentence to be translated; one a line.",
  edit: "A draft of it, line by line: a translation or an older text. "
    + "Of a line that stays empty, the model writes all.",
  text: "Write or paste your text.",
};
const AWAY = "lev-serve cannot be reached. Your text stays here; trying again …";
const ANEW = "lev-serve was started anew: in this tab, open the address that it printed. "
  + "Your text stays.";
const state = {
  text: "", source: "",
  lines: [], // {text, source, read, error}, of the text
  edits: [], // of the text, in order
  kept: [], // places that the person decided on
  typing: -1, // caret, while a word is typed there
  file: "text.txt", ending: "\n", old: [], // of a file: how lines end, a third column
};
let model = {}; // what the server says of it
let mode = ""; // what it is to do
let shown = []; // edits that are underlined
let words = new Set(); // that always stay
let reading = null; // until all lines are read
let calm, keeping, saying; // timers
let key = {}; // kind and time of the letter that was typed last

// what the model is asked

const pause = (time) => new Promise((done) => setTimeout(done, time));

async function call(path, body) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = { headers, method: body ? "POST" : "GET", body: JSON.stringify(body) };
  for (let away = false; ; away = true) {
    const response = await fetch(path, request).catch(() => ({ status: 502 }));
    const { status, ok } = response;
    if (status === 502 || status === 503) { // of a proxy, too
      fail(AWAY);
      await pause(AGAIN);
      continue;
    }
    fail(status === 403 ? ANEW : "");
    const answer = await response.json().catch(() => ({ error: `the server answers ${status}` }));
    if (!ok) throw Object.assign(new Error(status === 403 ? ANEW : answer.error), { status });
    if (away && model.signature && (await call("info")).signature !== model.signature) {
      keep();
      location.reload(); // it is another model
    }
    return answer;
  }
}

const fail = (message) => ($("error").textContent = visible(message));

function request(rows) {
  if (mode === "edit") return { sentences: rows.map(sentence) };
  const before = state.lines.slice(0, state.lines.indexOf(rows[0])).slice(-CONTEXT.lines);
  const beginnings = before.map(({ text }) => text.slice(0, CONTEXT.chars).toWellFormed());
  return { lines: rows.map(({ text }) => text.toWellFormed()), before: beginnings };
}

// A draft, in which what the person decided on is marked to stay.
function sentence(row) {
  const { text, source } = row;
  const start = startOf(row);
  const places = state.kept.filter(({ offset }) => offset >= start && offset < start + text.length);
  const always = [...text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)].filter(([word]) => words.has(word));
  const spans = [
    ...places.map((place) => ({ offset: place.offset - start, before: place.before })),
    ...always.map(({ 0: before, index: offset }) => ({ offset, before })),
  ].filter(({ before }) => before.trim()).sort((a, b) => a.offset - b.offset);
  const marks = spans.filter((span, i) => !spans.slice(0, i).some((other) => clash(other, span)));
  const old = state.old[state.lines.indexOf(row)];
  return {
    ...{ source: source.toWellFormed(), draft: text.toWellFormed() || null },
    ...(old === undefined ? {} : { old_source: old }),
    marks: marks.map(({ offset, before }) => ({
      start: toPoints(text, offset + before.length - before.trimStart().length),
      end: toPoints(text, offset + before.trimEnd().length),
      kind: "keep",
    })),
  };
}

// Where a line begins in the text.
function startOf(row) {
  let start = 0;
  for (const line of state.lines) {
    if (line === row) break;
    start += line.text.length + 1;
  }
  return Math.min(start, state.text.length); // of a line that is to come, its end
}

const lineAt = (caret) => state.text.slice(0, caret).split("\n").length - 1;

// The line at the caret, or the next lines side by side, that the model has not read.
function unread() {
  const { lines } = state;
  const row = lines[lineAt($("text").selectionStart)];
  if (row && !row.read) return [row];
  const first = lines.findIndex(({ read }) => !read);
  if (first < 0) return [];
  const next = lines.slice(first, first + CHUNK);
  const end = next.findIndex(({ read }) => read);
  return end < 0 ? next : next.slice(0, end);
}

async function ask(rows) {
  try {
    const { results } = await call(mode, request(rows));
    rows.forEach((row, i) => hear(row, results[i]));
  } catch (error) {
    if (!error.status || error.status === 403 || (rows.length === 1 && error.status === 504)) {
      throw error;
    }
    if (rows.length === 1) Object.assign(rows[0], { read: true, error: error.message });
    else for (const row of rows) await ask([row]); // one of them is at fault
  }
}

// Notes what the model said of a line, unless that was changed since.
function hear(row, result) {
  if (!state.lines.includes(row)) return;
  const { text, missing } = row;
  const start = startOf(row);
  const { edits, text: output } = result.hypotheses?.[0] ?? result;
  const anew = output ? [{ offset: 0, before: "", after: output, applied: true }] : [];
  const own = (mode === "edit" && !text ? anew : edits).map((edit) => ({
    ...edit,
    offset: start + toUnits(text, edit.offset),
    after: missing ? `\n${edit.after}` : edit.after,
  }));
  const isOther = ({ line, offset }) =>
    (line ? line !== row : missing || offset < start || offset > start + text.length);
  const others = state.edits.filter(isOther);
  const all = [...others, ...own.map((edit) => ({ ...edit, line: missing ? row : null }))];
  state.edits = all.sort((a, b) => a.offset - b.offset);
  Object.assign(row, { read: true, error: "" });
}

async function readLines() {
  await null; // so that `reading` is known
  for (let rows = unread(); rows.length; rows = unread()) {
    await ask(rows);
    show();
  }
}

async function predict() {
  await null;
  for (let asked = null; asked !== (asked = JSON.stringify([state.source, state.text]));) {
    const { source, text } = state;
    if (!text.trim() && !source.trim()) return showPrediction({});
    const texts = model.texts > 1 ? { texts: [source], pairs: [text] } : { texts: [text] };
    const { results } = await call("predict", { ...texts, top_k: model.top_k });
    showPrediction(results[0]);
  }
}

function read() {
  if (!mode) return null; // the server has not answered yet
  reading ??= (mode === "predict" ? predict() : readLines())
    .catch((error) => fail(error.message))
    .finally(() => {
      reading = null;
      show();
    });
  return reading;
}

// what is shown

function isShown(edit) {
  const { offset, before, applied, reason, probability } = edit;
  const typed = state.typing >= 0 && offset <= state.typing && state.typing <= endOf(edit);
  const doubted = ["confidence", "unsure", "reported"].includes(reason) && probability >= WORTH;
  const kept = words.has(before) || state.kept.some((place) => clash(place, edit));
  return (applied || doubted) && !typed && !kept;
}

function show() {
  shown = mode === "predict" ? [] : state.edits.filter(isShown);
  // an answer that says the same again leaves it open: Enter would write over the chosen words
  const same = pop.edit && shown.find((edit) =>
    ["offset", "before", "after"].every((name) => edit[name] === pop.edit[name]));
  if (same) pop.edit = pop.last = same;
  else if (pop.edit) close();
  list(shown, $("text").selectionStart);
  paint(shown);
  const all = shown.filter((edit) => !isDoubtful(edit));
  $("all").textContent = `Correct all ${all.length}`;
  $("all").hidden = all.length < 2;
  $("next").hidden = !shown.length;
  $("copy").hidden = !state.text;
  $("example").hidden = Boolean(state.text + state.source) || !model.example;
  clearTimeout(saying);
  saying = setTimeout(say, 300); // else a screen reader would speak at every key
}

function say() {
  const { lines, text, source } = state;
  const open = lines.filter((line) => !line.read).length;
  const failed = lines.findIndex((line) => line.error);
  const part = open < lines.length ? ` ${counted(open, "line")} to go` : "";
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const letters = counted([...text.replaceAll("\n", "")].length, "character");
  $("size").textContent = text && `${counted(words.length, "word")}, ${letters}.`;
  const none = mode === "edit" ? "Nothing to change." : "No misspellings found.";
  let message = shown.length ? counted(shown.length, "suggestion") : none;
  if (failed >= 0) message = `Line ${failed + 1}: ${lines[failed].error}`;
  if (open && mode !== "predict") message = `Reading …${part}`;
  if (mode === "predict" || !(text + source).trim()) message = "";
  if ($("status").textContent !== message) $("status").textContent = visible(message);
}

// what a person does

// Notes what was typed; lines that stayed stay read, and edits move along.
// `how`: "typed" of a letter after others, "history" of what undo or redo did.
function changed(how) {
  const [text, source] = [$("text").value, $("source").value];
  const change = difference(state.text, text, $("text").selectionEnd);
  if (how !== "history") note(state.text, change, how === "typed");
  for (const name of ["edits", "kept"]) state[name] = shift(state[name], change);
  Object.assign(state, { text, source, lines: divided(text, source) });
  const isThere = ({ line }) => !line || state.lines.includes(line);
  const moved = (edit) => (edit.line ? { ...edit, offset: text.length } : edit);
  state.edits = state.edits.filter(isThere).map(moved);
  clearTimeout(keeping);
  keeping = setTimeout(keep, 300);
  show();
  return read();
}

function divided(text, source) {
  const sources = mode === "edit" ? source.split("\n") : [];
  const lines = text.split("\n").map((line, i) => ({ text: line, source: sources[i] ?? "" }));
  const next = sources[lines.length]; // a source without a draft, one at a time
  if (next?.trim()) lines.push({ text: "", source: next, missing: true });
  const { lines: old } = state;
  const same = (one, other) => one && other && one.text === other.text
    && one.source === other.source && one.missing === other.missing;
  let [first, last] = [0, 0];
  while (same(old[first], lines[first])) first += 1;
  const most = Math.min(old.length, lines.length) - first;
  while (last < most && same(old.at(-1 - last), lines.at(-1 - last))) last += 1;
  const middle = lines.slice(first, lines.length - last);
  for (const line of middle) line.read = mode === "edit" && !(line.text + line.source).trim();
  return [...old.slice(0, first), ...middle, ...old.slice(old.length - last)];
}

// Has the model read the lines of places again.
function again(isOne) {
  state.lines = state.lines.map((line, i) => (isOne(line, i) ? { ...line, read: false } : line));
}

// Whether a letter comes or goes, soon after one that did.
function continues({ inputType: kind, data }) {
  const [last, now] = [key, { kind, time: performance.now() }];
  const isOne = (LETTERS.includes(kind) && (data ?? "").length < 2) || kind === COMPOSED;
  key = isOne ? now : {};
  return isOne && last.kind === kind && now.time - last.time < CALM;
}

function typed(event) {
  if (pop.busy) return;
  state.typing = $("text").selectionStart;
  clearTimeout(calm);
  calm = setTimeout(rest, CALM);
  close();
  return changed(event.detail === "history" ? "history" : continues(event) ? "typed" : "");
}

function rest() {
  state.typing = -1;
  show();
}

// Makes an edit, if need be with another word. An edit model may not change again what was accepted.
function take(edit, after = edit.after) {
  const { offset } = edit;
  close();
  write(edit, after);
  if (mode === "edit") state.kept.push({ offset, before: after });
  rest();
}

function takeAll() {
  const edits = shown.filter((edit) => !isDoubtful(edit));
  const [first, last] = [edits[0].offset, endOf(edits.at(-1))];
  const before = state.text.slice(first, last);
  close();
  write({ offset: first, before }, apply(before, edits, first));
  rest();
}

function ignore({ offset, before }) {
  state.kept.push({ offset, before });
  if (mode === "edit") again((line, i) => i === lineAt(offset));
  close();
  changed();
}

function always({ before }) {
  setWords([...words, before]);
  close();
  $("text").focus();
}

function setWords(all) {
  words = new Set(all);
  localStorage.setItem(KEPT, JSON.stringify(all));
  $("words").replaceChildren(all.length ? "Own words (press one to take it off): " : "", ...all.map(
    (word) => element("button", {
      onclick: () => setWords(all.filter((other) => other !== word)),
    }, visible(word))));
  if (mode === "edit") again(() => true);
  changed();
}

// Opens the pop-up for an edit and moves there.
function go(edit) {
  if (!edit) return;
  $("text").focus({ preventScroll: true });
  $("text").setSelectionRange(edit.offset, endOf(edit));
  open(edit, take);
  show();
  $("take").focus({ preventScroll: true });
}

function leave({ offset, before }) {
  $("text").focus();
  $("text").setSelectionRange(offset, offset + before.length);
}

function clicked() {
  const { selectionStart, selectionEnd } = $("text");
  if (selectionStart !== selectionEnd) return;
  rest();
  const edit = at(shown, selectionStart);
  if (edit) open(edit, take);
  else close();
  show();
}

function pressed(event) {
  const inside = $("desk").contains(event.target);
  if (event.key === "Escape" && pop.edit) {
    close();
    show();
  } else if (inside && !event.altKey && (event.ctrlKey || event.metaKey)) {
    const action = { z: event.shiftKey ? redo : undo, y: redo }[event.key.toLowerCase()];
    if (action) event.preventDefault();
    action?.();
  } else if (inside && event.altKey && ["ArrowDown", "ArrowUp"].includes(event.key)) {
    event.preventDefault();
    rest();
    go(beside(shown, event.key === "ArrowUp"));
  }
}

async function load({ target }) {
  const [file] = target.files;
  target.value = ""; // so that it can be opened again
  if (!file) return;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const content = await file.arrayBuffer().then((bytes) => decoder.decode(bytes)).catch(() => {
    throw new Error(`${file.name} is not UTF-8; convert it: iconv -f ITS_ENCODING -t UTF-8`);
  });
  const endings = new Set(content.match(/\r\n?|\n/g));
  if (endings.size > 1) throw new Error(`${file.name}: its lines end in several ways`);
  const lines = content.split(/\r\n?|\n/).map((line) => line.split("\t"));
  const column = (i) => lines.map((columns) => columns[i] ?? "").join("\n").replace(/\n+$/, "");
  const isTable = mode !== "correct" && lines.some((columns) => columns.length > 1);
  const old = mode === "edit" ? lines.map((columns) => columns[2]) : [];
  const [ending = "\n"] = endings;
  Object.assign(state, { file: file.name, ending, old, kept: [] });
  if (mode === "edit" || isTable) fill(column(1), column(0));
  else fill(content.replace(/\r\n?/g, "\n"), "");
}

function fill(text, source) {
  $("source").value = source;
  write({ offset: 0, before: $("text").value }, text);
  rest();
}

// Fills in the example: of two columns, or for an edit model, its first one is the source.
function tryExample() {
  const [first, second] = model.example.split("\t");
  if (second === undefined && mode !== "edit") fill(first, "");
  else fill(second ?? "", first);
}

// The text as a file has it: for an edit model with its source, and that before it was changed.
function content() {
  const { text, source, old, ending } = state;
  if (mode === "correct" || !source) return text.replaceAll("\n", ending);
  const [sources, texts] = [source, text].map((lines) => lines.split("\n"));
  const rows = sources.map((line, i) => [line, texts[i] ?? "", ...(old[i] ? [old[i]] : [])]);
  return rows.map((columns) => columns.join("\t") + ending).join("");
}

function save() {
  const href = URL.createObjectURL(new Blob([content()], { type: "text/plain;charset=utf-8" }));
  element("a", { href, download: state.file }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

function copy() {
  const { selectionStart, selectionEnd } = $("text");
  $("text").select();
  document.execCommand("copy");
  $("text").setSelectionRange(selectionStart, selectionEnd);
  $("status").textContent = "Copied.";
}

// Keeps the text in this tab, for a page that is opened in it later.
function keep() {
  const { lines, edits, typing, ...rest } = state;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...rest, mode }));
  } catch { // it is full, or the browser has none
    fail("This tab cannot keep the text: save it.");
  }
}

function restored(storage, none) {
  try {
    return JSON.parse(storage.getItem(KEPT)) ?? none;
  } catch {
    return none;
  }
}

function setMode(wanted) {
  document.body.dataset.mode = mode = wanted;
  const both = mode === "predict" && model.texts > 1;
  $("source-field").hidden = mode !== "edit" && !both;
  $("source-name").textContent = both ? "First text" : "Source";
  $("text-name").textContent = mode === "edit" ? "Draft" : both ? "Second text" : "Text";
  $("source").placeholder = EMPTY[both ? "text" : "source"];
  $("text").placeholder = EMPTY[mode === "edit" ? "edit" : "text"];
  $("title").textContent = visible(model.title ?? MODES[mode]);
  document.title = `${$("title").textContent} · lev-serve`;
  $("editors").hidden = !model.modes.includes("correct");
  Object.assign(state, { lines: [], edits: [] });
  showPrediction({});
  return changed();
}

// Has controls do something; of what fails, says why.
function on(event, actions) {
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener(event, action);
}
on("click", {
  take: () => take(pop.edit),
  ignore: () => ignore(pop.edit),
  always: () => always(pop.edit),
  next: () => go(beside(shown)),
  example: tryExample,
  all: takeAll,
  text: clicked,
  copy,
  save,
});
on("input", { text: typed, source: () => changed(), mode: ({ target }) => setMode(target.value) });
on("change", { load });
listen({ take, other: take, ignore, leave });
document.addEventListener("keydown", pressed);
$("text").addEventListener("beforeinput", (event) => { // of a menu
  const action = { historyUndo: undo, historyRedo: redo }[event.inputType];
  if (action) event.preventDefault();
  action?.();
});
document.addEventListener("selectionchange", () => {
  if (state.typing >= 0 && $("text").selectionStart !== state.typing) rest();
  else list(shown, $("text").selectionStart);
});
document.addEventListener("pointerdown", ({ target }) => {
  if (pop.edit && !$("sheet").contains(target)) close();
});
window.addEventListener("pagehide", keep);
window.addEventListener("resize", () => pop.edit && open(pop.edit, take));
window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason.message);
});

async function begin() {
  const { mode: was, ...rest } = restored(sessionStorage, {});
  Object.assign(state, rest);
  [$("text").value, $("source").value] = [state.text, state.source];
  $("text").focus(); // one may write before the server answers
  model = await call("info");
  const name = model.title ? [] : [model.model ?? []].flat();
  $("model").textContent = visible(["lev-serve", ...name].join(" · "));
  $("mode").replaceChildren(...model.modes.map((name) => new Option(MODES[name], name)));
  $("mode").value = model.modes.includes(was) ? was : model.modes[0];
  $("mode").hidden = model.modes.length < 2;
  const token = new URLSearchParams(location.search).get("token") ?? "";
  $("address").textContent = new URL(`${token}/v2`, location.href.split("?")[0]).href;
  const { hostname } = location;
  const isHere = /^(localhost|127[.].*|\[::1\])$/.test(hostname);
  $("private").textContent = `The text ${isHere ? "stays on this machine" : `goes to ${hostname} only`}.`;
  $("scope").textContent = model.scope ?? "";
  setWords(restored(localStorage, []));
  document.body.dataset.ready = "true";
  await setMode($("mode").value);
}

begin();
