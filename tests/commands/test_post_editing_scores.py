"""examples/post_editing/scores.py beside what fairseq-generate prints of the same output."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from fairseq.scoring.bleu import SacrebleuConfig, SacrebleuScorer

from lev_plugins.metrics.scorers import TerConfig, TerScorer

SCORES = Path(__file__).resolve().parents[2] / "examples" / "post_editing" / "scores.py"
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
    monkeypatch.setattr(sys, "argv", [str(SCORES), *arguments])
    runpy.run_path(str(SCORES), run_name="__main__")
    table = capsys.readouterr().out.splitlines()
    systems = json.loads((tmp_path / "json").read_text())["systems"]
    assert all(f"{one['ter']:.2f}" in line for one, line in zip(systems.values(), table[1:]))
    assert systems["no-edit baseline"]["as_drafted"] == 100
    rows = {line[:18].strip(): line[18:].split() for line in table[1:4]}
    expected = []
    ter = TerScorer(TerConfig(ter_normalized=True, ter_case_sensitive=True))
    for scorer in (SacrebleuScorer(SacrebleuConfig()), ter):
        for pair in zip(targets, outputs, strict=True):
            scorer.add_string(*pair)
        expected.append(f"{scorer.score():.2f}")
    assert rows["post-edited" if lossless else "by fairseq"][:2] == expected
    assert ("by fairseq" in rows) is not lossless
    if not lossless:
        assert rows["post-edited"][:2] != expected
        assert "by fairseq: 2 references have symbols that the dictionary lacks (<<unk>>)" in table
