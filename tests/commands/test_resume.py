"""A training that was stopped and resumed is the training that was never stopped."""

import shutil

import torch

import lev_plugins  # noqa: F401  (torch may then read checkpoints)

# Everything that draws random numbers or depends on the time: dropout, sampled roll-in, mixtures
# that move with the updates, a learning rate that does. An epoch has eight updates.
RANDOM = (
    "--dropout 0.3 --attention-dropout 0.1 --activation-dropout 0.1 --roll-in-tokens sample "
    "--lr-scheduler inverse_sqrt --warmup-updates 4 --seed 3"
)
DRAFTS = "--alpha-start 0 --beta-start 0 --alpha 0.9 --beta 0.9 --roll-in-updates 20"


def trained(path):
    """All tensors of a training's state: the model and what the optimizer remembers."""
    state = torch.load(path, weights_only=True)
    found = dict(state["model"])
    for number, moments in state["last_optimizer_state"]["state"].items():
        found |= {f"{number}.{name}": value for name, value in moments.items()}
    return {name: value for name, value in found.items() if torch.is_tensor(value)}


def assert_the_same(one, other):
    first, second = trained(one), trained(other)
    assert first.keys() == second.keys() and len(first) > 60
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert not different


def test_stopping_in_the_middle_of_an_epoch_changes_no_bit(commands, triples, tmp_path):
    flags = f"{RANDOM} {DRAFTS} --save-dir"
    commands.done(triples.train(f"{flags} {tmp_path}/whole --max-update 20"), tmp_path)
    first = commands.done(triples.train(f"{flags} {tmp_path}/parts --max-update 11"), tmp_path)
    assert "num_updates: 11 >=" in first.out
    halfway = trained(tmp_path / "parts" / "checkpoint_last.pt")
    second = commands.done(triples.train(f"{flags} {tmp_path}/parts --max-update 20"), tmp_path)
    assert "checkpoint_last.pt (epoch 2 @ 11 updates)" in second.out
    assert_the_same(
        tmp_path / "whole" / "checkpoint_last.pt", tmp_path / "parts" / "checkpoint_last.pt"
    )
    end = trained(tmp_path / "parts" / "checkpoint_last.pt")
    assert not any(torch.equal(end[name], halfway[name]) for name in end if "weight" in name)


def test_a_training_that_was_killed_continues_from_its_last_save(commands, pairs, tmp_path):
    saving = "--update-freq 2 --save-interval-updates 3 --max-update 10 --curriculum 1"
    flags = f"{RANDOM} {saving} --save-dir"
    commands.done(pairs.train(f"{flags} {tmp_path}/whole"), tmp_path)
    (tmp_path / "killed").mkdir()
    shutil.copy(
        tmp_path / "whole" / "checkpoint_2_6.pt", tmp_path / "killed" / "checkpoint_last.pt"
    )
    result = commands.done(pairs.train(f"{flags} {tmp_path}/killed"), tmp_path)
    assert "checkpoint_last.pt (epoch 2 @ 6 updates)" in result.out
    assert_the_same(
        tmp_path / "whole" / "checkpoint_last.pt", tmp_path / "killed" / "checkpoint_last.pt"
    )
