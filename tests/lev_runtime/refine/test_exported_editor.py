"""The runtime edits as the package does: same texts, iterations and endings, scores close by."""

import random
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import tiny
from exported import both_editors
from fairseq.data.encoders.characters import Characters
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig
from fairseq.data.encoders.space_tokenizer import SpaceTokenizer

from lev_plugins import EditTrace
from lev_plugins.export.folder import editor_writer, write_folder
from lev_plugins.inference.text_processing import TextProcessing as PackageProcessing
from lev_runtime import Editor
from lev_runtime.text.codec import TextProcessing

#: of probabilities of models whose logits are in the tens: a random one differs by 0.002, and
#: differed by as much from graphs that were written by hand
CLOSE = 4e-3
#: what a random configuration has
CHOICES: dict[str, Sequence[Any]] = {
    "activation_fn": ["relu", "gelu"],
    "early_exit": ["", "1,2", "2,1"],
    "max_insertions": [1, 5],
    "source_copy": ["uniform", "none"],
    "weight_sharing": ["all", "plh-tok", "tok-del", "plh-del", "none"],
    **dict.fromkeys(
        (
            "decoder_learned_pos",
            "decoder_normalize_before",
            "deletion_trace",
            "encoder_learned_pos",
            "encoder_normalize_before",
            "rotary_positions",
            "separate_output_embed",
        ),
        [False, True],
    ),
}


def sampled(seed: int) -> dict[str, Any]:
    """Returns a configuration; each has a source pointer, a separate output or neither."""
    rng = random.Random(seed)
    options = {name: rng.choice(values) for name, values in CHOICES.items()}
    if seed % 2:
        options |= dict.fromkeys(["joined", "source_pointer", "share_all_embeddings"], True)
        options["separate_output_embed"] = False
    return options


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary": {"rotary_positions": True},
    "trace": {"deletion_trace": True},
    "nothing_inserted": {"max_insertions": 0, "deletion_trace": True},
    "pointer": {
        "joined": True,
        "source_pointer": True,
        "share_all_embeddings": True,
        "deletion_trace": True,
    },
    "no_sharing": {"weight_sharing": "none", "early_exit": "2,1", "deletion_trace": True},
    "all": {
        "deletion_trace": True,
        "rotary_positions": True,
        "weight_sharing": "plh-tok",
        "decoder_normalize_before": True,
    },
    **{f"random {seed}": sampled(seed) for seed in range(5)},
}


def assert_alike(ours: Sequence[EditTrace], theirs: Sequence[EditTrace]) -> None:
    """Equal but for the last digits of scores."""
    assert len(ours) == len(theirs)
    for trace, other in zip(ours, theirs):
        for name in ("text", "terminated", "count", "iterations"):
            assert getattr(other, name) == getattr(trace, name)
        assert other.score == pytest.approx(trace.score, rel=1e-5, abs=CLOSE)
        for step, same in zip(trace.iterations, other.iterations):
            for name in ("delete_probabilities", "token_probabilities"):
                assert getattr(same, name) == pytest.approx(getattr(step, name), abs=CLOSE)


def spaced(letters: str) -> str:
    return " ".join(letters)


def rows(count: int, seed: int = 1) -> tuple[list[str], list[str | None]]:
    """Sources and drafts, some of them missing."""
    triples = tiny.triples(count, seed, longest=12)
    sources = [spaced(row.source) for row in triples]
    drafts = [None if number % 4 == 0 else spaced(row.draft) for number, row in enumerate(triples)]
    return sources, drafts


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_outputs_are_the_packages(name, tmp_path):
    ours, theirs = both_editors(tmp_path / "model", **CONFIGURATIONS[name])
    sources, drafts = rows(24)
    for size in (1, 64):
        decoding = {"batch_size": size, "max_iter": 4}
        assert_alike(*(editor.edit(sources, drafts, **decoding) for editor in (ours, theirs)))
    orders = [draft and f"{draft} [=a=] [-b c-] [+d e+]" for draft in drafts]
    for changes, options in (
        (None, {"empty_penalty": 0.7, "delete_threshold": 0.2, "history": False}),
        (orders, {"markup": True}),
        (None, {"terms": [["a b", "c"]] * 24}),
        (drafts, {"delete_threshold": 0.0, "candidates": 2, "noise_scale": 0.0, "batch_size": 1}),
    ):
        assert_alike(*(editor.edit(sources, changes, **options) for editor in (ours, theirs)))
    noisy = {"nbest": 3, "candidates": 5, "seed": 7, "max_iter": 3, "noise_scale": 1.0}
    lists = (editor.edit_nbest(sources[:6], drafts[:6], **noisy) for editor in (ours, theirs))
    for traces, other in zip(*lists, strict=True):
        assert_alike(traces, other)


