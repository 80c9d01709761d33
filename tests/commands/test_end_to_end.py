"""The whole way with real commands: preprocess, train, validate, generate, interactive, trace."""

import random
import re

import pytest
from plain_files import HOSTILE as LINES
from plain_files import put

from lev_plugins.io.printed import read_printed

LEARNT = 9  # of eleven sentences, at least: what training makes of the tiny corpora


def right(outputs: list[str], targets: list[str]) -> int:
    assert len(outputs) == len(targets)
    return sum(output == target for output, target in zip(outputs, targets, strict=True))


@pytest.fixture(params=["triples", "pairs"])
def corpus(request):
    """With drafts and one dictionary; without drafts and with two."""
    return request.getfixturevalue(request.param)


def test_validating_gives_the_loss_that_training_saw_last(commands, triples):
    def losses(log: str) -> list[str]:
        (*_, last) = [line for line in log.splitlines() if "valid on 'valid' subset" in line]
        return re.findall(r"\| (\w+_nll|loss|\w+_acc) ([0-9.]+)", last)

    flags = f"--path {triples.checkpoint} --cpu --batch-size 4 --log-format simple"
    command = f"fairseq-validate {triples.data} {triples.flags} --valid-subset valid {flags}"
    validated = losses(commands.done(command, triples.folder).out)
    assert validated == losses((triples.folder / "train.log").read_text()) and len(validated) == 7


def test_generating_from_drafts_edits_each_of_them_and_keeps_their_order(commands, triples):
    flags = "--gen-subset valid --print-step --retain-iter-history --scoring ter"
    result = commands.done(triples.generate(flags), triples.folder)
    sources, targets, drafts = (triples.text("valid", side) for side in ("src", "tgt", "mt"))
    outputs = result.texts("H")
    assert result.texts("S") == sources and result.texts("T") == targets
    assert right(outputs, targets) >= LEARNT > right(drafts, targets) + 3
    history = dict(re.findall(r"^E-(\d+_\d+)\t(.*)$", result.out, re.MULTILINE))
    for i, steps in enumerate(map(int, result.texts("I"))):
        states = [history[f"{i}_{step}"] for step in range(3 * steps + 1)]
        assert states[0] == drafts[i] and states[-1] == outputs[i]
        assert (steps > 0) == (outputs[i] != drafts[i])
    assert re.search(r"Generate valid with beam=\d+: TER = \d+\.\d+", result.out)


def test_no_sentence_is_lost_whatever_the_batches(commands, corpus):
    outputs = []
    for batch in ("--batch-size 3", "--max-tokens 30"):
        result = commands.done(corpus.generate(f"--gen-subset test {batch}"), corpus.folder)
        outputs.append(result.texts("H"))
        assert result.lines("S")[5] == [""] and result.lines("S")[8] == ["a <unk> b"]
    assert len(outputs[0]) == 11 and outputs[0] == outputs[1]


def test_lines_that_break_programs_are_answered_and_the_output_is_read_again(
    commands, triples, tmp_path
):
    lines = random.Random(4).sample([*LINES, *LINES], 2 * len(LINES))
    for side in ("src", "tgt", "mt"):
        put(tmp_path / f"odd.{side}", lines)
    known = f"--joined-dictionary --srcdict {triples.data}/dict.src.txt"
    commands.preprocess(f"{triples.flags} {known} --testpref odd --destdir bin", tmp_path)
    odd = triples._replace(folder=tmp_path)
    command = odd.generate("--batch-size 3 --iter-decode-max-iter 2", triples.checkpoint)
    result = commands.done(command, tmp_path)
    path = put(tmp_path / "out", result.out.split("\n"))
    numbers = list(range(len(lines)))
    assert sorted(result.lines("H")) == sorted(read_printed(str(path)).outputs) == numbers


#: typed lines | how their outputs begin
TYPED = {"\t": "", "": "", "a b c\t": "A", "a b c": "A", "a b\tA . B xyz .": "A ."}


def test_interactive_reads_drafts_after_a_tab_and_answers_in_order(commands, triples):
    sources, drafts = triples.text("valid", "src"), triples.text("valid", "mt")
    lines = [f"{source}\t{draft}" for source, draft in zip(sources, drafts, strict=True)]
    text = "".join(f"{line}\n" for line in (*TYPED, *lines))
    flags = "--buffer-size 100 --batch-size 3 --print-step --retain-iter-history"
    answers = [
        commands.done(triples.interactive(more), triples.folder, stdin=text) for more in ("", flags)
    ]
    outputs, typed = answers[0].texts("H"), len(TYPED)
    assert answers[0].texts("S")[typed:] == sources
    assert right(outputs[typed:], triples.text("valid", "tgt")) >= LEARNT
    assert all(map(str.startswith, outputs, TYPED.values()))
    assert outputs[0] == outputs[1] and outputs[2] == outputs[3], "an empty draft is none"
    assert answers[1].texts("H") == outputs and answers[1].texts("S") == answers[0].texts("S")
