"""A training that begins from a checkpoint of another.

Stock checkpoints: tests/systems/test_stock_checkpoints.py and examples/guides/from_stock.md.
"""

from states import differences, state


def test_a_training_starts_from_the_parameters_it_is_given(commands, triples, tmp_path):
    flags = f"--finetune-from-model {triples.checkpoint} --lr 0 --max-update 1"
    log = commands.done(triples.train(f"{flags} --save-dir {tmp_path}"), tmp_path).out
    assert f"Loaded checkpoint {triples.checkpoint}" in log
    tuned = state(tmp_path / "checkpoint_last.pt")["model"]
    assert differences(dict(tuned), dict(state(triples.checkpoint)["model"])) == []
