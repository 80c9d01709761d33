"""benchmarks/real_words.py: real-word errors."""

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.inference.correction import Corrector

benchmark = script("real_words")
TEXT = "he has more than that , and then he does n't go ( now )\n"


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
