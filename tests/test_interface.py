"""What the three objects of the Python interface share: arguments, devices, copies."""

import copy
import multiprocessing
import pickle
import re
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
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
from lev_plugins.systems.levenshtein.task import TranslationEditTask


@pytest.mark.parametrize("kind", [LevenshteinEditor, Corrector, EncT5])
def test_a_device_that_is_not_here_is_one_line_before_anything_is_read(kind):
    for device in ("cuda:99", "abacus"):
        with refuses(match=f"^device {device} cannot be used here .*leave it out"):
            kind.from_pretrained("nowhere.pt", device=device)


EDITOR, CORRECTOR = editors.editor, editors.edit_corrector


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: EDITOR().edit(["a"], nbest=2), "edit() has no argument nbest; .*edit_nbest()"),
        (lambda: EDITOR().edit(["a"], max_iters=3), "edit() .* max_iters; did you mean max_iter"),
        (lambda: EDITOR().edit_nbest(["a"], n_best=3), "edit_nbest() .* did you mean nbest"),
        (lambda: LevenshteinEditor.from_pretrained("", bep="x"), "from_pretrained() .* mean bpe"),
        (lambda: CORRECTOR().correct(["a"], protect_word=["a"]), "correct() .* mean protect_words"),
        (lambda: Corrector.from_pretrained("", max_iters=3), "from_pretrained() .* mean max_iter"),
        (lambda: Corrector.from_pretrained("", sentencepiece="x"), "mean sentencepiece_model"),
        (lambda: editors.enct5("classification").predict(["a"], topk=3), "predict() .* mean top_k"),
        (lambda: editors.enct5("tagging").predict_tags(["a"], label=["a"]), "mean labels"),
        (lambda: EncT5.from_pretrained("", devices="cpu"), "from_pretrained() .* mean device"),
    ],
)
def test_an_argument_that_is_not_known_is_named_with_what_was_meant(call, said):
    with pytest.raises(TypeError, match="^" + said.replace("()", r"\(\)") if ")" in said else said):
        call()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((None,), "sources: takes a list, not None"),
        ((3,), "sources: takes a list, not 3"),
        (("a b",), "sources: takes a list, not a single string ('a b')"),
        ((b"a b",), "sources: takes a list, not b'a b'"),
        ((["a", None],), "source 2: None is no text; give strings"),
        (([b"a"],), "source 1: b'a' is no text; give strings"),
        ((["a"], "a"), "drafts: takes a list, not a single string ('a')"),
        ((["a", "a"], [None, 3.5]), "draft 2: 3.5 is no text; give strings, or None for none"),
    ],
)
def test_an_editor_takes_any_iterable_of_strings_and_nothing_else(arguments, said):
    for edit in (EDITOR().edit, EDITOR().edit_nbest):
        with refuses(match=f"^{re.escape(said)}$"):
            edit(*arguments)
    words, drafts = ["a b", "c"], ["b", None]
    assert EDITOR().edit(iter(words), iter(drafts)) == EDITOR().edit(words, drafts)
    terms = ((one for one in ["a"]), None)
    assert EDITOR().edit(words, terms=iter(terms)) == EDITOR().edit(words, terms=[["a"], None])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_iter": "10"}, "max_iter '10': must be a whole number"),
        ({"max_iter": 2.5}, "max_iter 2.5: must be a whole number"),
        ({"max_iter": None}, "max_iter None: must be a whole number"),
        ({"max_iter": 0}, "max_iter 0: must be 1 or more"),
        ({"batch_size": 0}, "batch_size 0: must be 1 or more"),
        ({"nbest": 0}, "nbest 0: must be 1 or more"),
        ({"candidates": 0}, "candidates 0: must be 1 or more"),
        ({"nbest": 5, "candidates": 3}, "nbest 5: give candidates=5 or more, not 3"),
        ({"empty_penalty": 99}, "empty_penalty 99: must be a number from 0 to 3"),
        ({"empty_penalty": "1"}, "empty_penalty '1': must be a number"),
        ({"delete_threshold": 2}, "delete_threshold 2: must be a number from 0 to 1"),
        ({"delete_threshold": float("nan")}, "delete_threshold nan: must be a number from 0 to 1"),
        ({"noise_scale": -1.0}, "noise_scale -1.0: must be a number, 0 or more"),
        ({"seed": "x"}, "seed 'x': must be a whole number"),
    ],
)
def test_an_option_of_an_editor_that_cannot_be_is_named_as_python_names_it(options, said):
    for words in (["a"], []):
        with refuses(match=f"^{re.escape(said)}$"):
            EDITOR().edit_nbest(words, words, **options)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: CORRECTOR().correct(["a"], min_confidence="0.5"), "min_confidence '0.5': .* numb"),
        (lambda: CORRECTOR().correct(["a"], batch_size=None), "batch_size None: must be a whole"),
        (lambda: CORRECTOR().correct(["a"], protect=[None]), "protect 1: None is no text"),
        (lambda: CORRECTOR().correct(["a"], protect=None), "protect: takes a list, not None"),
        (lambda: CORRECTOR().correct(["a"], protect_words=["a", 1]), "protect_words 2: 1 is no te"),
        (lambda: CORRECTOR().correct(["a"], protect_words="a"), "protect_words: takes a list, not"),
        (lambda: Corrector.from_pretrained("m", beam="5"), "beam '5': must be a whole number"),
        (lambda: Corrector.from_pretrained("m", window=2.5), "window 2.5: must be a whole number"),
        (lambda: Corrector.from_pretrained("m", lexicon=3), "lexicon 3: must be text"),
        (lambda: LevenshteinEditor.from_pretrained(None), "path None: must be text"),
        (
            lambda: LevenshteinEditor.from_pretrained("m", None, [1]),
            "device .* cannot be used here",
        ),
        (lambda: EncT5.from_pretrained("m", device=torch.device("cpu")), "m does not exist"),
        (lambda: editors.enct5("multilabel").predict([], threshold="1"), "threshold '1': .* numb"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named_as_python_names_it(call, said):
    with refuses(match=said):
        call()


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


# copies ---------------------------------------------------------------------------------------

LINES = ["a b zz c", "zz", "", "h g f e d"]
EDITED = methodcaller("edit", LINES, LINES[::-1], max_iter=2)
CORRECTED, PREDICTED = methodcaller("correct", LINES), methodcaller("predict", LINES)
MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "editor": (editors.editor, EDITED),
    "ensemble": (lambda: editors.editor(2), EDITED),
    "edit corrector": (editors.edit_corrector, CORRECTED),
    "translation corrector": (editors.writing_corrector, CORRECTED),
    "concat corrector": (lambda: editors.writing_corrector("translation_concat"), CORRECTED),
    "classes": (lambda: editors.enct5("classification"), PREDICTED),
    "tags": (lambda: editors.enct5("tagging"), methodcaller("predict_tags", LINES)),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MADE)
