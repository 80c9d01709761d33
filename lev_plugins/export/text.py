"""Writes the text processing that the runtime has without fairseq."""

from pathlib import Path
from typing import Any

from fairseq.data.encoders.characters import Characters
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE
from fairseq.data.encoders.space_tokenizer import SpaceTokenizer

from lev_runtime.errors import UserError
from lev_runtime.folder import SUBWORDS

from ..data.batch import TextEncoder

_WAY = "export with --tokenizer none --bpe none, and give the runtime text that is cut already"


def check(tokenizer: TextEncoder | None, bpe: TextEncoder | None) -> None:
    """Raises :class:`UserError` for text processing that the runtime does not have."""
    known = (SentencepieceBPE, Characters)
    if bpe is not None and not isinstance(bpe, known):
        there = "sentencepiece and characters"
        raise UserError(f"the runtime has no {type(bpe).__name__}, only {there}; {_WAY}")
    if getattr(bpe, "enable_sampling", False):
        raise UserError("--sentencepiece-enable-sampling: the runtime does not sample")
    if tokenizer is not None and not isinstance(tokenizer, SpaceTokenizer):
        raise UserError(f"the runtime has no {type(tokenizer).__name__}; {_WAY}")


def write(tokenizer: TextEncoder | None, bpe: TextEncoder | None, folder: Path) -> dict[str, Any]:
    """Writes the subword model, if there is one; returns what the runtime's settings say."""
    settings = {"tokenizer": None if tokenizer is None else "space", "bpe": None}
    if isinstance(bpe, Characters):
        settings["bpe"] = "characters"
    elif isinstance(bpe, SentencepieceBPE):
        settings["bpe"] = "sentencepiece"
        (folder / SUBWORDS).write_bytes(bpe.sp.serialized_model_proto())
    return settings
