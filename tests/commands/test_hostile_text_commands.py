"""The real commands on a file of lines that break programs: an output a line, in order."""

import json
import random
import re

import pytest
from hostile_lines import LINES

from lev_plugins.reports.printed import read_printed


@pytest.fixture(scope="module")
def lines():
    """The lines in an order of its own, so that none keeps its place by chance."""
    shuffled = [*LINES, *LINES]
    random.Random(4).shuffle(shuffled)
    return shuffled


def written(commands):
    """Standard output of the last command, as lines that end at line feeds alone."""
    raw = (commands.folder / f"{commands.count}.out").read_bytes()
    return raw.decode("utf-8").split("\n")


def by_letter(lines, letter):
    """``H-3<TAB>score<TAB>text`` → [(3, last field) …], in the order printed."""
    found = (
        re.match(rf"{letter}-([0-9]+)\t(?:[-0-9.e]+\t)?(.*)", line, re.DOTALL) for line in lines
    )
    return [(int(one[1]), one[2]) for one in found if one]


def succeeded(result):
    assert result.code == 0 and "Traceback" not in result.err, result.err[-2000:]


def words(line):
    return " ".join(line.split())


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_interactive_answers_every_line_in_order(commands, triples, lines, end):
    """Drafts that nothing is known of come back word for word when nothing may be deleted."""
    flags = "--delete-threshold 1 --iter-decode-max-iter 1 --iter-decode-eos-penalty -1000"
    commands.done(
        triples.interactive(f"{flags} --buffer-size 7 --batch-size 3"),
        triples.folder,
        stdin="".join(f"{line}{end}a b\t{line}{end}" for line in lines) + "a\t\0 \u200b",
    )
    found = by_letter(written(commands), "H")
    assert [number for number, _ in found] == list(range(2 * len(lines) + 1))
    for (_, text), line in zip(found[1::2], lines, strict=True):
        assert text == words(line)


def test_generate_answers_every_line_and_its_output_is_read_again(
    commands, triples, lines, tmp_path
):
    for side in ("src", "tgt", "mt"):
        (tmp_path / f"odd.{side}").write_bytes("".join(f"{line}\n" for line in lines).encode())
    made = commands(
        "python -m lev_plugins.cli.preprocess --source-lang src --target-lang tgt --draft-lang mt "
        f"--testpref odd --destdir bin --joined-dictionary --srcdict {triples.data}/dict.src.txt",
        tmp_path,
    )
    succeeded(made)
    command = (
        f"fairseq-generate bin {triples.flags} --path {triples.checkpoint} --cpu --batch-size 3 "
        "--iter-decode-max-iter 2"
    )
    commands.done(command, tmp_path)
    printed = written(commands)
    numbers = [number for number, _ in by_letter(printed, "H")]
    assert sorted(numbers) == list(range(len(lines)))
    (tmp_path / "out").write_bytes("\n".join(printed).encode())
    assert sorted(read_printed(str(tmp_path / "out")).outputs) == sorted(numbers)


def test_correct_changes_no_byte_that_the_model_leaves_alone(commands, triples, lines, tmp_path):
    raw = b"".join(line.encode() + b"\n" for line in lines) + b"\xff\xfe\xed\xa0\x80\r\r\n\xef\xbb"
    for unit in ("line", "sentence"):
        result = commands(
            f"python -m lev_plugins.cli.correct --path {triples.checkpoint} --bpe none "
            f"--min-confidence 1 --unit {unit} --max-iter 2 --buffer 9",
            tmp_path,
            stdin=raw,
        )
        succeeded(result)
        assert (commands.folder / f"{commands.count}.out").read_bytes() == raw


def test_trace_shows_every_line_in_text_json_and_html(commands, triples, lines, tmp_path):
    pairs = [f"{line}\ta {line}" if n % 2 else line for n, line in enumerate(lines)]
    result = commands(
        f"python -m lev_plugins.cli.trace --path {triples.checkpoint} --max-iter 2 --json j "
        "--html h",
        tmp_path,
        stdin="".join(f"{pair}\n" for pair in pairs),
    )
    succeeded(result)
    records = [json.loads(line) for line in (tmp_path / "j").read_text("utf-8").split("\n")[:-1]]
    assert [record["source"] for record in records] == lines
    shown = [line for line in written(commands) if line.startswith("(sentence ")]
    assert len(shown) == len(lines)
    assert "<script>" not in (tmp_path / "h").read_text("utf-8")
