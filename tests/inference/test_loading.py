"""Checkpoints of every kind as correctors, and those that are none."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest
import tiny
import torch
from refusals import refuses
from saved import changed, save

from lev_plugins import Corrector, UserError
from lev_plugins.cli import correct
from lev_plugins.inference.checkpoints import words_learnt
from lev_plugins.inference.correction import settings
from lev_plugins.inference.correction.autoregressive import Autoregressive
from lev_plugins.inference.correction.levenshtein import LevenshteinBackend
from lev_plugins.inference.correction.ranking import Ranker, defaults

LINE = "abc  hgx\tzz \u2028dead beef \udcff.\r"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``bin`` with a dictionary of letters, ``spaced`` with a space among them; checkpoints."""
    made = tmp_path_factory.mktemp("correctors")
    for name, letters in (("bin", tiny.LETTERS), ("spaced", tiny.LETTERS + "▁.")):
        tiny.dictionaries(made / name, letters)
    for kind, seed in (("editor", 3), ("stock", 3), ("concat", 7)):
        save(made / f"{kind}.pt", made / "bin", kind, seed)
    save(made / "second.pt", made / "bin", "stock", 7)
    save(made / "lines.pt", made / "spaced", "stock")
    changed(made / "lines.pt", made / "lines.pt", "bpe", "_name", "characters")
    changed(made / "stock.pt", made / "other.pt", "task", "_name", "language_modeling")
    return made


def test_a_model_of_an_earlier_version_has_later_options_at_their_defaults(folder, tmp_path):
    state = torch.load(folder / "editor.pt", weights_only=True)
    settings = state["cfg"]["model"]
    for name in ("deletion_trace", "source_pointer", "source_copy"):
        del settings[name]
    torch.save(state, tmp_path / "editor.pt")
    found, wanted = (
        Corrector.from_pretrained(place / "editor.pt", folder / "bin").correct([LINE])
        for place in (tmp_path, folder)
    )
    assert found == wanted


@pytest.mark.parametrize(
    "name, backend",
    [
        ("editor.pt", LevenshteinBackend),
        ("stock.pt", Autoregressive),
        ("concat.pt", Autoregressive),
    ],
)
def test_every_kind_of_model_corrects(folder, name, backend):
    corrector = Corrector.from_pretrained(folder / name)
    assert isinstance(corrector.backend, backend) and corrector.backend.words_learnt is None
    assert corrector.unit == "word"  # letters, and no space among them
    (found,) = corrector.correct([LINE])
    for spaces in ("  ", "\t", " \u2028", "\r"):
        assert spaces in found.text
    assert found.edits and all(0 <= edit.probability <= 1 for edit in found.edits)
    (sure,) = corrector.correct([LINE], min_confidence=1)
    assert sure.text == LINE and len(sure.edits) == len(found.edits)
    lines = ["abc", "", LINE, " ", "hgfedcba" * 30, "a"]
    assert [one.text for one in corrector.correct(lines, batch_size=2)] == [
        corrector.correct([line])[0].text for line in lines
    ]


def test_text_processing_can_be_chosen(folder):
    lines = str(folder / "lines.pt")
    corrector = Corrector.from_pretrained(lines)
    assert corrector.unit == "line" and corrector.backend.size("a b") == 3
    corrector = Corrector.from_pretrained(lines, unit="window", window=2, bpe="none")
    assert corrector.window == 2 and corrector.backend.size("ab c") == 2
    corrector = Corrector.from_pretrained(str(folder / "stock.pt"), bpe="characters")
    assert corrector.backend.size("ab") == 2


def test_dictionaries_may_stand_elsewhere(folder, tmp_path):
    path = changed(folder / "stock.pt", tmp_path / "model.pt", "task", "data", "gone")
    with pytest.raises(UserError, match=r"dict\.src\.txt does not exist; .* data=DIR"):
        Corrector.from_pretrained(str(path))
    named = Corrector.from_pretrained(str(path), data=str(folder / "bin"))
    tiny.dictionaries(tmp_path)
    beside = Corrector.from_pretrained(str(tmp_path))
    assert beside.correct([LINE]) == named.correct([LINE])


