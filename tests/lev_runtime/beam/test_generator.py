"""Writing text with a model that reads from left to right: the packaged one, of English words."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import NO_NUMBERS

from lev_correct.packaged import ENGLISH_SPELLING
from lev_runtime import Generator, load


@pytest.fixture(scope="module")
def writer() -> Generator:
    return load(ENGLISH_SPELLING, threads=1)


def test_words_are_written_as_they_are_spelt(writer):
    texts = [written.text for written in writer.generate(["teh", "goverment", "cat"])]
    assert texts == ["the", "government", "cat"]


@settings(max_examples=8)
@given(lines=st.lists(st.text("abcd ", max_size=5), max_size=5), size=st.integers(1, 5))
def test_a_stream_has_the_texts_of_the_list(writer, lines, size):
    texts = [each.text for each in writer.stream(iter(lines), buffer=size, batch_size=2)]
    assert texts == [each.text for each in writer.generate(lines)]


@pytest.mark.parametrize(
    "lines, options, message",
    [
        ("a b", {}, "takes a list"),
        (["a", None], {}, "source 2: None "),
        (["a", "a" * 999], {}, "source 2: .* tokens where the model's limit is"),
        (["a"], {"nbest": 3, "beam": 2}, "nbest=3"),
        *(
            (["a"], {option: value}, f"{option}={re.escape(repr(value))}")
            for option in ("nbest", "beam", "max_len_b", "batch_size")
            for value in NO_NUMBERS
        ),
    ],
)
def test_mistakes_are_refused_in_a_list_and_in_a_stream(writer, lines, options, message):
    for call in (writer.generate, writer.stream_nbest):
        with pytest.raises(ValueError, match=message):
            list(call(lines, **options))
