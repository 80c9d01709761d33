"""The real commands on a file of lines that break programs: an output a line, in order."""

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


def test_generate_answers_every_line_and_its_output_is_read_again(
    commands, triples, lines, tmp_path
):
    for side in ("src", "tgt", "mt"):
        (tmp_path / f"odd.{side}").write_bytes("".join(f"{line}\n" for line in lines).encode())
    made = commands(
        "python -m lev_plugins preprocess --source-lang src --target-lang tgt --draft-lang mt "
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
