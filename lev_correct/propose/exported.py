"""Models that ``lev-export`` wrote, which need neither torch nor fairseq."""

from collections.abc import Sequence

from lev_runtime.batching import in_batches
from lev_runtime.beam.options import SearchOptions
from lev_runtime.beam.prefixes import Prefixes, PrefixModel
from lev_runtime.errors import require_count
from lev_runtime.folder import Folder
from lev_runtime.text.codec import TextProcessing, Tokens

from ..text.units import Context
from .backend import Answer, rewriting
from .searching import Searching, symbol_logs

#: of a pass: of small models more would wait for one another
THREADS = 1


class Exported(Searching):
    """A PBD in a folder of ``lev-export``; errors of :class:`.PrefixModel`.

    Args:
        beam: width of the search.
    """

    def __init__(self, folder: str | Folder, beam: int = 5) -> None:
        require_count("beam", beam)
        self.model = PrefixModel(folder, THREADS)
        codec, source, target = self.model.codec, self.model.source, self.model.target
        letters = {len(symbol) for symbol in source.text_symbols().values()} == {1}
        if letters and codec.bpe is None and not codec.spaces:  # prepared without --bpe characters
            codec.bpe, codec.by_letter = "characters", True
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
        """The numbers of units' tokens, </s> after them."""
        return [self.model.numbers(unit, unit) for unit in units]

    def write(
        self,
        units: Sequence[str],
        batch_size: int,
        contexts: Sequence[Context] = (),
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~.backend.Backend`; probabilities are those of a checkpoint."""
        sizes = [len(self.processing.tokens(unit)) for unit in units]
        return in_batches(self._answers, units, sizes, batch_size)

    def _answers(self, texts: Sequence[str]) -> list[Answer | None]:
        """Answers a batch by the best that the beam writes for each unit and that has an end."""
        units = list(map(self.processing.tokens, texts))
        limits, sources = self._limits(units), self._sources(units)
        beams = self.model.beam_search(sources, limits, SearchOptions(self.beam))
        best = []
        for unit_texts, limit in zip(beams, limits, strict=True):
            best.append([written for written, _ in unit_texts if len(written) < limit][:1])
        answers: list[Answer | None] = [None] * len(units)
        for row, logs in enumerate(symbol_logs(self.model, sources, best)):
            if best[row]:
                written = self._spelt(best[row][0])
                changed = rewriting(units[row], written, logs[0], self._written.__contains__)
                answers[row] = changed.answer(texts[row], self.processing)
        return answers
