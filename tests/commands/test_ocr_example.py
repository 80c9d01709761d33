"""The example that corrects OCR: its scores, its look-up table, and its scripts on a tiny text."""

import gzip
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from example_scripts import modules
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.inference.correction import Corrector, settings

LETTERS = "abcdefgh"


scores, lookup, ocr_pieces, ranking, ocr_words = modules(
    "spelling_and_ocr", "ocr_scores", "lookup", "ocr_pieces", "ocr_ranking", "ocr_words"
)
SIDES = ("noisy", "clean")


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


some_words = st.lists(st.sampled_from(["a", "bc", "def", ""]), min_size=1, max_size=9)


@given(some_words, some_words, st.integers(0, 4))
def test_paired_pieces_lose_nothing_on_either_side(noisy, clean, size):
    noisy, clean = " ".join(noisy), " ".join(clean)
    found = ocr_pieces.paired_pieces(noisy, clean, size)
    assert " ".join(piece for piece, _ in found) == noisy
    assert " ".join(piece for _, piece in found) == clean
    assert all(len(piece.split(" ")) >= size for piece, _ in found[:-1])


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
    assert [system for system, _ in tried[:-1]] == ["AR", *["PBD"] * 8, "LevT", "LevT"]
    assert {path for system, path in tried if system == "PBD"} == {
        "checkpoint_last.pt", "checkpoint_1_1.pt", "checkpoint_1_2.pt", "average.pt"
    }  # fmt: skip
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
        written = (work / "output" / f"test.{name.replace(' ', '-').lower()}").read_text("utf-8")
        outputs = written.removesuffix("\n").split("\n")
        found = scores.score(outputs, lines("test", "noisy", data), lines("test", "clean", data))
        shown = [f"{found.word_accuracy:.2f}", str(found.corrected), str(found.miscorrected)]
        assert [row[0], *row[-2:]] == shown
