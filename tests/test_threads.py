"""One object of the Python interface in many threads: answers are those of one thread."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import editors
import pytest

THREADS = 4


@pytest.fixture(autouse=True)
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


def in_threads(work: Callable[[int], Any], rounds: int = 6) -> list[list[Any]]:
    """What each of several threads, which begin together, gets in each of its rounds."""
    together = threading.Barrier(THREADS)

    def one(thread: int) -> list[Any]:
        together.wait()
        return [work(thread) for _ in range(rounds)]

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def assert_same_as_alone(work: Callable[[int], Any], rounds: int = 6) -> None:
    alone = [work(thread) for thread in range(THREADS)]
    assert alone[0] != alone[1]
    assert in_threads(work, rounds) == [[expected] * rounds for expected in alone]


@pytest.mark.parametrize("count", [1, 2], ids=["one model", "ensemble"])
def test_an_editor_gives_every_thread_its_own_unknown_words_back(count):
    editor = editors.editor(count)

    def work(thread: int) -> Any:
        drafts = sentences(thread)
        return editor.edit(drafts[::-1], drafts, max_iter=2, batch_size=5)

    assert "w1-" in "".join(trace.text for trace in work(1))
    assert_same_as_alone(work)
    assert len(editor.task.tgt_dict) == editor.task.placeholder + 1


def test_n_best_with_noise_are_the_same_in_threads():
    editor = editors.editor()

    def work(thread: int) -> Any:
        options = {"nbest": 2, "candidates": 3, "max_iter": 2, "seed": thread}
        return editor.edit_nbest(sentences(thread, 4), sentences(thread + 9, 4), **options)

    assert_same_as_alone(work, 3)


CORRECTORS = {
    "edits": editors.edit_corrector,
    "translation": editors.writing_corrector,
    "translation_concat": lambda: editors.writing_corrector("translation_concat"),
}


@pytest.mark.parametrize("kind", CORRECTORS)
def test_a_corrector_tells_every_thread_of_its_own_lines(kind):
    corrector = CORRECTORS[kind]()
    size = 4 if kind == "edits" else 2
    assert_same_as_alone(
        lambda thread: corrector.correct(sentences(thread, size), batch_size=3), size
    )


@pytest.mark.parametrize("kind", ["multilabel", "tagging"])
def test_an_enct5_predicts_in_threads_what_it_predicts_in_one(kind):
    model = editors.enct5(kind)
    predict = model.predict_tags if kind == "tagging" else model.predict
    assert_same_as_alone(lambda thread: predict(sentences(thread)))


def test_an_error_in_one_thread_holds_up_no_other():
    editor = editors.editor()

    def work(thread: int) -> Any:
        lines = sentences(thread, 3)
        if thread % 2:
            with pytest.raises(ValueError, match="tokens where the model's limit is"):
                editor.edit(lines, [None, None, "a " * 100])
            return thread
        return editor.edit(lines, lines)

    assert_same_as_alone(work)
