"""Text files: counted as fairseq counts them, refused where it would guess."""

from itertools import islice
from pathlib import Path

import pytest
from fairseq.tokenizer import tokenize_line
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.io.text_files import (
    LineNumbers,
    Side,
    Split,
    check_parallel,
    check_split,
    count_lines,
    has_carriage_returns,
    parse_alignment,
    read_lines,
    read_parallel,
    refuse_special_tokens,
    require_files,
)

SEPARATORS = "\u2028\u2029\x0b\x0c\x1c\x1d\x1e\x85\u00a0\u3000"
TEXT = st.text(st.characters(exclude_characters="\r\ufeff", exclude_categories=["Cs"]))


@pytest.fixture
def write(tmp_path: Path):
    def write_file(name: str, content: bytes | str) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return str(path)

    return write_file


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "file"


class TestReading:
    @given(text=TEXT, windows=st.booleans())
    def test_lines_are_those_of_text_mode(self, scratch: Path, text: str, windows: bool) -> None:
        data = text.replace("\n", "\r\n") if windows else text
        scratch.write_bytes(data.encode("utf-8"))
        with open(scratch, encoding="utf-8") as file:
            stock = [line.removesuffix("\n") for line in file]
        assert list(read_lines(str(scratch))) == stock
        assert count_lines(str(scratch)) == len(stock)
        assert has_carriage_returns(str(scratch)) == ("\r" in data)

    @given(text=TEXT)
    def test_splitting_gives_the_words_of_fairseq(self, text: str) -> None:
        assert text.split() == tokenize_line(text)

    @pytest.mark.parametrize(
        ("content", "lines"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\nb", 3)]
    )
    def test_a_last_line_counts_with_or_without_its_end(self, write, content, lines) -> None:
        assert count_lines(write("a.src", content)) == lines

    def test_only_a_line_feed_ends_a_line(self, write) -> None:
        path = write("a.src", f"one{SEPARATORS}two\nthree\n")
        assert list(read_lines(path)) == [f"one{SEPARATORS}two", "three"]

    @pytest.mark.parametrize(
        ("content", "where"),
        [
            (b"good\nb\xffd\n", "line 2, byte offset 6"),
            ("é\né\n".encode("latin-1"), "line 1, byte offset 0"),
            ("ok\nhalf é".encode()[:-1], "line 2, byte offset 8"),
            (b"ok\nsurrogate \xed\xa0\x80\n", "line 2, byte offset 13"),
            ("text".encode("utf-16"), "line 1, byte offset 0"),
            (b"ok\none\rtwo\n", "line 2, byte offset 6"),
            (b"one\r\r\n", "line 1, byte offset 3"),
            (b"\xef\xbb\xbfok\n", "line 1"),
        ],
    )
    def test_what_fairseq_would_misread_is_named(self, write, content, where) -> None:
        path = write("a.src", content)
        with pytest.raises(UserError) as caught:
            count_lines(path)
        assert str(caught.value).startswith(f"{path}: {where}")
        assert "NEW" in str(caught.value)

    def test_a_byte_order_mark_inside_the_text_is_text(self, write) -> None:
        assert count_lines(write("a.src", "one\n\ufefftwo\n")) == 2

    def test_a_folder_or_a_missing_file_is_named(self, tmp_path: Path) -> None:
        for path in (str(tmp_path), str(tmp_path / "none")):
            for reader in (count_lines, has_carriage_returns):
                with pytest.raises(UserError, match="cannot be read") as caught:
                    reader(path)
                assert str(caught.value).startswith(path)

    def test_lines_come_before_the_file_is_read_to_its_end(self, write) -> None:
        path = write("a.src", b"one\ntwo\n" + b"\xff\n")
        assert list(islice(read_lines(path), 2)) == ["one", "two"]


class TestParallelFiles:
    def test_equal_counts_are_returned(self, write) -> None:
        paths = [write("a.src", "1\n2\n"), write("a.pe", "1\n2"), write("a.mt", "\n\n")]
        assert check_parallel(paths) == 2
        assert list(read_parallel(paths)) == [("1", "1", ""), ("2", "2", "")]

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    def test_differing_counts_name_every_file_and_count(self, write, order) -> None:
        paths = [
            write("a.src", "1\n2\n3\n"),
            write("a.pe", "1\n2\n"),
            write("a.mt", "1\n2\n3\n4\n"),
        ]
        with pytest.raises(UserError, match="line counts differ") as caught:
            check_parallel([paths[i] for i in order])
        for path, count in zip(paths, (3, 2, 4), strict=True):
            assert f"{path} has {count}" in str(caught.value)

    def test_all_missing_files_are_named_at_once(self, write, tmp_path: Path) -> None:
        there = write("a.src", "x\n")
        gone = [str(tmp_path / name) for name in ("a.pe", "a.mt")]
        with pytest.raises(UserError, match="no such file") as caught:
            require_files([there, *gone], "look there")
        assert all(path in str(caught.value) for path in gone)
        assert there not in str(caught.value)
        assert str(caught.value).endswith("look there")

    def test_a_packed_file_is_pointed_out(self, write) -> None:
        compressed = write("a.src.gz", b"\x1f\x8b")
        with pytest.raises(UserError, match="gunzip -k") as caught:
            require_files([compressed.removesuffix(".gz")])
        assert compressed in str(caught.value)


class TestWords:
    @pytest.mark.parametrize("symbol", ["<s>", "<pad>", "</s>", "<plh>"])
    def test_control_symbols_are_no_text(self, symbol) -> None:
        with pytest.raises(UserError, match="control symbol") as caught:
            refuse_special_tokens("a.src", 7, ["fine", symbol])
        assert str(caught.value).startswith(f"a.src: line 7, word 2: {symbol} ")

    def test_words_that_only_resemble_them_are_text(self) -> None:
        words = ["<unk>", "<S>", "s", "<", "pad", "<s>x", "</s>.", "<plh", "&lt;s&gt;"]
        assert refuse_special_tokens("a.src", 1, words) is None

    def test_alignments_are_pairs_of_positions(self) -> None:
        assert parse_alignment("a.align", 1, "0-0 2-1\n", 3, 2) == [(0, 0), (2, 1)]
        assert parse_alignment("a.align", 1, "", 0, 0) == []

    @pytest.mark.parametrize("line", ["0", "a-b", "0-0-0", "-1-0", "0--1", "١-0", "3-0", "0-2"])
    def test_other_alignments_are_refused(self, line) -> None:
        with pytest.raises(UserError, match="a.align: line 4: ") as caught:
            parse_alignment("a.align", 4, f"0-0 {line}", 3, 2)
        assert line in str(caught.value)

    def test_line_numbers_show_the_first_five(self) -> None:
        found = LineNumbers()
        assert not found
        for number in range(2, 7):
            found.add(number)
        assert found and str(found) == "2, 3, 4, 5, 6"
        found.add(9)
        assert found.count == 6 and str(found) == "2, 3, 4, 5, 6, ..."


class TestSplits:
    def split(self, write, source: str, target: str, draft: str | None = None) -> Split:
        files = {"source": source, "target": target, "draft": draft}
        sides = [
            Side(role, role, write(f"a.{role}", text))
            for role, text in files.items()
            if text is not None
        ]
        return Split("train", sides)

    def test_lines_tokens_empty_and_unedited_lines_are_counted(self, write) -> None:
        split = self.split(write, "a b\n\nc\n", "x y\nz\n\n", " x\ty \n\n\n")
        check_split(split, longest=1024)
        assert split.lines == 3 and split.unedited == 2
        found = {side.role: (side.tokens, side.empty.first) for side in split.sides}
        assert found == {"source": (3, [2]), "target": (3, [3]), "draft": (2, [2, 3])}

    def test_length_includes_both_ends_of_the_sentence(self, write) -> None:
        split = self.split(write, "a b c\na b c d\n", "x\nx\n")
        check_split(split, longest=5)
        assert split.sides[0].long.first == [2] and not split.sides[1].long

    def test_a_control_symbol_is_found_on_every_side(self, write) -> None:
        for role in ("source", "target", "draft"):
            texts = {"source": "a\nb\n", "target": "a\nb\n", "draft": "a\nb\n"}
            texts[role] = "a\nb </s>\n"
            with pytest.raises(UserError, match=f"a.{role}: line 2, word 2: </s>"):
                check_split(self.split(write, **texts), longest=1024)

    def test_files_without_a_line_are_refused(self, write) -> None:
        with pytest.raises(UserError, match="no lines in "):
            check_split(self.split(write, "", ""), longest=1024)

    def test_alignments_are_checked_against_their_sentences(self, write) -> None:
        split = self.split(write, "a b\nc\n", "x\ny z\n")
        check_split(split, 1024, [write("good.align", "0-0 1-0\n0-1\n")])
        with pytest.raises(UserError, match="bad.align: line 2: 1-0 points past the end"):
            check_split(split, 1024, [write("bad.align", "0-0\n1-0\n")])
        with pytest.raises(UserError, match="short.align has 1"):
            check_split(split, 1024, [write("short.align", "0-0\n")])
