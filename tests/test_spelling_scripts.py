"""The scripts of examples/spelling_and_ocr that make lists and data: a small run of each."""

import gzip
import itertools
import json
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from plain_files import ROOT, put, read
from refusals import refuses
from tables import table

SCRIPTS = ROOT / "examples/spelling_and_ocr"
sys.path.insert(0, str(SCRIPTS))

import scans  # noqa: E402
import training_words  # noqa: E402
import word_list  # noqa: E402

# word_list.py ---------------------------------------------------------------------------------


def publish(monkeypatch, words):
    """Has wordfreq know these words and shares of languages."""
    wordfreq = SimpleNamespace(
        available_languages=lambda wordlist: words,
        get_frequency_dict=lambda language, wordlist: words[language],
    )
    monkeypatch.setitem(sys.modules, "wordfreq", wordfreq)


def counts(text):
    words = text.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


@pytest.mark.parametrize("listed, confirmed, own, options, expected", table("word_lists.tsv"))
def test_public_words_are_spelled_as_texts_spell_them(
    listed, confirmed, own, options, expected, monkeypatch, tmp_path, capsys
):
    """German gets its ß; misspellings are no words; names are rare and no misspellings; words until
    1996 stay; what the user's text has is counted with the public words."""
    german, _, english = listed.partition(";")
    public = {"de": counts(german), "en": counts(english)}
    publish(monkeypatch, public)
    packed = gzip.compress(json.dumps(counts(confirmed)).encode())
    monkeypatch.setattr(word_list, "installed", lambda *names: packed)
    words = ["de", *options.split()]
    if own:
        words += ["--own", str(put(tmp_path / "own", [f"{a} {n}" for a, n in counts(own).items()]))]
    word_list.main(words)
    printed = capsys.readouterr().out
    if any(map(str.isdigit, expected)):
        assert counts(printed) == pytest.approx(counts(expected), rel=1e-4)
    else:
        assert {line.split()[0] for line in printed.splitlines()} == {*expected.split()}


@pytest.mark.parametrize("file, words, word, level", table("known_words.tsv"))
def test_the_surest_source_says_how_much_speaks_for_a_word(
    file, words, word, level, monkeypatch, tmp_path, capsys
):
    """teh and requestor are in codespell's table; requestor is as usual as what it stands for."""
    public = {"requestor": 2e-9, "requester": 9e-9, "teh": 1e-9, "the": 0.05, "zipf": 4e-7}
    publish(monkeypatch, {"en": public})
    monkeypatch.setattr(word_list, "confirmed_words", lambda language: {})
    table = put(tmp_path / "table.tsv", ["teh\tthe", "requestor\trequester"])
    monkeypatch.setattr(word_list, "installed_misspellings", lambda: str(table))
    (scowl := tmp_path / "scowl").mkdir()
    put(scowl / (file or "english-words.10"), words.split())
    own, names = put(tmp_path / "own", ["listed 9"]), put(tmp_path / "names", NAMES.split())
    options = ["--known", "--own", str(own), "--scowl", str(scowl), "--packages", str(names)]
    word_list.main(["en", *options])
    levels = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert levels.get(word, "0") == level


NAMES = "libfoo foo-libfoo listed"

# training_words.py ----------------------------------------------------------------------------


def test_words_to_learn_from_and_to_tune_with(tmp_path, capsys):
    """Rare words are learnt nearly as often as frequent ones; to tune, the list lacks two of the
    text's sixty words, and one that is not learnt. No list has the tapir."""
    letters = [f"{a}{b} 1" for a, b in itertools.product("abcdefghij", "klmnopqrst")]
    counts = ["der 90000", "Straße 9", "a 7", "zz 0", *letters, "luchs 3", "yak 2"]
    words, folder = put(tmp_path / "words.txt", counts), tmp_path / "learnt"
    training_words.main([str(words), str(folder)])
    learnt = Counter(read(folder / "train.clean"))
    (unknown,) = read(folder / "unknown.clean")
    for part in ("train", "dev", "test", "known"):
        assert unknown not in read(folder / f"{part}.clean")
    assert learnt.total() == 300_000 and "a" not in learnt
    assert learnt["der"] == pytest.approx(10_000**0.4 * learnt["straße"], rel=0.1)
    text = put(tmp_path / "text", ["Der Straße, der Luchs!", "Yak der der Tapir", "der " * 52])
    for keep in ([], ["--keep-unknown"]):
        training_words.main([str(words), str(folder), "--tune", str(text), *keep])
        fewer = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
        gone = {line.split()[0] for line in counts} - fewer
        assert gone | {unknown} == {"luchs", "yak", unknown} and (unknown in gone) != bool(keep)


# scans.py -------------------------------------------------------------------------------------


def test_scans_to_learn_from_to_tune_with_and_to_measure_with_are_apart(tmp_path):
    """Each line has a word of its own, which the scan misreads."""
    names = map("".join, itertools.product("abcdefghij", repeat=2))
    clean = [f"word{name} modern, n" for name in names]
    noisy = [line.replace("w", "vv") for line in clean]
    put(tmp_path / "train.clean", ["modern modem"])
    gaps = [*noisy[:5], "", "alone", *noisy[5:]], [*clean[:5], "alone", " ", *clean[5:]]
    files = [str(put(tmp_path / name, text, "\r\n")) for name, text in zip("nc", gaps)]
    scans.main([*files, str(tmp_path)])

    def words(name):
        return {line.split("\t")[-1].split()[0] for line in read(tmp_path / name)}

    test, train, tune = (words(f"scans-{part}.clean") for part in ("test", "train", "tune"))
    assert len(test) == 5 and len(train) == 95 and tune < train
    assert not test & (train | words("scans.tsv")) and not tune & words("scans-apart.tsv")
    assert words("scans-words.clean") == {*train, "modern", "n"}
    put(tmp_path / "n", noisy[:99])
    put(tmp_path / "c", clean[:99])
    with refuses("99 lines"):
        scans.main([*files, str(tmp_path)])


# english.py -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_to_measure_with_is_learnt_or_listed(tmp_path):
    pytest.importorskip("symspellpy")
    subprocess.run([sys.executable, str(SCRIPTS / "english.py"), str(tmp_path)], check=True)
    text = tmp_path / "text"
    tune, test, unknown = ({*read(text / f"{name}.noisy")} for name in HELD)
    assert len(tune) == len(test) == 1500 and len(unknown) == 500
    everyday = {line.split("\t")[0] for line in read(SCRIPTS / "everyday.tsv")}
    words = {line.split()[0] for line in read(tmp_path / "words.txt")}
    listed = {line.split("\t")[0] for line in read(text / "listed.tsv")}
    assert not tune & test and not listed & (tune | test | everyday | words)
    assert not words & (tune | test | unknown)
    assert len(read(text / "listed.noisy")) == len(read(text / "listed.clean")) > 50_000


HELD = ("tune-listed", "test-listed", "test-unknown")
