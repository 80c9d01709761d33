"""Checkpoints of every kind as correctors, and those that are none."""

import json
import shutil

import pytest
import tiny
import torch
from fairseq import tasks
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from refusals import refuses
from saved import changed, save

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_correct.models.editor import LevenshteinBackend
from lev_correct.ranking.ranking import Ranker, defaults
from lev_plugins.inference.correcting import Autoregressive, Generating

LINE = "abc  hgx\tzz \u2028dead beef \udcff.\r"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``bin`` with a dictionary of letters, ``spaced`` with a space among them; checkpoints."""
    folders = tmp_path_factory.mktemp("correctors")
    for name, letters in (("bin", tiny.LETTERS), ("spaced", tiny.LETTERS + "▁.")):
        tiny.dictionaries(folders / name, letters)
    for kind, seed in (("editor", 3), ("stock", 3), ("concat", 7), ("pbd", 3)):
        save(folders / f"{kind}.pt", folders / "bin", kind, seed)
    save(folders / "second.pt", folders / "bin", "stock", 7)
    save(folders / "lines.pt", folders / "spaced", "stock")
    changed(folders / "lines.pt", folders / "lines.pt", "bpe", _name="characters")
    changed(folders / "stock.pt", folders / "other.pt", "task", _name="language_modeling")
    return folders


def test_a_model_of_an_earlier_version_has_later_options_at_their_defaults(folder, tmp_path):
    """And an option that has gone since is left out."""
    path = changed(folder / "editor.pt", tmp_path / "editor.pt", "task", gone=1)
    state = torch.load(path, weights_only=True)
    for later in ("deletion_trace", "source_pointer", "source_copy"):
        del state["cfg"]["model"][later]
    torch.save(state, path)
    now, before = map(Corrector.from_pretrained, (folder / "editor.pt", path))
    assert now.correct([LINE]) == before.correct([LINE])


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
    (correction,) = corrector.correct([LINE])
    assert correction.edits and all(0 <= edit.probability <= 1 for edit in correction.edits)
    (sure,) = corrector.correct([LINE], min_confidence=1)
    assert sure.text == LINE and len(sure.edits) == len(correction.edits)
    lines = ["abc", "", LINE, " ", "hgfedcba" * 30, "a"]
    assert [correction.text for correction in corrector.correct(lines, batch_size=2)] == [
        corrector.correct([line])[0].text for line in lines
    ]


class OtherGenerator:
    """Beam search behind fairseq's interface of generators, and nothing besides."""

    def __init__(self, search):
        self.search = search

    def generate(self, models, sample, **options):
        return self.search.generate(models, sample, **options)


class OtherTask(TranslationTask):
    def build_generator(self, models, args, **options):
        return OtherGenerator(super().build_generator(models, args, **options))


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


def test_a_missing_dictionary_is_named(folder, tmp_path):
    path = changed(folder / "stock.pt", tmp_path / "model.pt", "task", data="gone")
    state = torch.load(path, weights_only=True)
    del state["task_state"]["symbols"]
    torch.save(state, path)
    with refuses(match=r"dict\.src\.txt does not exist; .* data=DIR"):
        Corrector.from_pretrained(str(path))


