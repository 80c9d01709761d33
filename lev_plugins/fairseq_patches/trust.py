"""What the settings in a checkpoint may ask for: few models, and no file that is not its own."""

import ast
import contextlib
import contextvars
import dataclasses
import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command

ALLOWED = "LEV_PLUGINS_ALLOW"  # in the environment: names besides those of EXPECTED, with commas
#: what a checkpoint may be of, besides what plug-ins register: it opens no files when it is built
EXPECTED = {
    "arch": "bart cmlm_transformer insertion_transformer iterative_nonautoregressive_transformer "
    "levenshtein_transformer lightconv lightconv_lm lstm lstm_lm nacrf_transformer "
    "nonautoregressive_transformer transformer transformer_align transformer_lm".split(),
    "task": "language_modeling translation translation_from_pretrained_bart "
    "translation_lev".split(),
    "criterion": "adaptive_loss cross_entropy label_smoothed_cross_entropy "
    "label_smoothed_cross_entropy_with_alignment label_smoothed_cross_entropy_with_rdrop "
    "nat_loss".split(),
}
#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()


def _plain(settings: Any) -> dict[str, Any]:
    """Settings by name as they are written: one that refers to another is a text with ``${``."""
    if isinstance(settings, str):
        return {"_name": settings}
    if isinstance(settings, DictConfig):
        settings = OmegaConf.to_container(settings, resolve=False)
    return dict(settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {}))


@dataclasses.dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from.

    paths: its file; of an ensemble all. given: settings that the user has named, by name, which
    may say anything. All methods raise a UserError.
    """

    paths: tuple[str, ...]
    given: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def check_encoder(self, kind: str, settings: object, data: object = None) -> None:
        """Refuse a tokenizer or subwords (``kind``: ``bpe``) whose files are not the checkpoint's.

        A file without a name may be an address that fairseq would fetch.
        """
        from fairseq.registry import REGISTRIES

        said = _plain(settings)
        name = said.get("_name") or said.get(kind)
        made = REGISTRIES[kind]["dataclass_registry"].get(name) if isinstance(name, str) else None
        usual = {"bpe_vocab_file": "(an address)"} if name == "bert" else {}
        usual |= {} if made is None else {one: to for one, to in vars(made()).items() if to}
        for file in FILES:
            if said.get(file, usual.get(file)) != usual.get(file) or self.given.get(kind) != name:
                self.check_file(file, said.get(file) or usual.get(file), data)

    def check_file(self, name: str, value: object, data: object = None) -> None:
        """Refuse a file of the checkpoint's choice that does not lie beside it or its data.

        It may lie, wherever links lead, in the folder of the checkpoint, in one of the folders
        ``data`` (``:`` between them) that holds dictionaries, or in the folder above one of them.

        Args:
            name: of the setting; ``value`` is what it says, or nothing.
        """
        if not value or self.given.get(name) == value:
            return
        homes = [os.path.dirname(path) for path in self.paths]
        for folder in data.split(os.pathsep) if isinstance(data, str) else ():
            homes += [folder] if glob.glob(os.path.join(glob.escape(folder), "dict*.txt")) else []
        near = {os.path.realpath(home) for home in homes}
        near |= set(map(os.path.dirname, near))
        path = value if isinstance(value, str) and not {":", "$"} & set(value) else ""
        there = os.path.isfile(path) or os.path.isdir(path)
        if not there or os.path.dirname(os.path.realpath(path)) not in near:
            flag = f"--{name.replace('_', '-')} {value!s:.200}"
            raise self._refusal(f"{flag}, which is no file beside it or its data")

    def check_task(self, settings: object) -> None:
        """Refuse languages that lead out of the data folder, and data on the network."""
        said = _plain(settings)
        for name in ("source_lang", "target_lang", "draft_lang"):
            if {os.sep, "$"} & set(str(said.get(name))):
                raise self._refusal(f"--{name.replace('_', '-')} {said[name]!s:.80}")
        data = str(said.get("data"))
        if ("://" in data or "$" in data) and self.given.get("data") != data:
            raise self._refusal(f"the data folder {data:.200}")

    def check_name(self, kind: str, name: object, registry: Mapping[str, Any]) -> Any:
        """The class of that name, a key of :data:`EXPECTED`; refuse one that is not expected."""
        from fairseq.models import ARCH_MODEL_NAME_REGISTRY

        made = registry.get(name) if isinstance(name, str) else None
        known = ARCH_MODEL_NAME_REGISTRY.get(name, name) if made is not None else name
        allowed = {*EXPECTED[kind], *os.environ.get(ALLOWED, "").replace(" ", "").split(",")}
        if made is None or (made.__module__.startswith("fairseq.") and not {name, known} & allowed):
            raise self._refusal(f"--{kind} {name!s:.80} ({ALLOWED}={known!s:.80} allows it)")
        return made

    def _refusal(self, what: str) -> UserError:
        return UserError(
            f"checkpoint {':'.join(self.paths)} asks for {what}; a checkpoint may not choose that: "
            "if you trust it, name it yourself"
        )


_origins: contextvars.ContextVar[Origin | None] = contextvars.ContextVar("origin", default=None)


def origin() -> Origin | None:
    """The checkpoint whose model or task is being built, ``None`` outside of that."""
    return _origins.get()


@contextlib.contextmanager
def settings_of(
    paths: Sequence[str], given: Mapping[str, object] | None = None
) -> Iterator[Origin]:
    """Inside, models and tasks are built from a checkpoint's settings (see :class:`Origin`)."""
    found = Origin(tuple(map(str, paths)), dict(given or {}))
    left = _origins.set(found)
    try:
        yield found
    finally:
        _origins.reset(left)


