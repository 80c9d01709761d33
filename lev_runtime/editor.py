"""Editing text with an exported Levenshtein Transformer."""

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import padded
from .decoding import Decoding
from .editing import Decode, TextEditor, check_lengths, marked_terms, marked_tokens
from .errors import UserError
from .exported import ExportedPolicy
from .feature_cache import ReusedFeatures
from .folder import Folder
from .history import EditTrace
from .markup import Joining
from .options import OF_MODELS, RefinementOptions
from .policy import Symbols
from .records import EditHypothesis
from .sentences import Draft, Sentence
from .source_change import mark_change
from .text import TextCodec, read_dictionaries
from .text_processing import TextProcessing

MODEL = "levenshtein_editor"


class Editor(TextEditor[Sentence]):
    """An exported model with its dictionaries and text processing; several threads may use one.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(self, path: str | os.PathLike[str] | Folder, threads: int | None = None) -> None:
        folder = path if isinstance(path, Folder) else Folder(path)
        folder.require(MODEL, "Editor")
        self.settings: dict[str, Any] = folder.description["settings"]
        known = OF_MODELS & self.settings.keys()
        self.decoding_settings = {name: self.settings[name] for name in known}
        self.codec = TextCodec(folder)
        self.source, self.target = read_dictionaries(folder)
        target = self.target
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

    @property
    def limits(self) -> tuple[int, ...]:
        """See the base class."""
        return tuple(self.settings["limits"])

    @property
    def unknown(self) -> str:
        """See the base class."""
        return self.target.symbols[self.target.unk]

    def decoder(self, history: bool, **options: Any) -> Decode[Sentence]:
        """See the base class."""
        longest = max(200, self.settings["max_target_positions"])
        refinement = RefinementOptions(max_len_b=longest, retain_history=history, **options)
        return functools.partial(self._decode, refinement)

    # decoding -----------------------------------------------------------------------------------

    def _decode(
        self, options: RefinementOptions, sentences: Sequence[Sentence]
    ) -> list[list[EditTrace]]:
        """Returns the n-best of one batch."""
        pad = self.target.pad
        source = padded([sentence.tokens for sentence in sentences], pad)
        draft = padded([sentence.coded.tokens for sentence in sentences], pad)
        marks = padded([sentence.coded.marks for sentence in sentences], 0)
        decoding = Decoding(self.policy, source, draft, marks, self.symbols, options)
        hypotheses = decoding.run()
        if options.candidates > 1:
            decoding.rate(hypotheses)
        traces = []
        for sentence, group in zip(sentences, decoding.nbest(hypotheses), strict=True):
            traces.append([self._trace(sentence, hypothesis) for hypothesis in group])
        return traces

    def _trace(self, sentence: Sentence, hypothesis: EditHypothesis) -> EditTrace:
        """Returns the trace of a sentence."""
        tokens = " ".join(sentence.symbols(hypothesis))
        text = self.codec.decode(tokens)
        return sentence.trace(text, hypothesis)

    # text and tokens ----------------------------------------------------------------------------

    def sentence(
        self,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
    ) -> Sentence:
        """See the base class."""
        if old is not None and not self.settings["old_source"]:
            raise UserError(
                "there is an old source, and the model was not trained with --old-source; leave it "
                "out"
            )
        marked_draft = marked_terms(terms) if terms else draft or ""
        words, draft_tokens, marks = marked_tokens(
            marked_draft,
            markup or bool(terms),
            self.codec.encode,
            self.target.encode,
            self.target.unk,
            self.settings["max_target_positions"],
            lambda: self._joining,
        )
        marked_source = mark_change(source, old) if old else source
        source_words = self.codec.encode(marked_source).split()
        source_tokens = self.source.encode(source_words)
        check_lengths(source_tokens, draft_tokens, self.settings["limits"])
        if terms:
            words = self.codec.encode(" ".join(terms)).split()
        coded = Draft(np.array(draft_tokens), np.array(marks))
        symbols = self.target.symbols
        return Sentence(source, draft, words, np.array(source_tokens), coded, symbols)

    @functools.cached_property
    def _joining(self) -> Joining:
        return Joining(self.target.symbols[: self.target.placeholder])
