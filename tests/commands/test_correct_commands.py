"""The command ``correct`` with a real checkpoint."""

import json

import pytest


def test_lines_and_probabilities_are_those_of_fairseq_interactive(
    commands, transformer, triples, tmp_path, root
):
    lines = triples.text("valid", "src")
    text = "".join(f"{line}\n" for line in lines)
    output = commands(
        f"fairseq-interactive {triples.data} --path {transformer} --beam 5 --cpu "
        f"--task translation --source-lang src --target-lang tgt --user-dir {root / 'lev_plugins'}",
        tmp_path,
        stdin=text,
    )
    correct = f"python -m lev_plugins correct --path {transformer} --bpe none --edits e --unit line"
    done = commands(correct, tmp_path, stdin=text)
    assert done.code == 0 and done.err == ""
    edits = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    checked = 0
    rows = zip(lines, done.out.splitlines(), output.texts("H"), strict=True)
    for number, (line, ours, theirs) in enumerate(rows, start=1):
        if len(theirs.split()) < 20:  # else it has no end, and the next best is taken
            assert ours == theirs
            for edit in (
                candidate
                for candidate in edits
                if (candidate["line"], candidate["before"]) == (number, line)
            ):
                (scores,) = output.lines("P")[number - 1]
                wanted = 2 ** sum(map(float, scores.split()))  # to the base of 2
                assert edit["probability"] == pytest.approx(wanted, abs=1e-3)
                checked += 1
    assert checked
