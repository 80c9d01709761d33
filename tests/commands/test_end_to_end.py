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
    sources, targets = triples.text("valid", "src"), triples.text("valid", "tgt")
    drafts = triples.text("valid", "mt")
    assert result.texts("S") == sources and result.texts("T") == targets
    outputs = result.texts("H")
    assert right(outputs, targets) >= LEARNT > right(drafts, targets) + 3
    assert result.texts("D") == outputs
    steps = [int(step) for step in result.texts("I")]
    assert [steps[i] > 0 for i in range(11)] == [outputs[i] != drafts[i] for i in range(11)]
    history = dict(re.findall(r"^E-(\d+_\d+)\t(.*)$", result.out, re.MULTILINE))
    for i, output in enumerate(outputs):
        states = [history[f"{i}_{step}"] for step in range(3 * steps[i] + 1)]
        assert states[0] == drafts[i] and states[-1] == output
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
    lines = [*LINES, *LINES]
    random.Random(4).shuffle(lines)  # none keeps its place by chance
    for side in ("src", "tgt", "mt"):
        put(tmp_path / f"odd.{side}", lines)
    known = f"--joined-dictionary --srcdict {triples.data}/dict.src.txt"
    commands.preprocess(f"{triples.flags} {known} --testpref odd --destdir bin", tmp_path)
    command = triples._replace(folder=tmp_path).generate(
        "--batch-size 3 --iter-decode-max-iter 2", triples.checkpoint
    )
    result = commands.done(command, tmp_path)
    assert sorted(result.lines("H")) == list(range(len(lines)))
    path = put(tmp_path / "out", result.out.split("\n"))
    assert sorted(read_printed(str(path)).outputs) == list(range(len(lines)))


def test_interactive_reads_drafts_after_a_tab_and_answers_in_order(commands, triples):
    sources, drafts = triples.text("valid", "src"), triples.text("valid", "mt")
    lines = [f"{source}\t{draft}" for source, draft in zip(sources, drafts, strict=True)]
    lines[4:4] = ["", "\t", "a b c", "a b c\t", "\tA !", "a b\tA . B xyz ."]
    text = "".join(f"{line}\n" for line in lines)
    one_by_one = commands.done(triples.interactive(), triples.folder, stdin=text)
    outputs = one_by_one.texts("H")
    assert one_by_one.texts("S")[:4] + one_by_one.texts("S")[10:] == sources
    assert right(outputs[:4] + outputs[10:], triples.text("valid", "tgt")) >= LEARNT
    assert outputs[4] == outputs[5], "an empty line is an empty source without a draft"
    assert outputs[6] == outputs[7], "an empty draft is none"
    assert "A" in outputs[8] and "!" not in outputs[8]
    assert outputs[9].startswith("A .")
    flags = "--buffer-size 100 --batch-size 3 --print-step --retain-iter-history"
    together = commands.done(triples.interactive(flags), triples.folder, stdin=text)
    assert together.texts("H") == outputs and together.texts("S") == one_by_one.texts("S")
