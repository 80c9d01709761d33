"""Distilling: what fairseq-generate printed becomes targets in the sources' order."""

import sys

import pytest
from example_scripts import modules
from plain_files import put, read
from refusals import refuses

(distilled,) = modules("translation", "distilled")


@pytest.mark.parametrize(
    "beam, source, reference, nearest, wanted",
    [
        (["a b", "c d"], "x y", "c d", False, "a b"),
        (["a b", "c d"], "x y", "c d", True, "c d"),
        (["a"], "", "r", False, ""),
        (["", "b"], "x", "r", False, "r"),
        (["", "b"], "x", "r", True, "b"),
        (["a " * 9], "x", "r", False, "r"),
        (["a"] * 2, "x " * 9, "r", False, "r"),
        (["a"], "x " * 8, "r", False, "a"),
        (["a " * 10], "x " * 10, "r", False, "r"),
        (["a " * 9], "x", "", False, "a " * 9),
    ],
)
def test_what_cannot_be_right_gives_way_to_the_reference(beam, source, reference, nearest, wanted):
    assert distilled.choose(beam, source, reference, 10, nearest) == wanted


def test_lines_come_out_in_the_order_of_the_sources_or_not_at_all(tmp_path, monkeypatch, capsys):
    put(tmp_path / "en", ["x", "", "y\u2028z"])
    put(tmp_path / "de", ["r", "", "s"])
    printed = ["log", "S-2\tx", "H-2\t-0.5\tc\u2028c", "H-0\t-1\ta", "H-0\t-2\tb", "H-1\t-1\td"]
    files = [str(tmp_path / name) for name in ("printed", "en", "de", "out")]
    monkeypatch.setattr(sys, "argv", ["distilled.py", *files])
    put(tmp_path / "printed", printed)
    distilled.main()
    assert read(tmp_path / "out") == ["a", "", "c\u2028c"]
    for lines, said in ((printed[:5], "no H-1 line"), ([*printed, "H-3\t-1\ta"], "4 sentences")):
        put(tmp_path / "printed", lines)
        (tmp_path / "out").unlink(missing_ok=True)
        with refuses(said):
            distilled.main()
        assert not (tmp_path / "out").exists()
