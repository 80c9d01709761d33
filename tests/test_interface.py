"""What the three objects of the Python interface share: arguments, devices, threads."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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


# threads --------------------------------------------------------------------------------------

THREADS = 4


@pytest.fixture
def often() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def sentences(thread: int, count: int = 12) -> list[str]:
    """Known letters, and words that no model knows, each thread's own."""
    rng = random.Random(thread)
    words = [*"abcdefgh", *(f"w{thread}-{n}" for n in range(5))]
    return [" ".join(rng.choices(words, k=rng.randint(0, 8))) for _ in range(count)]


def edited(made: LevenshteinEditor, thread: int) -> Any:
    drafts = sentences(thread)
    found = made.edit(drafts[::-1], drafts, max_iter=2, batch_size=5)
    assert f"w{thread}-" in "".join(one.text for one in found)
    assert len(made.task.tgt_dict) == made.task.placeholder + 1
    return found


def n_best(made: LevenshteinEditor, thread: int) -> Any:
    options = {"nbest": 2, "candidates": 3, "max_iter": 2, "seed": thread}
    return made.edit_nbest(sentences(thread, 4), sentences(thread + 9, 4), **options)


def beside_an_error(made: LevenshteinEditor, thread: int) -> Any:
    """Which holds up no other thread."""
    lines = sentences(thread, 3)
    if thread % 2:
        with pytest.raises(ValueError, match="tokens where the model's limit is"):
            made.edit(lines, [None, None, "a " * 100])
        return thread
    return made.edit(lines, lines)


def corrected(made: Corrector, thread: int) -> Any:
    return made.correct(sentences(thread, 3), batch_size=2)


#: what is made, what each thread asks of it, and how often
ASKED: dict[str, tuple[Callable[[], Any], Callable[[Any, int], Any], int]] = {
    "editor": (editors.editor, edited, 6),
    "ensemble": (lambda: editors.editor(2), edited, 6),
    "n-best": (editors.editor, n_best, 3),
    "error": (editors.editor, beside_an_error, 6),
    "edits": (editors.edit_corrector, corrected, 4),
    "translation": (editors.writing_corrector, corrected, 2),
    "concat": (lambda: editors.writing_corrector("translation_concat"), corrected, 2),
    "labels": (lambda: editors.enct5("multilabel"), lambda m, n: m.predict(sentences(n)), 6),
    "tags": (lambda: editors.enct5("tagging"), lambda m, n: m.predict_tags(sentences(n)), 6),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_thread_gets_what_it_gets_alone(often, name):
    make, ask, rounds = ASKED[name]
    made = make()
    alone = [ask(made, thread) for thread in range(THREADS)]
    assert alone[0] != alone[1]
    together = threading.Barrier(THREADS)

    def work(thread: int) -> list[Any]:
        together.wait()
        return [ask(made, thread) for _ in range(rounds)]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [[one] * rounds for one in alone]


#: the model within, and what of it is called
INNER: dict[str, tuple[Callable[[Any], Any], str]] = {
    "editor": (lambda editor: editor.models[0], "encode"),
    "edits": (lambda corrector: corrector.backend.editor.models[0], "encode"),
    "tags": (lambda enct5: enct5.model, "forward"),
}


@pytest.mark.parametrize("name", INNER)
def test_threads_are_served_at_once_and_not_in_turn(name):
    (make, ask, _), (model_of, called) = ASKED[name], INNER[name]
    made = make()
    model, alone = model_of(made), ask(made, 1)
    together, inner = threading.Barrier(2), getattr(model, called)

    def meeting(*args: Any, **named: Any) -> Any:
        together.wait(20)  # broken where one waits for the other
        return inner(*args, **named)

    setattr(model, called, meeting)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda thread: ask(made, thread), [1, 1])) == [alone] * 2
