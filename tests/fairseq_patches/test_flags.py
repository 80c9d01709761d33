"""The help of fairseq's commands, as somebody meets it who looks for an option of this package."""

import pytest
import torch
from fairseq import options, utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import lev_plugins  # noqa: F401  (registers)
from lev_plugins.errors import UserError
from lev_plugins.io.causes import explain


def helped(capsys, parser, *words: str) -> str:
    """What ``--help`` prints beside other arguments."""
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(parser, [*words, "--help"])
    assert ended.value.code == 0
    return str(capsys.readouterr().out)


OURS = [
    name for name in ARCH_MODEL_REGISTRY if "lev_plugins" in ARCH_MODEL_REGISTRY[name].__module__
]
TASKS = [name for name in TASK_REGISTRY if "lev_plugins" in TASK_REGISTRY[name].__module__]


def test_help_has_the_options_of_what_is_named_beside_it(capsys):
    words = "--task translation_edit --arch levenshtein_editor --criterion edit_policy_loss"
    words += " --optimizer muon --lr-scheduler time_budget"
    said = helped(capsys, options.get_training_parser(), *words.split())
    own = ("--draft-lang", "--weight-sharing", "--placeholder-weight", "--muon-update-rms")
    assert [flag for flag in (*own, "--warmup-share", "--max-update") if flag not in said] == []
    said = helped(capsys, options.get_generation_parser(), "--task", "translation_edit")
    assert "--delete-threshold" in said and "--beam" in said


@pytest.mark.parametrize("make", [options.get_training_parser, options.get_generation_parser])
def test_help_alone_is_that_of_fairseq(capsys, make):
    assert "--task" in helped(capsys, make())
    with pytest.raises(SystemExit):
        make().parse_args(["--help"])
    assert "--task" in capsys.readouterr().out


@pytest.mark.parametrize("arch", OURS)
def test_the_help_of_every_arch_can_be_printed(capsys, arch):
    assert "--dropout" in helped(capsys, options.get_training_parser(), "--arch", arch)


@pytest.mark.parametrize("task", TASKS)
def test_the_help_of_every_task_can_be_printed(capsys, task):
    assert "  data  " in helped(capsys, options.get_generation_parser(), "--task", task)


def test_stock_fairseq_leaves_its_options_out():
    """``flags._hold_help_back`` can go once this fails."""
    stock = options.parse_args_and_arch.__wrapped__
    parser = options.get_training_parser()
    with pytest.raises(SystemExit):
        stock(parser, ["--task", "translation_edit", "--arch", "transformer", "--help"])
    assert not any("--draft-lang" in action.option_strings for action in parser._actions)


def test_a_command_without_a_task_asks_for_one():
    with pytest.raises(KeyError) as caught:
        options.parse_args_and_arch(options.get_validation_parser(), ["data", "--path", "a.pt"])
    assert str(explain(caught.value)).startswith("no task is named; give the one of the training")


@pytest.mark.parametrize("given", ["@@ ", "", "dictionary.txt"])
def test_unknown_words_are_not_to_be_replaced_by_fairseq(given):
    assert utils.load_align_dict(None) is None
    with pytest.raises(UserError, match="^--replace-unk fails in fairseq .* leave it out"):
        utils.load_align_dict(given)
    asserted = AssertionError("--replace-unk requires a raw text dataset (--dataset-impl=raw)")
    assert str(explain(asserted)).startswith("--replace-unk fails in fairseq")


def test_fairseq_alone_cannot_replace_an_unknown_word():
    """``flags.refuse_replacement`` can go once this fails."""
    given, _ = options.get_generation_parser().parse_known_args(["--replace-unk"])
    with pytest.raises(FileNotFoundError):
        utils.load_align_dict.__wrapped__(given.replace_unk)
    with pytest.raises(IndexError):  # what SequenceGenerator leaves as alignment
        utils.replace_unk("<unk>", "word", torch.empty(0), {}, "<unk>")
    with pytest.raises(TypeError):  # with --print-alignment
        utils.replace_unk("<unk>", "word", [(0, 0)], {}, "<unk>")