def test_any_number_of_deletions_in_a_slot_counts_as_in_the_package(tmp_path):
    """A model learns of 1 to 15, and of 16 and more."""
    editors = both_editors(tmp_path / "model", deletion_trace=True, counts=True)
    drafts = [spaced("abcdefgh" * 3)[: 2 * size - 1] for size in range(13, 20)]
    once = {"delete_threshold": 0.0, "max_iter": 1}
    assert_alike(*(editor.edit(drafts, drafts, **once) for editor in editors))


#: white space of all kinds in lines, and what only looks like it
SPACES = [chr(number) for number in range(sys.maxunicode) if chr(number).isspace()]
BLANKS = [*SPACES, *"\u200b\u200d\u2060\u180e\u2800\ufeff\u2581", "\u00a0\t ", " \u3000"]
SPACED = [
    form.format(blank) for blank in BLANKS for form in ("a{0}b", "{0}a", "b{0}", "ab {0}{0}c")
]


@pytest.mark.parametrize("tokenizer", [None, SpaceTokenizer()])
@pytest.mark.parametrize("subwords", [None, "characters", "sentencepiece", "identity"])
def test_white_space_is_the_packages(tmp_path, tokenizer, subwords):
    bpe = Characters() if subwords == "characters" else None
    if subwords in ("sentencepiece", "identity"):
        rule = {"normalization_rule_name": "identity"} if subwords == "identity" else {}
        path = tiny.sentencepiece_model(
            tmp_path / "m", [*"abcd", "ab c"] * 9, vocab_size=20, hard_vocab_limit=False, **rule
        )
        bpe = SentencepieceBPE(SentencepieceConfig(sentencepiece_model=str(path)))
    still = {"delete_threshold": 1.0}
    for most, options in ((5, {"max_iter": 2}), (0, still)):
        folder, encoders = tmp_path / str(most), (tokenizer, bpe)
        ours, theirs = both_editors(folder, encoders=encoders, max_insertions=most)
        assert_alike(*(editor.edit(SPACED, SPACED, **options) for editor in (ours, theirs)))
    lines = SPACED[: SPACED.index(f"a{BLANKS[len(SPACES)]}b")]
    for line, trace in zip(lines, theirs.edit(lines, lines, **still), strict=True):
        assert trace.text.split() == line.split()
    assert ours.task.tgt_dict.symbols == theirs.dictionary, "nobody adds words to it"
    # as models that write from left to right read it
    own = TextProcessing(bpe=theirs.codec, by_letter=theirs.codec.by_letter)
    package = PackageProcessing(tokenizer, bpe)
    assert list(map(own.tokens, SPACED)) == list(map(package.tokens, SPACED))


def test_an_export_carries_its_number_of_iterations(tmp_path):
    ours, usual = both_editors(tmp_path / "usual")
    write_folder(tmp_path / "quick", editor_writer(ours, max_iter=1), False)
    quick, (sources, drafts) = Editor(tmp_path / "quick", threads=1), rows(24)
    expected = usual.edit(sources, drafts, max_iter=1)
    assert quick.edit(sources, drafts) == expected != usual.edit(sources, drafts)
    assert quick.edit(sources, drafts, max_iter=10) == usual.edit(sources, drafts)
