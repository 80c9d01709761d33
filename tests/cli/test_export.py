"""export: a folder for the runtime, whole or not at all."""

import functools
import subprocess
import sys

import pytest
import saved
import tiny
import torch
import yaml
from refusals import refusal
from safetensors.torch import load_file

from lev_correct import Corrector
from lev_plugins.cli import export
from lev_runtime import Editor


@pytest.fixture
def checkpoint(tmp_path):
    return saved.save(tmp_path / "model.pt", tiny.dictionaries(tmp_path / "data"), "editor")


def test_a_corrector_of_letters_without_bpe_reads_words_from_its_export_too(tmp_path):
    checkpoint = saved.save(tmp_path / "m.pt", tiny.dictionaries(tmp_path / "data"), "stock")
    export.main([str(checkpoint), str(tmp_path / "out")])
    written = [
        [edit.after for line in corrector.correct(["abc hgf", "bad"]) for edit in line.edits]
        for corrector in map(Corrector.from_pretrained, (checkpoint, tmp_path / "out"))
    ]
    assert written[0] == written[1] and len(written[0]) > 2


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """The refusal of a command that leaves its folder as it was."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(refusal, export.main)


def test_what_cannot_be_exported_is_refused_with_nothing_written(checkpoint, tmp_path, refused):
    out = tmp_path / "out"
    assert "missing.pt" in refused(tmp_path / "missing.pt", out)
    assert "moses" in refused(checkpoint, out, "--tokenizer", "moses").lower()
    for place in (tmp_path / "data", checkpoint):
        assert "already exists" in refused(checkpoint, place)
    assert str(checkpoint / "below") in refused(checkpoint, checkpoint / "below")


def test_a_card_has_the_head_of_the_run_and_the_parameters_are_those_of_the_checkpoint(
    checkpoint, tmp_path
):
    state = torch.load(checkpoint, weights_only=True)
    cfg = state["cfg"]
    cfg["task"] |= {"source_lang": "de", "target_lang": "tgt", "data": "some/corpus"}
    cfg["checkpoint"]["best_checkpoint_metric"] = "bleu"
    state["extra_state"] = {"best": 12.5}
    (tmp_path / "data/dict.src.txt").rename(tmp_path / "data/dict.de.txt")
    torch.save(state, checkpoint)
    out = tmp_path / "a model"
    flags = ["--data", str(tmp_path / "data"), "--card", "--license", "mit", "--safetensors"]
    export.main([str(checkpoint), str(out), *flags])
    front, text = (out / "README.md").read_text().removeprefix("---\n").split("\n---\n")
    head = yaml.safe_load(front)
    assert head == {
        "license": "mit",
        "language": ["de"],
        "library_name": "lev_plugins",
        "tags": ["fairseq", "onnx", "levenshtein_editor_char"],
        "datasets": ["corpus"],
        "metrics": ["bleu"],
    }
    assert "bleu 12.5" in text
    parameters = load_file(out / "model.safetensors")
    assert parameters.keys() == state["model"].keys()
    assert all(torch.equal(parameters[name], state["model"][name]) for name in parameters)
    Editor(out)


@pytest.mark.slow
def test_a_mistake_is_all_that_a_new_process_says(tmp_path):
    words = [sys.executable, "-m", "lev_plugins", "export", "missing.pt", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
