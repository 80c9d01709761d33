"""Editing text with an exported Levenshtein Transformer."""

import os
from collections.abc import Sequence
from typing import Any

from ..folder import Folder
from ..history import EditHypothesis
from ..text.codec import TextCodec, TextProcessing, read_dictionaries
from ..text.sentences import Decode, Draft, Sentence, TextEditor, marked_tokens
from ..text.source_change import read_change
from .arrays import padded
from .decoding import Decoding
from .exported import ExportedPolicy
from .feature_cache import ReusedFeatures
from .options import RefinementOptions
from .policy import Symbols

MODEL = "levenshtein_editor"


class Editor(TextEditor):
    """An exported model with its dictionaries and text processing; several threads may use one.

    >>> from lev_runtime import Editor
    >>> [trace] = Editor("levt").edit(["a source"], ["its [=draft=]"], markup=True)
    >>> trace.draft, trace.terminated
    ('its [=draft=]', 'loop')

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        folder = Folder.holding([MODEL], path, type(self).__name__)
        self.settings: dict[str, Any] = folder.description["settings"]
        self.delete_threshold = self.settings["delete_threshold"]
        self.max_iter = self.settings.get("max_iter", self.max_iter)
        self.max_len_b = max(self.max_len_b, self.settings["max_target_positions"])
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        target = self.target
        self.dictionary = target.symbols
        self.unknown = target.symbols[target.unk]
        self.limits = tuple(self.settings["limits"])
        self.symbols = Symbols(
            tuple(target.symbols),
            target.pad,
            target.bos,
            target.eos,
            target.unk,
            target.placeholder,
        )
        longest = self.settings["limits"][0], self.settings["model_limit"]
        policy = ExportedPolicy(folder, target.pad, target.placeholder, longest, threads)
        self.policy = ReusedFeatures(policy)

    @property
    def text_processing(self) -> TextProcessing:
        """See the base class."""
        return TextProcessing(bpe=self.codec)

    def decoder(self, options: RefinementOptions) -> Decode:
        """See the base class."""
        pad = self.target.pad

        def decode(sentences: Sequence[Sentence]) -> list[list[EditHypothesis]]:
            source = padded([sentence.tokens for sentence in sentences], pad)
            draft = padded([sentence.coded.tokens for sentence in sentences], pad)
            marks = padded([sentence.coded.marks for sentence in sentences], 0)
            decoding = Decoding(self.policy, source, draft, marks, self.symbols, options)
            hypotheses = decoding.run()
            if options.candidates > 1:
                decoding.rate(hypotheses)
            return decoding.nbest(hypotheses)

        return decode

    def encode_draft(self, text: str, markup: bool) -> Draft:
        """See the base class."""
        longest = self.settings["max_target_positions"]
        encode = self.target.encode
        return marked_tokens(text, markup, self.codec.encode, encode, self.symbols, longest)

    def encode_source(self, source: str, old: str | None) -> list[int]:
        """See the base class."""
        source = read_change(source, old, self.settings["old_source"])
        return self.source.encode(self.codec.encode(source).split())
