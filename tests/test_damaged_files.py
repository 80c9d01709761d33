"""Whatever is read of others, forged or damaged: used, or refused in one line that names it.

Entries of Python × payloads, settings that would run, fetch or read, and damage at random. The
entries ``fairseq`` and ``resume`` are what fairseq's programs read checkpoints by.
"""

import pickle
import random
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import checkpoints
import numpy as np
import pytest
import test_prediction
import tiny
import torch
from fairseq import checkpoint_utils, file_utils
from fairseq.distributed import utils as distributed_utils
from omegaconf import OmegaConf
from plain_files import put
from refusals import refuses
from safetensors.torch import load_file
from saved import Malicious, begin, changed, parsed, save

from lev_correct import Corrector
from lev_plugins import EncT5, LevenshteinEditor, UserError
from lev_plugins.cli import backbone
from lev_plugins.cli.average import average
from lev_plugins.fairseq_patches.checkpoint_files import loading_checkpoint
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.systems.transformer_concat import TransformerConcatModel
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask


def checkpoint(folder: Path, kind: str) -> Path:
    tiny.dictionaries(folder / "bin")
    return save(folder / f"{kind}.pt", folder / "bin", kind)


@pytest.fixture(autouse=True)
def unsafe_torch(monkeypatch):
    """Makes torch unpickle anything, if nobody asks for weights only."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")


# damage at random ---------------------------------------------------------------------------------


def pickled(folder: Path) -> Path:
    path = checkpoints.bert(folder)
    tensors = load_file(str(weights := path / "model.safetensors"))
    weights.unlink()
    for part in (0, 1):
        part_tensors = {name: tensors[name] for name in sorted(tensors)[part::2]}
        torch.save(part_tensors, path / f"pytorch_model-0000{part + 1}-of-00002.bin")
    return path


def inspect(path: str) -> None:
    backbone.main([path])


#: what is damaged: who writes it (a file, or a folder whose files are damaged one after the other),
#: who reads all of it, random damages of each file, and whether what is cut short is never used
SUBJECTS = {
    "editor": (partial(checkpoint, kind="editor"), LevenshteinEditor.from_pretrained, 40, True),
    "stock": (partial(checkpoint, kind="stock"), Corrector.from_pretrained, 40, True),
    "enct5": (
        lambda folder: test_prediction.save(folder / "model.pt", "tagging"),
        lambda path: EncT5.from_pretrained(path).predict_tags(["a b", "", "c"]),
        40,
        True,
    ),
    "bert": (checkpoints.bert, inspect, 12, False),
    "bart": (checkpoints.bart, inspect, 12, False),
    "t5": (checkpoints.t5, inspect, 12, False),
    "bert, pickled": (pickled, inspect, 24, False),
}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, another byte, a part cut out, put twice or cut off."""
    bad, place = bytearray(content), rng.randrange(len(content))
    match rng.randrange(10):
        case 0:
            bad[place] = rng.randrange(256)
        case 1:
            del bad[place : place + rng.randint(1, 9)]
        case 2:
            bad[place:place] = bad[place : place + rng.randint(1, 9)]
        case 3:
            del bad[place:]
        case _:  # most of a file of numbers is noticed at once when bytes are missing
            bad[place] ^= 1 << rng.randrange(8)
    return bytes(bad)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_it_is_loaded_or_refused_and_no_pickle_is_run(name, tmp_path):
    make, load, turns, exact = SUBJECTS[name]
    victim, rng, refused = tmp_path / "victim", random.Random(11), 0
    source = make(tmp_path / "good")

    def loads() -> bool:
        try:
            load(str(source))
        except UserError as error:
            message = str(error)
            assert "\n" not in message and len(message) < 800
            assert re.search(f"{source}|--|the checkpoint", message), message
            return False
        return True

    assert loads()
    pattern = "*.bin" if make is pickled else "*"
    for path in [source] if source.is_file() else sorted(source.glob(pattern)):
        content = path.read_bytes()
        for _ in range(turns):
            path.write_bytes(damaged(content, rng))
            refused += not loads()
        size = len(content)
        cuts = [content[:place] for place in (0, 1, 2, 3, 4, 64, size // 2, size - 22, size - 1)]
        for bad in [pickle.dumps(Malicious(victim)), *(cuts if exact else ())]:
            path.write_bytes(bad)
            assert not loads() and not victim.exists()
        path.write_bytes(content)
    assert refused > turns // 6, "hardly anything was looked at"


# entries × payloads -------------------------------------------------------------------------------


def hub(path: str) -> None:
    """fairseq's own ``from_pretrained``."""
    home, name = Path(path).parent, Path(path).name
    TransformerConcatModel.from_pretrained(str(home), name, source_lang="src", target_lang="tgt")


def fairseq(path: str) -> Any:
    return checkpoint_utils.load_model_ensemble_and_task([path])


def resume(path: str) -> None:
    """A training, from where it was stopped."""
    begin(parsed(Path(path).parent / "bin", "editor"), None, restore_file=path)


ENTRIES = [
    LevenshteinEditor.from_pretrained,
    Corrector.from_pretrained,
    EncT5.from_pretrained,
    load_state,
    lambda path: average([path]),
    hub,
    fairseq,
    resume,
]
#: where a pickle stands in a checkpoint, in the two forms that torch writes
PARTS = ("args", "cfg", "model", "extra_state", "task_state", "last_optimizer_state", "new")
#: what is written to a path, given a good state and what harms where it is unpickled
PAYLOADS = {
    **{
        part: lambda path, state, harm, part=part, number=number: torch.save(
            {**state, part: harm}, path, _use_new_zipfile_serialization=number % 2 == 0
        )
        for number, part in enumerate(PARTS)
    },
    "array": lambda path, _, harm: torch.save({"cfg": np.array([harm], dtype=object)}, path),
    "all": lambda path, _, harm: torch.save(harm, path),
    "plain pickle": lambda path, state, harm: path.write_bytes(pickle.dumps({**state, "a": harm})),
    "nothing": lambda path, *_: None,
    "folder": lambda path, *_: path.mkdir(),
    "zip": lambda path, *_: path.write_bytes(b"PK\x05\x06" + bytes(18)),
    "text": lambda path, *_: path.write_text("hello\n" * 99),
    "list": lambda path, *_: torch.save([1, 2], path),
    "tensors": lambda path, *_: torch.save({"a": torch.ones(2)}, path),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_entry_uses_what_is_no_checkpoint_or_runs_what_is_in_one(name, tmp_path):
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    good = torch.load(checkpoint(tmp_path, "editor"), weights_only=True)
    PAYLOADS[name](path, good, Malicious(victim))
    for load in ENTRIES:
        with refuses(path):
            load(str(path))
        assert not victim.exists()


def test_a_checkpoint_of_another_system_is_refused(tmp_path):
    for kind, load in (("stock", ENTRIES[0]), ("editor", EncT5.from_pretrained)):
        path = checkpoint(tmp_path, kind)
        with refuses("task", path):
            load(str(path))


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


# entries × settings -------------------------------------------------------------------------------

CALL = "__import__('os').system('touch {}') or [1, 2]"
#: a section and its settings; of models and tasks those that read drafts are asked too
SETTINGS = """
bpe _name=sentencepiece sentencepiece_model={apart}
bpe _name=subword_nmt bpe_codes=https://example.org/file
bpe _name=gpt2
bpe _name=bert bpe_vocab_file=https://example.org/file
model adaptive_softmax_cutoff={call}
model xformers_att_config={call}
model _name=fconv encoder_layers={call}
model _name=xm_transformer load_pretrained_decoder_from={payload}
model encoder_embed_dim=32
model encoder_layers=32
task source_lang=/../../x
task target_lang=${{x}}
task data=s3://a/b
"""
_opened = set()
sys.addaudithook(lambda event, arguments: event == "open" and _opened.add(str(arguments[0])))


@pytest.mark.parametrize("row", SETTINGS.strip().splitlines())
def test_settings_run_fetch_and_read_nothing(row, tmp_path, monkeypatch):
    victim, apart, payload = (tmp_path / name for name in ("victim", "apart", "payload.pt"))
    apart.write_text("secret")
    torch.save({"cfg": Malicious(victim), "model": {}}, payload)
    fetched = []
    monkeypatch.setattr(file_utils, "get_from_cache", lambda url, *_: fetched.append(url))
    section, *pairs = row.split()
    named = {"call": CALL.format(victim), "apart": apart, "payload": payload}
    texts = dict(pair.format(**named).split("=", 1) for pair in pairs)
    values = {name: int(text) if text.isdigit() else text for name, text in texts.items()}
    entries = [("editor", ENTRIES[0]), ("stock", ENTRIES[1]), ("stock", fairseq)]
    evil = tmp_path / "home/evil/evil.pt"
    evil.parent.mkdir(parents=True)
    for kind, load in entries[:2] if section == "bpe" else entries[1:]:
        changed(checkpoint(tmp_path / "good", kind), evil, section, **values)
        _opened.clear()
        with refuses(payload if "{payload}" in row else evil):
            load(str(evil))
        assert str(evil) in _opened and str(apart) not in _opened
        assert not victim.exists() and not fetched


def test_a_checkpoint_brings_its_embeddings_and_no_criterion_writes_a_file(tmp_path):
    evil, victim = tmp_path / "evil.pt", tmp_path / "victim"
    embeddings = str(put(tmp_path / "embeddings", ["1 2", "a 0 0"]))
    named = dict.fromkeys(("encoder_embed_path", "decoder_embed_path"), embeddings)
    changed(checkpoint(tmp_path, "stock"), evil, "model", **named)
    changed(evil, evil, "criterion", _name="sentence_ranking", save_predictions=str(victim))
    _opened.clear()
    (model,), cfg, _ = fairseq(str(evil))
    assert embeddings not in _opened and not cfg.criterion.save_predictions
    state = torch.load(evil, weights_only=True)["model"]
    assert all(torch.equal(state[name], value) for name, value in model.named_parameters())


def test_noisy_text_is_cut_by_files_of_the_checkpoint_alone(tmp_path):
    cfg = NoisyTranslationConfig(data=str(tmp_path), noise="ocr", noise_confusions=__file__)
    cfg.text_bpe = OmegaConf.create({"_name": "sentencepiece", "sentencepiece_model": __file__})
    with loading_checkpoint([str(tmp_path / "evil.pt")]):
        task = NoisyTranslationTask(cfg, tiny.dictionary(), tiny.dictionary())
    with refuses("--sentencepiece-model"):
        task.encoding()("abc")
    with refuses("--noise-confusions"):
        task._noise_of("test")
