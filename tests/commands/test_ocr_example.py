"""The example that corrects OCR: its scores, its look-up table, and its scripts on a tiny text."""

import gzip
import json
import random
import re
import shutil
import subprocess
import sys
import types
import unittest.mock
from collections.abc import Iterator
from pathlib import Path

import editdistance
import pytest
from example_scripts import modules
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.inference.correction import Correction, Corrector, Edit, loading, settings

LETTERS = "abcdefgh"


scores, lookup, ocr_pieces, characters, evaluate, ranking, ocr_words = modules(
    "spelling_and_ocr",
    *("ocr_scores", "lookup", "ocr_pieces", "ocr_characters", "evaluate_ocr", "ocr_ranking"),
    "ocr_words",
)
SIDES = ("noisy", "clean")


# ---------------------------------------------------------------- scores


def alignments(a: list[str], b: list[str]) -> Iterator[tuple[int, int]]:
    """(errors, -equal words) of every alignment there is, one by one."""
    if not a or not b:
        yield len(a) + len(b), 0
        return
    for errors, equal in alignments(a[1:], b[1:]):
        yield (errors, equal - 1) if a[0] == b[0] else (errors + 1, equal)
    for shorter in ((a[1:], b), (a, b[1:])):
        for errors, equal in alignments(*shorter):
            yield errors + 1, equal


few_words = st.lists(st.sampled_from("abc"), max_size=4)


@given(few_words, few_words)
def test_an_alignment_has_the_fewest_errors_and_of_those_the_most_equal_words(a, b):
    pairs = scores.aligned(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in zip(pairs, pairs[1:]))
    equal = sum(a[i] == b[j] for i, j in pairs)
    errors = len(a) + len(b) - len(pairs) - equal
    assert errors == editdistance.eval(a, b)
    assert (errors, -equal) == min(alignments(a, b))


def test_scores_count_what_was_corrected_and_what_was_miscorrected():
    clean = ["the old house", "by the sea", "word"]
    noisy = ["tbe old house", "by tne sea", "word"]
    output = ["the old horse", "by the big sea", "word"]
    found = scores.score(output, noisy, clean)
    assert (found.words, found.words_right, found.corrected, found.miscorrected) == (7, 6, 2, 1)
    assert (found.lines, found.lines_right) == (3, 1)
    assert found.word_errors == 2 and found.character_errors == 1 + 4
    assert found.word_accuracy == pytest.approx(600 / 7) and found.wer == pytest.approx(200 / 7)
    assert found.cer == pytest.approx(100 * 5 / len("".join(clean)))


def test_the_no_edit_baseline_corrects_and_miscorrects_nothing():
    noisy, clean = ["a b", "c", ""], ["a d", "c", "e"]
    found = scores.score(noisy, noisy, clean)
    assert (found.corrected, found.miscorrected, found.lines_right) == (0, 0, 1)
    assert found.word_accuracy == 50 and found.wer == 50


def test_lines_that_do_not_belong_together_are_not_scored():
    with pytest.raises(ValueError):
        scores.score(["a"], ["a", "b"], ["a", "b"])


# ---------------------------------------------------------------- look-up


def test_the_table_holds_the_most_frequent_clean_word_and_of_equals_the_first():
    noisy = ["tbe", "tbe", "tbe", "ahd", "ahd", "sat"]
    clean = ["tie", "the", "the", "and", "aha", "the sat"]
    table = lookup.learn(noisy, clean)
    assert table == {"tbe": "the", "ahd": "and", "sat": "sat"}


def test_unknown_words_and_spaces_stay():
    assert lookup.correct({"tbe": "the"}, " tbe  new tbe ") == " the  new the "


def lines(part: str, side: str, folder: Path) -> list[str]:
    """Text of a part, plain or packed."""
    plain = folder / f"{part}.{side}"
    raw = plain.read_bytes() if plain.is_file() else gzip.open(f"{plain}.gz").read()
    return raw.decode("utf-8").removesuffix("\n").split("\n")


def test_the_known_numbers_of_the_no_edit_baseline_and_looking_up_come_out(lev_data):
    folder = lev_data / "finnish_ocr" / "fold0"
    noisy, clean = lines("test", "noisy", folder), lines("test", "clean", folder)
    known = [lines("train", side, folder) + lines("dev", side, folder) for side in SIDES]
    table = lookup.learn(*known)
    nothing = scores.score(noisy, noisy, clean)
    looked_up = scores.score([lookup.correct(table, word) for word in noisy], noisy, clean)
    assert [round(one.word_accuracy, 2) for one in (nothing, looked_up)] == [80.64, 83.74]
    folder = lev_data / "post_ocr" / "icdar2019_fr_cc0"
    noisy, clean = lines("test", "noisy", folder), lines("test", "clean", folder)
    french = scores.score(noisy, noisy, clean)
    assert (round(french.cer, 2), round(french.wer, 1)) == (4.77, 17.7)


