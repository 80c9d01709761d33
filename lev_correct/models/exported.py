"""Models that ``lev-export`` wrote, which need neither torch nor fairseq."""

import glob
from collections.abc import Mapping, Sequence
from typing import Any

from lev_runtime.batching import in_batches
from lev_runtime.errors import UserError
from lev_runtime.folder import Folder, is_export
from lev_runtime.prefixes import Prefixes, PrefixModel
from lev_runtime.text_processing import TextProcessing, Tokens

from ..text.units import Context
from .backend import Answer, rewriting
from .searching import Searching

#: of a pass: of small models more would wait for one another
THREADS = 1


class Exported(Searching):
    """A PBD in a folder of ``lev-export``; errors of :class:`.PrefixModel`.

    Args:
        beam: width of the search.
    """

    def __init__(self, folder: str | Folder, beam: int = 5) -> None:
        if beam < 1:
            raise UserError(f"beam={beam}: must be 1 or more")
        self.model = PrefixModel(folder, THREADS)
        codec, source, target = self.model.codec, self.model.source, self.model.target
        self.processing = TextProcessing(bpe=codec, by_letter=codec.by_letter)
        self.knows_spaces = codec.bpe != "characters" or codec.encode(" ") in source.symbols
        settings = self.model.settings
        self.words_learnt = settings["words_learnt"]
        self.limit, self.longest = settings["limit"], settings["limits"][1] - 1
        self.eos, self.pad = target.eos, target.pad
        self.beam = min(beam, len(target.symbols) - 1)
        self.symbols = target.text_symbols()
        self._written = frozenset(self.symbols.values())
        self.spelling = self._written.intersection(source.symbols)
        self._target_numbers, self._unknown = target.index, target.unk

    def number(self, token: str) -> int:
        """See :class:`.Searching`."""
        return self._target_numbers.get(token, self._unknown)

    def prefixes(self, units: Sequence[Tokens]) -> tuple[Prefixes, Sequence[int]]:
        """See :class:`.Searching`."""
        return self.model.prefixes(self._sources(units)), range(len(units))

    def _sources(self, units: Sequence[Tokens]) -> list[list[int]]:
        """The numbers of units' tokens, </s> behind them."""
        return [self.model.source.encode(unit)[1:] for unit in units]

    def write(
        self, units: Sequence[str], batch_size: int, contexts: Sequence[Context] = ()
    ) -> list[Answer | None]:
        """See :class:`~.backends.Backend`; probabilities are those of :class:`.Generating`."""
        tokens = list(map(self.processing.tokens, units))
        best = in_batches(self._best, tokens, map(len, tokens), batch_size)
        return list(map(self._answer, units, tokens, best))

    def _best(self, units: Sequence[Tokens]) -> list[tuple[str, list[float]] | None]:
        """What the beam writes for each unit of a batch, and the log-probabilities of its symbols;
        None for what came to no end."""
        limits, sources = self._limits(units), self._sources(units)
        found = self.model.beam_search(sources, limits, self.beam)
        written = []  # of each unit the best text, or none
        for texts, limit in zip(found, limits, strict=True):
            ended = [text for text, _ in texts if len(text) < limit]
            written.append(ended[:1])
        logs = self.model.symbol_logs(sources, written)
        return [(texts[0], rows[0]) if texts else None for texts, rows in zip(written, logs)]

    def _answer(
        self, text: str, unit: Tokens, best: tuple[str, list[float]] | None
    ) -> Answer | None:
        if best is None:
            return None
        written, logs = best
        changed = rewriting(unit, self._spelt(written), logs, self._written.__contains__)
        return changed.answer(text, self.processing)


def serves(path: str, options: Mapping[str, Any]) -> bool:
    """Whether a model's folder is an export that can do what was asked for.

    Args:
        options: that need torch, None or empty where they were not given.

    Raises:
        UserError: a folder that is an export alone, and options that it has no use for.
    """
    if not is_export(path):
        return False
    asked = [name for name, value in options.items() if value]
    if asked and not glob.glob(f"{glob.escape(path)}/*.pt"):
        raise UserError(
            f"{asked[0]}={options[asked[0]]}: {path} is an export, which has its own text "
            "processing and computes on the CPU; leave it out"
        )
    return not asked
