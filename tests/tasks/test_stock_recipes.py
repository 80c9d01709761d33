"""Recipes for fairseq's own Levenshtein Transformer: what they ask for is named by ours."""

import argparse
import dataclasses
from argparse import Namespace

import pytest
import tiny
from fairseq import models, tasks

from lev_plugins.cli import noise
from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches.recipes import STOCK_FLAGS, with_our_flags
from lev_plugins.fairseq_patches.reports import show_usage_errors
from lev_plugins.systems.levenshtein.stock import STOCK_ARCHS


@pytest.mark.parametrize("name", [*STOCK_ARCHS, "transformer"])
def test_a_model_that_does_not_edit_is_not_trained(name):
    with pytest.raises(UserError) as told:
        tiny.task().build_model(Namespace(_name=name, arch=name))
    assert str(told.value) == (
        f"--arch {name} is no edit model of ours; --task translation_edit goes with "
        "--arch levenshtein_editor"
    )


@pytest.mark.parametrize("name", ["nat_loss", "label_smoothed_cross_entropy", "cross_entropy"])
def test_a_criterion_without_roll_in_is_refused(name):
    with pytest.raises(UserError, match=f"--criterion {name}: .* --criterion edit_policy_loss$"):
        tiny.task().build_criterion(Namespace(_name=name))


UNKNOWN = "unrecognized arguments: "


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("--noise random_delete", "--task translation_edit roll-in does its work"),
        ("--no-share-discriminator", "give --weight-sharing plh-tok"),
        ("--no-share-maskpredictor", "give --weight-sharing tok-del"),
        ("--no-share-discriminator --no-share-maskpredictor", "give --weight-sharing none"),
        (
            "--no-share-discriminator --share-discriminator-maskpredictor",
            "give --weight-sharing plh-del",
        ),
        ("--sampling-for-deletion", "give --roll-in-tokens sample"),
    ],
)
def test_a_stock_flag_is_named_with_ours_in_the_error_line(given, hint, capsys):
    show_usage_errors()
    with pytest.raises(SystemExit):
        argparse.ArgumentParser(allow_abbrev=False).parse_args(given.split())
    line = capsys.readouterr().err.splitlines()[-1]
    assert f"{UNKNOWN}{given}; " in line and hint in line
    assert line.count("--weight-sharing") == ("share" in given)


def test_a_command_of_ours_has_no_stock_flags(capsys):
    show_usage_errors()
    with pytest.raises(SystemExit):
        noise.build_parser().parse_args(["--noise", "x"])
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith("unrecognized arguments: --noise x")


@pytest.mark.parametrize(
    "message", ["unrecognized arguments: --nois x", "argument --noise: invalid choice: 'x'"]
)
def test_other_messages_of_argparse_stay(message):
    assert with_our_flags(message) == message


def test_the_flags_are_fairseqs():
    parser = argparse.ArgumentParser()
    models.MODEL_REGISTRY["levenshtein_transformer"].add_args(parser)
    stock = {flag for action in parser._actions for flag in action.option_strings}
    config = tasks.TASK_DATACLASS_REGISTRY["translation_lev"]
    stock |= {f"--{one.name}" for one in dataclasses.fields(config)}
    assert set(STOCK_FLAGS) <= stock
