"""The command ``correct`` with real checkpoints, of both kinds."""

import json

import pytest

PUNCTUATION = "A .  B\tD !\r\n\r\n \t\r\nA . Zzz . B .\xa0C\nE . ☃ .. \x85H . ! G".encode()


def corrected(commands, path, flags, cwd, text):
    """The bytes that the command wrote, and its edits."""
    command = f"python -m lev_plugins correct --path {path} --bpe none --edits e {flags}"
    done = commands(command, cwd, stdin=text)
    assert done.code == 0 and done.err == ""
    edits = [json.loads(line) for line in (cwd / "e").read_text().splitlines()]
    return (commands.folder / f"{commands.count}.out").read_bytes(), edits


def made(text, edits):
    """Bytes with edits of the characters of their lines; bytes that are no text stay."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    for edit in reversed(edits):
        line = lines[edit["line"] - 1]
        start, end = edit["offset"], edit["offset"] + edit["length"]
        assert line[start:end] == edit["before"] and 0 <= edit["probability"] <= 1
        if edit["applied"]:
            lines[edit["line"] - 1] = line[:start] + edit["after"] + line[end:]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def test_an_editor_corrects_what_it_can_and_keeps_the_rest(commands, triples, tmp_path):
    out, edits = corrected(commands, triples.checkpoint, "", tmp_path, PUNCTUATION)
    assert any(edit["applied"] for edit in edits)
    assert out == made(PUNCTUATION, edits)
    assert b"<unk>" not in out and out.count(b"\r\n") == 3


def test_lines_and_probabilities_are_those_of_fairseq_interactive(
    commands, transformer, triples, tmp_path, root
):
    lines = triples.text("valid", "src")
    text = "".join(f"{line}\n" for line in lines)
    told = commands(
        f"fairseq-interactive {triples.data} --path {transformer} --beam 5 --cpu "
        f"--task translation --source-lang src --target-lang tgt --user-dir {root / 'lev_plugins'}",
        tmp_path,
        stdin=text,
    )
    out, edits = corrected(commands, transformer, "--unit line", tmp_path, text.encode())
    checked = 0
    rows = zip(lines, out.decode().splitlines(), told.texts("H"), strict=True)
    for number, (line, mine, theirs) in enumerate(rows, start=1):
        if len(theirs.split()) < 20:  # else it has no end, and the next best is taken
            assert mine == theirs
            for edit in (one for one in edits if (one["line"], one["before"]) == (number, line)):
                (scores,) = told.lines("P")[number - 1]
                wanted = 2 ** sum(map(float, scores.split()))  # to the base of 2
                assert edit["probability"] == pytest.approx(wanted, abs=1e-3)
                checked += 1
    assert checked
