"""A trained model as a folder that ``lev_runtime`` reads."""

import base64
import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fairseq.tasks.translation import TranslationTask

from lev_runtime.errors import UserError
from lev_runtime.folder import DESCRIPTION, DICTIONARIES, FORMAT, SUBWORDS, digest
from lev_runtime.labels.labeler import LABELER

from ..inference.checkpoints import (
    EDITING,
    CheckpointState,
    find_checkpoint,
    load_state,
    task_in,
    words_learnt,
)
from ..inference.editor import LevenshteinEditor
from ..inference.enct5 import EncT5
from ..inference.generation import GeneratingParts, load_parts, longest_line
from ..pretrained.vocabulary import BOS
from ..systems.enct5.dataset import Metadata
from ..systems.enct5.task import TASK as ENCT5_TASK
from ..systems.gated import GatedTransformerModel
from ..systems.gated.model import MODEL as GATED
from ..systems.pbd import PBDTransformerModel
from ..systems.pbd.model import MODEL as PBD
from ..systems.transformer_concat.model import MODEL as CONCAT
from ..tasks.post_editing import PLACEHOLDER
from . import checked, enct5, levenshtein, readers, text
from .weights import WeightFile

TRANSFORMER = "transformer"  #: as fairseq calls it
TOKENIZER = "tokenizer.json"  #: of a BERT or T5


class Writer(NamedTuple):
    """Writes a model's files into a folder, and says how the folder is compared with the model.

    write: returns what stands in the folder's description; takes whether layers have 8 bits.
    """

    write: Callable[[Path, bool], dict[str, Any]]
    check: checked.Check


def export(
    path: str,
    out: str,
    int8: bool = False,
    data: str | None = None,
    complete: Callable[[str], None] | None = None,
    max_iter: int | None = None,
    **text: str,
) -> None:
    """Writes a checkpoint's model into a new folder.

    Args:
        path: a checkpoint, or a folder with one. out: a folder that is not there, or is empty.
        int8: layers multiply in 8 bits.
        data, text: as of :meth:`.LevenshteinEditor.from_pretrained`.
        complete: writes more into the folder, which the model can do without.
        max_iter: of a LevT, unless its user says another number.

    Raises:
        UserError: no such checkpoint, one that cannot be exported, or a folder that cannot be
            written; nothing is written then.
    """
    refuse_filled(Path(out))
    checkpoint = find_checkpoint(path)
    if task_in(checkpoint) == ENCT5_TASK:
        if data or any(text.values()):
            raise UserError(f"{checkpoint}: an EncT5 has its own data and subwords; name none")
        writer = labeler_writer(EncT5.from_pretrained(checkpoint))
    else:
        state = load_state(checkpoint)
        if state["cfg"].task._name in EDITING:
            editor = LevenshteinEditor.from_pretrained(checkpoint, data, state=state, **text)
            writer = editor_writer(editor, max_iter)
        else:
            parts = load_parts(checkpoint, state, data, text)
            writer = generator_writer(parts, state)
    write_folder(Path(out), writer, int8, complete)