# ---------------------------------------------------------------- segments of lines

some_words = st.lists(st.sampled_from(["a", "bc", "def", ""]), min_size=1, max_size=9)


@given(some_words, st.integers(0, 4))
def test_the_pieces_of_a_line_make_the_line_again(words, size):
    line = " ".join(words)
    found = ocr_pieces.pieces(line, size)
    assert " ".join(found) == line
    assert all(len(piece.split(" ")) <= size for piece in found) or not size


@given(some_words, some_words, st.integers(0, 4))
def test_paired_pieces_lose_nothing_on_either_side(noisy, clean, size):
    noisy, clean = " ".join(noisy), " ".join(clean)
    found = ocr_pieces.paired_pieces(noisy, clean, size)
    assert " ".join(piece for piece, _ in found) == noisy
    assert " ".join(piece for _, piece in found) == clean
    assert all(len(piece.split(" ")) >= size for piece, _ in found[:-1])


def test_no_cut_tears_words_from_what_they_were_run_together_with():
    noisy, clean = "les dessusdiz choses et puis", "les dessus diz choses et puis"
    found = ocr_pieces.paired_pieces(noisy, clean, 1)
    assert ("et", "et") in found
    together = next(pair for pair in found if "dessusdiz" in pair[0].split())
    assert {"dessus", "diz"} <= set(together[1].split())


def test_a_piece_that_became_empty_leaves_no_blank():
    assert ocr_pieces.joined(["a b", "", "c"]) == "a b c" and ocr_pieces.joined([""]) == ""


# ---------------------------------------------------------------- words of a list


@pytest.mark.parametrize(
    "like, made",
    [("(the", "(owl"), ("The,", "Owl,"), ("NATO", "Owl"), ("1818.", "1818."), ("--", "--")],
)
def test_a_word_takes_the_punctuation_and_the_capital_of_another(like, made):
    assert ocr_words.dressed("owl", like) == made


def test_made_up_segments_have_words_of_the_list_in_the_places_of_the_text():
    clean = ["Ab, ba ab!", "", "ba"]
    segments = ocr_words.made_up({"cab": 9, "dab": 0}, clean, 2, random.Random(1))
    found = [line for line, _ in zip(segments, range(300))]
    assert {len(line.split()) for line in found} == {1, 2}
    cores = {word.strip(",!") for line in found for word in line.split()}
    assert cores == {"Ab", "ba", "ab", "cab", "dab", "Cab", "Dab"}
    kept = sum("ab!" in line.split() for line in found) / sum("!" in line for line in found)
    assert 0.2 < kept < 0.4  # 0.3 of the words stay


def test_words_with_letters_of_another_language_are_left_out():
    counts = {"cab": 1, "CAB": 2, "дом": 3, "a" * 31: 4}
    assert ocr_words.spelled(counts, ["a Big cat"]) == {"cab": 1, "CAB": 2}


def test_the_text_weighs_as_much_as_the_list():
    found = ocr_words.together({"cab": 90, "dab": 10}, ["(cab ab", "ab, ab"])
    assert found == {"cab": 90 + 25, "dab": 10, "ab": 75}


# ---------------------------------------------------------------- scripts


def write_text(folder: Path, **changed: str) -> Path:
    """Words of which a letter may be wrong; ``changed`` replaces whole files."""
    draw = random.Random(3)
    folder.mkdir()
    for part, size in (("train", 40), ("dev", 7), ("test", 9)):
        clean = [
            " ".join("".join(draw.choices(LETTERS, k=3)) for _ in range(draw.randint(1, 2)))
            for _ in range(size)
        ]
        noisy = [line.replace("a", "x") if draw.random() < 0.5 else line for line in clean]
        for side, texts in zip(SIDES, (noisy, clean)):
            text = changed.get(f"{part}_{side}", "".join(line + "\n" for line in texts))
            (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "line, said",
    [
        ("two▁words", "U\\+2581"),
        ("no\u00a0break", "U\\+00A0, a space of another kind"),
        ("x" * 1001, "1001 characters"),
    ],
)
def test_text_that_would_not_come_back_is_refused_with_its_line(line, said, tmp_path):
    check = characters._check
    with pytest.raises(ValueError, match=rf"text: line 7 h[^\n]*{said}") as caught:
        check("text", 7, line)
    assert "\n" not in str(caught.value)
    check("text", 7, "a plain line, as long as it may be".ljust(1000))


