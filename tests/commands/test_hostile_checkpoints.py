"""Untrusted checkpoints: no entry runs, fetches or reads what they say; one line says why not.

Entries (commands and Python) × payloads. Damaged files: tests/test_damaged_files.py.
"""

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import checkpoints
import numpy as np
import pytest
import tiny
import torch
from conftest import PACKAGE, SIZES, TRAINING
from fairseq import checkpoint_utils, file_utils, utils
from fairseq.distributed import utils as distributed_utils
from omegaconf import OmegaConf
from plain_files import put
from refusals import refuses
from saved import Malicious, changed, save
from test_damaged_files import LOADS

import lev_plugins
from lev_correct import Corrector
from lev_plugins import LevenshteinEditor
from lev_plugins.cli import enct5_prepare
from lev_plugins.fairseq_patches.checkpoint_files import loading_checkpoint
from lev_plugins.systems.transformer_concat import TransformerConcatModel
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

LETTERS = "abcdefgh"
LANGUAGES = "--source-lang src --target-lang tgt"


@pytest.fixture(scope="module")
def folder(commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin``, good checkpoints of an editor and of one that writes, and examples for EncT5."""
    good = tmp_path_factory.mktemp("untrusted")
    lines = [" ".join(LETTERS[i:] + LETTERS[:i]) for i in range(8)]
    for language in ("src", "tgt", "mt"):
        put(good / f"text.{language}", lines)
    prefixes = "".join(f" --{split}pref text" for split in ("train", "valid", "test"))
    drafts = f"{LANGUAGES} --draft-lang mt --joined-dictionary --destdir bin"
    commands.preprocess(drafts + prefixes, good)
    for kind in ("editor", "stock"):
        save(good / f"{kind}.pt", good / "bin", kind)
    put(good / "examples", [f"{line[0]}\t{line}" for line in lines])
    flags = f"--kind classification --train {good}/examples --bytes"
    enct5_prepare.main(f"{flags} --destdir {good}/enct5".split())
    return good


@pytest.fixture(autouse=True)
def unsafe_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes torch unpickle anything, if nobody asks for weights only."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")


# commands × a pickle ------------------------------------------------------------------------------


@pytest.fixture
def places(folder: Path, tmp_path: Path) -> dict[str, Path]:
    """A folder with a good checkpoint that holds one thing more, under the usual names; a Hugging
    Face directory whose weights are a pickle of that sort; and what is good.
    """
    victim, home = tmp_path / "victim", tmp_path / "evil"
    home.mkdir()
    state = torch.load(folder / "editor.pt", weights_only=True)
    for name in ("checkpoint_last.pt", "evil.pt"):
        torch.save({**state, "extra_state": Malicious(victim)}, home / name)
    t5 = checkpoints.t5(home / "t5")
    (t5 / "model.safetensors").unlink()
    torch.save({"shared.weight": Malicious(victim)}, t5 / "pytorch_model.bin")
    good = {"data": "bin", "lines": "text.src", "examples": "examples", "enct5": "enct5"}
    paths = {name: folder / path for name, path in {**good, "editor": "editor.pt"}.items()}
    return {**paths, "victim": victim, "evil": home / "evil.pt", "home": home, "t5": t5}


READ = f"{{data}} {LANGUAGES} --cpu"
TRAIN = f"fairseq-train {{data}} {LANGUAGES} {TRAINING} --max-update 1 --disable-validation"
EDIT = (
    f"{TRAIN} --task translation_edit --arch levenshtein_editor_char {SIZES} "
    "--criterion edit_policy_loss"
)


@pytest.mark.parametrize(
    "command",
    [
        f"{EDIT} --save-dir new --restore-file {{evil}}",
        f"{EDIT} --save-dir {{home}}",
        f"{TRAIN} --task noisy_translation --arch gated_transformer --backbone {{t5}} "
        "--criterion cross_entropy --save-dir new",
        f"fairseq-train {{enct5}} --task enct5 --arch enct5_base --t5-dir {{t5}} "
        f"--criterion enct5 {TRAINING} --save-dir new",
        f"fairseq-generate {READ} --task translation_edit --path {{evil}}",
        f"fairseq-interactive {READ} --task translation_edit --path {{evil}}",
        f"fairseq-validate {READ} --task translation_edit --path {{evil}} --batch-size 2",
        "correct --path {evil}",
        "trace --path {evil} --input {lines}",
        "predict --path {evil} --input {lines}",
        "enct5_prepare --kind classification --train {examples} --t5-dir {t5} --destdir {home}/new",
        "average {editor} {evil} --output {home}/new.pt",
        "backbone {t5}",
    ],
)
def test_no_command_runs_a_pickle(command, places, commands, tmp_path):
    words = command.format(**places)
    if words.startswith("fairseq"):
        words = f"{words} --user-dir {PACKAGE}"
    else:
        words = f"python -m lev_plugins {words}"
    environ = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    message = commands(words, tmp_path, stdin=b"a b\n", environ=environ).error
    assert not places["victim"].exists(), "it was run"
    assert "system" in message, "refused, but for another reason"
    assert any(str(places[name]) in message for name in ("evil", "home", "t5"))
    assert not list(tmp_path.glob("new*")) or not list((tmp_path / "new").glob("*"))


# Python × pickles in every place ------------------------------------------------------------------


def hub(path: str) -> None:
    """fairseq's own ``from_pretrained``."""
    home, name = Path(path).parent, Path(path).name
    TransformerConcatModel.from_pretrained(str(home), name, source_lang="src", target_lang="tgt")


def fairseq(path: str) -> Any:
    return checkpoint_utils.load_model_ensemble_and_task([path])


PARTS = ("args", "cfg", "model", "extra_state", "task_state", "last_optimizer_state", "new")


@pytest.mark.parametrize("number, part", list(enumerate([*PARTS, "array", "all"])))
def test_a_pickle_is_refused_wherever_it_stands(folder, tmp_path, number, part):
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    state = torch.load(folder / "editor.pt", weights_only=True)
    harm: Any = Malicious(victim)
    if part == "array":
        harm = np.array([harm], dtype=object)
    forged = harm if part == "all" else {**state, part: harm}
    if number % 3 == 2:
        path.write_bytes(pickle.dumps(forged))
    else:  # the two forms that torch writes
        torch.save(forged, path, _use_new_zipfile_serialization=number % 3 == 0)
    for load in (*LOADS, hub, fairseq):
        with refuses(path):
            load(str(path))
        assert not victim.exists()


def test_no_module_of_fairseq_reads_more_than_weights(tmp_path):
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    torch.save({"cfg": Malicious(victim), "model": {}}, path)
    readers = [
        module
        for name, module in sys.modules.items()
        if name.startswith("fairseq.") and b"torch.load(" in Path(module.__file__).read_bytes()
    ]
    assert len(readers) > 3 and distributed_utils in readers
    for module in readers:
        with refuses("system"):
            module.torch.load(path, "cpu", weights_only=False)
    assert not victim.exists()
    # what processes send each other: settings with values that are missing
    torch.save({"cfg": OmegaConf.create({"needed": "???"})}, path)
    assert "cfg" in distributed_utils.torch.load(path, map_location="cpu")


def test_nothing_of_ours_unpickles_what_torch_would_not():
    for path in Path(lev_plugins.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"\bpickle\.loads?\(|\bshelve\b|\bmarshal\b|allow_pickle=True", text)
        for call in re.findall(r"torch\.load\((.*)\)\n", text):
            assert re.search(r"weights_only\"?\s*[=:]\s*True", call), f"{path}: {call}"


# Python × settings --------------------------------------------------------------------------------

URL = "https://example.org/file"
CALL = "__import__('os').system('touch {victim}') or [1, 2]"
EDITING, WRITING = (
    ("editor", LevenshteinEditor.from_pretrained),
    ("stock", Corrector.from_pretrained),
)
FAIRSEQ = ("stock", fairseq)
_opened: set[str] = set()
sys.addaudithook(lambda event, arguments: event == "open" and _opened.add(str(arguments[0])))


@pytest.mark.parametrize(
    ("entry", "section", "settings"),
    [
        *(
            (entry, "bpe", {"_name": name, **settings})
            for entry in (EDITING, WRITING)
            for name, settings in (
                ("sentencepiece", {"sentencepiece_model": "{apart}"}),
                ("subword_nmt", {"bpe_codes": URL}),
                ("gpt2", {}),
                ("bert", {"bpe_vocab_file": URL}),
            )
        ),
        *(
            (entry, section, settings)
            for entry in (WRITING, FAIRSEQ)
            for section, settings in (
                ("model", {"adaptive_softmax_cutoff": CALL}),
                ("model", {"xformers_att_config": CALL}),
                ("model", {"_name": "fconv", "encoder_layers": CALL}),
                (
                    "model",
                    {"_name": "xm_transformer", "load_pretrained_decoder_from": "{payload}"},
                ),
                ("task", {"source_lang": "/../../x"}),
                ("task", {"target_lang": "${{x}}"}),
                ("task", {"data": "s3://a/b"}),
            )
        ),
    ],
)
def test_settings_run_fetch_and_read_nothing(
    folder, tmp_path, monkeypatch, entry, section, settings
):
    victim, apart, payload = (tmp_path / name for name in ("victim", "apart", "payload.pt"))
    apart.write_text("secret")
    torch.save({"cfg": Malicious(victim), "model": {}}, payload)
    fetched: list[str] = []
    monkeypatch.setattr(file_utils, "get_from_cache", lambda url, *_: fetched.append(url))
    kind, load = entry
    named = {"victim": victim, "apart": apart, "payload": payload}
    values = {name: value.format(**named) for name, value in settings.items()}
    (tmp_path / "home/evil").mkdir(parents=True)
    evil = changed(folder / f"{kind}.pt", tmp_path / "home/evil/evil.pt", section, **values)
    _opened.clear()
    with refuses(payload if str(payload) in values.values() else evil):
        load(str(evil))
    assert str(evil) in _opened and str(apart) not in _opened
    assert not victim.exists() and not fetched


def test_the_user_may_name_and_evaluate_what_a_checkpoint_may_not(folder, tmp_path):
    assert utils.eval_str_list("[1] * 2") == [1, 1]
    model = tiny.sentencepiece_model(
        tmp_path / "spm.model", ["abcdefgh", "hgfedcba"], model_type="char", vocab_size=12
    )
    named = {"bpe": "sentencepiece", "sentencepiece_model": str(model)}
    assert LevenshteinEditor.from_pretrained(str(folder / "editor.pt"), **named).bpe is not None


def test_a_checkpoint_brings_its_embeddings_and_no_criterion_writes_a_file(folder, tmp_path):
    evil, victim = tmp_path / "evil.pt", tmp_path / "victim"
    embeddings = str(put(tmp_path / "embeddings", ["1 2", "a 0 0"]))
    named = dict.fromkeys(("encoder_embed_path", "decoder_embed_path"), embeddings)
    changed(folder / "stock.pt", evil, "model", **named)
    changed(evil, evil, "criterion", _name="sentence_ranking", save_predictions=str(victim))
    _opened.clear()
    (model,), cfg, _ = fairseq(str(evil))
    assert embeddings not in _opened and not cfg.criterion.save_predictions
    state = torch.load(evil, weights_only=True)["model"]
    assert all(torch.equal(state[name], value) for name, value in model.named_parameters())


def test_noisy_text_is_cut_by_files_of_the_checkpoint_alone(folder, tmp_path):
    cfg = NoisyTranslationConfig(data=str(tmp_path), noise="ocr", noise_confusions=__file__)
    cfg.text_bpe = OmegaConf.create({"_name": "sentencepiece", "sentencepiece_model": __file__})
    with loading_checkpoint([str(tmp_path / "evil.pt")]):
        task = NoisyTranslationTask(cfg, tiny.dictionary(), tiny.dictionary())
    with refuses("--sentencepiece-model"):
        task.encoding()("abc")
    with refuses("--noise-confusions"):
        task._noise_of("test")
