"""The packaged corrector needs neither torch nor fairseq, and corrects as with them."""

import json
import shutil
from itertools import product, starmap

import pytest
from plain_files import ROOT
from refusals import refuses
from tables import json_rows

from lev_correct import Corrector
from lev_correct.packaged import ENGLISH_SPELLING
from lev_correct.words.lexicon import Lexicon
from lev_correct.words.ngrams import Bigrams
from lev_correct.words.prepared import write_arrays
from lev_plugins.cli import export
from lev_runtime.io.text_files import read_lines


def outcomes(lines, batch_size=2, **options):
    """Returns the texts and edits of lines, and the probabilities of these."""
    corrections = Corrector.from_pretrained(**options).correct(lines, batch_size=batch_size)
    edits = [edit for line in corrections for edit in line.edits]
    named = [(edit.offset, edit.after, edit.applied, edit.reason) for edit in edits]
    texts = [line.text for line in corrections]
    return texts + named, [edit.probability for edit in edits]


OPTIONS = """
{"beam": 2}
{}
{"settings": "none", "unit": "window", "window": 1}
"""


@pytest.mark.parametrize("options", json_rows(OPTIONS), ids=["ranked", "by words", "alone"])
@pytest.mark.plugin
def test_the_export_corrects_as_torch_does(options):
    pairs = read_lines(str(ROOT / "examples/spelling_and_ocr/everyday.tsv"))
    lines = [line.split("\t")[0] for line in pairs][:40]
    lines += ["I seperated teh too, definately.", "", "naïve ünknowwn wrds", "a" * 150]
    ours = outcomes(lines, 7, path=ENGLISH_SPELLING, **options)
    theirs = outcomes(lines, 64, path=ENGLISH_SPELLING / "model.pt", **options)
    assert ours[0] == theirs[0] and len(ours[1]) > 5
    assert ours[1] == pytest.approx(theirs[1], abs=1e-4)


@pytest.mark.plugin
def test_options_that_need_torch_are_refused_where_there_is_an_export_alone(tmp_path):
    alone = shutil.copytree(ENGLISH_SPELLING, tmp_path / "alone")
    (alone / "model.pt").unlink()
    for option in ("device=cuda", "precision=bf16", "bpe=characters"):
        with refuses(f"{option}: {alone} is an export"):
            Corrector.from_pretrained(alone, settings="none", **dict([option.split("=")]))


@pytest.mark.plugin
def test_a_model_of_ones_own_goes_the_same_way_with_its_lists(tmp_path):
    own = tmp_path / "own"
    left_out = shutil.ignore_patterns("*.onnx", "*.bin", "runtime.json", "dictionaries.json")
    shutil.copytree(ENGLISH_SPELLING, own, ignore=left_out)
    (own / "corrector.lexicon").write_text("the 10\ncat 5\nend 3\n")
    (own / "corrector.bigrams").write_text("the cat 4\nthe end 2\n")
    (own / "corrector.known").write_text("teh\t1\n")
    export.main([str(own), str(tmp_path / "out")])
    assert not list(tmp_path.glob("out/*.pt"))
    lines = ["teh cta", "hte ned", "the end"]
    ours, theirs = (outcomes(lines, path=tmp_path / name) for name in ("out", "own"))
    assert ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], abs=1e-4)
    settings = json.loads((tmp_path / "out" / "corrector.json").read_text())
    assert settings["lexicon"] == "corrector.lexicon"


# prepared lists -------------------------------------------------------------------------------


def test_a_prepared_list_is_the_list_and_a_damaged_one_is_named(tmp_path):
    words = Lexicon({"a": 3.0, "bé": 0.0, "c'd": 3.0})
    pairs = Bigrams({("the", "cat"): 4.5, ("a", "cat"): 2.0, ("a", "dog"): 4.5})
    path, other = tmp_path / "words", tmp_path / "pairs"
    write_arrays(str(path), words.arrays())
    write_arrays(str(other), pairs.arrays())
    lexicon, bigrams = Lexicon.read(str(path)), Bigrams.read(str(other))
    assert lexicon.counts == words.counts
    assert lexicon.letters.per_letter("ba") == words.letters.per_letter("ba")
    assert [*starmap(bigrams.count, product(bigrams.words, repeat=2))] == [
        *starmap(pairs.count, product(bigrams.words, repeat=2))
    ]
    assert bigrams.total == pairs.total
    content = path.read_bytes()
    middle = content[:80] + b"\0" * 40 + content[120:]
    for damaged in (other.read_bytes(), content[:100], middle):
        path.write_bytes(damaged)
        with refuses(f"{path} "):
            Lexicon.read(str(path))