@pytest.mark.parametrize(
    "name, given, message",
    [
        ("no.pt", {}, "checkpoint .*no.pt does not exist"),
        ("other.pt", {}, "was trained with --task language_modeling; a corrector is"),
        ("editor.pt", {"beam": 4}, "beam=4: .*editor.pt is an edit model"),
        ("editor.pt", {"lexicon": "/dev/null"}, "--lexicon, --lookup: need a model"),
        ("concat.pt", {"lexicon": "/dev/null"}, "--lexicon, --lookup: need a model"),
        ("stock.pt", {"beam": 0}, "beam=0: must be 1 or more"),
        ("stock.pt", {"bpe": "nonsense"}, "bpe: 'nonsense'"),
        ("stock.pt", {"unit": "line"}, "unit=line: the model's dictionary has no space"),
        ("stock.pt", {"unit": "page"}, "unit=page: choose one of"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(folder, name, given, message):
    with refuses(match=message):
        Corrector.from_pretrained(folder / name, **given)


def test_an_answer_without_end_leaves_the_unit(folder):
    corrector = Corrector.from_pretrained(str(folder / "stock.pt"), beam=2)
    model = corrector.backend.models[0]
    model.decoder.output_projection.weight.data[2] = 0  # </s> is never likely
    model.decoder.output_projection.weight.data[3:] *= 50
    (found,) = corrector.correct(["abc hgf"])
    assert found.text == "abc hgf" and found.unterminated == ((0, 3), (4, 7))


def test_what_was_tuned_is_used_from_then_on(folder, tmp_path, capsys, monkeypatch):
    path = str(shutil.copy(folder / "stock.pt", tmp_path / "stock.pt"))
    (tmp_path / "words").write_text("abc 9\ndead 5\nbeef 2\n")
    (tmp_path / "pairs").write_text("dea\tdead\n")
    (tmp_path / "bigrams").write_text("abc dead 5\nabc beef 2\n")
    (tmp_path / "noisy").write_text("abc dea\nbeef zzz\n")
    (tmp_path / "clean").write_text("abc dead\nbeef zzz\n")
    files = [str(tmp_path / one) for one in ("noisy", "clean")]
    words = ["--lexicon", str(tmp_path / "words"), "--lookup", str(tmp_path / "pairs")]
    (tmp_path / "sets").write_text("beef dead\n")
    words += ["--bigrams", str(tmp_path / "bigrams"), "--confusions", str(tmp_path / "sets")]
    (tmp_path / "names").write_text("zzz dea\n")
    words += ["--weight", "lookup=2", "--protect-words", str(tmp_path / "names")]
    data = ["--data", str(folder / "bin")]
    assert correct.main(["--path", path, *data, *words, "--tune", *files]) == 0
    assert "1 of 1 wrong ones corrected, 0 of 3 right ones changed" in capsys.readouterr().out
    for one in ("words", "names"):  # copies stand beside the checkpoint
        (tmp_path / one).unlink()
    corrector = Corrector.from_pretrained(path, str(folder / "bin"))
    assert corrector.backend.uses_context
    assert corrector.backend.named_weights()["lookup"] == 2
    assert corrector.backend.confused == {"beef": ("dead",), "dead": ("beef",)}
    assert corrector.unit == "letters" and corrector.correct(["(dea)!"])[0].text == "(dead)!"
    assert corrector.correct(["dea"], min_confidence=1)[0].text == "dea"
    (left,) = corrector.correct(["zzz dea"], min_confidence=0, protect=["[0-9]"])
    assert left.text == "zzz dea" and left.edits[-1].reason == "protected"
    output = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", output)
    assert correct.main(["--path", path, *data, files[0]]) == 0
    assert output.buffer.getvalue().decode() == "abc dead\nbeef zzz\n"
    said = capsys.readouterr().err
    assert f"settings of {tmp_path}/corrector.json: --unit letters" in said
    assert "protected words (tuned for" in said
    without = Corrector.from_pretrained(path, str(folder / "bin"), settings="none")
    assert without.unit == "word" and without.settings is None


def test_a_checkpoint_may_say_nothing_or_nonsense_about_the_words_that_it_learnt():
    for extra in (None, [], {}, {"words_learnt": True}, {"words_learnt": "3"}):
        assert words_learnt({"extra_state": extra}) is None
    assert words_learnt({"extra_state": {"words_learnt": 3}}) == 3


def test_the_search_that_was_tuned_is_used(folder, tmp_path):
    data = str(folder / "bin")
    file = settings.write(settings.Settings(beam=3), str(tmp_path / "model.pt"))
    writes = Corrector.from_pretrained(str(folder / "stock.pt"), data, settings=file)
    assert writes.backend.generator.beam_size == 3
    Path(file).write_text(Path(file).read_text().replace('"beam": 3', '"beam": 0'))
    with pytest.raises(UserError, match="beam=0: must be 1 or more"):
        Corrector.from_pretrained(str(folder / "stock.pt"), data, settings=file)


def test_lines_are_reranked_with_a_lexicon_and_the_tuned_weights_come_back(folder, tmp_path):
    shutil.copy(folder / "lines.pt", tmp_path / "lines.pt")
    path, data = str(tmp_path / "lines.pt"), str(folder / "spaced")
    files = {"words": "abc\ndead\n", "noisy": "abd dea\nabc\n", "clean": "abc dead\nabc\n"}
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)
    lexicon, *texts = (str(tmp_path / name) for name in files)
    words = ["--lexicon", lexicon, "--unit", "window", "--window", "2", "--data", data]
    tune = ["--path", path, *words, "--tune", *texts]
    assert correct.main([*tune, "--tune-weights", "--beam", "7"]) == 0
    corrector = Corrector.from_pretrained(path, data)
    assert corrector.backend.model.generator.beam_size == 7
    given = Corrector.from_pretrained(path, data, beam=3)
    assert given.backend.model.generator.beam_size == 3
    assert isinstance(corrector.backend, Ranker)
    assert (corrector.unit, corrector.window) == ("window", 2)
    # the weights are random: whether "dead" is among the seven best depends on the CPU's rounding
    assert corrector.correct(["abd dea"])[0].text.split()[0] == "abc", "a word of the lexicon"
    stored = json.loads((tmp_path / "corrector.json").read_text())
    assert corrector.backend.named_weights() == stored["weights"] != defaults(False)
    assert correct.main(tune) == 0, "what was tuned before and is not given stays"
    again = json.loads((tmp_path / "corrector.json").read_text())
    assert (stored["beam"], again["beam"]) == (7, 7)
    with pytest.raises(UserError, match="no space"):
        Corrector.from_pretrained(str(folder / "stock.pt"), unit="line", lexicon=lexicon)
