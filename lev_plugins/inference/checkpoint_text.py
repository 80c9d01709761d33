"""Text as a checkpoint's model reads it: its dictionaries, tokenizer, subwords and casing."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fairseq.data import Dictionary
from omegaconf import MISSING

from lev_runtime.errors import UserError, flag
from lev_runtime.io.options import TEXT_PROCESSING
from lev_runtime.io.text_files import read_lines

from ..fairseq_patches.checkpoint_files import AnyPath, plain
from ..systems.levenshtein.config import LevenshteinEditorConfig
from ..systems.levenshtein.stock import editor_config
from ..tasks.post_editing import PLACEHOLDER, without_placeholder
from .checkpoints import (
    ENCODERS,
    SWITCHED_OFF,
    find_checkpoint,
    load_state,
    load_task,
    text_encoders,
)
from .text_processing import TextProcessing

#: Share of unknown tokens from which text is cut in another way than the dictionary.
OTHERWISE = 0.5


@dataclass(frozen=True)
class CheckpointText:
    """Dictionaries of source and target, and how text becomes their tokens.

    flags: of fairseq-train, for a ``levenshtein_editor`` of the model's form.
    """

    path: str
    source: Dictionary
    target: Dictionary
    processing: TextProcessing
    flags: tuple[str, ...]

    @classmethod
    def of(cls, path: AnyPath, data: AnyPath | None, **overrides: Any) -> "CheckpointText":
        """Reads a checkpoint; arguments, errors as of ``LevenshteinEditor.from_pretrained``."""
        path = find_checkpoint(path)
        state = load_state(path)
        task = load_task(state, path, data)
        source, target = (
            without_placeholder(side) if PLACEHOLDER in side.indices else side
            for side in (task.src_dict, task.tgt_dict)
        )
        encoders = text_encoders(state["cfg"], overrides, [path], data)
        text: dict[str, Any] = {}
        for kind in ENCODERS:
            trained = plain(state["cfg"].get(kind))
            text |= {name: value for name, value in trained.items() if name in TEXT_PROCESSING}
            text[kind] = trained.get("_name")
        text = text | overrides
        text = {name: value for name, value in text.items() if value not in SWITCHED_OFF}
        flags = training_flags(state["cfg"].model, path, text)
        return cls(path, source, target, TextProcessing(*encoders), flags)

    def write(self, text: str, out: str, dictionary: Dictionary) -> None:
        """Writes the tokens of a file of text.

        Raises:
            UserError: most of them are unknown.
        """
        symbols = dictionary.symbols[dictionary.nspecial :]
        is_small = not any(symbol != symbol.lower() for symbol in symbols)
        tokens = unknown = 0
        with open(out, "w", encoding="utf-8") as file:
            for line in read_lines(text):
                words = self.processing.tokens(line.lower() if is_small else line)
                tokens += len(words)
                unknown += sum(word not in dictionary.indices for word in words)
                file.write(" ".join(words) + "\n")
        if unknown > OTHERWISE * tokens:
            raise UserError(
                f"{text}: the dictionary of {self.path} lacks {100 * unknown / tokens:.0f} % of "
                "its tokens; give the --bpe of its training and its file, or text that is cut so"
            )


def training_flags(model: Any, path: str, text: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns flags of fairseq-train that start from a LevT, ours or stock's; of others none.

    text: options of text processing.
    """
    name = str(getattr(model, "_name", None) or getattr(model, "arch", ""))
    if name.startswith("levenshtein_transformer"):
        model = editor_config(model)
    elif not name.startswith("levenshtein_editor"):
        return ()
    defaults = {field.name: field.default for field in fields(LevenshteinEditorConfig)}
    options = {name: getattr(model, name, None) for name in defaults if name != "_name"}
    options |= {**text, "finetune_from_model": os.path.abspath(path)}
    flags = ["--arch", "levenshtein_editor"]
    for name, value in options.items():
        if value not in (defaults.get(name), None, MISSING):
            flags += [flag(name)] if value is True else [flag(name), str(value)]
    return tuple(flags)
