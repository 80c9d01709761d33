// Lines from a file, and files from lines.

import { newRow } from "./row.js";

export async function readRows(file, mode) {
  const text = new TextDecoder("utf-8", { fatal: true });
  let content;
  try {
    content = text.decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8; convert it: iconv -f ITS_ENCODING -t UTF-8`);
  }
  const lines = content.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  if (!lines.length) throw new Error(`${file.name} is empty`);
  return lines.map((line, number) => {
    if (mode === "correct") return newRow("", line);
    const parts = line.split("\t");
    if (parts.length > 2) throw new Error(`${file.name}: line ${number + 1} has several tabs`);
    if (mode === "predict") {
      return parts.length > 1 ? newRow(parts[0], parts[1]) : newRow("", line);
    }
    return newRow(parts[0], parts.length > 1 ? parts[1] : null);
  });
}

export function save(name, lines) {
  const content = new Blob(lines.map((line) => `${line}\n`), { type: "text/plain;charset=utf-8" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const oneLine = (text) => text.replace(/[\t\n\r]+/g, " ");

// `lines` are {row, number, text, edits}, of all rows.
export const asText = (lines) => lines.map((line) => oneLine(line.text));

export function asEdits(lines) {
  return lines.flatMap(({ number, edits }) =>
    edits.map((edit) =>
      JSON.stringify({
        line: number,
        offset: edit.offset,
        length: edit.length,
        before: edit.before,
        after: edit.after,
        probability: edit.probability,
        applied: edit.taken,
        by: edit.own ? "person" : "model",
      }),
    ),
  );
}

// Source, draft and what the person accepted, of accepted lines: what a model can be trained on.
export function asTriples(lines, mode) {
  return lines
    .filter(({ row }) => row.accepted !== null)
    .map(({ row }) => {
      const draft = row.draft ?? "";
      return [mode === "correct" ? draft : row.source, draft, row.accepted].map(oneLine).join("\t");
    });
}
