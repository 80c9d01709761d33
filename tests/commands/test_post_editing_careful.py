"""examples/post_editing/careful.py: drafts stay unless the development set says otherwise."""

import runpy
import sys
from pathlib import Path

import pytest

CAREFUL = Path(__file__).resolve().parents[2] / "examples" / "post_editing" / "careful.py"
careful = runpy.run_path(str(CAREFUL), run_name="careful")


def write(folder, part, sentences):
    """sentences: (draft, output, score, reference)."""
    for side, place in (("mt", 0), ("pe", 3)):
        text = "".join(one[place] + "\n" for one in sentences)
        (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
    lines = [f"D-{i}\t{one[2]}\t{one[1]}\n" for i, one in enumerate(sentences)]
    (folder / f"{part}.out").write_text("".join(reversed(lines)), encoding="utf-8")


def outcome(folder, dev, test, monkeypatch):
    write(folder, "dev", dev)
    write(folder, "test", test)
    paths = [folder, folder / "dev.out", folder / "test.out", folder / "written"]
    monkeypatch.setattr(sys, "argv", ["careful.py", *map(str, paths)])
    careful["main"]()
    return (folder / "written").read_text(encoding="utf-8").splitlines()


GOOD = ("ein Haus steht da", "das Haus steht da", -0.1, "das Haus steht da")
BAD = ("ein Haus steht da", "ein Hut steht da", -0.9, "ein Haus steht da")
WILD = ("ein Haus steht da", "so viel neu und falsch", -0.1, "ein Haus steht da")
SAME = ("gut so", "gut so", -0.5, "gut so")


def test_sure_and_small_edits_are_kept_and_others_are_not(tmp_path, monkeypatch, capsys):
    dev = [GOOD] * 9 + [BAD] * 9 + [WILD] * 5 + [SAME] * 5
    made = outcome(tmp_path, dev, [GOOD, BAD, WILD, SAME], monkeypatch)
    assert made == [GOOD[1], BAD[0], WILD[0], SAME[0]]
    out = capsys.readouterr().out
    assert out.startswith("kept: score >= -0.100, at most 1 words edited (better in ")
    rows = [line.split() for line in out.splitlines() if line.startswith(("no", "all", "careful"))]
    ters = [float(row[-2]) for row in rows]
    assert ters[2] < ters[0] < ters[1] and ters[5] < ters[3] < ters[4]


CHANCE = [GOOD] * 3 + [SAME] * 6  # better in 97 % of the samples; of five rules the best


@pytest.mark.parametrize(
    "dev", [CHANCE, [BAD] * 9, [GOOD] * 5 + [(*GOOD[:3], BAD[3])] * 5, [SAME] * 3]
)
def test_all_drafts_stay_where_no_rule_pays_beyond_chance(dev, tmp_path, monkeypatch, capsys):
    made = outcome(tmp_path, dev, [GOOD, BAD, SAME], monkeypatch)
    assert made == [GOOD[0], BAD[0], SAME[0]]
    assert capsys.readouterr().out.startswith("all drafts stay: the best rule is better in ")


def test_sentences_that_were_left_out_keep_their_drafts(tmp_path):
    write(tmp_path, "dev", [GOOD, BAD])
    (tmp_path / "dev.out").write_text("D-1\t-0.2\tein Hut\n")
    first, second = careful["sentences"](tmp_path, "dev", str(tmp_path / "dev.out"))
    assert first.output == first.draft and first.gain == 0 and second.output == "ein Hut"


def test_no_output_is_refused(tmp_path):
    write(tmp_path, "dev", [])
    with pytest.raises(ValueError, match="fairseq-generate wrote no output"):
        careful["sentences"](tmp_path, "dev", str(tmp_path / "dev.out"))
