"""The whole way with real commands: preprocess, train, validate, generate, interactive, trace."""

import re

import pytest
from conftest import TRAINED

SHARDS = [f"--batch-size 4 --num-shards 2 --shard-id {shard}" for shard in (0, 1)]
LEARNT = 9  # of eleven sentences, at least: what training makes of the tiny corpora


def right(outputs: list[str], targets: list[str]) -> int:
    assert len(outputs) == len(targets)
    return sum(map(str.__eq__, outputs, targets))


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


@pytest.mark.parametrize("name", TRAINED)
def test_no_sentence_is_lost_whatever_the_batches_and_lines_typed_are_answered_alike(
    name, commands, trained
):
    """The test set has an empty draft, an empty source, and words that are in no dictionary."""
    corpus = trained(name)
    how = {"cwd": corpus.folder, "task": corpus.task}
    beam = "" if corpus.task == "translation_edit" else "--beam 4"
    few, many, *shards = (
        commands.done(corpus.generate(f"--gen-subset test {size} {beam}"), **how)
        for size in ("--batch-size 3", "--max-tokens 30", *SHARDS)
    )
    sides = ("src", "mt") if "--draft-lang" in corpus.flags else ("src",)
    columns = [corpus.text("test", side) for side in sides]
    lines = "".join("\t".join(fields) + "\n" for fields in zip(*columns, strict=True))
    more = f"{beam} --buffer-size 4 --batch-size 3"
    typed = commands.done(corpus.interactive(more), stdin=lines, **how)
    outputs = few.texts("H")
    assert len(outputs) == 11 and len(set(outputs)) > 2
    assert many.texts("H") == outputs
    first, second = (shard.lines("H") for shard in shards)
    assert {*first} & {*second} == set() and abs(len(first) - len(second)) == 1
    assert [fields[-1] for _, fields in sorted({**first, **second}.items())] == outputs
    assert few.lines("S")[8][0].startswith("a <unk> b") and sorted(few.lines("T")) == [*range(11)]
    assert list(typed.lines("H")) == list(range(11)) and typed.texts("H") == outputs
