"""Streams answer as lists are answered, in order, and read no further ahead than their buffer."""

from collections.abc import Iterator
from typing import Any

import pytest
from fake_backend import FakeBackend, replaced
from fake_folder import fake_editor, fake_labeler
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_files import ROOT
from refusals import NO_NUMBERS, refuses

from lev_correct import Corrector
from lev_runtime import Generator
from lev_runtime.batching import Pause

LETTERS = st.text("ab cd", max_size=9)
DRAFTS = st.one_of(LETTERS, st.tuples(LETTERS), st.tuples(LETTERS, st.none() | LETTERS))
ITEMS = {"corrector": LETTERS, "editor": DRAFTS, "generator": LETTERS, "labeler": LETTERS}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Any]:
    return {
        "corrector": Corrector(FakeBackend(replaced("b", "xy")), "word"),
        "editor": fake_editor(tmp_path_factory.mktemp("editor")),
        "generator": Generator(ROOT / "tests/exports/generator", threads=1),
        "labeler": fake_labeler(tmp_path_factory.mktemp("labeler"), "classification"),
    }


def listed(model: Any, items: list[Any]) -> list[str]:
    """What the model makes of a list."""
    if isinstance(model, Corrector):
        return [correction.text for correction in model.correct(items)]
    if isinstance(model, Generator):
        return [written.text for written in model.generate(items)]
    if not hasattr(model, "edit"):
        return [prediction.label for prediction in model.predict(items)]
    rows = [[item] if isinstance(item, str) else item for item in items]
    drafts = [row[1] if len(row) > 1 else None for row in rows]
    return [trace.text for trace in model.edit([row[0] for row in rows], drafts)]


@settings(max_examples=25)
@given(data=st.data(), buffer=st.integers(1, 6))
@pytest.mark.parametrize("name", ITEMS)
def test_a_stream_answers_as_a_list_and_reads_no_more_than_its_buffer_ahead(
    models, name, data, buffer
):
    model = models[name]
    rows = data.draw(st.lists(st.tuples(ITEMS[name], st.booleans()), max_size=12))
    taken = 0
    answers: list[str] = []

    def items() -> Iterator[Any]:
        nonlocal taken
        for item, pauses in rows:
            taken += 1
            yield item
            if pauses:
                yield Pause()
                assert len(answers) == taken, "what came before a pause is answered"

    options = {} if name == "labeler" else {"batch_size": 2}
    for answer in model.stream(items(), buffer=buffer, **options):
        assert taken - len(answers) <= buffer
        answers.append(answer.label if name == "labeler" else answer.text)
    assert answers == listed(model, [item for item, _ in rows])


@pytest.mark.parametrize(
    "name, items, options, named",
    [
        ("corrector", "a", {}, "takes a list, not 'a'"),
        ("corrector", ["a", "b", None], {}, "line 3: None "),
        ("editor", ["a", ("a", "b", "c", "d")], {}, "from sentence 1 on: give source, draft and"),
        ("editor", ["a", ()], {}, "source 2: None "),
        ("editor", ["a", "b", ("c", "b " * 63)], {}, "sentence 3: 65 draft tokens"),
        ("editor", ["a", "b", ("c", 7)], {}, "draft 3: 7 "),
        ("generator", "a b", {}, "takes a list"),
        ("generator", ["a", None], {}, "source 2: None "),
        ("generator", ["a", "a " * 999], {}, "source 2: 1000 tokens where the model's limit is"),
        ("generator", ["a"], {"nbest": 3, "beam": 2}, "nbest=3"),
        ("labeler", ["a", None], {}, "texts: takes a list, not None"),
    ],
)
def test_mistakes_are_named_by_the_number_in_the_stream(models, name, items, options, named):
    with refuses(named):
        model = models[name]
        stream = model.stream_nbest if name == "generator" else model.stream
        list(stream(items, **{"buffer": 2} | options))


NUMBERS = {
    "editor": "nbest max_iter batch_size buffer empty_penalty delete_threshold candidates seed",
    "corrector": "min_confidence batch_size buffer",
    "generator": "beam max_len_b batch_size buffer",
    "labeler": "top_k buffer",
}


@pytest.mark.parametrize("name, options", NUMBERS.items())
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_value_that_is_no_number_of_its_range_is_refused_by_its_name(
    models, name, options, value
):
    for option in options.split():
        with refuses(f"{option}={value!r}"):
            list(models[name].stream(["a"], **{option: value}))


def test_what_a_buffer_tells_of_a_text_counts_for_all_of_its_lines():
    """Blocks are those of :meth:`.Corrector.correct` with the same document."""
    corrector = Corrector.from_pretrained()
    lines = ["The kwxyz is here.", "Teh goverment beleives.", "A kwxyz and a kwxyz."] * 2
    for size in (1, 2, 6):
        document, other = corrector.document(), corrector.document()
        blocks = [lines[start : start + size] for start in range(0, len(lines), size)]
        wanted = [done for block in blocks for done in corrector.correct(block, document=document)]
        assert list(corrector.stream(lines, buffer=size, document=other)) == wanted
