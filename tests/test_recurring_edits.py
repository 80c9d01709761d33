"""benchmarks/recurring_edits.py: what of a post-editor's work could be learnt by heart."""

import sys

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError

recurring = script("recurring_edits")
TEXT = {
    "train.mt": ["der alte Haus steht", "der alte Haus", "ich gehe Hause", "der alte Mann"],
    "train.pe": ["das alte Haus steht", "das alte Haus", "ich gehe nach Hause", "der alte Mann"],
    "dev.mt": ["der alte Haus fehlt", "der alte Haus"],
    "dev.pe": ["das alte Haus fehlt", "der alte Haus"],
}


def test_an_edit_that_was_seen_twice_is_made_again_and_counts_where_the_post_editor_made_it(
    recurring, tmp_path, monkeypatch, capsys
):
    for name, lines in TEXT.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr(sys, "argv", ["recurring_edits.py", str(tmp_path), "--triples", "1,2,4"])
    recurring.main()
    _, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert [row[0] for row in rows] == ["1", "2", "4"]
    assert rows[0][1:4] == ["0", "0", "0"]  # what was seen once is no rule
    assert rows[1][2:4] == ["2", "1"] and rows[1][4:] == "100.00 % of 1".split()
    (tmp_path / "dev.pe").write_text("a\n")
    with pytest.raises(UserError, match="dev: 2 drafts, 1 post-edits"):
        recurring.main()