def test_a_copy_says_what_the_original_says(kind, way):
    make, ask = MADE[kind]
    original = make()
    copied = WAYS[way](original)
    assert copied is not original
    assert ask(copied) == ask(original) == ask(WAYS[way](copied))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("copies")
    tiny.dictionaries(made / "bin")
    for kind in saved.KINDS:
        saved.save(made / f"{kind}.pt", made / "bin", kind)
    return made


@pytest.mark.parametrize(
    ("kind", "precision"),
    [("editor", "fp32"), ("editor", "int8"), ("stock", "bf16"), ("concat", "fp32")],
)
def test_what_was_loaded_can_be_copied(folder, kind, precision):
    options = {"precision": precision, "bpe": "characters"}
    corrector = Corrector.from_pretrained(str(folder / f"{kind}.pt"), **options)
    for way in WAYS.values():
        assert CORRECTED(way(corrector)) == CORRECTED(corrector)


def test_a_copied_task_keeps_its_state_and_shares_no_dictionary():
    task = tiny.task()
    for way in (copy.deepcopy, WAYS["pickle"]):
        copied: TranslationEditTask = way(task)
        assert copied.state_dict() == task.state_dict() and copied.cfg == task.cfg
        copied.tgt_dict.add_symbol("zz")
        assert len(task.tgt_dict) == task.placeholder + 1 == len(copied.tgt_dict) - 1


def test_another_process_says_the_same():
    """A spawned one has nothing but what is sent to it."""
    kinds = ("edit corrector", "concat corrector", "tags")
    made = [(MADE[kind][0](), MADE[kind][1]) for kind in kinds]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        answers = list(pool.map(_asked, *zip(*made)))
    said, numbers = _apart(answers)
    here, expected = _apart([ask(one) for one, ask in made])
    # another process may share its work among threads in another way, and then rounds otherwise
    assert said == here and numbers == pytest.approx(expected, rel=1e-3)


def _apart(answers: Any) -> tuple[str, list[float]]:
    """What answers say without their fractional numbers, and these."""
    fraction = re.compile(r"\d+\.\d+(?:e-?\d+)?|\d+e-\d+")
    return fraction.sub("#", repr(answers)), [float(n) for n in fraction.findall(repr(answers))]


def _asked(one: Any, ask: Callable[[Any], Any]) -> Any:
    return ask(one)


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
