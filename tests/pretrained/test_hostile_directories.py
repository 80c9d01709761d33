"""Folders of pre-trained models, damaged at random: loaded, or refused in one line."""

import io
import json
import os
import random
import resource
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from safetensors.torch import load_file

from lev_plugins import UserError
from lev_plugins.pretrained.bpe import open_tokenizer
from lev_plugins.pretrained.loading import inspect
from lev_plugins.systems.enct5.t5_directory import T5Directory

MEMORY = 512  # MiB
KINDS = {"bert": checkpoints.bert, "bart": checkpoints.bart, "t5": checkpoints.t5}
WEIGHTS, HUGE = "model.safetensors", 10**9
VALUES = (HUGE, 2**70, 2**24, 0, -1, 1.5, "x", None, [], {}, True, float("nan"), float("inf"))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(tmp_path: Path, kind: str) -> Path:
    return KINDS[kind](tmp_path / kind)


def load(folder: Path) -> None:
    """All that is done with a folder."""
    inspect(str(folder))
    if folder.name == "t5":
        directory = T5Directory(str(folder))
        directory.sizes()
        directory.pieces()


def outcome(folder: Path, call: Callable[[Path], Any] = load) -> str:
    """``loaded``, or what was said; within some memory either way."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        call(folder)
        said = "loaded"
    except UserError as error:
        said = str(error)
        assert str(folder) in said, said
        assert "\n" not in said and len(said) < 800
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 1024
    return said


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, another byte, a part cut out, put twice or cut off."""
    bad, how = bytearray(content), rng.randrange(6)
    place = rng.randrange(len(bad))
    if how <= 1:
        bad[place] ^= 1 << rng.randrange(8)
    elif how == 2:
        bad[place] = rng.randrange(256)
    elif how == 3:
        del bad[place : place + rng.randint(1, 9)]
    elif how == 4:
        bad[place:place] = bad[place : place + rng.randint(1, 9)]
    else:
        del bad[place:]
    return bytes(bad)


def test_whole_folders_are_loaded(folder):
    assert outcome(folder) == "loaded"


def test_every_setting_may_be_anything(folder):
    settings = json.loads((folder / "config.json").read_text())
    found = Counter[bool]()
    for name in settings:
        for value in VALUES:
            (folder / "config.json").write_text(json.dumps({**settings, name: value}))
            found[outcome(folder) == "loaded"] += 1
        (folder / "config.json").write_text(
            json.dumps({key: value for key, value in settings.items() if key != name})
        )
        found[outcome(folder) == "loaded"] += 1
    assert found[False] > 8 * len(settings) and found[True] > 0


@pytest.mark.parametrize("content", [b"[" * 10**5, b'{"a":' * 10**5, b"1" * 10**5, b"\xff", b"\0"])
def test_json_of_any_form_is_refused(folder, content):
    for name in ("config.json", "tokenizer_config.json", "special_tokens_map.json"):
        whole = (folder / name).read_bytes() if (folder / name).exists() else b"{}"
        (folder / name).write_bytes(content)
        assert outcome(folder) != "loaded"
        (folder / name).write_bytes(whole)


def test_any_file_may_be_damaged(folder):
    rng, found = random.Random(11), Counter[bool]()
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for turn in range(80):
            content = damaged(whole, rng)
            if turn % 4 == 0 and content:
                content = damaged(content, rng)
            path.write_bytes(content)
            found[outcome(folder) == "loaded"] += 1
        path.write_bytes(whole)
    assert min(found.values()) > 10, "nothing was looked at"


