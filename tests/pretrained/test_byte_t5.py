"""ByT5's vocabulary: bytes, with no file of them; and broken sentencepiece models."""

import json
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.errors import UserError
from lev_plugins.pretrained import Directory, Vocabulary, read_vocabulary
from lev_plugins.pretrained.bpe import open_tokenizer
from lev_plugins.pretrained.vocabulary import is_byte_t5, load_pieces


def byt5(folder: Path, settings: Any = None, **config: Any) -> Directory:
    """A folder of a ByT5; ``settings``: of its tokenizer."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "t5", **config}))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return Directory(str(folder))


def vocabulary(folder: Path, **settings: Any) -> Vocabulary:
    return read_vocabulary(byt5(folder, {"tokenizer_class": "ByT5Tokenizer", **settings}))


def test_bytes_stand_behind_the_special_pieces_and_before_the_extra_ids(tmp_path):
    found = vocabulary(tmp_path / "byt5", extra_ids=125)
    assert len(found) == 384
    assert [found.rows[piece] for piece in ("<pad>", "</s>", "<unk>")] == [0, 1, 2]
    # as ByT5's own tokenizer numbers them
    assert found.rows["<0x61>"] == 100 and found.rows["<0xE9>"] == 236
    assert found.rows["<extra_id_0>"] == 259 and found.rows["<extra_id_124>"] == 383
    assert found.mask_symbol() == "<extra_id_0>"
    assert sorted(found.rows.values()) == list(range(384))


@pytest.mark.parametrize("extra, size", [(0, 259), (7, 266), (None, 384)])
def test_the_number_of_extra_ids_is_read(tmp_path, extra, size):
    settings = {} if extra is None else {"extra_ids": extra}
    assert len(vocabulary(tmp_path / "byt5", **settings)) == size


@pytest.mark.parametrize("place", ["added_tokens.json", "tokenizer_config.json"])
def test_a_tokenizer_that_was_saved_again_keeps_its_extra_ids(tmp_path, place):
    # it says that there are none, and lists them among what was added
    rows = {f"<extra_id_{number}>": 259 + number for number in range(125)}
    listed = {str(row): {"content": token} for token, row in rows.items()}
    listed["0"] = {"content": "<pad>"}
    settings = {"extra_ids": 0}
    folder = tmp_path / "byt5"
    if place == "tokenizer_config.json":
        settings["added_tokens_decoder"] = listed
    else:
        folder.mkdir()
        (folder / place).write_text(json.dumps(rows))
    found = vocabulary(folder, **settings)
    assert found.rows == vocabulary(tmp_path / "first", extra_ids=125).rows


@pytest.mark.parametrize(
    "settings, config, expected",
    [
        ({"tokenizer_class": "ByT5Tokenizer"}, {}, True),
        (None, {"tokenizer_class": "ByT5Tokenizer"}, True),
        ({}, {"tokenizer_class": "ByT5Tokenizer"}, True),
        ({"tokenizer_class": "T5Tokenizer"}, {"tokenizer_class": "ByT5Tokenizer"}, False),
        ({"tokenizer_class": "T5Tokenizer"}, {}, False),
        ({"tokenizer_class": ["ByT5Tokenizer"]}, {}, False),
        (None, {}, False),
    ],
)
def test_a_byt5_is_told_by_the_class_of_its_tokenizer(tmp_path, settings, config, expected):
    assert is_byte_t5(byt5(tmp_path / "t5", settings, **config)) == expected


@pytest.mark.parametrize("extra", [-1, 10**9, "125", 1.5, True])
def test_numbers_of_extra_ids_that_cannot_be_are_refused(tmp_path, extra):
    with pytest.raises(UserError, match="tokenizer_config.json: extra_ids is"):
        vocabulary(tmp_path / "byt5", extra_ids=extra)


def test_a_t5_without_a_vocabulary_is_no_byt5(tmp_path):
    with pytest.raises(UserError, match="no vocabulary in it: tokenizer.json or spiece.model"):
        read_vocabulary(byt5(tmp_path / "t5"))


def test_a_byt5_has_no_tokenizer_for_bpe(tmp_path):
    folder = tmp_path / "byt5"
    vocabulary(folder)
    with pytest.raises(UserError, match="its tokenizer is of the type None; known are"):
        open_tokenizer(str(folder))


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 100])
def test_broken_sentencepiece_models_are_named(tmp_path, content):
    file = tmp_path / "spiece.model"
    file.write_bytes(content)
    for more in ((), (content,)):
        with pytest.raises(UserError, match=r"spiece.model: not a sentencepiece model; copy it"):
            load_pieces(str(file), *more)
    file.unlink()
    with pytest.raises(UserError, match=r"spiece.model: not a sentencepiece model; copy it"):
        load_pieces(str(file))
