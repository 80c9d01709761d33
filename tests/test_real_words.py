"""benchmarks/real_words.py: real-word errors."""

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.inference.correction import Corrector

benchmark = script("real_words")
TEXT = "he has more than that , and then he does n't go ( now )\n"


def test_words_are_counted_by_what_they_were_and_should_be(benchmark):
    noisy, clean = ["more then that", "the cat"], ["more than that", "the cat"]
    found = benchmark.counted(noisy, clean, ["more than this", "the cat"])
    counts = dict.fromkeys(("confused", "corrected", "miscorrected"), 1)
    assert found == {"words": 5, **counts, "corrected, %": 100.0}
    assert benchmark.counted(noisy, clean, noisy)["corrected"] == 0
    split = benchmark.counted(noisy, clean, ["more then tha t", "the cat"])
    assert split["words"] == 5 and split["miscorrected"] == 1


def test_what_is_changed_for_the_sake_of_the_sets_is_shown_in_its_place(benchmark):
    lines = ["it is more then  that", "now teh end"]
    found = benchmark.changes(
        lines, ["it is more then  that", "now the end"], ["it is more than  that", "now the end"]
    )
    assert found == ["it is more [then → than]  that"]


def test_a_text_is_read_confused_and_as_it_came(benchmark, tmp_path, monkeypatch, capsys):
    pytest.importorskip("symspellpy")
    for name, text in [("text", TEXT * 20), ("sets", "then than\n"), ("words", "than 5\nthen 5\n")]:
        (tmp_path / name).write_text(text)

    class Known:
        """Writes *than* behind *more*, and *the* for *that*; the first only with the sets."""

        def __init__(self, sets):
            self.sets, self.backend = sets, self
            self.ranker = type("Ranker", (), {})()

        def correct(self, lines):
            if self.sets:
                lines = [line.replace("more then", "more than") for line in lines]
            return [type("Correction", (), {"text": line.replace("that", "the")}) for line in lines]

    monkeypatch.setattr(
        Corrector, "from_pretrained", lambda path, data, confusions=None: Known(confusions)
    )
    files = ["--confusions", str(tmp_path / "sets"), "--lexicon", str(tmp_path / "words")]
    words = [str(tmp_path / "text"), "--path", "x", *files, "--show", "--json"]
    assert benchmark.main([*words, str(tmp_path / "json")]) == 0
    out = capsys.readouterr().out
    rows = {line[:14].strip(): line[14:].split() for line in out.splitlines()[1:5]}
    assert list(rows) == ["no edits", "symspellpy", "without sets", "with sets"]
    total, confused = int(rows["no edits"][0]), int(rows["no edits"][1])
    assert total == 11 * 20 and 0 < confused < 20
    assert rows["with sets"][2] != "0" == rows["without sets"][2]
    assert rows["with sets"][-1] == rows["without sets"][-1] == "20"
    assert "as it came: words that only the sets change: 0" in out and (tmp_path / "json").is_file()
    assert benchmark.plain(TEXT).startswith("he has more than that, and then he doesn't go (now)")
