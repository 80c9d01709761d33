"""What the settings in a checkpoint may ask for: few models, and no file that is not its own.

Faults: fairseq builds whatever model, task and (in fairseq-validate) criterion a checkpoint
names. Some load or write files that the settings name; some run settings as Python (``eval``).
Tokenizers and subwords read any file, and fetch it where it is an address.
"""

import ast
import contextlib
import contextvars
import dataclasses
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from fairseq import models, tasks, utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq.registry import REGISTRIES
from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

ALLOWED = "LEV_PLUGINS_ALLOW"  # in the environment: names besides those of EXPECTED, with commas
#: what a checkpoint may be of, besides what plug-ins register: it opens no files when it is built
EXPECTED = {
    "arch": "cmlm_transformer insertion_transformer iterative_nonautoregressive_transformer "
    "levenshtein_transformer lstm nacrf_transformer nonautoregressive_transformer "
    "transformer transformer_align".split(),
    "task": ["translation", "translation_lev"],
    "criterion": "adaptive_loss cross_entropy label_smoothed_cross_entropy "
    "label_smoothed_cross_entropy_with_alignment nat_loss".split(),
}
#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()
FETCHED = ("gpt2", "bert")  # subwords whose files are addresses by default


def _plain(settings: Any) -> Mapping[str, Any]:
    """Settings by name as they are written: one that refers to another is a text with ``${``."""
    if isinstance(settings, DictConfig):
        settings = OmegaConf.to_container(settings, resolve=False)
    settings = {"_name": settings} if isinstance(settings, str) else settings
    return settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})


@dataclasses.dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from; all methods raise a UserError."""

    paths: tuple[str, ...]  # its file; of an ensemble all
    given: Mapping[str, object] = dataclasses.field(default_factory=dict)  # what the user has named

    def check_encoder(self, kind: str, settings: object, data: object = None) -> None:
        """Refuse a ``tokenizer`` or ``bpe`` whose files are not the checkpoint's (as below)."""
        said = _plain(settings)
        if (name := said.get("_name") or said.get(kind)) in FETCHED:
            self._refuse(kind, f"{name}, whose files are fetched")
        for file in FILES:
            self.check_file(file, said.get(file), data)

    def check_file(self, name: str, value: object, data: object = None) -> None:
        """Refuse a file of the checkpoint's choice that does not lie beside it or its data.

        It may lie, wherever links lead, in the folder of the checkpoint, in one of the folders
        ``data`` (``:`` between them) that holds dictionaries, or in the folder above one of them.
        """
        if not value or self.given.get(name) == value:
            return
        folders = data.split(os.pathsep) if isinstance(data, str) else []
        homes = [one for one in folders if glob.glob(f"{glob.escape(one)}/dict*.txt")]
        near = {os.path.realpath(one) for one in [*homes, *map(os.path.dirname, self.paths)]}
        near |= set(map(os.path.dirname, near))
        path = value if isinstance(value, str) and not {":", "$"} & set(value) else ""
        there = os.path.isfile(path) or os.path.isdir(path)
        if not there or os.path.dirname(os.path.realpath(path)) not in near:
            self._refuse(name, f"{value!s:.200}, which is no file beside it or its data")

    def check_task(self, settings: object) -> None:
        """Refuse languages that lead out of the data folder, and data on the network."""
        for name in ("source_lang", "target_lang", "draft_lang", "data"):
            value = str(_plain(settings).get(name))
            away = "$" in value or ("://" if name == "data" else os.sep) in value
            if away and self.given.get(name) != value:
                self._refuse(name, f"{value:.80}")

    def check_name(self, kind: str, settings: object, registry: Mapping[str, Any]) -> None:
        """Refuse a ``kind`` of component that is none of plug-ins or :data:`EXPECTED`."""
        said = _plain(settings)
        name = said.get("_name") or said.get(kind) or (next(iter(said)) if len(said) == 1 else None)
        if kind == "task" and isinstance(said.get("task"), str):
            name = said["task"]  # as fairseq chooses: of a task this first, of a model _name
        made = registry.get(name) if isinstance(name, str) else None
        known = ARCH_MODEL_NAME_REGISTRY.get(name, name) if made is not None else name
        allowed = {*EXPECTED[kind], *os.environ.get(ALLOWED, "").replace(" ", "").split(",")}
        if made is None or (made.__module__.startswith("fairseq.") and not {name, known} & allowed):
            self._refuse(kind, f"{name!s:.80} ({ALLOWED}={known!s:.80} allows it)")

    def _refuse(self, name: str, what: str) -> NoReturn:
        raise UserError(
            f"checkpoint {':'.join(self.paths)} asks for --{name.replace('_', '-')} {what}; a "
            "checkpoint may not choose that: if you trust it, name it yourself"
        )


_origin: contextvars.ContextVar[Origin | None] = contextvars.ContextVar("origin", default=None)
origin = _origin.get  # the checkpoint whose model or task is being built; None outside of that


@contextlib.contextmanager
def settings_of(
    paths: Sequence[str], given: Mapping[str, object] | None = None
) -> Iterator[Origin]:
    """Inside, models and tasks are built from a checkpoint's settings (see :class:`Origin`)."""
    left = _origin.set(found := Origin(tuple(map(str, paths)), dict(given or {})))
    try:
        yield found
    finally:
        _origin.reset(left)


@patches(models, "build_model")
def build_model(stock: Stock, cfg: Any, *args: object, **options: object) -> object:
    """A checkpoint may name known models alone; no code is run, no file is read for them."""
    if (found := origin()) is not None:
        registry = {**models.MODEL_REGISTRY, **models.ARCH_MODEL_REGISTRY}
        found.check_name("arch", cfg, registry)
        vars(utils)["eval"] = ast.literal_eval  # of texts in the settings of these models
        inner = ("encoder", "decoder", *(said if len(said := _plain(cfg)) == 1 else ()))
        for part in (cfg, *(getattr(cfg, one, None) for one in inner)):
            for file in ("encoder_embed_path", "decoder_embed_path", "embed_path"):
                if getattr(part, file, None):
                    setattr(part, file, None)  # the checkpoint has the parameters
    return stock(cfg, *args, **options)


@patches(tasks, "setup_task")
def setup_task(stock: Stock, cfg: Any, **options: object) -> object:
    """A checkpoint may name known tasks alone, no folder but its data and no network."""
    if (found := origin()) is not None:
        found.check_name("task", cfg, tasks.TASK_REGISTRY)
        found.check_task(cfg)
    return stock(cfg, **options)


def check_criterion(found: Origin, cfg: Any) -> None:
    """Refuse a criterion that writes files, or reads them, where that of a checkpoint is built."""
    if running_command() == "validate":
        found.check_name("criterion", cfg.get("criterion"), REGISTRIES["criterion"]["registry"])
