"""Lines of text files, read when they are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.data.plain_text import PlainText
from lev_plugins.errors import UserError
from lev_plugins.io.text_files import read_lines

LINE = st.text(
    st.sampled_from("ab é한\t\u2028\x85👍") | st.characters(exclude_categories=("Cs", "Cc")),
    max_size=8,
)


def wrote(path, text):
    path.write_bytes(text.encode())
    return str(path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for all examples of a property."""
    return tmp_path_factory.mktemp("lines")


@given(st.lists(LINE), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_are_those_of_the_strict_reader_in_any_order(shared, lines, end, closed):
    text = end.join(lines) + (end if closed else "")
    path = wrote(shared / "text", text.removeprefix("\ufeff"))
    expected = list(read_lines(path))
    made = PlainText([path])
    assert len(made) == len(expected)
    assert [made[i] for i in reversed(range(len(made)))] == expected[::-1]
    assert list(made) == expected


def test_files_follow_one_another_and_one_may_stand_twice(tmp_path):
    first, second = wrote(tmp_path / "a", "1\n2"), wrote(tmp_path / "b", "\n4\n")
    made = PlainText([first, first, second])
    assert list(made) == ["1", "2", "1", "2", "", "4"]
    assert made.files[0] is made.files[1]
    for outside in (-1, 6):
        with pytest.raises(IndexError):
            made[outside]


def test_an_empty_file_has_no_lines(tmp_path):
    assert list(PlainText([wrote(tmp_path / "a", "")])) == []


def test_what_is_no_plain_text_is_refused_when_it_is_opened(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes("one\nzwölf\n".encode("latin-1"))
    with pytest.raises(UserError, match="latin: line 2, byte offset 6: 0xf6 is not valid UTF-8"):
        PlainText([str(path)])
