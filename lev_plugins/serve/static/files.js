// Lines from a file or a paste, and files from lines.

import { newRow } from "./row.js";

// A row for each line, which remembers how it ended: \n, \r\n, \r, or not at all.
export function rowsOf(content, mode, name = "the text") {
  return (content.match(/[^\r\n]*(\r\n|\r|\n)|[^\r\n]+$/g) ?? []).map((line, number) => {
    const text = line.replace(/[\r\n]+$/, "");
    const ending = line.slice(text.length);
    const parts = text.split("\t");
    if (mode === "correct" || (mode === "predict" && parts.length < 2)) return newRow("", text, ending);
    const most = mode === "edit" ? 3 : 2; // source, draft, and the older source that it translates
    if (parts.length > most) throw new Error(`${name}: line ${number + 1} has several tabs`);
    const row = newRow(parts[0], parts[1] ?? "", ending, parts.length > 1);
    return Object.assign(row, { old: parts[2] ?? null });
  });
}

export async function readRows(file, mode) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const content = await file.arrayBuffer().then((bytes) => decoder.decode(bytes)).catch(() => {
    throw new Error(`${file.name} is not UTF-8; convert it: iconv -f ITS_ENCODING -t UTF-8`);
  });
  if (!content) throw new Error(`${file.name} is empty`);
  return rowsOf(content, mode, file.name);
}

export function save(name, content) {
  const href = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

// The file as it was, but for what was changed; `lines` are {row, text}.
export function asText(lines) {
  const before = ({ row, text }) => row.source + (row.tab || (row.source && text) ? "\t" : "");
  const behind = ({ row }) => (row.old == null ? "" : `\t${row.old}`) + row.ending;
  return lines.map((line) => before(line) + line.text + behind(line)).join("");
}