def test_any_file_may_be_a_folder_empty_or_gone(folder):
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(b"")
        assert outcome(folder) != "loaded"
        path.unlink()
        assert outcome(folder) != "loaded"
        path.mkdir()
        assert outcome(folder) != "loaded"
        path.rmdir()
        path.write_bytes(whole)


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Safetensors with another header over the same numbers."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def test_a_header_that_is_forged_takes_no_memory(folder):
    whole = (folder / WEIGHTS).read_bytes()
    names = sorted(load_file(str(folder / WEIGHTS)))
    changes: list[Callable[[Any], Any]] = [
        lambda one: one.update(shape=[HUGE, HUGE]),
        lambda one: one.update(shape=[2**62, 4]),
        lambda one: one.update(shape=[-1]),
        lambda one: one.update(shape=[]),
        lambda one: one.update(data_offsets=[0, 2**62]),
        lambda one: one.update(data_offsets=[2**62, 0]),
        lambda one: one.update(data_offsets=[-8, 8]),
        lambda one: one.update(dtype="F64"),
        lambda one: one.update(dtype="X"),
        lambda one: one.clear(),
    ]
    for change in changes:
        for name in names[:3]:
            rewritten(folder / WEIGHTS, lambda header, n=name, c=change: c(header[n]))
            assert outcome(folder) != "loaded"
            (folder / WEIGHTS).write_bytes(whole)


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**32, 2**40, 2**62, 2**63, 2**64 - 1])
def test_a_header_of_any_length_is_refused(folder, length):
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", length) + whole[8:])
    assert outcome(folder) != "loaded"


@pytest.mark.parametrize("zipped", [True, False])
def test_a_damaged_pickle_is_loaded_or_refused(folder, zipped):
    tensors, stream = load_file(str(folder / WEIGHTS)), io.BytesIO()
    (folder / WEIGHTS).unlink()
    torch.save(tensors, stream, _use_new_zipfile_serialization=zipped)
    whole, path = stream.getvalue(), folder / "pytorch_model.bin"
    path.write_bytes(whole)
    assert outcome(folder) == "loaded"
    rng, found = random.Random(12), Counter[bool]()
    for _ in range(120):
        path.write_bytes(damaged(whole, rng))
        found[outcome(folder) == "loaded"] += 1
    assert found[False] > 30


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_one_number_is_no_table(folder):
    tensors = load_file(str(folder / WEIGHTS))
    (folder / WEIGHTS).unlink()
    name = next(one for one in tensors if "word_emb" in one or "shared" in one)
    settings = json.loads((folder / "config.json").read_text())
    for rows in (2**20, 2**30, 2**40):
        forged = {**tensors, name: torch.zeros(1).expand(rows, checkpoints.DIM)}
        torch.save(forged, folder / "pytorch_model.bin")
        (folder / "config.json").write_text(json.dumps({**settings, "vocab_size": rows}))
        assert outcome(folder) != "loaded"


def test_a_sentencepiece_model_may_be_damaged(tmp_path):
    import sentencepiece

    folder = checkpoints.t5(tmp_path / "t5")
    (folder / "tokenizer.json").unlink()
    with open(folder / "spiece.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the cat sat on a mat"] * 9),
            model_writer=file,
            vocab_size=24,
            hard_vocab_limit=False,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            minloglevel=2,
        )
    settings = {"extra_ids": 0}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    whole, rng, found = (folder / "spiece.model").read_bytes(), random.Random(13), Counter[str]()

    def cut(folder: Path) -> None:
        tokenizer = open_tokenizer(str(folder))
        assert isinstance(tokenizer.encode("the cat ☃"), str)

    for _ in range(200):
        (folder / "spiece.model").write_bytes(damaged(whole, rng))
        found[outcome(folder, cut)[:4]] += 1
    assert len(found) > 1


def test_links_that_lead_out_of_a_folder_are_files_like_others(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    shutil.move(folder / "vocab.txt", tmp_path / "elsewhere")
    (folder / "vocab.txt").symlink_to(tmp_path / "elsewhere")
    assert outcome(folder) == "loaded"
    (tmp_path / "elsewhere").unlink()
    assert outcome(folder) != "loaded"
    (folder / "vocab.txt").unlink()
    (folder / "vocab.txt").symlink_to(folder / "vocab.txt")
    assert outcome(folder) != "loaded"


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_told(folder):
    for path in sorted(folder.iterdir()):
        path.chmod(0)
        assert "cannot be read" in outcome(folder) and str(path) in outcome(folder)
        path.chmod(0o644)
