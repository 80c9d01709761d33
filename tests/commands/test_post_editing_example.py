"""The scripts of examples/post_editing: subwords, scores, and drafts that stay."""

import json
import re
import sys
from pathlib import Path

import pytest
from example_scripts import modules
from fairseq.scoring import SCORER_REGISTRY
from fairseq.scoring.bleu import SacrebleuConfig, SacrebleuScorer

from lev_plugins.metrics.scorers import TerConfig

pieces, scores, careful = modules("post_editing", "pieces", "scores", "careful")


# scores beside what fairseq-generate prints of the same output

REFERENCES = ["Herzog Conan war hier .", "das Haus von Hoël , drei", "ein Ende mit α4 ist gut so"]
DRAFTS = ["Herzog Conan ist hier .", "das Haus von Hoël , zwei", "ein Ende mit α4 ist gut"]
UNKNOWN = re.compile("[ëα]")


def printed(path: Path, lossless: bool) -> tuple[list[str], list[str]]:
    """Writes what fairseq-generate would; returns the T- and the D- lines' texts."""
    targets, outputs = (
        [text if lossless else UNKNOWN.sub(unknown, text) for text in texts]
        for texts, unknown in ((REFERENCES, "<<unk>>"), (DRAFTS[:2] + REFERENCES[2:], "<unk>"))
    )
    lines = []
    for i in (2, 0, 1):
        lines += [f"T-{i}\t{targets[i]}", f"D-{i}\t-0.5\t{outputs[i]}", f"I-{i}\t1"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return targets, outputs


@pytest.mark.parametrize("lossless", [True, False])
def test_the_scores_are_those_of_fairseq_generate(lossless, tmp_path, monkeypatch, capsys):
    targets, outputs = printed(tmp_path / "generate.txt", lossless)
    for name, lines in (("drafts", DRAFTS), ("references", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = [str(tmp_path / name) for name in ("drafts", "references", "generate.txt", "json")]
    monkeypatch.setattr(sys, "argv", ["scores.py", *arguments])
    scores.main()
    table = capsys.readouterr().out.splitlines()
    systems = json.loads((tmp_path / "json").read_text())["systems"]
    assert all(f"{one['ter']:.2f}" in line for one, line in zip(systems.values(), table[1:]))
    assert systems["no-edit baseline"]["as_drafted"] == 100
    rows = {line[:18].strip(): line[18:].split() for line in table[1:4]}
    expected = []
    ter = SCORER_REGISTRY["ter"](TerConfig(ter_normalized=True, ter_case_sensitive=True))
    for scorer in (SacrebleuScorer(SacrebleuConfig()), ter):
        for pair in zip(targets, outputs, strict=True):
            scorer.add_string(*pair)
        expected.append(f"{scorer.score():.2f}")
    assert rows["post-edited" if lossless else "by fairseq"][:2] == expected
    assert ("by fairseq" in rows) is not lossless
    if not lossless:
        assert rows["post-edited"][:2] != expected
        assert "by fairseq: 2 references have symbols that the dictionary lacks (<<unk>>)" in table


# drafts stay unless the development set says otherwise


def write_part(folder, part, sentences):
    """sentences: (draft, output, score, reference)."""
    for side, place in (("mt", 0), ("pe", 3)):
        text = "".join(one[place] + "\n" for one in sentences)
        (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
    lines = [f"D-{i}\t{one[2]}\t{one[1]}\n" for i, one in enumerate(sentences)]
    (folder / f"{part}.out").write_text("".join(reversed(lines)), encoding="utf-8")


def outcome(folder, dev, test, monkeypatch):
    write_part(folder, "dev", dev)
    write_part(folder, "test", test)
    paths = [folder, folder / "dev.out", folder / "test.out", folder / "written"]
    monkeypatch.setattr(sys, "argv", ["careful.py", *map(str, paths)])
    careful.main()
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
