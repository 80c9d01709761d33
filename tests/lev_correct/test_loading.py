"""Checkpoints of every kind as correctors, and those that are none."""

import json
import shutil
from types import SimpleNamespace

import pytest
import tiny
from fairseq import tasks
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from refusals import refuses
from saved import changed, save
from tables import cases

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_correct.propose.editor import LevenshteinBackend
from lev_plugins.inference.correcting import Autoregressive, Generating

LINE = "abc  hgx\tzz \u2028dead beef \udcff.\r"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``bin`` with a dictionary of letters; checkpoints."""
    folders = tmp_path_factory.mktemp("correctors")
    tiny.dictionaries(folders / "bin")
    for kind, seed in (("editor", 3), ("stock", 3), ("concat", 7)):
        save(folders / f"{kind}.pt", folders / "bin", kind, seed)
    changed(folders / "stock.pt", folders / "other.pt", "task", _name="language_modeling")
    return folders


@pytest.mark.parametrize(
    "name, backend",
    [("editor", LevenshteinBackend), ("stock", Autoregressive), ("concat", Autoregressive)],
)
def test_every_kind_of_model_corrects(folder, name, backend):
    corrector = Corrector.from_pretrained(folder / f"{name}.pt")
    assert isinstance(corrector.backend, backend) and corrector.backend.words_learnt is None
    assert corrector.unit == "word"  # letters, and no space among them
    lines = ["abc", "", LINE, " ", "hgfedcba" * 30, "a"]
    together = [correction.text for correction in corrector.correct(lines, batch_size=2)]
    assert together == [corrector.correct([line])[0].text for line in lines]
    assert together[2] != LINE


class OtherTask(TranslationTask):
    """Has beam search behind fairseq's interface of generators, and nothing besides."""

    def build_generator(self, models, args, **options):
        return SimpleNamespace(generate=super().build_generator(models, args, **options).generate)


def test_a_system_with_a_generator_of_its_own_corrects_too(folder, monkeypatch):
    monkeypatch.setitem(tasks.TASK_REGISTRY, "other", OtherTask)
    monkeypatch.setitem(tasks.TASK_DATACLASS_REGISTRY, "other", TranslationConfig)
    path = changed(folder / "stock.pt", folder / "own.pt", "task", _name="other")
    corrector, wanted = map(Corrector.from_pretrained, (path, folder / "stock.pt"))
    assert type(corrector.backend) is Generating
    assert corrector.correct([LINE]) == wanted.correct([LINE])
    with refuses("--lexicon"):
        Corrector.from_pretrained(path, lexicon="/dev/null")


def test_a_unit_leaves_room_for_a_longer_correction(folder, tmp_path):
    path = changed(folder / "stock.pt", tmp_path / "a.pt", "task", max_target_positions=20)
    assert Corrector.from_pretrained(path, folder / "bin").backend.limit == 16


def test_an_answer_without_end_leaves_the_unit(folder):
    corrector = Corrector.from_pretrained(str(folder / "stock.pt"), beam=2)
    model = corrector.backend.model
    model.decoder.output_projection.weight.data[2] = 0  # </s> is never likely
    model.decoder.output_projection.weight.data[3:] *= 50
    (correction,) = corrector.correct(["abc hgf"])
    assert correction.text == "abc hgf" and correction.unterminated == ((0, 3), (4, 7))


@pytest.mark.parametrize("name, options, message", cases("lev_correct/cases.tsv", "loading: wrong"))
def test_a_wrong_option_is_named(folder, name, options, message):
    with refuses(match=message):
        Corrector.from_pretrained(folder / f"{name}.pt", **options)


def run(capsys, *words):
    assert correct.main(list(map(str, words))) == 0
    return capsys.readouterr()


FILES = {
    "lexicon": "abc 9\ndead 5\nbeef 2\n", "lookup": "dea\tdead\n", "confusions": "beef dead\n",
    "bigrams": "abc dead 5\nabc beef 2\n", "protect-words": "zzz dea\n",
    "settings": '{"weights": {"lookup": 2}}',
}  # fmt: skip


@pytest.mark.parametrize("weights", [(), ("--tune-weights",)])
def test_what_was_tuned_is_used_from_then_on(folder, tmp_path, capsys, weights):
    path = str(shutil.copy(folder / "stock.pt", tmp_path))
    noisy, clean = tmp_path / "noisy", tmp_path / "clean"
    noisy.write_text("abc dea\nbeef zzz\n")
    clean.write_text("abc dead\nbeef zzz\n")
    more = []
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        more += [f"--{name}", tmp_path / name]
    model = ["--path", path, "--data", folder / "bin"]
    tune = ["tune", *model, noisy, clean]
    output, _ = run(capsys, *tune, *more, "--beam", "7", *weights)
    assert "1 of 1 wrong ones corrected, 0 of 3 right ones changed" in output
    for name in FILES:  # copies stand beside the checkpoint
        (tmp_path / name).unlink()
    run(capsys, *tune)  # what is not given again stays as it was
    corrector = Corrector.from_pretrained(path, str(folder / "bin"))
    assert corrector.backend.uses_context and corrector.backend.model.beam == 7
    stored = json.loads((tmp_path / "corrector.json").read_text())["weights"]
    assert corrector.backend.named_weights() == stored
    assert (stored["lookup"] == 2) == (not weights)
    assert corrector.backend.confused == {"beef": ("dead",), "dead": ("beef",)}
    corrections = corrector.correct(["abc dea!", "zzz dea"], min_confidence=0)
    assert [line.text for line in corrections] == ["abc dead!", "zzz dea"], "one is protected"
    text, _ = run(capsys, *model, noisy)
    assert text == clean.read_text()
