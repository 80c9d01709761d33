"""What others have trained, fairseq's own code too: as a start, and in our commands."""

import pytest
from states import differences, state

from lev_plugins.systems.levenshtein.stock import convert_parameters

FLAGS = "--gen-subset valid --print-step --required-batch-size-multiple 1 --batch-size 1"


@pytest.mark.parametrize("origin", ["ours", "stock"])
def test_a_training_starts_from_the_parameters_it_is_given(
    commands, triples, stock, tmp_path, origin
):
    start = {"ours": triples, "stock": stock}[origin].checkpoint
    expected, most = state(start)["model"], 15
    if origin == "stock":
        expected, most = convert_parameters(expected, 3), 255
    flags = f"--finetune-from-model {start} --max-insertions {most} --lr 0 --max-update 1"
    still = commands.done(triples.train(f"{flags} --save-dir {tmp_path}"), tmp_path)
    assert f"Loaded checkpoint {start}" in still.out
    tuned = state(tmp_path / "checkpoint_last.pt")["model"]
    if origin == "stock":
        assert not tuned.pop("source_copy"), "fairseq's model has learnt without it"
    assert differences(dict(tuned), dict(expected)) == []


def test_embeddings_that_the_model_lacks_are_named(commands, triples, stock, tmp_path):
    flags = f"--finetune-from-model {stock.checkpoint} --save-dir {tmp_path}/none --max-update 1"
    error = commands.plugin(triples.train(flags), tmp_path).error
    assert str(stock.checkpoint) in error and "placeholder_head" in error


def test_a_training_that_resumes_without_its_drafts_says_so(commands, triples, tmp_path):
    train = triples.train(f"--restore-file {triples.checkpoint} --max-update 1 --save-dir on")
    result = commands.done(train.replace("--draft-lang mt", ""), tmp_path)
    assert "without drafts" in result.err and "--draft-lang mt" in result.err


def test_a_stock_checkpoint_gives_the_stock_commands_outputs(commands, stock, root):
    """One sentence a batch: stock's decoder fails where only some sentences change at first."""
    for iterations in (9, 0):
        command = stock.generate(f"{FLAGS} --iter-decode-max-iter {iterations}")
        words = f"{command} --user-dir {root}/lev_plugins --task translation_lev"
        theirs = commands.ok(words, stock.folder)
        ours = commands.done(f"{command} --stock-decoding", stock.folder)
        assert ours.texts("H") == theirs.texts("H")
        assert ours.texts("I") == theirs.texts("I")
        for number, (score, _) in theirs.lines("H").items():
            assert abs(float(ours.lines("H")[number][0]) - float(score)) < 1e-3
        assert len(set(theirs.texts("H"))) > 4, "the outputs are too uniform to tell anything"
