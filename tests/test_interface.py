"""What the three objects of the Python interface share: arguments, devices, threads."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import editors
import pytest
import saved
import tiny
import torch
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig
from refusals import refuses

from lev_plugins import Corrector, EncT5, LevenshteinEditor


@pytest.mark.parametrize("kind", [LevenshteinEditor, Corrector, EncT5])
def test_a_device_that_is_not_here_is_one_line_before_anything_is_read(kind):
    for device in ("cuda:99", "abacus"):
        with refuses(match=f"^device {device} cannot be used here .*leave it out"):
            kind.from_pretrained("nowhere.pt", device=device)


EDITOR, CORRECTOR = editors.editor, editors.edit_corrector


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("saved")
    tiny.dictionaries(made / "bin")
    saved.save(made / "editor.pt", made / "bin", "editor")
    return made


def test_an_option_that_fairseqs_text_processing_does_not_have_is_refused(folder):
    for kind in (LevenshteinEditor, Corrector):
        with pytest.raises(TypeError, match="bep"):
            kind.from_pretrained(folder / "editor.pt", bep="characters")


def test_an_editor_takes_any_iterable_of_strings_and_nothing_else():
    for arguments, named in (
        ((None,), "sources"),
        (("a b",), "sources"),
        ((b"a b",), "sources"),
        ((["a", None],), "source 2"),
        ((["a"], "a"), "drafts"),
        ((["a", "a"], [None, 3.5]), "draft 2"),
    ):
        for edit in (EDITOR().edit, EDITOR().edit_nbest):
            with refuses(named):
                edit(*arguments)
    words, drafts = ["a b", "c"], ["b", None]
    assert EDITOR().edit(iter(words), iter(drafts)) == EDITOR().edit(words, drafts)
    terms = ((one for one in ["a"]), None)
    assert EDITOR().edit(words, terms=iter(terms)) == EDITOR().edit(words, terms=[["a"], None])


def test_an_option_that_nothing_can_be_edited_with_is_refused_before_anything_is_read():
    for options in (
        {"max_iter": 0},
        {"nbest": 0},
        {"nbest": 5, "candidates": 3},
        {"delete_threshold": float("nan")},
        {"empty_penalty": float("inf")},
        {"noise_scale": -1.0},
    ):
        with refuses():
            EDITOR().edit_nbest([], **options)


def test_what_is_no_list_of_strings_is_named():
    for named, given in (
        ("protect 1", {"protect": [None]}),
        ("protect", {"protect": None}),
        ("protect_words 2", {"protect_words": ["a", 1]}),
        ("protect_words", {"protect_words": "a"}),
    ):
        with refuses(named):
            CORRECTOR().correct(["a"], **given)
    with refuses("m does not exist"):
        EncT5.from_pretrained("m", device=torch.device("cpu"))


def test_half_of_a_surrogate_pair_is_a_question_mark_to_what_cuts_text(tmp_path):
    """As to an EncT5; where words are looked up whole, they come back as they were typed."""
    model = tiny.sentencepiece_model(tmp_path / "spm", ["a b"], model_type="char", vocab_size=6)
    made = EDITOR()
    made.bpe = SentencepieceBPE(SentencepieceConfig(sentencepiece_model=str(model)))
    halves, marks = ["a \ud800 b", "\udfff"], ["a ? b", "?"]
    found, expected = (made.edit(given, given, max_iter=2) for given in (halves, marks))
    assert [one.text for one in found] == [one.text for one in expected]
    assert [(one.source, one.draft) for one in found] == list(zip(halves, halves))


def test_without_a_history_the_edited_text_is_the_same():
    lines = ["a b zz c", "zz", "", "h g f e d"]
    for count in (1, 2):
        options = {"nbest": count, "max_iter": 3}
        found = EDITOR().edit_nbest(lines, lines[::-1], **options)
        less = EDITOR().edit_nbest(lines, lines[::-1], **options, history=False)
        for one, other in zip(sum(found, []), sum(less, []), strict=True):
            assert one.iterations and not other.iterations
            assert other == replace(one, iterations=())
    assert not EDITOR().edit(lines, history=False)[0].iterations


LINES = ["a b zz c", "zz", "", "h g f e d"]
EDITED = methodcaller("edit", LINES, LINES[::-1], max_iter=2)
CORRECTED, PREDICTED = methodcaller("correct", LINES), methodcaller("predict", LINES)
MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "editor": (editors.editor, EDITED),
    "edit corrector": (editors.edit_corrector, CORRECTED),
    "tags": (lambda: editors.enct5("tagging"), methodcaller("predict_tags", LINES)),
}

# threads --------------------------------------------------------------------------------------


MODELS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "editor": (lambda editor: editor.models[0], "encode"),
    "edit corrector": (lambda corrector: corrector.backend.policy, "encode"),
    "tags": (lambda enct5: enct5.model, "forward"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_threads_are_served_at_once_and_not_in_turn(kind):
    (make, ask), (model_of, name) = MADE[kind], MODELS[kind]
    made = make()
    model, alone = model_of(made), ask(made)
    together, inner = threading.Barrier(2), getattr(model, name)

    def meeting(*args: Any, **named: Any) -> Any:
        together.wait(20)  # broken where one waits for the other
        return inner(*args, **named)

    setattr(model, name, meeting)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, [made] * 2)) == [alone] * 2