def check_checkpoint_settings() -> None:
    """Hold what a checkpoint says of its model, task and text against what is expected.

    Faults: fairseq builds whatever model, task and (in fairseq-validate) criterion a checkpoint
    names. Some of them load further files that the settings name, or write them; some run
    settings as Python. Its tokenizers and subwords read any file, and fetch it where it is a URL.
    """
    from fairseq import hub_utils, models, tasks

    @patches(models, "build_model")
    def build_model(stock: Stock, cfg: Any, *args: object, **options: object) -> object:
        """fairseq's model."""
        if (found := origin()) is not None:
            _check_model(found, cfg)
        return stock(cfg, *args, **options)

    @patches(tasks, "setup_task")
    def setup_task(stock: Stock, cfg: Any, **options: object) -> object:
        """fairseq's task."""
        if (found := origin()) is not None:
            said = _plain(cfg)
            name = said.get("task") if isinstance(said.get("task"), str) else said.get("_name")
            found.check_name("task", name, tasks.TASK_REGISTRY)
            found.check_task(cfg)
        return stock(cfg, **options)

    @patches(hub_utils, "from_pretrained")
    def from_pretrained(
        stock: Stock,
        model_name_or_path: str,
        checkpoint_file: str = "model.pt",
        *args: Any,
        **options: Any,
    ) -> Any:
        """fairseq's models, settings and task, for its interfaces of Python."""
        found = stock(model_name_or_path, checkpoint_file, *args, **options)
        names = checkpoint_file.split(os.pathsep)
        paths = tuple(os.path.join(str(model_name_or_path), name) for name in names)
        given = Origin(paths, options)
        cfg = _plain(found["args"])
        data = _plain(cfg.get("task")).get("data")
        for kind in ("tokenizer", "bpe"):
            given.check_encoder(kind, cfg.get(kind), data)
        given.check_file("replace_unk", _plain(cfg.get("generation")).get("replace_unk"), data)
        return found


def _check_model(found: Origin, cfg: Any) -> None:
    """Refuse a model; one of fairseq's evaluates no setting, and none reads embeddings."""
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    said = _plain(cfg)
    name = said.get("_name") or said.get("arch") or (next(iter(said)) if len(said) == 1 else None)
    made = found.check_name("arch", name, {**MODEL_REGISTRY, **ARCH_MODEL_REGISTRY})
    # models call eval() on texts of their settings in their own module and in fairseq.utils
    for module in {"fairseq.utils", made.__module__}:
        if module.startswith("fairseq."):
            vars(sys.modules[module])["eval"] = ast.literal_eval
    for part in (cfg, *(getattr(cfg, one, None) for one in ("encoder", "decoder", str(name)))):
        for file in ("encoder_embed_path", "decoder_embed_path", "embed_path"):
            if getattr(part, file, None):
                setattr(part, file, None)  # with which a training begins; the checkpoint has them


def check_criterion(found: Origin, cfg: Any) -> None:
    """Refuse a criterion that writes files, or reads them, where that of a checkpoint is built."""
    from fairseq.registry import REGISTRIES

    if running_command() == "validate":
        said = _plain(_plain(cfg).get("criterion"))
        name = said.get("_name") or said.get("criterion")
        found.check_name("criterion", name, REGISTRIES["criterion"]["registry"])
