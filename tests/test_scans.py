"""examples/spelling_and_ocr/scans.py: what is learnt from scans, and what is held out."""

import sys
from pathlib import Path

import pytest
from plain_files import put, read

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "spelling_and_ocr"))

import scans  # noqa: E402

from lev_runtime.errors import UserError  # noqa: E402

#: Line n has a word of its own, which the scan misreads, and one that all lines have.
CLEAN = [f"word{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]} modern, n" for n in range(100)]
NOISY = [line.replace("w", "vv").replace("modern", "modem") for line in CLEAN]


def parts(tmp_path, noisy=NOISY, clean=CLEAN, end="\n"):
    """The folder that is written for scans, beside other right text."""
    put(tmp_path / "parts" / "train.clean", ["modern modem"])
    files = [put(tmp_path / name, text, end) for name, text in (("n", noisy), ("c", clean))]
    scans.main([*map(str, files), str(tmp_path / "parts")])
    return tmp_path / "parts"


def table(path):
    return dict(row.split("\t") for row in read(path))


def test_nothing_is_learnt_from_what_is_held_out_nor_tuned_by_what_it_was_learnt_from(tmp_path):
    folder = parts(tmp_path)
    held_out = {line.split()[0] for line in read(folder / "scans-test.clean")}
    learnt = {line.split()[0] for line in read(folder / "scans-train.clean")}
    tuned = {line.split()[0] for line in read(folder / "scans-tune.clean")}
    assert len(held_out) == 5 and len(learnt) == 95 and tuned < learnt
    assert not held_out & (learnt | {*table(folder / "scans.tsv").values()})
    assert not tuned & {*table(folder / "scans-apart.tsv").values()}
    assert {*read(folder / "scans-words.clean")} == {*learnt, "modern", "n"}


def test_ends_of_lines_and_empty_lines_change_nothing(tmp_path):
    plain = parts(tmp_path / "plain")
    gaps = [*NOISY[:5], "", "alone", *NOISY[5:]], [*CLEAN[:5], "alone", " ", *CLEAN[5:]]
    other = parts(tmp_path / "other", *gaps, end="\r\n")
    for file in plain.iterdir():
        assert (other / file.name).read_bytes() == file.read_bytes()


def test_a_right_word_is_listed_where_it_was_misread_twice():
    pairs = [("fein", "sein")] * 10 + [("fein", "fein"), ("hans", "haus")]
    pairs += [("haut", "haus"), ("haut", "haut"), ("bald", "wald"), ("wald", "bald")]
    assert [*scans.misread(pairs)] == ["fein\tsein", "hans\thaus"]
    assert [*scans.misread(pairs, {"hans"})] == ["fein\tsein"]


def test_words_that_do_not_belong_together_teach_nothing():
    assert scans.words_of([("a Das hauS", "das Haus"), ("elf", "Wort")]) == [
        ("das", "das"),
        ("haus", "haus"),
    ]


def test_few_lines_are_refused(tmp_path):
    with pytest.raises(UserError, match="have 99 lines with text on both sides"):
        parts(tmp_path, [*NOISY[:99], ""], CLEAN)
    assert [file.name for file in (tmp_path / "parts").iterdir()] == ["train.clean"]
