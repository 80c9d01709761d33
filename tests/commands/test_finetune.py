"""A training that begins from a checkpoint of another, and one that resumes without its drafts.

Stock checkpoints: tests/systems/test_stock_checkpoints.py and examples/guides/from_stock.md.
"""

from states import differences, state


def test_a_training_starts_from_the_parameters_it_is_given(commands, triples, tmp_path):
    flags = f"--finetune-from-model {triples.checkpoint} --lr 0 --max-update 1"
    log = commands.done(triples.train(f"{flags} --save-dir {tmp_path}"), tmp_path).out
    assert f"Loaded checkpoint {triples.checkpoint}" in log
    tuned = state(tmp_path / "checkpoint_last.pt")["model"]
    assert differences(dict(tuned), dict(state(triples.checkpoint)["model"])) == []


def test_a_training_that_resumes_without_its_drafts_says_so(commands, triples, tmp_path):
    train = triples.train(f"--restore-file {triples.checkpoint} --max-update 1 --save-dir on")
    result = commands.done(train.replace("--draft-lang mt", ""), tmp_path)
    assert "without drafts" in result.err and "--draft-lang mt" in result.err