ENCODER = "--encoder-embed-dim 24 --encoder-ffn-embed-dim 16 --disable-validation".split()
DECODER = "--decoder-embed-dim 24 --decoder-ffn-embed-dim 16".split()


def test_with_a_list_of_words_two_thirds_of_the_training_lines_are_made_up(tmp_path, succeed):
    data, work = write_text(tmp_path / "data"), tmp_path / "work"
    (tmp_path / "words").write_text("deaf 900\nfaced 90\nbee\nzoo 10\n")
    sizes = {"WORDS": "2", "MADE_UP": "200", "LEXICON": str(tmp_path / "words")}
    out = succeed("spelling_and_ocr/prepare_ocr.sh", data, work, **sizes)
    assert out.count("next: ") == 1
    assert "3 of the 4 words of" in out
    made, real = (lines("made_up", side, work) for side in SIDES), lines("train", "clean", data)
    noisy, clean = made
    assert len(clean) == 200 and any("deaf" in line for line in clean)
    changed = {(x, y) for a, b in zip(clean, noisy) for x, y in zip(a, b) if x != y}
    assert changed == {("a", "x")}  # what the training text has
    train = lines("train", "clean", work / "characters")
    own = [line.replace(" ", "").replace("▁", " ") for line in train[:-200]]
    assert own == round(100 / len(real)) * real
    assert train[-200:] == [" ".join(line.replace(" ", "▁")) for line in clean]
    known = ranking.resources(work, *(lines("train", side, data) for side in SIDES)).resources()
    assert "deaf" in known.lexicon and "zoo" not in known.lexicon
    assert set(real[0].split()) <= set(known.lexicon.words)
    shutil.rmtree(work / "data")  # and without the list once more
    succeed("spelling_and_ocr/prepare_ocr.sh", data, work, WORDS="2")
    known = ranking.resources(work, *(lines("train", side, data) for side in SIDES)).resources()
    assert "deaf" not in known.lexicon and not (work / "made_up.clean").exists()
    with pytest.raises(ValueError, match="no word of it is spelled with the letters"):
        (tmp_path / "words").write_text("zoo\n")
        paths = [str(work / "text"), str(tmp_path / "words"), str(tmp_path)]
        with unittest.mock.patch("sys.argv", ["ocr_words.py", *paths]):
            ocr_words.main()


@pytest.mark.slow
def test_prepare_train_and_evaluate_end_in_one_table(tmp_path, succeed):
    data, work = write_text(tmp_path / "data"), tmp_path / "work"
    subprocess.run(["gzip", str(data / "train.clean")], check=True)
    search = "--thresholds 0.5,0.9 --max-iter 2 --beam 2 --nbest 3".split()
    kept = ["--json", tmp_path / "scores.json"]
    adam = ["--optimizer", "adam"]
    at_once = ["--save-interval-updates", "9", "--stop-time-hours", "1e-6"]
    two = ["--keep-interval-updates", "2", "--no-future-modelling", "--max-tokens", "99"]
    for script, arguments, environ in (
        ("prepare_ocr.sh", [data, work], {}),
        ("train_ocr.sh", [work, "levt", *ENCODER, *DECODER], {}),
        ("train_ocr.sh", [work, "ar", *ENCODER, *DECODER, *at_once, *adam], {"MINUTES": "1"}),
        ("train_ocr.sh", [work, "pbd", *ENCODER, *two], {"RUN": "no-future", "NOISE": "0.5"}),
        ("evaluate_ocr.sh", [work, *search, "--ensemble", "pbd-no-future", "pbd-twin", *kept], {}),
    ):
        if script == "evaluate_ocr.sh":
            shutil.copytree(work / "pbd-no-future", work / "pbd-twin")
        sizes = {"UPDATES": "3", "WORDS": "2", "LAYERS": "1"}
        out = succeed(f"spelling_and_ocr/{script}", *arguments, **sizes, **environ)
    assert f"PBD is not trained: bash examples/spelling_and_ocr/train_ocr.sh {work} pbd" in out
    tried = re.findall(r"^dev  (\w+) .* (\S+), --[bd].* WER +[\d.]+$", out, re.M)
    pbd = ["checkpoint_last.pt", "checkpoint_1_1.pt", "checkpoint_1_2.pt", "average.pt"]
    assert tried[:-1] == [
        ("AR", pbd[0]), *(("PBD", one) for one in [*pbd, *pbd]), *[("LevT", pbd[0])] * 2
    ]  # fmt: skip
    assert len(re.findall(r"^dev  .*, ranked +--nbest 3, --min-confidence", out, re.M)) == 5
    table = re.search(r"^test: 9 lines, .*\n.*words right.*\n((?:.+\n)+)", out, re.M)
    assert table, out
    width = max(len(row.split("%")[0].rstrip(" .0123456789")) for row in table[1].splitlines())
    rows = {row[:width].strip(): row[width:].split() for row in table[1].splitlines()}
    systems = ["AR", "PBD no-future", "PBD twin", "LevT", "PBD no-future + PBD twin"]
    ranked = [name for one in systems for name in (one, f"{one}, ranked")]
    assert list(rows) == ["no-edit baseline", "look-up", *ranked]
    assert rows["PBD no-future"] == rows["PBD twin"] == rows["PBD no-future + PBD twin"]
    assert settings.read(str(work / "levt" / settings.NAME)).window == 2
    for system in ("levt", "ar", "pbd-no-future"):  # without settings, what a checkpoint says
        learnt = Corrector.from_pretrained(str(work / system), settings="none")
        assert (learnt.unit, learnt.window) == ("window", 2)
    assert rows["no-edit baseline"][-2:] == ["0", "0"]
    numbers = json.loads((tmp_path / "scores.json").read_text())["systems"]
    assert list(numbers) == list(rows) and numbers["AR"]["parameters"] > 1000
    for name, row in rows.items():
        assert f"{numbers[name]['words_right']:.2f}" == row[0]
        written = (work / "output" / f"test.{name.replace(' ', '-').lower()}").read_text("utf-8")
        outputs = written.removesuffix("\n").split("\n")
        found = scores.score(outputs, lines("test", "noisy", data), lines("test", "clean", data))
        assert row[0] == f"{found.word_accuracy:.2f}" and row[-2:] == [
            str(found.corrected),
            str(found.miscorrected),
        ]


