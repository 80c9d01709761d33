"""What commands read may hold anything: it is read, or refused with one line that says where."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.data.noise.confusions import load_confusions
from lev_plugins.data.noise.noiser import Noise
from lev_plugins.data.noise.rng import sentence_random
from lev_plugins.errors import UserError
from lev_plugins.reports.printed import read_printed

DEEP = "[" * 100_000
HUGE = "9" * 5_000  # Python reads no number of so many digits
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "file"


@contextmanager
def refused(*said: str) -> Iterator[None]:
    with refuses(*said) as caught:
        yield
    assert len(str(caught.value)) < 2_100


def read_or_refused(read: Callable[[], Any], path: Path) -> Any:
    """What is read; None where the file, which is named, is refused."""
    try:
        return read()
    except UserError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)
        return None


@given(VALUES | st.dictionaries(st.text(max_size=2), st.dictionaries(st.text(max_size=2), VALUES)))
@example({"a": {"b": 10**400}})
@example({"\ud800": {"\udfff": 1}})
@example({"a": {"b": True}})
def test_a_table_of_confusions_makes_noise_or_is_refused(path, rates):
    path.write_text(json.dumps({"rates": rates}))
    table = read_or_refused(lambda: load_confusions(str(path)), path)
    if table is not None:
        noise = Noise(("ocr",), confusions=table)
        assert len(noise("a b", sentence_random(1, 0, 0)).split(" ")) == 2


@pytest.mark.parametrize("text", [DEEP, '{"rates": ' * 5_000, HUGE, "\xff", "\0", ""])
def test_what_is_no_table_of_confusions_is_refused(path, text):
    path.write_bytes(text.encode("latin-1"))
    with refused(str(path), "table"):
        load_confusions(str(path))


PRINTED = st.lists(
    st.tuples(
        st.sampled_from("STHDPIEX"),
        st.integers(0, 2) | st.just(int("9" * 18)),
        st.sampled_from(["\t", "\t-1.0\t", "\tnan\t", "\tx\t", " ", "", "\t1e999\t"]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=4),
    ).map(lambda parts: f"{parts[0]}-{parts[1]}{parts[2]}{parts[3]}\n"),
    max_size=6,
).map("".join)


@given(PRINTED.map(str.encode) | st.binary(max_size=30))
def test_what_fairseq_printed_is_read_or_refused(path, text):
    path.write_bytes(text)
    found = read_or_refused(lambda: read_printed(str(path)), path)
    if found is not None:
        shown = {line.split(b"\t")[0] for line in text.split(b"\n") if line[:2] in (b"H-", b"D-")}
        assert {int(one[2:]) for one in shown} == set(found.outputs)
