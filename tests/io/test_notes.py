"""Text that is not cut as a model's was is noted once."""

import pytest

from lev_plugins.io.notes import ENOUGH, CutNotes

PIECES = ["▁a", "▁man", "s", "."]
WORDS = ["a", "man", "."]


@pytest.mark.parametrize(
    "symbols, used, trained, line, unknown, said",
    [
        (PIECES, None, "sentencepiece", "a man", 0, "was trained with --bpe sentencepiece, and"),
        (PIECES, "characters", "sentencepiece", "a man", 0, "there is --bpe characters here"),
        (PIECES, None, None, "a man", 0, "has symbols such as ▁a, and there is no --bpe here"),
        (["a@@", "b"], None, None, "a man", 1, "symbols such as a@@"),
        (WORDS, None, None, "zz zz", 2, "100.0% of the first 2 source tokens are not in"),
        (PIECES, "sentencepiece", "sentencepiece", "xyz", 2, "100.0% of the first 2"),
        (PIECES, None, "sentencepiece", "▁a ▁man", 0, None),
        (PIECES, "", None, "a man", 0, None),
        (["a@@", "b"], None, None, "b b", 0, None),
        (WORDS, None, None, "a zz", 1, None),
    ],
)
def test_text_that_is_not_cut_is_noted_once(capsys, symbols, used, trained, line, unknown, said):
    notes = CutNotes(symbols, used, trained)
    for _ in range(3):
        notes.look_at([line], 2, unknown)
    noted = capsys.readouterr().err
    assert noted.count("note: ") == noted.count("\n") == (said is not None)
    assert said is None or said in noted


def test_a_rare_word_late_in_a_text_is_no_news(capsys):
    notes = CutNotes(WORDS, None)
    notes.look_at([], ENOUGH, 0)
    notes.look_at(["zz"], 5 * ENOUGH, 5 * ENOUGH)
    assert notes.done and capsys.readouterr().err == ""
