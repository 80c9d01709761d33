"""The help of fairseq's commands, as somebody meets it who looks for an option of this package."""

import pytest
from fairseq import options
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import lev_plugins  # noqa: F401  (registers)


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


def test_help_is_found_among_the_arguments_of_the_process(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["fairseq-train", "--arch", "levenshtein_editor", "--help"])
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(options.get_training_parser())
    assert ended.value.code == 0 and "--weight-sharing" in capsys.readouterr().out


@pytest.mark.parametrize("arch", OURS)
def test_the_help_of_every_arch_can_be_printed(capsys, arch):
    assert "--dropout" in helped(capsys, options.get_training_parser(), "--arch", arch)


@pytest.mark.parametrize("task", TASKS)
def test_the_help_of_every_task_can_be_printed(capsys, task):
    assert "  data  " in helped(capsys, options.get_generation_parser(), "--task", task)
