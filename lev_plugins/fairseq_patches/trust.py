"""What the settings in a checkpoint may ask for: few models, and no file that is not its own.

Faults: fairseq builds whatever model, task and (in fairseq-validate) criterion a checkpoint
names. Some load or write files that the settings name; some run settings as Python (``eval``).
Tokenizers and subwords read any file, and fetch it where it is an address.
"""

import ast
import contextlib
import contextvars
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fairseq import models, tasks, utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq.registry import REGISTRIES
from omegaconf import OmegaConf

from lev_runtime.errors import UserError

from ..io.model_files import REMOTE, flag, own_folders, possible_places
from ..io.patching import Stock, patches
from ..io.program import running_command
from .kept_paths import FILES, plain
from .own_dictionaries import model_dictionaries, require_data

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
_EMBEDDINGS = ("encoder_embed_path", "decoder_embed_path", "embed_path")


@dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from; all methods raise a UserError.

    paths: its file; of an ensemble all. overrides: what the user has named.
    """

    paths: tuple[str, ...]
    overrides: Mapping[str, object] = field(default_factory=dict)

    def encoder(self, kind: str, settings: Any, data: object = None) -> Any:
        """The settings of a ``tokenizer`` or ``bpe``, with the files of :meth:`file`."""
        values = plain(settings)
        name = values.get("_name") or values.get(kind)
        if name in FETCHED:
            self._refuse(kind, f"{name}, whose files are fetched")
        named = {option: values[option] for option in FILES if values.get(option)}
        files = {option: self.file(option, path, data) for option, path in named.items()}
        if files == named:
            return settings
        if isinstance(settings, Namespace):
            return Namespace(**{**values, **files})
        return OmegaConf.merge(settings, files)

    def file(self, name: str, value: Any, data: object = None) -> Any:
        """Where a file or folder lies that the checkpoint names: as it names it, else under its
        last name beside the checkpoint or its data.

        It may lie, wherever links lead, in the folder of the checkpoint, in one of the folders
        ``data`` (``:`` between them) that holds dictionaries, or in the folder above one of them.
        """
        if not value or self.overrides.get(name) == value:
            return value
        if not isinstance(value, str) or {":", "$"} & set(value):
            self._refuse_file(name, value)
        allowed = own_folders(self.paths, data)
        places = [place for place in possible_places(value, allowed) if os.path.exists(place)]
        for place in places:
            is_plain = os.path.isfile(place) or os.path.isdir(place)
            if is_plain and os.path.dirname(os.path.realpath(place)) in allowed:
                return place
        if places:
            self._refuse_file(name, value)
        raise UserError(
            f"checkpoint {':'.join(self.paths)} asks for {flag(name)} {value:.200}, which "
            f"does not exist, and there is no {os.path.basename(value):.80} beside the "
            f"checkpoint or its data; copy it there, or name it: {name}=FILE"
        )

    def check_task(self, settings: object) -> None:
        """Refuse languages that lead out of the data folder, and data on the network."""
        values = plain(settings)
        for name in ("source_lang", "target_lang", "draft_lang", "data"):
            value = str(values.get(name))
            outside = REMOTE if name == "data" else os.sep
            if ("$" in value or outside in value) and self.overrides.get(name) != value:
                self._refuse(name, f"{value:.80}")

    def check_name(self, kind: str, settings: object, registry: Mapping[str, Any]) -> None:
        """Refuse a ``kind`` of component that is none of plug-ins or :data:`EXPECTED`."""
        name = component_name(kind, plain(settings))
        component = registry.get(name) if isinstance(name, str) else None
        model = ARCH_MODEL_NAME_REGISTRY.get(name, name) if component is not None else name
        if component is not None:
            named = os.environ.get(ALLOWED, "").replace(" ", "")
            allowed = {*EXPECTED[kind], *named.split(",")}
            if not component.__module__.startswith("fairseq.") or {name, model} & allowed:
                return
        self._refuse(kind, f"{name!s:.80} ({ALLOWED}={model!s:.80} allows it)")

    def _refuse_file(self, name: str, value: object) -> NoReturn:
        self._refuse(name, f"{value!s:.200}, which is no file beside it or its data")

    def _refuse(self, name: str, what: str) -> NoReturn:
        raise UserError(
            f"checkpoint {':'.join(self.paths)} asks for {flag(name)} {what}, which a "
            "checkpoint may not choose; if you trust it, name it yourself"
        )


def component_name(kind: str, values: Mapping[str, Any]) -> Any:
    """The component that fairseq chooses by its settings."""
    if kind == "task" and isinstance(values.get("task"), str):  # of a model first _name
        return values["task"]
    only_key = next(iter(values)) if len(values) == 1 else None
    return values.get("_name") or values.get(kind) or only_key


_origin: contextvars.ContextVar[Origin | None] = contextvars.ContextVar("origin", default=None)
origin = _origin.get  # the checkpoint whose model or task is being built; None outside of that


@contextlib.contextmanager
def loading_checkpoint(
    paths: Sequence[str], overrides: Mapping[str, object] | None = None
) -> Iterator[Origin]:
    """Inside, models and tasks are built from a checkpoint's settings (see :class:`Origin`)."""
    checkpoint = Origin(tuple(map(str, paths)), dict(overrides or {}))
    token = _origin.set(checkpoint)
    try:
        yield checkpoint
    finally:
        _origin.reset(token)


