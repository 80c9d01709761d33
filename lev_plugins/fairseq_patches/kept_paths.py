"""Faults: fairseq keeps the names of files as they were typed, which lead nowhere from another
folder; a file that does not exist is told late, or by a traceback.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairseq import file_utils
from hydra.core.hydra_config import HydraConfig
from hydra.utils import get_original_cwd
from omegaconf import DictConfig, OmegaConf

from lev_runtime.errors import UserError

from ..io.model_files import REMOTE, AnyPath, flag
from ..io.patching import Stock, patches

#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()
#: section of a training's settings → its options that name one file or folder
KEPT: Mapping[str, Sequence[str]] = {
    "bpe": FILES,
    "tokenizer": FILES,
    "task": ("noise_confusions",),
    "model": ("backbone", "bert_dir", "t5_dir", "encoder_embed_path", "decoder_embed_path"),
    "task.text_bpe": FILES,
    "task.text_tokenizer": FILES,
    "checkpoint": ("finetune_from_model",),
}
_UNSET = ("", "???")


def plain(settings: Any) -> Mapping[str, Any]:
    """Settings by name as they are written: one that refers to another is a text with ``${``."""
    if isinstance(settings, DictConfig):
        settings = OmegaConf.to_container(settings, resolve=False)
    if isinstance(settings, str):
        return {"_name": settings}
    return settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})


class _FileOption(NamedTuple):
    """An option of a section's settings that names a local file or folder."""

    settings: Any
    name: str
    path: str


def _file_options(cfg: Any, sections: Iterable[str]) -> Iterator[_FileOption]:
    for section in sections:
        if isinstance(cfg, DictConfig):
            settings = OmegaConf.select(cfg, section, throw_on_resolution_failure=False)
        else:
            settings = getattr(cfg, section, None)
        values = plain(settings)
        for name in KEPT[section]:
            path = values.get(name)
            if isinstance(path, str) and path not in _UNSET and REMOTE not in path:
                yield _FileOption(settings, name, path)


def require_subwords(cfg: Any) -> None:
    """Refuse a training whose ``--bpe`` or ``--tokenizer`` has a file that does not exist.

    Binarised data do not need it, so that only the trained model could not be used.
    """
    for option in _file_options(cfg, ("bpe", "tokenizer")):
        if not os.path.exists(option.path):
            raise UserError(f"{flag(option.name)} {option.path} does not exist; check the path")


def make_absolute(cfg: Any) -> None:
    """Let a training's settings name its files and data from the root on.

    They lead from the folder in which the command was typed, which hydra has left. What is not
    there stays as it is: it may be no path.
    """
    typed_in = get_original_cwd() if HydraConfig.initialized() else os.getcwd()

    def absolute(path: str) -> str:
        place = os.path.abspath(os.path.join(typed_in, path))
        return place if os.path.exists(place) else path

    for option in _file_options(cfg, KEPT):
        setattr(option.settings, option.name, absolute(option.path))
    data = getattr(getattr(cfg, "task", None), "data", None)
    if isinstance(data, str) and REMOTE not in data:
        cfg.task.data = os.pathsep.join(map(absolute, data.split(os.pathsep)))


@patches(file_utils, "cached_path")
def cached_path(stock: Stock, url_or_filename: AnyPath, *more: object, **options: object) -> object:
    """Fault: an error about a file that does not exist does not say which in a way to be told."""
    path = os.fspath(url_or_filename)
    if REMOTE not in path and not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return stock(url_or_filename, *more, **options)
