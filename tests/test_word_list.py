"""examples/spelling_and_ocr/word_list.py: public words, spelled as a text spells them."""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from string import ascii_lowercase
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "spelling_and_ocr"))

import training_words  # noqa: E402
import without_rare_words  # noqa: E402
import word_list  # noqa: E402

from lev_correct.words.lexicon import Lexicon  # noqa: E402

PARTS = ("train", "dev", "test", "known", "unknown")
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


def test_frequent_misspellings_are_no_words(packages, capsys, tmp_path):
    packages["de"] = {"straße": 1e-2, "dass": 1e-2, "haupt": 1e-3, "das": 5e-3,
                      "dsas": 1e-3, "hauptt": 1e-4, "hauppt": 2e-4, "huapt": 3e-4}  # fmt: skip
    # das is too frequent to be one, and hauptt may be a form of haupt; both have not been confirmed
    right = {"straße", "dass", "haupt", "das", "hauptt", "huapt"}
    assert written(capsys, "de").keys() == right
    own = tmp_path / "own.txt"
    own.write_text("haupt 60\nhaput 2\naupt 3\nhaubt 4\nhund 1\n", encoding="utf-8")
    assert written(capsys, "de", "--own", own).keys() == right | {"aupt", "haubt", "hund"}


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
    if they are short) are left out; of what two languages have the greater share counts. What
    English has more often is a word of it (Biden, beside beiden)."""
    packages["de"] = {"schiff": 1e-3, "schif": 9e-8, "sciff": 2e-8, "hamra": 1e-8, "strasse": 1e-8,
                      "ah": 1e-8, "x2": 1e-8, "bahnhof": 9e-7, "bahnhor": 8e-8, "bahnhov": 9.5e-8,
                      "schift": 9e-8}  # fmt: skip
    packages["en"] = {"schif": 3e-7, "schift": 8e-8, "yorker": 1e-6}
    word_list.main(["de", "--names"])
    assert capsys.readouterr().out.split() == ["Bahnhov", "Hamra", "Schif", "Straße", "Yorker"]


def test_german_words_as_they_were_spelled_until_1996_stay(packages, capsys):
    packages["de"] = {word: 1e-3 for word in ("muss", "wissen", "wusste", "aussteigen", "küsst")}
    packages["en"] = {}
    word_list.main(["de", "--names"])
    assert capsys.readouterr().out.split() == ["küßt", "Küßt", "muß", "Muß", "wußte", "Wußte"]


def test_a_corrector_learns_rare_words_nearly_as_often_as_frequent_ones(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("der 90000\nStraße 9\na 7\nyak 0\n", encoding="utf-8")
    training_words.main([str(words), str(tmp_path / "learnt")])
    counts = Counter((tmp_path / "learnt" / "train.clean").read_text(encoding="utf-8").split())
    assert counts.keys() == {"der", "straße", "yak"} and counts.total() == 300_000
    assert counts["der"] == pytest.approx(10_000**0.4 * counts["straße"], rel=0.1)


def test_words_to_tune_with_that_no_list_has_are_not_learnt(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("".join(f"{a}{b} 1\n" for a in ascii_lowercase for b in ascii_lowercase))
    training_words.main([str(words), str(tmp_path)])
    parts = {part: (tmp_path / f"{part}.clean").read_text().split() for part in PARTS}
    unknown = {*parts.pop("unknown")}
    assert len(unknown) == 6 and not unknown & {word for part in parts.values() for word in part}


def test_to_tune_a_list_lacks_the_rarest_words_of_a_text(tmp_path, capsys):
    words, text = tmp_path / "words.txt", tmp_path / "text.txt"
    words.write_text("der 90\nhund 20\nluchs 3\nyak 2\nzebu 1\n", encoding="utf-8")
    text.write_text("Der Hund, der Luchs!\nYak der der Tapir\n" + "der " * 52, encoding="utf-8")
    without_rare_words.main([str(words), str(text)])
    # two of sixty words; the zebu is not met in the text, the tapir stands in no list
    assert capsys.readouterr().out == "der 90\nhund 20\nzebu 1\n"
    (tmp_path / "out.txt").write_text("zebu\n", encoding="utf-8")
    without_rare_words.main([str(words), str(text), "--without", str(tmp_path / "out.txt")])
    assert capsys.readouterr().out == "der 90\nhund 20\n"
