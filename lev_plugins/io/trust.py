"""What the settings in a checkpoint may ask for: few models, and no file that is not its own."""

import contextlib
import contextvars
import dataclasses
import glob
import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import urlparse

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from ..errors import UserError
from .patching import Stock, patches
from .program import running_command

#: names, comma separated, that a user allows besides those of :data:`EXPECTED`
ALLOWED = "LEV_PLUGINS_ALLOW"
#: what a checkpoint may be of, besides what plug-ins register: it opens no files when it is built
EXPECTED = {
    "arch": set(
        "bart cmlm_transformer fconv fconv_lm insertion_transformer "
        "iterative_nonautoregressive_transformer levenshtein_transformer lightconv lightconv_lm "
        "lstm lstm_lm nacrf_transformer nonautoregressive_transformer transformer "
        "transformer_align transformer_lm".split()
    ),
    "task": set(
        "language_modeling translation translation_from_pretrained_bart translation_lev".split()
    ),
    "criterion": set(
        "adaptive_loss cross_entropy label_smoothed_cross_entropy "
        "label_smoothed_cross_entropy_with_alignment label_smoothed_cross_entropy_with_rdrop "
        "nat_loss".split()
    ),
}
#: embeddings to begin a training with, which a checkpoint brings itself
_BEGINNINGS = ("encoder_embed_path", "decoder_embed_path", "embed_path")
#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()


@dataclasses.dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from.

    paths: its file; of an ensemble all. given: settings that the user has named, by name, which
    may say anything.
    """

    paths: tuple[str, ...]
    given: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def check_encoder(self, kind: str, settings: object, data: object = None) -> None:
        """Refuse a tokenizer or subwords whose files are not the checkpoint's own.

        Args:
            kind: ``tokenizer`` or ``bpe``.
            settings: as fairseq builds it from.
            data: the data folder, or several with ``:`` between them.

        Raises:
            UserError: see :meth:`check_file`.
        """
        from fairseq.registry import REGISTRIES

        name = settings if isinstance(settings, str) else _get(settings, "_name", kind)
        made = REGISTRIES[kind]["dataclass_registry"].get(name) if isinstance(name, str) else None
        defaults = {} if made is None else vars(made())
        chosen = self.given.get(kind) == name
        for file in FILES:
            value = _written(settings, file) or defaults.get(file)
            if not (chosen and value == defaults.get(file)):
                self.check_file(file, value, data, f"--{kind} {name}")
        if name == "bert" and not (chosen or _get(settings, "bpe_vocab_file")):
            raise self._refusal(
                f"--bpe {name} names no file, so that one would be fetched", f"--bpe {name}"
            )

    def check_file(self, name: str, value: object, data: object = None, of: str = "") -> None:
        """Refuse a file of the checkpoint's choice that does not lie beside it or its data.

        A file may lie in the folder of the checkpoint, in a data folder that holds dictionaries,
        or in the folder above one of them. What is not there is left to whoever wants to read it.

        Args:
            name: of the setting.
            value: what it says, or nothing.
            data: as in :meth:`check_encoder`.
            of: the option that the file belongs to.

        Raises:
            UserError: it lies elsewhere, is no regular file or folder, or is an address.
        """
        if not value or self.given.get(name) == value:
            return
        if not isinstance(value, str) or is_address(value):
            reason = "no path on this machine"
        elif not os.path.lexists(value):
            return
        elif not (os.path.isfile(value) or os.path.isdir(value)):
            reason = "no regular file"
        elif _lies_in(value, self._folders(data)):
            return
        else:
            reason = "neither beside the checkpoint nor beside its data"
        flag = f"--{name.replace('_', '-')}"
        what = "DIR" if name.endswith("directory") else "FILE"
        raise self._refusal(f"{flag} {value!s:.200} is {reason}", f"{of} {flag} {what}".strip())

    def check_task(self, settings: object) -> None:
        """Refuse languages that lead out of the data folder, and data on the network.

        Raises:
            UserError: there are such.
        """
        for name in ("source_lang", "target_lang", "draft_lang"):
            value = _written(settings, name)
            if isinstance(value, str) and ({os.sep, "$"} & set(value)):
                raise UserError(
                    f"checkpoint {self._name}: --{name.replace('_', '-')} {value:.80} is no "
                    "language; the checkpoint is damaged"
                )
        data = _written(settings, "data")
        if isinstance(data, str) and is_address(data) and self.given.get("data") != data:
            raise self._refusal(f"its data {data:.200} are on the network", "the data folder")

    def check_name(
        self, kind: str, name: object, registry: Mapping[str, object], known: object
    ) -> None:
        """Refuse what no checkpoint is expected to be of.

        Args:
            kind: a key of :data:`EXPECTED`; ``known`` the name in it.
            name: that the checkpoint gives, in fairseq's registry of classes.

        Raises:
            UserError: it is fairseq's, and neither expected nor allowed by the user.
        """
        made = registry.get(name) if isinstance(name, str) else None
        if made is None or not made.__module__.startswith("fairseq."):
            return
        allowed = os.environ.get(ALLOWED, "").split(",")
        if known not in EXPECTED[kind] and not {name, known} & {one.strip() for one in allowed}:
            raise UserError(
                f"checkpoint {self._name} is of --{kind} {name}, which is not one of those that a "
                f"checkpoint may ask for here; if you trust it: {ALLOWED}={known} in the "
                "environment"
            )

    @property
    def _name(self) -> str:
        return ":".join(self.paths)

    def _refusal(self, what: str, way: str) -> UserError:
        return UserError(
            f"checkpoint {self._name}: {what}, and a checkpoint may not choose that; if you trust "
            f"it, give {way} yourself (from Python, by these names)"
        )

    def _folders(self, data: object) -> Iterator[str]:
        for path in self.paths:
            yield os.path.dirname(os.path.abspath(path))
            yield os.path.dirname(os.path.realpath(path))
        for folder in data.split(os.pathsep) if isinstance(data, str) else ():
            if glob.glob(os.path.join(glob.escape(folder), "dict*.txt")):
                yield os.path.abspath(folder)


def is_address(value: str) -> bool:
    """Whether a setting is a URL, of which fairseq fetches https, http and s3, or is yet to be."""
    return "://" in value or "${" in value or urlparse(value).scheme in ("http", "https", "s3")


def _lies_in(path: str, folders: Iterator[str]) -> bool:
    """Whether a file, wherever links lead, is in one of the folders or right above it."""
    home = os.path.dirname(os.path.realpath(path))
    real = [os.path.realpath(folder) for folder in folders]
    return home in real or home in map(os.path.dirname, real)


def _get(settings: Any, *names: str) -> Any:
    """The first of some settings that says anything, in a config, a mapping or a namespace."""
    for name in names:
        try:
            is_mapping = isinstance(settings, Mapping)
            value = settings.get(name) if is_mapping else getattr(settings, name, None)
        except (AttributeError, OmegaConfBaseException):
            continue
        if value:
            return value
    return None


def _written(settings: Any, name: str) -> Any:
    """A setting; as it is written where it refers to others, which fairseq resolves elsewhere."""
    if isinstance(settings, DictConfig) and name in settings.keys():
        if OmegaConf.is_interpolation(settings, name):
            return f"${{{name}}}"
    return _get(settings, name)


_origins: contextvars.ContextVar[Origin | None] = contextvars.ContextVar("origin", default=None)


def origin() -> Origin | None:
    """The checkpoint whose model or task is being built, ``None`` outside of that."""
    return _origins.get()


@contextlib.contextmanager
def settings_of(
    paths: Sequence[str], given: Mapping[str, object] | None = None
) -> Iterator[Origin]:
    """Inside, models and tasks are built from a checkpoint's settings; arguments as of
    :class:`Origin`."""
    found = Origin(tuple(map(str, paths)), dict(given or {}))
    left = _origins.set(found)
    try:
        yield found
    finally:
        _origins.reset(left)


def check_checkpoint_settings() -> None:
    """Hold what a checkpoint says of its model, task, criterion and text against what is expected.

    Faults: fairseq builds whatever model, task and (in fairseq-validate) criterion a checkpoint
    names. Some of them load further files that the settings name, or write them. Its tokenizers
    and subwords read any file, and fetch it where it is a URL.
    """
    from fairseq import hub_utils, models, tasks

    @patches(models, "build_model")
    def build_model(stock: Stock, cfg: DictConfig, *args: object, **options: object) -> object:
        """fairseq's model."""
        if (found := origin()) is not None:
            _check_model(found, cfg)
        return stock(cfg, *args, **options)

    @patches(tasks, "setup_task")
    def setup_task(stock: Stock, cfg: DictConfig, **options: object) -> object:
        """fairseq's task."""
        if (found := origin()) is not None:
            name = _get(cfg, "task")
            name = name if isinstance(name, str) else _get(cfg, "_name")
            found.check_name("task", name, tasks.TASK_REGISTRY, name)
            found.check_task(cfg)
        return stock(cfg, **options)

    @patches(hub_utils, "from_pretrained")
    def from_pretrained(
        stock: Stock,
        model_name_or_path: str,
        checkpoint_file: str = "model.pt",
        *args: object,
        **options: object,
    ) -> Any:
        """fairseq's models, settings and task, for its interfaces of Python."""
        found = stock(model_name_or_path, checkpoint_file, *args, **options)
        if isinstance(found["args"], DictConfig):
            names = checkpoint_file.split(os.pathsep)
            paths = tuple(os.path.join(str(model_name_or_path), name) for name in names)
            _check_text(Origin(paths, options), found["args"])
        return found