# ---------------------------------------------------------------- choosing on dev


class Part:
    """A dev set of four words, of which two are wrong."""

    noisy, clean = ["a", "b", "x", "y"], ["a", "b", "c", "d"]

    def score(self, outputs: list[str]):
        return scores.score(outputs, self.noisy, self.clean)


@pytest.mark.parametrize("key, chosen", [("accuracy", "splits"), ("wer", "corrects")])
def test_words_right_and_word_errors_can_choose_differently(key, chosen, capsys):
    outputs = {
        "idle": Part.noisy,
        "corrects": ["a", "b", "c", "y"],
        "equal": ["a", "b", "x", "d"],
        "splits": ["a x", "b x", "c x", "d x"],
    }
    candidates = [
        evaluate.Candidate(name, lambda lines, out=out: out) for name, out in outputs.items()
    ]
    found = evaluate._chosen("PBD", candidates, Part(), evaluate.CHOICES[key])
    assert found.label == chosen
    assert re.search(r"^dev  PBD +corrects +words right +75.00 %", capsys.readouterr().out, re.M)


def test_dev_lines_are_taken_evenly(tmp_path):
    (tmp_path / "text").mkdir()
    for side in SIDES:
        (tmp_path / "text" / f"dev.{side}").write_text("".join(f"{side} {n}\n" for n in range(5)))
    for some, numbers in ((None, range(5)), (9, range(5)), (2, [0, 2])):
        text = evaluate.Text(tmp_path, "dev", some)
        assert text.noisy == [f"noisy {n}" for n in numbers]
        assert text.clean == [f"clean {n}" for n in numbers]


def test_systems_are_found_by_the_names_of_their_folders(tmp_path, capsys):
    for name in ("pbd", "pbd-4-layers", "ar", "output", "arable", "levt-empty"):
        (tmp_path / name).mkdir()
        if name != "levt-empty":
            (tmp_path / name / "checkpoint_last.pt").touch()
    found = evaluate._trained(tmp_path, None)
    assert list(found) == ["AR", "PBD", "PBD 4-layers"]
    assert capsys.readouterr().out.startswith("LevT is not trained")
    assert list(evaluate._trained(tmp_path, ["pbd-4-layers"])) == ["PBD 4-layers"]
    with pytest.raises(ValueError, match="--systems levt-empty: no checkpoints in"):
        evaluate._trained(tmp_path, ["ar", "levt-empty"])


