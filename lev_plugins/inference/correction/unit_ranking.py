"""Choosing among candidates for a unit of several words, such as a line or a window.

Candidates are what the model writes, the unit itself, what the look-up table makes of it, and near
words of the lexicon for words that it lacks. As in :mod:`.word_ranking` a candidate's score is a
weighted sum of features; here each feature is summed over the words, and words keep their capitals.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from ...data.near_words import distance
from ...metrics.word_edits import WordEdit, word_edits
from .backends import Answer, Backend, CharacterBackend, Tokens
from .candidates import Scorer, Weighted, score_texts, scorer_of, softmax
from .fitting import most_likely
from .lexicon import Lexicon
from .units import core_of
from .word_ranking import MOST_KEPT, Resources, with_case

#: Weights where nothing was tuned.
WEIGHTS: Mapping[str, float] = {
    "model": 1.0,  # log-probability of the model
    "lexicon": 2.0,  # minus the words that the lexicon lacks
    "frequency": 0.1,  # log(1 + count) of each word, below that of the most frequent word
    "unchanged": 0.5,  # minus the words that are changed
    "capital": 0.5,  # minus the changed words that begin with a capital letter
    "lookup": 1.0,  # changes that are listed
    "misspelt": 0.0,  # log(1 + listed misspellings of what a word becomes), over the changes
    "edits": -0.2,  # letters inserted, deleted, substituted or exchanged
}
FEATURES = tuple(WEIGHTS)
#: Near words of the lexicon for each unknown word, and candidates of a unit, at most.
NEAR, MOST = 3, 32


@dataclass(frozen=True)
class Choices:
    """Of a unit: the texts it may become, itself first, their features and their word edits.

    features: texts × :data:`FEATURES`.
    """

    texts: tuple[str, ...]
    features: np.ndarray
    edits: tuple[frozenset[WordEdit], ...]

    def probabilities(self, weights: np.ndarray) -> np.ndarray:
        """Of each text."""
        return softmax(self.features @ weights)


class UnitRanker(Weighted):
    """Finds candidates for units and scores them; weights that are not named are 0.

    Raises:
        UserError: a weight that there is not, or a model that cannot score texts.
    """

    names = FEATURES

    def __init__(
        self, backend: Backend, resources: Resources, weights: Mapping[str, float] = WEIGHTS
    ) -> None:
        self.set_weights(weights)
        self.backend, self.resources = backend, resources
        self.scorer: Scorer = scorer_of(backend)
        counts = resources.lexicon.counts.values() if resources.lexicon else ()
        self._most = math.log1p(max(counts, default=0.0))
        self._found: dict[str, Choices] = {}

    def choices(self, units: Sequence[str], batch_size: int) -> list[Choices]:
        """For each unit, whose words have single spaces between them."""
        new = [unit for unit in dict.fromkeys(units) if unit not in self._found]
        if len(self._found) > MOST_KEPT:
            self._found = {unit: self._found[unit] for unit in units if unit in self._found}
        self._found |= zip(new, self._ranked(new, batch_size), strict=True)
        return [self._found[unit] for unit in units]

    def _ranked(self, units: Sequence[str], batch_size: int) -> list[Choices]:
        tokens = [self.backend.tokens(unit) for unit in units]
        written = self.scorer.nbest(tokens, batch_size)
        texts = [
            self._texts(unit, list(map(self.backend.text, some)))
            for unit, some in zip(units, written, strict=True)
        ]
        scores = score_texts(self.backend, self.scorer, tokens, texts, written, batch_size)
        return list(map(self._choices, units, texts, scores))

    def _texts(self, unit: str, written: Sequence[str]) -> list[str]:
        """The unit, what the model wrote, and what single edits of it and of the lexicon make."""
        words = unit.split()
        found = dict.fromkeys([unit, *(" ".join(one.split()) for one in written)])
        near, listed = list(self._near(words)), self._listed(words)
        nearest = {edit.start: edit for edit in (*reversed(near), *listed)}
        single = [edit for text in found for edit in word_edits(words, text.split())]
        both = listed, [nearest[place] for place in sorted(nearest)]
        for some in (*([edit] for edit in dict.fromkeys([*single, *listed, *near])), *both):
            found[edited(words, some)] = None
        longest = len(unit) + self.resources.longest * len(words)
        longest = max(longest, len(edited(words, listed)))
        kept = [text for text in found if text and len(text) <= longest and self.readable(text)]
        return list(dict.fromkeys([unit, *kept]))[:MOST]

    def readable(self, text: str) -> bool:
        """Whether the model can spell a text."""
        return self.scorer.knows(self.backend.tokens(text))

    def _listed(self, words: Sequence[str]) -> list[WordEdit]:
        """What the table makes of words that it has one correction for."""
        found = ((place, self._corrections(word)) for place, word in enumerate(words))
        return [WordEdit(place, place + 1, some) for place, some in found if len(some) == 1]

    def _corrections(self, text: str) -> tuple[str, ...]:
        """What the table has for a text as it stands, else without punctuation around it, else in
        small letters, where the lexicon lacks it with its capitals (*Mus*, a noun, for *mus*)."""
        table = self.resources.lookup.corrections if self.resources.lookup else {}
        core = core_of(text)
        if text in table or not core:
            return table.get(text, ())
        found = table.get(core)
        if found is None and core not in (self.resources.lexicon or ()):
            found = tuple(with_case(one, core) for one in table.get(core.lower(), ()))
        return tuple(text.replace(core, one, 1) for one in found or ())

    def _near(self, words: Sequence[str]) -> Iterator[WordEdit]:
        """Near words for those that the lexicon lacks, the nearest first."""
        lexicon = self.resources.lexicon
        for place, word in enumerate(words):
            if lexicon and _count(lexicon, word) < 0:
                core = core_of(word)
                for near in _nearest(lexicon, core):
                    yield WordEdit(place, place + 1, (word.replace(core, near, 1),))

    def _choices(self, unit: str, texts: Sequence[str], scores: Sequence[float]) -> Choices:
        words = unit.split()
        edits = [word_edits(words, text.split()) for text in texts]
        rows = [
            self._features(words, text, some, score)
            for text, some, score in zip(texts, edits, scores, strict=True)
        ]
        return Choices(tuple(texts), np.array(rows), tuple(map(frozenset, edits)))

    def _features(
        self, words: Sequence[str], text: str, edits: Sequence[WordEdit], score: float
    ) -> list[float]:
        lexicon, lookup = self.resources.lexicon, self.resources.lookup
        counts = [_count(lexicon, word) for word in text.split()] if lexicon else []
        changed = [word for edit in edits for word in words[edit.start : edit.end]]
        listed = misspelt = 0.0
        for edit in edits:
            if lookup is None:
                break
            right = " ".join(edit.words)
            listed += right in self._corrections(" ".join(words[edit.start : edit.end]))
            misspelt += math.log1p(lookup.misspellings.get(right, 0))
        return [
            score,
            -float(sum(count < 0 for count in counts)),
            sum(math.log1p(max(count, 0.0)) - self._most for count in counts),
            -float(max(len(changed), len(edits))),
            -float(sum(word[0] != word[0].lower() for word in changed)),
            listed,
            misspelt,
            float(distance(" ".join(words), text)),
        ]


def edited(words: Sequence[str], edits: Sequence[WordEdit]) -> str:
    """A text of words with edits made, which are in order and do not overlap."""
    made, place = [], 0
    for edit in edits:
        made += [*words[place : edit.start], *edit.words]
        place = edit.end
    return " ".join([*made, *words[place:]])


def _nearest(lexicon: Lexicon, word: str) -> list[str]:
    """Near words, also those in small letters with the capitals of the word; the nearest first."""
    found = lexicon.near(word, NEAR)
    if word != word.lower():
        small = lexicon.near(word.lower(), NEAR)
        found = list(dict.fromkeys([*found, *(with_case(one, word) for one in small)]))
        found.sort(key=lambda one: distance(word, one))
    return found[:NEAR]


def _count(lexicon: Lexicon, word: str) -> float:
    """The count of a word, as it stands, without punctuation around it or in small letters; 0 for
    what has no letters, −1 for what is not in the lexicon."""
    core = core_of(word)
    found = [lexicon.counts[one] for one in (word, core, core.lower()) if one in lexicon]
    if found:
        return max(found)
    return -1.0 if any(map(str.isalpha, word)) else 0.0


def fit(
    ranker: UnitRanker,
    pairs: Iterable[tuple[str, str]],
    batch_size: int = 64,
    features: Sequence[str] = FEATURES,
) -> list[Choices]:
    """Gives a ranker the weights under which the best candidates are most probable.

    The best candidates of a unit are those with the fewest wrong words, of these those with the
    fewest wrong characters: conditional maximum likelihood, which is convex but for equally good
    candidates.

    Args:
        pairs: units, and as they should be.
        features: whose weights are sought; the others keep theirs.

    Returns:
        the candidates of the units that the model can spell.
    """
    units = [(" ".join(one.split()), right) for one, right in pairs]
    units = [(one, right) for one, right in units if one and ranker.readable(one)]
    found = ranker.choices([one for one, _ in units], batch_size)
    telling = []
    for one, (_, right) in zip(found, units, strict=True):
        wanted = right.split()
        errors = [
            (Levenshtein.distance(text.split(), wanted), Levenshtein.distance(text, right))
            for text in one.texts
        ]
        if len(set(errors)) > 1:
            telling.append((one.features, [error == min(errors) for error in errors]))
    if telling:
        free = [name in features for name in FEATURES]
        ranker.weights = most_likely(telling, ranker.weights, free)
    return found


class UnitRankingBackend(CharacterBackend):
    """A :class:`~.backends.Backend` that writes the best candidate of each unit.

    The probability of a change is that of all candidates together that have it.
    """

    def __init__(self, ranker: UnitRanker) -> None:
        self.ranker, self.limit = ranker, ranker.backend.limit
        self.knows_spaces = ranker.backend.knows_spaces
        self.words_learnt: int | None = getattr(ranker.backend, "words_learnt", None)

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        """See :class:`~.backends.Backend`; an answer always comes to an end."""
        texts = ["".join(unit) for unit in units]
        read = [text for text in texts if self.ranker.readable(text)]
        found = dict(zip(read, self.ranker.choices(read, batch_size), strict=True))
        return [self._answer(text, found.get(text)) for text in texts]

    def _answer(self, unit: str, found: Choices | None) -> Answer:
        if found is None:
            return answer(unit, unit, {})
        chances = found.probabilities(self.ranker.weights)
        best = int(chances.argmax())
        shares = {
            edit: float(sum(chances[i] for i, some in enumerate(found.edits) if edit in some))
            for edit in found.edits[best]
        }
        return answer(unit, found.texts[best], shares)


def answer(unit: str, text: str, shares: Mapping[WordEdit, float]) -> Answer:
    """The answer that writes a text for a unit, by the probabilities of the edits between them."""
    before, after = _words(unit), _words(text)
    behind, changes, grown = [0.0] * (len(text) + 1), [], 0
    for edit in sorted(shares):
        k, m = edit.start + grown, edit.start + grown + len(edit.words)
        grown += len(edit.words) - (edit.end - edit.start)
        start, end = _span(before, edit.start, edit.end, k - m == edit.start - edit.end)
        begin, stop = _span(after, k, m, k - m == edit.start - edit.end)
        changes.append((start, end, begin, stop))
        behind[stop] = math.log(max(shares[edit], 1e-12))
    zeros = (0.0,) * len(unit)
    return Answer(tuple(text), tuple(changes), zeros, (0.0,) * len(text), tuple(behind))


def _words(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends."""
    return [match.span() for match in re.finditer("[^ ]+", text)]


def _span(words: Sequence[tuple[int, int]], first: int, last: int, alike: bool) -> tuple[int, int]:
    """Characters of the words ``first`` … ``last`` − 1; where their number changes (not ``alike``)
    with the space before them, or behind them at the beginning of a text."""
    if alike:
        return words[first][0], words[last - 1][1]
    if first:
        return words[first - 1][1], words[last - 1][1]
    return 0, words[last][0] if last < len(words) else words[-1][1]
