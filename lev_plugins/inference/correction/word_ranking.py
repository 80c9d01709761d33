"""Choosing among candidates for a word, by a model, a lexicon and known misspellings.

The score of a candidate is a weighted sum of its features (:data:`FEATURES`), its probability the
softmax over all candidates of the word: a log-linear model, whose weights :mod:`.tuning` fits.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...data.near_words import distance
from ...ops.sequences import common_ends
from .backends import Answer, Backend, CharacterBackend, Tokens
from .bigrams import Bigrams
from .candidates import Scorer, Weighted, score_texts, scorer_of, softmax
from .confusions import Confusions
from .fitting import most_likely
from .letter_model import LetterModel
from .lexicon import Lexicon, Lookup
from .units import NO_CONTEXT, Context

#: Name of a feature → its weight where nothing was tuned: found on misspellings of English words.
DEFAULTS: Mapping[str, float] = {
    "model": 0.23,  # log-probability of the model
    "lexicon": 6.9,  # all words stand in the lexicon, or it is a listed correction
    "frequency": 0.44,  # log(1 + count) of the rarest of them, above the mean of the lexicon
    "unchanged": 3.8,  # it is the word itself
    "capital": 4.5,  # it is the word itself, which begins with a capital letter
    "lookup": 2.4,  # it is a listed correction of the word
    "misspelt": 0.7,  # log(1 + how many misspellings of it are listed)
    "edits": -8.8,  # letters inserted, deleted, substituted or exchanged, for each of the word
    "consonants": -1.3,  # the same without what is not heard (see :func:`consonants`), in all
    "growth": 0.9,  # letters that it has more than the word
    "first": -1.8,  # its first letter is another one
    "last": -0.7,  # its last letter is another one
    "shape": 0.7,  # it is the word itself: how much that looks like words of the lexicon
    "length": -0.5,  # it is the word itself: its letters
    "short": 2.0,  # it is the word itself, not listed and short, mostly an abbreviation (km)
    "bigrams": 1.0,  # how well it stands beside its neighbours (see :class:`.bigrams.Bigrams`)
    "confused": -5.0,  # it is another word, for one of the lexicon (see :mod:`.confusions`)
    "likelier": 1.0,  # which fits better: the logarithm of how much more often it is met
}
FEATURES = tuple(DEFAULTS)
#: Features of a place in a text, not of a word alone.
CAPITAL, BIGRAMS = FEATURES.index("capital"), FEATURES.index("bigrams")
CONFUSED, LIKELIER = FEATURES.index("confused"), FEATURES.index("likelier")
KEPT = (CAPITAL, FEATURES.index("short"), CONFUSED, LIKELIER)  # by fitting
#: Where "shape" and "length" are 0: log-probability of a letter, in nats, and letters of a word.
TYPICAL, SHORT = -2.0, 6
#: Letters of an abbreviation at most: in small letters (km), and in capitals (NATO).
ABBREVIATION, ACRONYM = 3, 5
#: A letter that is repeated for emphasis (soooo).
_REPEATED = re.compile(r"(.)\1{2,}")
#: Words whose candidates are kept for when they are met again.
MOST_KEPT = 100_000


@dataclass(frozen=True)
class Resources:
    """What is known about words; each may be None.

    most: words of the lexicon that are candidates, at most. longest: a correction has at most so
    many letters more than the word.
    """

    lexicon: Lexicon | None = None
    lookup: Lookup | None = None
    most: int = 12
    longest: int = 4
    bigrams: Bigrams | None = None
    confusions: Confusions | None = None

    def confused(self) -> Mapping[str, tuple[str, ...]]:
        """Words of the lexicon, and those that may have been meant; none without bigrams."""
        if self.confusions is None or self.lexicon is None or self.bigrams is None:
            return {}
        listed = self.lookup.corrections if self.lookup else {}
        found = self.confusions.known(self.lexicon, self.bigrams)
        return {word: others for word, others in found.items() if word not in listed}


@dataclass(frozen=True)
class Candidates:
    """Of a word in small letters: the texts it may become, itself first, and their features.

    texts: with capitals where a list has them with these alone. features: texts ×
    :data:`FEATURES`; ``capital`` and ``bigrams`` are left at 0, since the word may stand with a
    capital letter or without, and anywhere.
    """

    texts: tuple[str, ...]
    features: np.ndarray


class WordRanker(Weighted):
    """Finds candidates for words and ranks them; weights that are not named are 0.

    Raises:
        UserError: a weight that there is not, or a model that cannot score texts.
    """

    names = FEATURES

    def __init__(
        self, backend: Backend, resources: Resources, weights: Mapping[str, float] = DEFAULTS
    ) -> None:
        self.set_weights(weights)
        if resources.lookup is not None:
            known = resources.lexicon.counts if resources.lexicon else ()
            resources = replace(resources, lookup=resources.lookup.in_small_letters(known))
        self.spelled: Mapping[str, str] = {}
        if resources.lexicon is not None:
            small, self.spelled = resources.lexicon.in_small_letters()
            resources = replace(resources, lexicon=small)
        self.backend, self.resources = backend, resources
        words = resources.lexicon.words if resources.lexicon else ()
        self.scorer: Scorer = scorer_of(backend, words)
        lookup = resources.lookup
        self.often_wrong = Lexicon(lookup.misspellings) if lookup else None
        self.letters = LetterModel(words) if words else None
        self.confused = resources.confused()
        counts = resources.lexicon.counts.values() if resources.lexicon else ()
        self.common = sum(map(math.log1p, counts)) / max(len(words), 1)

    def listed(self, word: str) -> bool:
        """Whether the look-up table has corrections of a word."""
        return bool(self._listed(word))

    def settled(self, word: str) -> bool:
        """Whether a word needs no model: it is one letter, such as the *s* of *it 's*, or stands in
        the lexicon, with what an apostrophe adds to it or without, and is not known to be wrong
        or written for another. Small letters are unknown where it has capitals alone (*London*).
        """
        small, known = word.lower(), self.resources.lexicon
        if known is None or self.listed(small) or small in self.confused:
            return False
        return len(word) == 1 or any(
            one.lower() in known and one not in self.spelled
            for one in (word, re.split("['’]", word)[0])
        )

    def candidates(self, words: Sequence[str], batch_size: int) -> list[Candidates]:
        """For each word, which is in small letters and made of what the model can spell."""
        found = {word: self._confusable(word) for word in words if word in self.confused}
        wrong = [word for word in words if word not in found]
        found |= zip(wrong, self._corrections(wrong, batch_size), strict=True)
        return [found[word] for word in words]

    def _confusable(self, word: str) -> Candidates:
        """Of a word of the lexicon; the model is not asked."""
        texts = (word, *self.confused[word])
        features = np.zeros((len(texts), len(FEATURES)))
        features[1:, CONFUSED] = 1
        counts = self.resources.lexicon.counts if self.resources.lexicon else {}
        met = [math.log1p(counts[text]) for text in texts]
        features[:, LIKELIER] = np.array(met) - met[0]
        return Candidates(texts, features)

    def _corrections(self, words: Sequence[str], batch_size: int) -> list[Candidates]:
        units = [self.backend.tokens(without_emphasis(word)) for word in words]
        texts, written = [], self.scorer.nbest(units, batch_size)
        for word, some in zip(words, written, strict=True):
            found = dict.fromkeys([word, *self._near(without_emphasis(word))])
            found |= dict.fromkeys(map(self.backend.text, some))
            limit, listed = len(word) + self.resources.longest, {word, *self._listed(word)}
            texts.append([one for one in found if one in listed or 0 < len(one) <= limit])
        scores = score_texts(self.backend, self.scorer, units, texts, written, batch_size)
        return list(map(self._candidates, words, texts, scores))

    def _candidates(self, word: str, texts: Sequence[str], scores: Sequence[float]) -> Candidates:
        found = {word: scores[0]}  # the word itself is the first of the texts
        for text, score in zip(texts, scores, strict=True):
            spelled = self.spelled.get(text, text)
            found[spelled] = max(score, found.get(spelled, score))
        features = [self._features(word, *one) for one in found.items()]
        return Candidates(tuple(found), np.array(features))

    def _listed(self, word: str) -> tuple[str, ...]:
        """Corrections of a word in the look-up table."""
        return self.resources.lookup.corrections.get(word, ()) if self.resources.lookup else ()

    def _near(self, word: str) -> list[str]:
        lexicon, most = self.resources.lexicon, self.resources.most
        found = sorted(self._listed(word))
        for words in (self.often_wrong, lexicon):
            found += words.near(word, most) if words else []
        return found

    def _count(self, word: str) -> float:
        """How often the lexicon has a word, spelled as it is there; -1 if it has not."""
        small = word.lower()
        if self.resources.lexicon is None or self.spelled.get(small, small) != word:
            return -1.0
        return self.resources.lexicon.counts.get(small, -1.0)

    def _features(self, word: str, text: str, score: float) -> list[float]:
        lookup = self.resources.lookup
        # a correction of several words is known where all of them are
        counts = [self._count(part) for part in text.split() or [text]]
        known = min(counts) >= 0
        # the lexicon's capital counts as an edit where nothing else differs
        small = text.lower() if known and text.lower() != word else text
        plain = word if text == word else without_emphasis(word)
        edits = distance(plain, small)
        corrections = self._listed(word)
        return [
            score,
            float(known or text in corrections),
            math.log1p(min(counts)) - self.common if known else 0.0,
            float(text == word),
            0.0,
            float(text in corrections),
            math.log1p(lookup.misspellings.get(text, 0)) if lookup else 0.0,
            edits / len(plain),
            float(distance(consonants(word), consonants(small))) if edits else 0.0,
            float(len(text) - len(plain)),
            float(small[:1] != word[:1]),
            float(small[-1:] != word[-1:]),
            self.letters.per_letter(word) - TYPICAL if self.letters and text == word else 0.0,
            float(len(word) - SHORT) if text == word else 0.0,
            float(text == word and len(word) <= ABBREVIATION and not corrections),
            0.0,
            0.0,
            0.0,
        ]

    def features(
        self, found: Candidates, capital: bool, context: Context = NO_CONTEXT
    ) -> np.ndarray:
        """Of the candidates at a place; ``capital``: whether the word there begins with one."""
        features = found.features.copy()
        features[0, CAPITAL] = capital
        # another word that exists is written where both neighbours are there and speak for it: how
        # often it is met is no reason by itself
        enough = all(context) if found.features[-1, CONFUSED] else any(context)
        if self.resources.bigrams and enough:
            features[:, BIGRAMS] = [
                self.resources.bigrams.score(one.lower(), *context) for one in found.texts
            ]
        features[features[:, BIGRAMS] <= features[0, BIGRAMS], LIKELIER] = 0
        return features

    def probabilities(
        self, found: Candidates, capital: bool, context: Context = NO_CONTEXT
    ) -> np.ndarray:
        """Of each candidate; arguments as of :meth:`features`."""
        return softmax(self.features(found, capital, context) @ self.weights)


class WordRankingBackend(CharacterBackend):
    """A :class:`~.backends.Backend` that reads words and writes the best candidate of each.

    Words are ranked in small letters and written with the capitals that they had. One with capitals
    inside (iPhone), a short one all in capitals that is not listed as misspelt (NATO), or one with
    a character that the model cannot spell, stays as it is.
    """

    knows_spaces = False
    why_words_alone = "words are ranked one by one"

    def __init__(self, ranker: WordRanker) -> None:
        self.ranker, self.limit = ranker, ranker.backend.limit
        self._found: dict[str, Candidates] = {}
        self.uses_context = ranker.resources.bigrams is not None

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        """See :class:`~.backends.Backend`; an answer always comes to an end."""
        return self.write_in_context(units, [NO_CONTEXT] * len(units), batch_size)

    def write_in_context(
        self, units: Sequence[Tokens], contexts: Sequence[Context], batch_size: int
    ) -> list[Answer | None]:
        """See :class:`~.backends.ContextBackend`."""
        words = ["".join(unit) for unit in units]
        read = {word for word in words if self.readable(word)}
        new = sorted({word.lower() for word in read} - self._found.keys())
        if len(self._found) > MOST_KEPT:
            self._found = {word.lower(): self._found[word.lower()] for word in read
                           if word.lower() in self._found}  # fmt: skip
        self._found |= zip(new, self.ranker.candidates(new, batch_size), strict=True)
        return [
            self._answer(word, one) if word in read else whole(word, word, 0.0)
            for word, one in zip(words, contexts, strict=True)
        ]

    def readable(self, word: str) -> bool:
        """Whether a word is one for the model."""
        plain, ranker = word.lower(), self.ranker
        forms = [plain, plain.capitalize()]
        if len(word) > ACRONYM or ranker.listed(plain) or plain in ranker.confused:
            forms.append(plain.upper())
        return (
            word in forms
            and not ranker.settled(word)
            and ranker.scorer.knows(ranker.backend.tokens(plain))
        )

    def fit(self, examples: Iterable[tuple[str, str, Context]], batch_size: int = 64) -> None:
        """Gives the ranker the weights under which right words are most probable.

        The weight of ``capital`` stays: a list of misspellings has hardly any names. So does that
        of ``short``, since it has no abbreviations, and those of words that are written for one
        another, which hardly any text has enough of.

        Args:
            examples: words, wrong or right, as they should be, and their contexts.
        """
        some = [(one, meant, words) for one, meant, words in examples
                if self.readable(one) and one.lower() not in self.ranker.confused]  # fmt: skip
        found = self.ranker.candidates([one.lower() for one, _, _ in some], batch_size)
        units = [
            (self.ranker.features(one, False, words), [text == meant for text in one.texts])
            for one, (word, right, words) in zip(found, some)
            if (meant := _meant(one.texts, word, right)) is not None
        ]
        if units:
            free = [number not in KEPT for number in range(len(FEATURES))]
            self.ranker.weights = most_likely(units, self.ranker.weights, free)

    def _answer(self, word: str, context: Context) -> Answer:
        found = self._found[word.lower()]
        chances = self.ranker.probabilities(found, word[0] != word[0].lower(), context)
        best = int(chances.argmax())
        return whole(word, with_case(found.texts[best], word), math.log(chances[best]))


def _meant(texts: Iterable[str], word: str, meant: str) -> str | None:
    """Which text is what was meant by a word; only its capitals may differ, if none is it."""
    alike = [text for text in texts if text.lower() == meant.lower()]
    exact = [text for text in alike if with_case(text, word) == meant]
    return next(iter(exact + alike), None)


def consonants(text: str) -> str:
    """A text in small letters without its vowels, letters that are often silent, and doublings.

    People write what they hear: *extordonary* and *extraordinary* are three edits apart, and one
    without their vowels.
    """
    plain = (one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
    return re.sub(r"(.)\1+", r"\1", re.sub("[aeiouyhw'’]", "", "".join(plain)))


def without_emphasis(word: str) -> str:
    """A word without more than two of a letter in a row (*soo* for *soooo*), unless it is short
    (*www*).
    """
    return word if len(word) <= ABBREVIATION else _REPEATED.sub(r"\1\1", word)


def with_case(text: str, word: str) -> str:
    """A text with the capitals of a word: none, all, or the first letter's."""
    if len(word) > 1 and word == word.upper() != word.lower():
        return text.upper()
    return text[:1].upper() + text[1:] if word[:1] != word[:1].lower() else text


def whole(word: str, text: str, log_probability: float) -> Answer:
    """The answer that writes a text for a word, with one probability for all that differs."""
    if word == text:
        zeros = (0.0,) * len(word)
        return Answer(tuple(word), (), zeros, zeros, (*zeros, 0.0))
    first, last = common_ends(word, text)
    end = len(text) - last
    behind = [0.0] * (len(text) + 1)
    behind[end] = log_probability
    change = (first, len(word) - last, first, end)
    gone, written = (0.0,) * len(word), (0.0,) * len(text)
    return Answer(tuple(text), (change,), gone, written, tuple(behind))
