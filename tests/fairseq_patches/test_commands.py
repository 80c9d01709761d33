"""What fairseq's commands read with the plug-in: lines and text; and that none chatters."""

import io
import sys
from argparse import Namespace

import pytest
import saved
import tiny
import torch
from fairseq import checkpoint_utils
from fairseq.data import encoders
from fairseq.scoring import bleu
from refusals import refuses

from lev_plugins.fairseq_patches.small import read_interactive_lines


def test_the_beginning_of_a_text_is_no_word_to_fairseqs_bleu():
    scorer = bleu.Scorer(bleu.BleuConfig(pad=1, eos=2, unk=3))
    scorer.add(torch.tensor([0, 4, 5, 6, 7, 8, 2]).int(), torch.tensor([0, 9, 2]).int())
    assert "syslen=1, reflen=5" in scorer.result_string()


# typed lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4])
def test_interactive_lines_keep_their_tabs(size, monkeypatch):
    lines = ["\tdraft only", "source only\t", "  both \t sides  ", "", "last\rnot a line end"]
    text = "\ufeff" + "\n".join(lines)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "ascii"))
    *buffers, last = read_interactive_lines("-", size)
    assert sum(buffers, []) + last == lines
    assert {*map(len, buffers)} == {size}


# text for --bpe -----------------------------------------------------------------------------------

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
TEXT = "a cat and a dog"


def test_every_space_of_unicode_gives_the_tokens_of_a_plain_one(tmp_path):
    # a sentencepiece model that has been shown such spaces has pieces of them
    shown = [TEXT, *(TEXT.replace(" ", space) for space in SPACES if space not in "\n\r\0")]
    how = {"character_coverage": 1.0, "normalization_rule_name": "identity", "vocab_size": 60}
    path = tiny.sentencepiece_model(tmp_path / "spm", shown, hard_vocab_limit=False, **how)
    options = {"sentencepiece_enable_sampling": False, "sentencepiece_alpha": None}
    for name in ("sentencepiece", "characters"):
        encoder = encoders.build_bpe(Namespace(bpe=name, sentencepiece_model=str(path), **options))
        for space in SPACES:
            for text in (TEXT, f" {TEXT} ", "a  cat"):
                assert encoder.encode(text.replace(" ", space)) == encoder.encode(text), repr(space)
        assert "\u200b" in encoder.encode("a\u200bcat")  # no space: it stays


def test_only_language_models_are_scored_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-eval-lm"])
    data = tiny.dictionaries(tmp_path / "data")
    path = saved.save(tmp_path / "model.pt", data, "pbd")
    with refuses(path, "fairseq-validate"):
        checkpoint_utils.load_model_ensemble([str(path)])