def _check_model(found: Origin, cfg: DictConfig) -> None:
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    name = _get(cfg, "_name", "arch")
    if name is None and isinstance(cfg, Mapping) and len(cfg) == 1:  # as fairseq looks for it
        name = next(iter(cfg))
        cfg = cfg[name]
    registry = {**MODEL_REGISTRY, **ARCH_MODEL_REGISTRY}
    known = ARCH_MODEL_NAME_REGISTRY.get(name, name) if isinstance(name, str) else name
    found.check_name("arch", name, registry, known)
    for part in (cfg, _get(cfg, "encoder"), _get(cfg, "decoder")):
        named = part if isinstance(part, MutableMapping) else getattr(part, "__dict__", {})
        with open_dict(part) if isinstance(part, DictConfig) else contextlib.nullcontext():
            named.update(dict.fromkeys(set(_BEGINNINGS) & set(named)))


def check_criterion(found: Origin, cfg: DictConfig) -> None:
    """Refuse a criterion that writes files, or reads them, where that of a checkpoint is built.

    Raises:
        UserError: it is not one of those expected.
    """
    from fairseq.registry import REGISTRIES

    if (running_command() or "").endswith("validate"):
        settings = _get(cfg, "criterion")
        name = settings if isinstance(settings, str) else _get(settings, "_name", "criterion")
        found.check_name("criterion", name, REGISTRIES["criterion"]["registry"], name)


def _check_text(found: Origin, cfg: DictConfig) -> None:
    """What fairseq's interfaces of Python read by a checkpoint's settings."""
    data = _get(_get(cfg, "task"), "data")
    for kind in ("tokenizer", "bpe"):
        found.check_encoder(kind, _get(cfg, kind), data)
    found.check_file("replace_unk", _get(_get(cfg, "generation"), "replace_unk"), data)
