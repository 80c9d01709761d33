"""The scripts of examples/spelling_and_ocr that make lists and data: a small run of each."""

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from plain_files import put, read
from refusals import refuses

SCRIPTS = Path(__file__).parents[1] / "examples" / "spelling_and_ocr"
sys.path.insert(0, str(SCRIPTS))

import scans  # noqa: E402
import training_words  # noqa: E402
import without_rare_words  # noqa: E402
import word_list  # noqa: E402

# word_list.py ---------------------------------------------------------------------------------

#: wordfreq's words of German and English | pyspellchecker's of German | the user's | options |
#: what is printed, without counts
LISTS = """
dass .2 strasse .1 masse .04 hauptstrasse .02 hesse .01 a1 .3 | dass 9 straße 5 maße 2 masse 5 \
haupt 3 | | | dass 200000000 straße 100000000 masse 26666666.67 hauptstraße 20000000 \
maße 13333333.33 hesse 10000000
dass .2 hesse .1 | dass 9 | straße 60 hesse 30 heße 10 | | straße 60 hesse 37.38095 dass 20 \
heße 12.61905
straße .01 dass .01 haupt .001 das .005 dsas .001 hauptt .0001 hauppt .0002 huapt .0003 | \
dass 9 straße 5 haupt 3 | haupt 60 haput 2 aupt 3 haubt 4 hund 1 | | haupt straße dass das haubt \
aupt hund huapt hauptt
schiff 1e-3 schif 9e-8 sciff 2e-8 hamra 1e-8 strasse 1e-8 ah 1e-8 x2 1e-8 bahnhof 9e-7 bahnhor \
8e-8 bahnhov 9.5e-8 schift 9e-8 ; schif 3e-7 schift 8e-8 yorker 1e-6 | dass 9 straße 5 haupt 3 \
| | --names | Bahnhov Hamra Schif Straße Yorker
muss 1e-3 wissen 1e-3 wusste 1e-3 aussteigen 1e-3 küsst 1e-3 ; | dass 9 straße 5 haupt 3 | \
| --names | küßt Küßt muß Muß wußte Wußte
"""


def counts(text: str) -> dict[str, float]:
    words = text.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


@pytest.mark.parametrize("row", LISTS.strip().splitlines())
def test_public_words_are_spelled_as_texts_spell_them(row, monkeypatch, tmp_path, capsys):
    """German gets its ß; misspellings are no words; names are rare and no misspellings; words until
    1996 stay; what the user's text has is counted with the public words."""
    listed, confirmed, own, options, expected = (field.strip() for field in row.split("|"))
    german, _, english = listed.partition(";")
    public = {"de": counts(german), "en": counts(english)}
    wordfreq = SimpleNamespace(
        available_languages=lambda wordlist: public,
        get_frequency_dict=lambda language, wordlist: public[language],
    )
    monkeypatch.setitem(sys.modules, "wordfreq", wordfreq)
    packed = gzip.compress(json.dumps(counts(confirmed)).encode())
    monkeypatch.setattr(word_list, "installed", lambda *names: packed)
    words = ["de", *options.split()]
    if own:
        words += ["--own", str(put(tmp_path / "own", [f"{a} {n}" for a, n in counts(own).items()]))]
    word_list.main(words)
    printed = capsys.readouterr().out
    if any(map(str.isdigit, expected)):
        assert counts(printed) == pytest.approx(counts(expected), rel=1e-4)
        assert printed.split()[::2] == expected.split()[::2], "the most frequent first"
    else:
        assert {line.split()[0] for line in printed.splitlines()} == {*expected.split()}


# training_words.py, without_rare_words.py -----------------------------------------------------


def test_rare_words_are_learnt_nearly_as_often_as_frequent_ones(tmp_path):
    words = put(tmp_path / "words.txt", ["der 90000", "Straße 9", "a 7", "yak 0"])
    training_words.main([str(words), str(tmp_path)])
    learnt = Counter((tmp_path / "train.clean").read_text("utf-8").split())
    assert learnt.keys() == {"der", "straße", "yak"} and learnt.total() == 300_000
    assert learnt["der"] == pytest.approx(10_000**0.4 * learnt["straße"], rel=0.1)


def test_words_to_tune_with_that_no_list_has_are_not_learnt(tmp_path):
    words = put(
        tmp_path / "words.txt", [f"{a}{b} 1" for a in "abcdefghij" * 3 for b in "klmnopqrst"]
    )
    training_words.main([str(words), str(tmp_path)])
    unknown = {*read(tmp_path / "unknown.clean")}
    others = (read(tmp_path / f"{part}.clean") for part in ("train", "dev", "test", "known"))
    assert len(unknown) == 1 and not unknown.intersection(*map(set, others))


def test_to_tune_a_list_lacks_the_rarest_words_of_a_text(tmp_path, capsys):
    """Two of sixty words; the zebu is not met in the text, the tapir stands in no list."""
    words = put(tmp_path / "words", ["der 90", "hund 20", "luchs 3", "yak 2", "zebu 1"])
    text = put(tmp_path / "text", ["Der Hund, der Luchs!", "Yak der der Tapir", "der " * 52])
    without_rare_words.main([str(words), str(text)])
    assert capsys.readouterr().out == "der 90\nhund 20\nzebu 1\n"
    without = put(tmp_path / "out", ["zebu"])
    without_rare_words.main([str(words), str(text), "--without", str(without)])
    assert capsys.readouterr().out == "der 90\nhund 20\n"


