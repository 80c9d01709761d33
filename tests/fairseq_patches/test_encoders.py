"""Words stay apart whatever space stands between them; ``--bpe characters`` can be chosen."""

import sys
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from fairseq import options
from fairseq.data import encoders
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.registry import REGISTRIES

import lev_plugins

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


def test_an_editor_reads_words_apart(built):
    task = tiny.task()
    editor = lev_plugins.LevenshteinEditor([tiny.model(task)], task, bpe=built("sentencepiece"))
    (odd,) = editor.edit(["a\u00a0cat\u2028here"], ["a\u2009dog"], max_iter=1)
    (plain,) = editor.edit(["a cat here"], ["a dog"], max_iter=1)
    assert odd.iterations == plain.iterations and odd.source == "a\u00a0cat\u2028here"


def test_characters_can_be_chosen_on_the_command_line():
    words = ["data", "--bpe", "characters"]
    args = options.parse_args_and_arch(options.get_generation_parser(), words)
    encoder = encoders.build_bpe(convert_namespace_to_omegaconf(args).bpe)
    assert encoder.decode(encoder.encode("a b")) == "a b"