def test_an_answer_without_end_leaves_the_unit(folder):
    corrector = Corrector.from_pretrained(str(folder / "stock.pt"), beam=2)
    model = corrector.backend.model
    model.decoder.output_projection.weight.data[2] = 0  # </s> is never likely
    model.decoder.output_projection.weight.data[3:] *= 50
    (correction,) = corrector.correct(["abc hgf"])
    assert correction.text == "abc hgf" and correction.unterminated == ((0, 3), (4, 7))


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("other.pt", {}, "was trained with --task language_modeling; a corrector needs"),
        ("editor.pt", {"beam": 4}, "beam=4: .*editor.pt is an edit model"),
        ("editor.pt", {"lexicon": "/dev/null"}, "--lexicon and --lookup need"),
        ("stock.pt", {"beam": 0}, "beam=0: must be 1 or more"),
        ("stock.pt", {"bpe": "nonsense"}, "bpe: 'nonsense'"),
        ("stock.pt", {"bpe_codes": "gone"}, "--bpe-codes"),
        ("stock.pt", {"unit": "line"}, "unit=line: the model's dictionary has no space"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(folder, name, options, message):
    with refuses(match=message):
        Corrector.from_pretrained(folder / name, **options)


def run(capsys, *words):
    """What the command wrote to standard output, and to standard error."""
    assert correct.main(list(map(str, words))) == 0
    return capsys.readouterr()


FILES = {"words": "abc 9\ndead 5\nbeef 2\n", "pairs": "dea\tdead\n", "sets": "beef dead\n",
         "bigrams": "abc dead 5\nabc beef 2\n", "names": "zzz dea\n",
         "weights.json": '{"weights": {"lookup": 2}}',
         "noisy": "abc dea\nbeef zzz\n", "clean": "abc dead\nbeef zzz\n"}  # fmt: skip


def test_what_was_tuned_is_used_from_then_on(folder, tmp_path, capsys):
    path = str(shutil.copy(folder / "stock.pt", tmp_path))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    model = ["--path", path, "--data", folder / "bin"]
    flags = {"lexicon": "words", "lookup": "pairs", "bigrams": "bigrams", "confusions": "sets"}
    flags |= {"protect-words": "names", "settings": "weights.json"}
    more = [word for flag, file in flags.items() for word in (f"--{flag}", tmp_path / file)]
    tune = ["--tune", tmp_path / "noisy", tmp_path / "clean"]
    output, _ = run(capsys, *model, *more, "--beam", "7", *tune)
    assert "1 of 1 wrong ones corrected, 0 of 3 right ones changed" in output
    for file in flags.values():  # copies stand beside the checkpoint
        (tmp_path / file).unlink()
    run(capsys, *model, *tune)  # what is not given again stays as it was
    corrector = Corrector.from_pretrained(path, str(folder / "bin"))
    assert corrector.backend.uses_context and corrector.backend.model.beam == 7
    assert corrector.backend.named_weights()["lookup"] == 2
    assert corrector.backend.confused == {"beef": ("dead",), "dead": ("beef",)}
    wanted = {"abc dea!": "abc dead!", "zzz dea": "zzz dea"}  # protected
    assert [line.text for line in corrector.correct(wanted, min_confidence=0)] == [*wanted.values()]
    text, output = run(capsys, *model, tmp_path / "noisy")
    assert text == FILES["clean"] and f"settings of {tmp_path}/corrector.json" in output


def test_lines_are_reranked_with_a_lexicon_and_the_tuned_weights_come_back(
    folder, tmp_path, capsys
):
    path, data = shutil.copy(folder / "lines.pt", tmp_path), str(folder / "spaced")
    files = {"words": "abc\ndead\n", "noisy": "abd dea\nabc\n", "clean": "abc dead\nabc\n"}
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)
    lexicon, *texts = (str(tmp_path / name) for name in files)
    words = ["--lexicon", lexicon, "--unit", "window", "--window", "2", "--data", data]
    run(capsys, "--path", path, *words, "--tune", *texts, "--tune-weights")
    corrector = Corrector.from_pretrained(path, data)
    assert isinstance(corrector.backend, Ranker)
    assert (corrector.unit, corrector.window) == ("window", 2)
    (line,) = corrector.correct(["abd dea"], min_confidence=0)
    assert line.text.split()[0] == "abc", "a word of the lexicon"
    stored = json.loads((tmp_path / "corrector.json").read_text())
    assert corrector.backend.named_weights() == stored["weights"] != defaults(False)


@pytest.mark.parametrize("name", ["editor.pt", "stock.pt", "concat.pt", "pbd.pt"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_model_corrects_in_a_folder_with_data_of_others(
    folder, tmp_path, monkeypatch, name, beside
):
    """With the dictionaries beside it, or those that it carries."""
    wanted = Corrector.from_pretrained(folder / name, folder / "bin").correct([LINE])
    alone, theirs = tmp_path / "model", tmp_path / "theirs"
    alone.mkdir()
    changed(folder / name, alone / name, "task", data="data")
    if beside:
        tiny.dictionaries(alone)
        state = torch.load(alone / name, weights_only=True)
        del state["task_state"]["symbols"]  # of a checkpoint of fairseq alone
        torch.save(state, alone / name)
    tiny.dictionaries(theirs / "data", "xyz")
    monkeypatch.chdir(theirs)
    assert Corrector.from_pretrained(alone / name).correct([LINE]) == wanted
    with refuses("data"):
        Corrector.from_pretrained(alone / name, "data")