def refuse_filled(out: Path) -> None:
    """Raises :class:`UserError` for what is there already, unless it is an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} already exists; name a new folder")


def write_folder(
    out: Path, writer: Writer, int8: bool, complete: Callable[[str], None] | None = None
) -> None:
    """Writes a folder whose outputs are the model's, whole or not at all.

    ``complete`` and errors are those of :func:`export`.
    """
    refuse_filled(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out.parent) as staging:
            expected = checked.Expected(writer.check, int8)
            for precision in ("fp32", "int8")[: 1 + int8]:
                content = Path(staging) / precision
                content.mkdir()
                described = {"format": FORMAT, "precision": precision}
                described |= writer.write(content, precision == "int8")
                described["files"] = {
                    path.name: {"size": path.stat().st_size, "sha256": digest(path)}
                    for path in sorted(content.iterdir())
                }
                written = json.dumps(described, indent=1) + "\n"
                (content / DESCRIPTION).write_text(written, "utf-8")
                expected.refuse_different(content, precision == "int8")
            if complete:
                complete(str(content))
            os.replace(content, out)
    except OSError as error:
        raise UserError(f"{out}: not written ({error.strerror or error})") from None


def editor_writer(editor: LevenshteinEditor, max_iter: int | None = None) -> Writer:
    """Returns a writer of an edit model; refuses text processing that the runtime lacks."""
    text.check(editor.tokenizer, editor.bpe)
    (model,), task = editor.models, editor.task
    model.eval()

    def write(folder: Path, int8: bool) -> dict[str, Any]:
        """Writes graphs, dictionaries or labels, and text processing; see :class:`Writer`."""
        weights = WeightFile(folder)
        fixed = partial(checked.near_norms, task=task)
        graphs = levenshtein.write_graphs(model, folder, weights, int8, fixed)
        _write_dictionaries(folder, task.src_dict, task.tgt_dict)
        _, model_limit = model.max_positions()
        settings = {
            "limits": list(editor.limits),
            "model_limit": model_limit,
            "max_target_positions": task.cfg.max_target_positions,
            "old_source": task.old_source,
            "placeholder": task.placeholder,
            "delete_threshold": editor.delete_threshold,
            "max_iter": max_iter or editor.max_iter,
        }
        texts = text.write(editor.tokenizer, editor.bpe, folder)
        return {
            "model": "levenshtein_editor",
            "graphs": graphs,
            "settings": settings,
            "text": texts,
        }

    return Writer(write, checked.editor_check(editor))


def labeler_writer(model: EncT5) -> Writer:
    """Returns a writer of an EncT5 with its subwords and labels."""

    def write(folder: Path, int8: bool) -> dict[str, Any]:
        """Writes graphs, dictionaries or labels, and text processing; see :class:`Writer`."""
        metadata = model.metadata
        weights = WeightFile(folder)
        graphs = enct5.write_graph(model.model, model.problem_type, folder, weights, int8)
        settings = {
            "kind": model.problem_type.value,
            "labels": list(model.labels),
            "texts": metadata.texts_per_example,
            "max_length": metadata.max_length,
            "threshold": model.task.threshold,
            "pieces": _write_pieces(folder, metadata),
        }
        (folder / LABELER).write_text(json.dumps(settings), "utf-8")
        return {"model": "enct5", "graphs": graphs}

    return Writer(write, checked.labeler_check(model))


def generator_writer(parts: GeneratingParts, state: CheckpointState) -> Writer:
    """Returns a writer of a model that writes from left to right, with its text processing."""
    model: Any = parts.model.eval()  # else layerdrop draws the layers
    task, processing = parts.task, parts.processing
    text.check(processing.tokenizer, processing.bpe)
    if type(task).build_generator is not TranslationTask.build_generator:
        raise UserError(f"a model of {type(task).__name__} has a decoding of its own")
    readers.check(model)
    joins_draft = getattr(model, "joins_draft", False)
    name = CONCAT if joins_draft else TRANSFORMER
    for own, of_ours in ((PBD, PBDTransformerModel), (GATED, GatedTransformerModel)):
        name = own if isinstance(model, of_ours) else name

    def write(folder: Path, int8: bool) -> dict[str, Any]:
        """Writes graphs, dictionaries or labels, and text processing; see :class:`Writer`."""
        weights = WeightFile(folder)
        graphs = readers.write_graphs(model, folder, weights, int8)
        _write_dictionaries(folder, task.source_dictionary, task.target_dictionary)
        limits = [int(side.max_positions()) for side in (model.encoder, model.decoder)]
        settings = {
            "limits": limits,
            "limit": longest_line(task, model),
            "words_learnt": words_learnt(state),
            "joins_draft": joins_draft,
        }
        texts = text.write(processing.tokenizer, processing.bpe, folder)
        return {"model": name, "graphs": graphs, "settings": settings, "text": texts}

    return Writer(write, checked.generator_check(model, task, processing))


def _write_pieces(folder: Path, metadata: Metadata) -> str:
    """Writes what cuts text, if it is not cut into bytes; returns what the runtime reads it by."""
    if metadata.hf_tokenizer is not None:
        content = {"wordpiece": metadata.hf_tokenizer, "first": BOS in metadata.pieces}
        (folder / TOKENIZER).write_text(json.dumps(content), "utf-8")
        return TOKENIZER
    if metadata.model is None:
        return "bytes"
    (folder / SUBWORDS).write_bytes(base64.b64decode(metadata.model))
    return "sentencepiece"


def _write_dictionaries(folder: Path, source: Any, target: Any) -> None:
    """Both sides' symbols in order, up to a placeholder; one list where they are equal."""
    source_symbols, target_symbols = map(checked.exported_symbols, (source, target))
    names = ("bos", "pad", "eos", "unk")
    special = {name: getattr(target, name)() for name in names}
    content = {
        "special": special,
        "nspecial": target.nspecial,
        "placeholder": PLACEHOLDER in target_symbols,
        "source": source_symbols,
    }
    if source_symbols != target_symbols:
        content["target"] = target_symbols
    (folder / DICTIONARIES).write_text(json.dumps(content), "utf-8")