@patches(models, "build_model")
def build_model(stock: Stock, cfg: Any, *args: object, **options: object) -> object:
    """A checkpoint may name known models alone; no file is read for them."""
    checkpoint = origin()
    if checkpoint is not None:
        registry = {**models.MODEL_REGISTRY, **models.ARCH_MODEL_REGISTRY}
        checkpoint.check_name("arch", cfg, registry)
        values = plain(cfg)
        nested = ("encoder", "decoder", *(values if len(values) == 1 else ()))
        for part in (cfg, *(getattr(cfg, name, None) for name in nested)):
            for file in _EMBEDDINGS:  # the checkpoint has the parameters
                if getattr(part, file, None):
                    setattr(part, file, None)
    return stock(cfg, *args, **options)


def _read_text(stock: Stock, value: Any, *more: Any, **options: Any) -> Any:
    """fairseq's, which runs a text as Python: one in a checkpoint's settings has to be a value."""
    if origin() is not None and isinstance(value, str):
        ast.literal_eval(value)  # ValueError for anything else
    return stock(value, *more, **options)


for _name in ("eval_str_list", "eval_str_dict", "eval_bool"):
    patches(utils, _name)(_read_text)


@patches(tasks, "setup_task")
def setup_task(stock: Stock, cfg: Any, **options: object) -> object:
    """A checkpoint may name known tasks alone, no folder but its data and no network."""
    checkpoint = origin()
    data_is_named = False
    if checkpoint is not None:
        checkpoint.check_name("task", cfg, tasks.TASK_REGISTRY)
        checkpoint.check_task(cfg)
        data_is_named = "data" in checkpoint.overrides
    paths = None if checkpoint is None else checkpoint.paths
    folder = model_dictionaries(cfg, paths, data_is_named)
    if folder is None or checkpoint is None or data_is_named:
        require_data(cfg)
    if folder is None:
        return stock(cfg, **options)
    data, cfg.data = cfg.data, folder
    try:
        task = stock(cfg, **options)
    finally:
        cfg.data = data
    task.cfg.data = data
    return task


def check_criterion(checkpoint: Origin, cfg: Any) -> None:
    """Refuse a criterion that writes files, or reads them, where that of a checkpoint is built."""
    if running_command() == "validate":
        checkpoint.check_name(
            "criterion", cfg.get("criterion"), REGISTRIES["criterion"]["registry"]
        )
