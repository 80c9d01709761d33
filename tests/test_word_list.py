"""examples/spelling_and_ocr/word_list.py: public words, spelled as a text spells them."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "spelling_and_ocr"))

import word_list  # noqa: E402

from lev_plugins.corrector.lexicon import Lexicon  # noqa: E402

GERMAN = {"dass": 0.2, "strasse": 0.1, "masse": 0.04, "hauptstrasse": 0.02}
GERMAN |= {"hesse": 0.01, "a1": 0.3}
SPELLED = {"dass": 9, "straße": 5, "maße": 2, "masse": 5, "haupt": 3}


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, float]]:
    """wordfreq and pyspellchecker, with few words: those of wordfreq, by their languages."""
    listed = {"de": GERMAN, "fr": {"où": 0.5}}
    wordfreq = SimpleNamespace(
        available_languages=lambda wordlist: dict.fromkeys(listed),
        get_frequency_dict=lambda language, wordlist: listed[language],
    )
    monkeypatch.setitem(sys.modules, "wordfreq", wordfreq)
    packed = gzip.compress(json.dumps(SPELLED).encode())
    monkeypatch.setattr(word_list, "installed", lambda *names: packed)
    return listed


def written(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, float]:
    """What the command prints, which is the most frequent word first."""
    word_list.main(list(map(str, arguments)))
    counts = {
        word: float(count) for word, count in map(str.split, capsys.readouterr().out.splitlines())
    }
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    return counts


def test_german_words_get_their_sharp_s(capsys: pytest.CaptureFixture[str]) -> None:
    counts = written(capsys, "de")
    assert counts == pytest.approx({
        "dass": 2e8, "straße": 1e8, "masse": 4e7 * 2 / 3, "maße": 4e7 / 3,  # 1 + 5 and 1 + 2
        "hauptstraße": 2e7, "hesse": 1e7,  # a compound, and a name that no list has
    })  # fmt: skip


def test_words_of_ones_own_text_are_counted_with_the_public_ones(tmp_path, capsys):
    own = tmp_path / "own.txt"
    own.write_text("straße 60\nhesse 30\nheße 10\n", encoding="utf-8")
    counts = written(capsys, "de", "--own", own)
    assert counts["straße"] == pytest.approx(60 + 0.1 * 100)
    assert counts["dass"] == pytest.approx(0.2 * 100)
    # the own text spells this name in two ways, 31 to 11
    assert counts["hesse"] == pytest.approx(30 + 31 / 42)
    assert counts["heße"] == pytest.approx(10 + 11 / 42)
    assert written(capsys, "fr", "--own", own)["où"] == 50
    (tmp_path / "list.txt").write_text(
        "".join(f"{word} {count}\n" for word, count in counts.items())
    )
    assert Lexicon.read(str(tmp_path / "list.txt")).counts == counts


def test_names_are_rare_words_that_are_no_misspellings(packages, capsys):
    """Words that the list has, and those near one that is ten times as frequent (a thousand times
    if they are short) are left out; of what two languages have the greater share counts."""
    packages["de"] = {"schiff": 1e-3, "schif": 9e-8, "sciff": 2e-8, "hamra": 1e-8, "strasse": 1e-8,
                      "ah": 1e-8, "x2": 1e-8, "bahnhof": 1e-4}  # fmt: skip
    packages["en"] = {"schif": 2e-6, "yorker": 1e-6, "bahnhor": 9e-6, "bahnhov": 2e-5}
    word_list.main(["de", "--names"])
    assert capsys.readouterr().out.split() == ["Bahnhov", "Hamra", "Schif", "Straße", "Yorker"]