# scans.py -------------------------------------------------------------------------------------

#: line n has a word of its own, which the scan misreads, and one that all lines have
CLEAN = [f"word{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]} modern, n" for n in range(100)]
NOISY = [line.replace("w", "vv").replace("modern", "modem") for line in CLEAN]


def parts(
    folder: Path, noisy: list[str] = NOISY, clean: list[str] = CLEAN, end: str = "\n"
) -> Path:
    """Returns the folder that is written for scans, beside other right text."""
    put(folder / "parts" / "train.clean", ["modern modem"])
    files = [put(folder / name, text, end) for name, text in (("n", noisy), ("c", clean))]
    scans.main([*map(str, files), str(folder / "parts")])
    return folder / "parts"


def test_scans_to_learn_from_to_tune_with_and_to_measure_with_are_apart(tmp_path):
    folder = parts(tmp_path)
    test, train, tune = (
        {line.split()[0] for line in read(folder / f"scans-{part}.clean")}
        for part in ("test", "train", "tune")
    )
    listed, apart = (
        {row.split("\t")[1] for row in read(folder / name)}
        for name in ("scans.tsv", "scans-apart.tsv")
    )
    assert len(test) == 5 and len(train) == 95 and tune < train
    assert not test & (train | listed) and not tune & apart
    assert {*read(folder / "scans-words.clean")} == {*train, "modern", "n"}


def test_ends_of_lines_and_empty_lines_of_scans_change_nothing(tmp_path):
    plain = parts(tmp_path / "plain")
    gaps = [*NOISY[:5], "", "alone", *NOISY[5:]], [*CLEAN[:5], "alone", " ", *CLEAN[5:]]
    other = parts(tmp_path / "other", *gaps, end="\r\n")
    for file in plain.iterdir():
        assert (other / file.name).read_bytes() == file.read_bytes()
    with refuses("99 lines"):
        parts(tmp_path / "few", [*NOISY[:99], ""])
    assert [file.name for file in (tmp_path / "few/parts").iterdir()] == ["train.clean"]


def test_a_right_word_is_listed_where_it_was_misread_twice():
    pairs = [("fein", "sein")] * 10 + [("fein", "fein"), ("hans", "haus")]
    pairs += [("haut", "haus"), ("haut", "haut"), ("bald", "wald"), ("wald", "bald")]
    assert [*scans.misread(pairs)] == ["fein\tsein", "hans\thaus"]
    assert [*scans.misread(pairs, {"hans"})] == ["fein\tsein"]
    words = scans.words_of([("a Das hauS", "das Haus"), ("elf", "Wort")])
    assert words == [("das", "das"), ("haus", "haus")], "far words do not belong together"


# prepare_typos.py -----------------------------------------------------------------------------


def prepare(out: Path, path: Path | str = "") -> subprocess.CompletedProcess[str]:
    """Runs the script in its own process; ``path`` comes first among the module folders."""
    pytest.importorskip("symspellpy")
    env = os.environ | {"PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(SCRIPTS / "prepare_typos.py"), str(out), "--lines", "4000"]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_a_package_that_is_missing_is_one_error_line_and_leaves_nothing(tmp_path):
    put(tmp_path / "hide/spellchecker.py", ["raise ModuleNotFoundError('spellchecker')"])
    done = prepare(tmp_path / "out", tmp_path / "hide")
    assert done.returncode and "pyspellchecker is not installed" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_nothing_to_measure_with_is_in_training_or_in_the_lists(tmp_path):
    done = prepare(tmp_path)
    assert done.returncode == 0 and "training lines" in done.stdout, done.stderr

    def plain(name: str) -> set[str]:
        return {line.replace(" ", "").replace("▁", " ") for line in read(tmp_path / name)}

    met = plain("train.typo") | {line.split("\t")[0] for line in read(tmp_path / "lookup.tsv")}
    valid, test = plain("valid.typo"), plain("test.typo")
    measured = [
        valid,
        test,
        *({*read(tmp_path / f"test_{name}.noisy")} for name in ("everyday", "heldout")),
    ]
    assert len(valid) == len(test) == 1500 and not valid & test
    assert not any(met & words for words in measured)
    typos = read(tmp_path / "test.typo")
    assert read(tmp_path / "test.draft") == typos != read(tmp_path / "test.word")
    assert all(typos) and {len(typo) for line in typos for typo in line.split(" ")} == {1}
    lexicon = {line.split()[0] for line in read(tmp_path / "lexicon.txt")}
    unknown = {*read(tmp_path / "test_unknown.clean")}
    seen = lexicon | plain("train.word") | {*read(tmp_path / "dev.clean")}
    assert len(unknown) == 500 and not unknown & seen
    assert {word for word in read(tmp_path / "words.txt") if word.isalpha()} <= lexicon
    for path in tmp_path.glob("*.noisy"):
        pairs = list(zip(read(path), read(path.with_suffix(".clean")), strict=True))
        assert pairs and all(len(a.split()) == len(b.split()) for a, b in pairs)
    assert sum(len(line.split()) for line in read(tmp_path / "test_running.noisy")) > 3000
