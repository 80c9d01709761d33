"""Models that write from left to right, of which prefixes are read and searched; those that
``lev-export`` wrote need neither torch nor fairseq."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from lev_runtime.batching import in_batches
from lev_runtime.beam.options import SearchOptions
from lev_runtime.beam.prefixes import Prefixes, PrefixModel, Sources
from lev_runtime.beam.search import (
    LONGEST_MORE,
    LONGEST_RATIO,
    Beam,
    Floats,
    Numbers,
    PrefixReader,
    WordTree,
    code_points,
    search,
)
from lev_runtime.errors import require_number
from lev_runtime.folder import Folder
from lev_runtime.text.codec import TextProcessing, Tokens

from ..text.units import ModelUnit
from ..words.lexicon import END_OF_WORD, Lexicon
from .backend import Answer, Backend, rewriting

#: A unit, and a text that it may become.
Pair = tuple[Tokens, Tokens]
#: A unit, and texts to be rated.
Rated = tuple[Tokens, Sequence[Tokens]]
#: Texts that a model wrote, and their log-probabilities.
Written = Mapping[Tokens, float]
#: Width of the search among the words of a lexicon, most of whose near words are rated anyway (10
#: finds no more).
LEXICON_BEAM = 3
#: Units that are searched at once, at most: 32 take right text 0.87 of its time with 16; 64 take
#: 0.83, and 19 MB more.
TOGETHER = 32
#: Threads of a pass of an export: of small models more would wait for one another.
THREADS = 1


class Searching(Backend):
    """Beam searches, which can also search among words and rate what others propose.

    beam: width of the free search; 0 for none, among the words of a lexicon alone. longest: symbols
    of a text, at most. symbols: those that stand for text, by their numbers, and number: of any
    token. eos, pad: numbers of </s> and <pad>.
    """

    beam: int
    longest: int
    symbols: dict[int, str]
    number: Callable[[str], int]
    eos: int
    pad: int
    #: The tokens that can be read and written.
    spelling: frozenset[str]
    #: Among whose words :meth:`nbest` searches too.
    lexicon: Lexicon | None = None

    def prefixes(self, units: Sequence[Tokens]) -> tuple[PrefixReader, Sequence[int]]:
        """A reader of what could be written for units, and which unit each of its rows is."""
        raise NotImplementedError

    def knows(self, tokens: Iterable[str]) -> bool:
        """Returns whether the model can read and write all tokens."""
        return self.spelling.issuperset(tokens)

    @cached_property
    def _tree(self) -> WordTree | None:
        """The words of the lexicon that can be spelt; made when first needed."""
        if not (self.lexicon and self.lexicon.words):
            return None
        if self.processing.by_letter and self.spelling.issuperset(self.lexicon.letters.letters):
            return self._numbered_tree(self.lexicon.tree)
        spelt = filter(self.knows, map(self.processing.tokens, self.lexicon.words))
        eos = chr(self.eos)
        text = "".join(word + eos for word in sorted({*map(self._numbered, spelt)}))
        return WordTree.of(text, self.eos) if text else None

    def _numbered_tree(self, tree: WordTree) -> WordTree:
        """A tree of letters as one of the numbers of symbols."""
        numbers = np.zeros(int(tree.symbols.max()) + 1, dtype=np.int64)
        letters = np.flatnonzero(np.bincount(tree.symbols))
        for letter in letters.tolist():
            numbers[letter] = self.number(chr(letter))
        numbers[END_OF_WORD] = self.eos
        return WordTree(numbers[tree.symbols], np.diff(tree.starts))

    def _numbered(self, tokens: Tokens) -> str:
        """A text as :mod:`lev_runtime.beam.search` has it."""
        return "".join([chr(self.number(token)) for token in tokens])

    def _spelt(self, text: str) -> list[str | None]:
        """The tokens of what a search found; None for what stands for no text."""
        return [self.symbols.get(ord(symbol)) for symbol in text]

    def _limits(self, units: Sequence[Tokens]) -> np.ndarray:
        """Symbols of a text for each unit, at most."""
        sizes = np.array([len(unit) for unit in units], dtype=np.int64)
        return np.minimum(LONGEST_RATIO * (sizes + 1) + LONGEST_MORE, self.longest)

    def nbest(
        self, units: Sequence[Tokens], batch_size: int, others: Sequence[Sequence[Tokens]] = ()
    ) -> list[Written]:
        """Returns what the beam writes, then the best of the words, however far from the unit, then
        the others; with the log-probability of each."""
        pairs = [*zip(units, others or [()] * len(units), strict=True)]
        sizes = [len(unit) for unit in units]
        search = partial(self._read, is_searched=True)
        together = min(batch_size, TOGETHER)
        return in_batches(search, pairs, sizes, together)

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """Returns log-probabilities, in nats, that the model turns units into texts."""
        texts: dict[Tokens, list[Tokens]] = {}
        for unit, text in pairs:
            texts.setdefault(unit, []).append(text)
        sizes = [len(unit) for unit in texts]
        together = min(batch_size, TOGETHER)
        rated = in_batches(self._read, [*texts.items()], sizes, together)
        scores = dict(zip(texts, rated, strict=True))
        return [scores[unit][text] for unit, text in pairs]

    def _read(self, batch: Sequence[Rated], is_searched: bool = False) -> list[Written]:
        """Rates the texts of a batch; searches for others, too, if ``is_searched``."""
        units = [unit for unit, _ in batch]
        reader, order = self.prefixes(units)
        beams = []
        if is_searched and self.beam:
            beams.append(Beam(self.beam, self._limits(units)[list(order)], self.eos))
        if is_searched and self._tree is not None:
            unlimited = np.full(len(order), self.longest)
            beams.append(Beam(LEXICON_BEAM, unlimited, self.eos, self._tree))
        others = [batch[place][1] for place in order]
        numbered = [[self._numbered(text) for text in texts] for texts in others]
        rater = Given(numbered, self.eos)
        search(reader, len(order), [*beams, rater], self.eos, self.pad)
        written: list[Written] = [{} for _ in batch]
        for row, place in enumerate(order):
            texts = dict[Tokens, float]()
            for text, score in (pair for beam in beams for pair in beam.best(row)):
                tokens = self._spelt(text)
                if None not in tokens:
                    texts[tuple(map(str, tokens))] = score
            scores = [score for _, score in rater.rated(row)]
            written[place] = texts | dict(zip(others[row], scores, strict=True))
        return written


class Given:
    """Texts of each unit, to be rated; read as a :class:`lev_runtime.beam.search.Beam` is."""

    def __init__(self, texts: Sequence[Sequence[str]], eos: int) -> None:
        self.texts = texts
        ended = [text + chr(eos) for group in texts for text in group]
        self.sizes = np.array([len(text) for text in ended], dtype=np.int64)
        longest = self.sizes.max(initial=0)
        is_symbol = np.arange(longest) < self.sizes[:, None]
        self.symbols = np.zeros((len(ended), longest), dtype=np.int64)
        self.symbols[is_symbol] = code_points(ended)
        self.logs = np.zeros(self.symbols.shape)
        counts = [len(group) for group in texts]
        self.units = self.rows = np.repeat(np.arange(len(texts)), counts)
        self.going = np.arange(len(ended))
        self._depth = 0

    def step(self, logs: Floats, texts: object) -> tuple[Numbers, Numbers]:
        """Notes log-probabilities; returns the next prefixes as ``Beam.step`` does."""
        going = symbols = self.going
        if len(going):
            symbols = self.symbols[going, self._depth]
            self.logs[going, self._depth] = logs[self.rows, symbols]
        self._depth += 1
        on = self.sizes[going] > self._depth
        self.going, self.rows = going[on], self.rows[on]
        return self.rows, symbols[on]

    def place(self, rows: Numbers) -> None:
        """Takes the numbers of the prefixes wanted last, as ``Beam.place`` does."""
        self.rows = rows

    def rated(self, unit: int) -> list[tuple[str, float]]:
        """Returns the texts of a unit, with their log-probabilities."""
        return list(zip(self.texts[unit], map(sum, self.symbol_logs(unit)), strict=True))

    def symbol_logs(self, unit: int) -> list[list[float]]:
        """Returns for each text of a unit the log-probabilities of its symbols, and of </s>."""
        rows = np.flatnonzero(self.units == unit)
        return [self.logs[row, : self.sizes[row]].tolist() for row in rows]


def symbol_logs(
    model: PrefixModel, sources: Sources, texts: Sequence[Sequence[str]]
) -> list[list[list[float]]]:
    """Returns for each text of each source the log-probabilities of its symbols and </s>."""
    target, count = model.target, len(sources)
    reader = Given(texts, target.eos)
    search(model.prefixes(sources), count, [reader], target.eos, target.pad)
    return [reader.symbol_logs(row) for row in range(count)]


class Exported(Searching):
    """A PBD in a folder of ``lev-export``; errors of :class:`.PrefixModel`.

    Args:
        beam: width of the search.
    """

    def __init__(self, folder: str | Folder, beam: int = 5) -> None:
        require_number("beam=", beam, 0, kind=int)
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
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~.backend.Backend`; probabilities are those of a checkpoint."""
        texts = [unit.text for unit in units]
        sizes = [len(self.processing.tokens(text)) for text in texts]
        return in_batches(self._answers, texts, sizes, batch_size)

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
