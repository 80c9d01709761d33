"""What fairseq's commands print and read with the plug-in: help, lines, text, and no chatter."""

import io
import subprocess
import sys
import warnings
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from fairseq import options
from fairseq.data import encoders
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.fairseq_patches.commands import read_interactive_lines
from lev_plugins.fairseq_patches.imports import import_fairseq

# help ---------------------------------------------------------------------------------------------


def helped(capsys, parser, *words: str) -> str:
    """What ``--help`` prints beside other arguments."""
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(parser, [*words, "--help"])
    assert ended.value.code == 0
    return str(capsys.readouterr().out)


def ours(one: Any) -> bool:
    return "lev_plugins" in one.__module__


def test_help_has_the_options_of_what_is_named_beside_it(capsys, monkeypatch):
    words = "--task translation_edit --arch levenshtein_editor --criterion edit_policy_loss"
    words += " --optimizer muon --lr-scheduler time_budget"
    said = helped(capsys, options.get_training_parser(), *words.split())
    own = ("--draft-lang", "--weight-sharing", "--placeholder-weight", "--muon-update-rms")
    assert [flag for flag in (*own, "--warmup-share", "--max-update") if flag not in said] == []
    said = helped(capsys, options.get_generation_parser(), "--task", "translation_edit")
    assert "--delete-threshold" in said and "--beam" in said
    assert "--task" in helped(capsys, options.get_training_parser())
    monkeypatch.setattr("sys.argv", ["fairseq-train", "--arch", "levenshtein_editor", "-h"])
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(options.get_training_parser())
    assert ended.value.code == 0 and "--weight-sharing" in capsys.readouterr().out


def test_the_help_of_every_arch_and_task_can_be_printed(capsys):
    for arch in (one for one in ARCH_MODEL_REGISTRY if ours(ARCH_MODEL_REGISTRY[one])):
        assert "--dropout" in helped(capsys, options.get_training_parser(), "--arch", arch)
    for task in (one for one in TASK_REGISTRY if ours(TASK_REGISTRY[one])):
        assert "  data  " in helped(capsys, options.get_generation_parser(), "--task", task)


def test_a_command_says_nothing_of_hydra(root, tmp_path):
    """A training that fails at once: its data folder is not there."""
    words = "data --task translation_edit --arch levenshtein_editor --criterion edit_policy_loss"
    words += f" --optimizer adam --max-tokens 9 --cpu --user-dir {root}/lev_plugins"
    done = subprocess.run(
        [sys.executable, "-m", "fairseq_cli.train", *words.split()],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "hydra" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and "data" in done.stderr


# typed lines --------------------------------------------------------------------------------------

LINES = "\ufeff\tdraft only\nsource only\t\n  both \t sides  \nplain\r\n\nlast\rnot a line end"
READ = ["\tdraft only", "source only\t", "both\tsides", "plain", "", "last\rnot a line end"]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("typed") / "file"


@pytest.mark.parametrize("size", [1, 4])
def test_interactive_lines_keep_their_tabs(tmp_path, size, monkeypatch):
    path = tmp_path / "lines"
    path.write_bytes(LINES.encode())
    buffers = list(read_interactive_lines(str(path), size))
    assert [line for buffer in buffers for line in buffer] == READ
    assert [len(buffer) for buffer in buffers[:-1]] == [size] * (len(buffers) - 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode()), "ascii"))
    assert list(read_interactive_lines("-", size)) == buffers


@given(data=st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_as_many_lines_are_read_as_end_or_the_first_that_is_not_utf8_is_named(scratch, data):
    scratch.write_bytes(data)
    lines = data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]
    bad = [n for n, line in enumerate(lines, 1) if line != line.decode("utf-8", "ignore").encode()]
    if bad:
        with refuses(scratch, f"line {bad[0]}: byte "):
            list(read_interactive_lines(str(scratch), 2))
        return
    found = [line for buffer in read_interactive_lines(str(scratch), 2) for line in buffer]
    text = [line.decode().removeprefix("\ufeff" if n == 0 else "") for n, line in enumerate(lines)]
    assert [line.split() for line in found] == [line.split() for line in text]
    assert [line.count("\t") for line in found] == [line.count("\t") for line in text]


# text for --bpe -----------------------------------------------------------------------------------

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
TEXT = "a cat and a dog"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The encoder of a name; subword-nmt, which may not be installed, is one that leaves words."""
    path = tiny.sentencepiece_model(
        tmp_path_factory.mktemp("pieces") / "spm.model",
        # a model that has been shown such spaces has pieces of them
        [TEXT, *(TEXT.replace(" ", space) for space in SPACES if space not in "\n\r\0")],
        vocab_size=60,
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
    )

    def build(name: str) -> Any:
        if name == "subword_nmt":
            made = object.__new__(REGISTRIES["bpe"]["registry"][name])
            made.bpe = SimpleNamespace(process_line=lambda line: line)
            return made
        options = {"sentencepiece_enable_sampling": False, "sentencepiece_alpha": None}
        return encoders.build_bpe(Namespace(bpe=name, sentencepiece_model=str(path), **options))

    return build


@pytest.mark.parametrize("name", ["sentencepiece", "characters", "subword_nmt"])
def test_every_space_of_unicode_gives_the_tokens_of_a_plain_one(built, name):
    encoder = built(name)
    for space in SPACES:
        for text in (TEXT, f" {TEXT} ", "a  cat"):
            assert encoder.encode(text.replace(" ", space)) == encoder.encode(text), repr(space)
    assert "\u200b" in encoder.encode("a\u200bcat")  # no space: it stays


def test_characters_can_be_chosen_on_the_command_line():
    words = ["data", "--bpe", "characters"]
    args = options.parse_args_and_arch(options.get_generation_parser(), words)
    encoder = encoders.build_bpe(convert_namespace_to_omegaconf(args).bpe)
    assert encoder.decode(encoder.encode("a b")) == "a b"


def test_torch_says_nothing_of_the_code_of_fairseq():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        import_fairseq()
        for start in ("`torch.jit.script` is deprecated", "`torch.cuda.amp.autocast(args...)` is"):
            warnings.warn(start, FutureWarning, stacklevel=1)
        warnings.warn("of your own code", FutureWarning, stacklevel=1)
    assert [str(one.message) for one in shown] == ["of your own code"]