@pytest.mark.parametrize(
    "folders, said",
    [
        (["pbd", "levt"], "one kind"),
        (["pbd"], "two or more"),
        (["pbd", "pbd"], "two or more different"),
        (["pbd", "pbd-3"], "pbd-3 is not scored; there are pbd, pbd-2, levt"),
    ],
)
def test_an_ensemble_that_cannot_be_is_refused(folders, said):
    trained = {"PBD": Path("pbd"), "PBD 2": Path("pbd-2"), "LevT": Path("levt")}
    assert evaluate._ensembles([["pbd", "pbd-2"]], trained) == {"PBD + PBD 2": ["PBD", "PBD 2"]}
    with pytest.raises(ValueError, match=f"--ensemble {' '.join(folders)}: .*{said}"):
        evaluate._ensembles([folders], trained)


# ---------------------------------------------------------------- re-ranking


def test_lexicon_and_table_are_those_of_the_training_text(tmp_path):
    noisy = ["(teh cat,", *["xat to"] * 4, "xat to"]
    clean = ["(the cat,", *["cat to"] * 4, "rat too"]
    known = ranking.resources(tmp_path, noisy, clean).resources()
    assert known.lexicon.counts == {"the": 1, "cat": 5, "to": 4, "rat": 1, "too": 1}
    assert known.lookup.corrections == {"(teh": ("(the",), "xat": ("cat",)}
    (tmp_path / "words").write_text("dog 3\n")
    own = ranking.resources(tmp_path, noisy, clean, str(tmp_path / "words")).resources()
    assert own.lexicon.counts == {"dog": 3} and own.lookup.corrections == known.lookup.corrections


def test_symspellpy_corrects_with_the_words_to_rank_by(tmp_path, monkeypatch):
    pytest.importorskip("symspellpy")
    (tmp_path / "words").write_text("House 90\nthe 50\nhouse 10\n")
    known = settings.Settings(lexicon=str(tmp_path / "words"))
    assert ranking.dictionary_corrected(known, ["«teh Hcuse», qqqqqq"]) == ["«the House», qqqqqq"]
    monkeypatch.setitem(sys.modules, "symspellpy", None)
    with pytest.raises(ValueError, match="--symspell needs symspellpy: pip install symspellpy"):
        ranking.dictionary_corrected(known, ["a"])


@pytest.mark.parametrize(
    "spaces, words, unit",
    [(False, 0, ("window", 1)), (True, 0, ("line", None)), (True, 3, ("window", 3))],
)
def test_a_text_without_spaces_is_corrected_word_by_word(spaces, words, unit, monkeypatch):
    backend = types.SimpleNamespace(knows_spaces=spaces)
    monkeypatch.setattr(loading, "load_backend", lambda *path, **options: backend)
    for name in ("UnitRanker", "UnitRankingBackend", "fit"):
        monkeypatch.setattr(ranking, name, lambda *arguments: None)
    monkeypatch.setattr(ranking, "Corrector", lambda backend, *unit: unit)
    chosen = ranking.Candidate("last", lambda lines: lines)
    known = settings.Settings()
    assert ranking.fitted(chosen, "", words, (6, 1), known, ([], [])).corrector == unit


class Longer(Part):
    """Five words, of which three are wrong."""

    noisy, clean = ["a", "b", "x", "y", "w"], ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("most, miscorrected, corrected", [(0.2, 0, 1), (0.5, 1, 3)])
def test_the_threshold_breaks_no_more_than_it_may(most, miscorrected, corrected):
    key = evaluate.CHOICES["accuracy"]
    edits = {"x": ("c", 0.9), "a": ("z", 0.6), "y": ("d", 0.5), "w": ("e", 0.4)}

    def correct(lines, *, min_confidence, batch_size):
        made = {
            line: (Edit(0, line, after, chance, chance >= min_confidence),)
            for line, (after, chance) in edits.items()
        }
        return [
            Correction(line, made[line][0].after if line in made else line, made.get(line, ()))
            for line in lines
        ]

    found = ranking.Ranked(types.SimpleNamespace(correct=correct), None, None)
    _, chosen = found.choose_threshold(Longer(), key, most)
    assert (chosen.miscorrected, chosen.corrected) == (miscorrected, corrected)


def test_the_verdict_names_what_is_no_better_than_no_edits():
    verdict, part = evaluate._verdict, Longer()
    first = part.score(part.noisy)
    worse, better = (part.score(["a", "b", *rest]) for rest in (["x", "q", "q"], ["c", "d", "w"]))
    assert verdict("AR", worse, first).startswith("AR: no better than no edits yet: train longer")
    assert verdict("AR", better, first) == (
        "AR: corrects 66.7 % of the wrong words, miscorrects 0.00 for each, character errors "
        "-66.7 %"
    )
