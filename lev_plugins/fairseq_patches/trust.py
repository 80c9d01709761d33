"""What the settings in a checkpoint may ask for: few models, and no file that is not its own.

Faults: fairseq builds whatever model, task and (in fairseq-validate) criterion a checkpoint
names. Some load or write files that the settings name; some run settings as Python (``eval``).
Tokenizers and subwords read any file, and fetch it where it is an address.
"""

import ast
import contextlib
import contextvars
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from fairseq import models, tasks, utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq.registry import REGISTRIES

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command
from . import paths as files

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
FETCHED = ("gpt2", "bert")  # subwords whose files are addresses by default


@dataclasses.dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from; all methods raise a UserError."""

    paths: tuple[str, ...]  # its file; of an ensemble all
    given: Mapping[str, object] = dataclasses.field(default_factory=dict)  # what the user has named

    def encoder(self, kind: str, settings: Any, data: object = None) -> Any:
        """The settings of a ``tokenizer`` or ``bpe``, with the files of :meth:`file`."""
        said = files.plain(settings)
        if (name := said.get("_name") or said.get(kind)) in FETCHED:
            self._refuse(kind, f"{name}, whose files are fetched")
        named = {name: said.get(name) for name in files.FILES}
        there = {name: self.file(name, value, data) for name, value in named.items()}
        moved = {name: file for name, file in there.items() if file != named[name]}
        return files.with_paths(settings, moved) if moved else settings

    def file(self, name: str, value: Any, data: object = None) -> Any:
        """Where a file or folder lies that the checkpoint names: as it names it, else under its
        last name beside the checkpoint or its data.

        It may lie, wherever links lead, in the folder of the checkpoint, in one of the folders
        ``data`` (``:`` between them) that holds dictionaries, or in the folder above one of them.
        """
        if not value or self.given.get(name) == value:
            return value
        near = files.homes(self.paths, data)
        local = isinstance(value, str) and not {":", "$"} & set(value)
        there = list(filter(os.path.exists, files.places(value, near))) if local else []
        for place in there:
            plain = os.path.isfile(place) or os.path.isdir(place)
            if plain and os.path.dirname(os.path.realpath(place)) in near:
                return place
        if local and not there:
            last = os.path.basename(value)
            raise UserError(
                f"checkpoint {':'.join(self.paths)} asks for {files.flag(name)} {value:.200}, "
                f"which is not there, and no {last:.80} lies beside it or its data; copy it there, "
                f"or name it: {name}=FILE"
            )
        self._refuse(name, f"{value!s:.200}, which is no file beside it or its data")

    def check_task(self, settings: object) -> None:
        """Refuse languages that lead out of the data folder, and data on the network."""
        for name in ("source_lang", "target_lang", "draft_lang", "data"):
            value = str(files.plain(settings).get(name))
            away = "$" in value or ("://" if name == "data" else os.sep) in value
            if away and self.given.get(name) != value:
                self._refuse(name, f"{value:.80}")

    def check_name(self, kind: str, settings: object, registry: Mapping[str, Any]) -> None:
        """Refuse a ``kind`` of component that is none of plug-ins or :data:`EXPECTED`."""
        said = files.plain(settings)
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
            f"checkpoint {':'.join(self.paths)} asks for {files.flag(name)} {what}; a "
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
        inner = ("encoder", "decoder", *(said if len(said := files.plain(cfg)) == 1 else ()))
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
    folder = _dictionaries(found, cfg) if files.reads_dictionaries(cfg) else None
    if folder is None or found is None or "data" in found.given:
        files.require_data(cfg)
    if folder is None:
        return stock(cfg, **options)
    data, cfg.data = cfg.data, folder
    try:
        task = stock(cfg, **options)
    finally:
        cfg.data = data
    task.cfg.data = data
    return task


def _dictionaries(found: Origin | None, cfg: Any) -> str | None:
    """The folder of a model's own dictionaries; None where those of ``cfg.data`` are to be read:
    of a training, of binarised data, and of a folder that the user has named for a checkpoint.
    """
    paths = found.paths if found is not None else files.decoding_models(cfg)
    if not paths:
        return None
    languages = cfg.source_lang, cfg.target_lang
    named = "data" in found.given if found is not None else files.reads_binarised(cfg)
    if named and files.has_dictionaries(utils.split_paths(cfg.data)[0], languages):
        return None
    return files.dictionary_folder(paths, cfg.data, languages)


def check_criterion(found: Origin, cfg: Any) -> None:
    """Refuse a criterion that writes files, or reads them, where that of a checkpoint is built."""
    if running_command() == "validate":
        found.check_name("criterion", cfg.get("criterion"), REGISTRIES["criterion"]["registry"])
