"""What others have trained, fairseq's own code too: as a start, and in our commands."""

import pytest
import torch
from states import assert_equal, parameters

from lev_plugins.systems.levenshtein.stock import convert_parameters

FLAGS = "--gen-subset valid --print-step --required-batch-size-multiple 1 --batch-size 1"


@pytest.mark.parametrize("origin", ["ours", "stock"])
def test_a_training_starts_from_the_parameters_it_is_given(
    commands, triples, stock, tmp_path, origin
):
    start, expected = triples.checkpoint, parameters(triples.checkpoint)
    if origin == "stock":
        start, expected = stock.checkpoint, convert_parameters(parameters(stock.checkpoint), 3)
    flags = f"--finetune-from-model {start} --max-insertions {255 if origin == 'stock' else 15}"
    still = commands.done(
        triples.train(f"{flags} --lr 0 --max-update 1 --save-dir {tmp_path}/still"), tmp_path
    )
    assert f"Loaded checkpoint {start}" in still.out
    tuned = parameters(tmp_path / "still" / "checkpoint_last.pt")
    if origin == "stock":
        assert not tuned.pop("source_copy"), "fairseq's model has learnt without it"
    assert_equal(tuned, expected)
    moved = commands.done(triples.train(f"{flags} --max-update 3 --save-dir moved"), tmp_path)
    assert "num_updates: 3 >= max_update: 3" in moved.out
    tuned = parameters(tmp_path / "moved" / "checkpoint_last.pt")
    assert not torch.equal(tuned["decoder_embed.weight"], expected["decoder_embed.weight"])


def test_embeddings_that_the_model_lacks_are_named(commands, triples, stock, tmp_path):
    flags = f"--finetune-from-model {stock.checkpoint} --save-dir {tmp_path}/none --max-update 1"
    error = commands.plugin(triples.train(flags), tmp_path).error
    assert str(stock.checkpoint) in error and "placeholder_head" in error


def test_a_training_that_resumes_without_its_drafts_says_so(commands, triples, tmp_path):
    train = triples.train(f"--restore-file {triples.checkpoint} --max-update 1 --save-dir on")
    result = commands.done(train.replace("--draft-lang mt", ""), tmp_path)
    assert "without drafts" in result.err and "--draft-lang mt" in result.err
    assert "without drafts" not in commands.done(train, tmp_path).err


def test_a_stock_checkpoint_gives_the_stock_commands_outputs(commands, stock, root):
    """One sentence a batch: stock's decoder fails where only some sentences change at first."""
    for settings in ("--iter-decode-max-iter 9", "--iter-decode-max-iter 0"):
        command = stock.generate(f"{FLAGS} {settings} --user-dir {root}/lev_plugins")
        theirs = commands(f"{command} --task translation_lev", stock.folder)
        ours = commands.done(stock.generate(f"{FLAGS} {settings} --stock-decoding"), stock.folder)
        assert theirs.code == 0, theirs.err
        assert ours.texts("H") == theirs.texts("H")
        assert ours.texts("I") == theirs.texts("I")
        for number, (score, _) in theirs.lines("H").items():
            assert abs(float(ours.lines("H")[number][0]) - float(score)) < 1e-3
        assert len(set(theirs.texts("H"))) > 4, "the outputs are too uniform to tell anything"
