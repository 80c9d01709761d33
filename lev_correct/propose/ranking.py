"""Choosing among what a word may become.

A log-linear model: a candidate's score is a weighted sum of its features, its probability the
softmax over all candidates.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Levenshtein

from lev_runtime.errors import LARGEST, UserError, require_number
from lev_runtime.logistic import most_likely
from lev_runtime.text.words import WordEdit

from ..text.units import (
    APOSTROPHES,
    NO_CONTEXT,
    Context,
    plain_apostrophes,
)
from .backend import Answer, Backend, Tokens
from .searching import Pair, Searching
from .word_lists import (
    ACRONYM,
    MOST_KEPT,
    WordLists,
    with_case,
    without_emphasis,
)

#: Name of a feature → its weight where nothing was tuned (found on misspellings of English words).
WEIGHTS: Mapping[str, float] = {
    "model": 0.23,  # log-probability of the model
    "lexicon": 6.9,  # words that stand in the lexicon, or are listed corrections
    "frequency": 0.44,  # log(1 + count) of these, above the mean of the lexicon
    "unchanged": 3.8,  # words that stay
    "capital": 4.5,  # of these, those that begin with a capital letter
    "lookup": 2.4,  # changes that are listed
    "misspelt": 0.7,  # log(1 + how many misspellings of a word are listed)
    "edits": -8.8,  # letters inserted, deleted, substituted or exchanged, for each of it
    "consonants": -1.3,  # the same without what is not heard (see :func:`.consonants`)
    "growth": 0.9,  # candidate length minus word length
    "first": -1.8,  # changes that have another first letter
    "last": -0.7,  # or last letter
    "shape": 0.7,  # how much words that stay look like words of the lexicon
    "length": -0.5,  # their letters
    "short": 2.0,  # of these, not listed and short ones, mostly abbreviations (km)
    "bigrams": 1.0,  # how well it stands next to its neighbours (see :class:`.Bigrams`)
    "confused": -5.0,  # it is another word, for one of the lexicon (:class:`.Confusions`)
    "likelier": 1.0,  # which fits better: the logarithm of how much more often it is met
}
FEATURES = tuple(WEIGHTS)
#: Features of the words, as :meth:`.WordLists.features` has them, and of a place in a text.
OF_WORDS = slice(1, 15)
CAPITAL, BIGRAMS, CONFUSED, LIKELIER = map(
    FEATURES.index, ("capital", "bigrams", "confused", "likelier")
)
#: How strongly fitting holds the weights to where they began.
HELD = 2e-4
#: Words have too few examples of these in any list of misspellings; fitting keeps their weights.
KEPT = ("capital", "short", "confused", "likelier")
#: What words of a language look like, which made-up errors teach; what people make of them, the
#: other weights, they do not.
OF_LANGUAGE = ("unchanged", "length")
#: Letters that a candidate may have more for each word.
LONGEST = 4
#: Words whose candidates are remembered, some kilobytes each.
MOST_FOUND = 10_000
#: A unit, as it should be, and its context.
Example = tuple[str, str, Context]
#: What is put after a word, in small letters.
_ENDING = re.compile(r"'(?:s|d|ll|re|ve)")
_APOSTROPHE = re.compile(f"[{APOSTROPHES}]")


def _errors(text: str, right: str) -> tuple[int, int]:
    """How many words of a text are wrong, and how many characters."""
    return Levenshtein.distance(text.split(), right.split()), Levenshtein.distance(text, right)


@dataclass(frozen=True)
class Candidates:
    """Holds the texts that a word may become, itself first, and their features (texts ×
    :data:`FEATURES`; those of their place are 0)."""

    texts: tuple[str, ...]
    features: np.ndarray


class WordRanker(Backend):
    """Writes the best candidate of a word, in its context: asked for in small letters, with the
    capitals back that it had. A word that lists have stays, and what is not :attr:`readable`.

    The probability of an edit is that of all candidates together that have it.

    Args:
        model: asked for texts and their log-probabilities.
        weights: of features; those that are not named are 0.
        longest: letters that a correction of a word may have more.

    Raises:
        UserError: a weight that there is not, or that is no number.
    """

    #: Whether the model searches among the words of the lexicon, too.
    searches_lexicon = True

    def __init__(
        self, model: Searching, vocabulary: WordLists, weights: Mapping[str, float],
        longest: int | None = None,
    ) -> None:  # fmt: skip
        if unknown := weights.keys() - {*FEATURES}:
            known = ", ".join(FEATURES)
            raise UserError(f"unknown weight {sorted(unknown)[0]!r}; choose from {known}")
        values = [
            require_number(f"weights: {name}=", weights.get(name, 0.0), -LARGEST)
            for name in FEATURES
        ]
        self.weights = np.array(values)
        self.model, self.vocabulary = model, vocabulary
        self.longest = LONGEST if longest is None else longest
        self.limit, self.processing = model.limit, model.processing
        self.tokens = self.processing.tokens
        self.words_learnt, self.knows_spaces = model.words_learnt, model.knows_spaces
        self._found: dict[str, Candidates] = {}
        self.uses_context = vocabulary.bigrams is not None
        self.confused, self.spacing = vocabulary.confused, vocabulary.spacing
        cached = lru_cache(MOST_KEPT)
        self.readable, self.knows = cached(self._readable), cached(self._is_right)
        self.unknown, self.misspelt = cached(self._in_no_list), cached(self._corrections_of)
        self.is_confused = cached(self._may_be_another)
        if lexicon := vocabulary.lexicon:
            model.lexicon = lexicon if self.searches_lexicon else None
            self.shape = lexicon.letters.per_letter
        if self.spacing:
            self.rating = self.spacing.rating
        if vocabulary.bigrams:
            self.association = vocabulary.bigrams.association

    def named_weights(self) -> dict[str, float]:
        """Weights by the names of their features; without that of a table where there is none."""
        weights = dict(zip(FEATURES, self.weights.tolist(), strict=True))
        if not self.vocabulary.lookup:
            del weights["lookup"]
        return weights

    def write(
        self,
        units: Sequence[str],
        batch_size: int,
        contexts: Sequence[Context] = (),
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~.backend.Backend`; an answer always comes to an end."""
        forms = {unit: self.form(unit) for unit in units if self.readable(unit)}
        new = sorted({*forms.values()})
        candidates_of = dict(zip(new, self.candidates(new, batch_size), strict=True))
        contexts = contexts or [NO_CONTEXT] * len(units)
        answers: list[Answer | None] = [{} for _ in units]
        for number, (unit, context) in enumerate(zip(units, contexts, strict=True)):
            if unit in forms:
                answers[number] = self._answer(unit, candidates_of[forms[unit]], context, doubts)
        return answers

    def _answer(self, unit: str, candidates: Candidates, context: Context, doubts: bool) -> Answer:
        chances = self.probabilities(candidates, unit, context)
        best = self._best(candidates, unit, chances, doubts)
        text = self.cased(candidates.texts[best], unit)
        if text == unit:
            return {}
        words = WordEdit(0, 1, tuple(text.split()))
        return {words: float(chances[best])}

    def _best(self, candidates: Candidates, unit: str, chances: np.ndarray, doubts: bool) -> int:
        """Returns the number of the candidate that is written."""
        listed = self.misspelt(unit)
        if len(listed) == 1 and listed[0] in candidates.texts:  # the text tells how sure it is
            return candidates.texts.index(listed[0])
        first = int(doubts and self.unknown(unit) and len(chances) > 1)
        return first + int(chances[first:].argmax())

    # lists ----------------------------------------------------------------------------------------

    def _in_no_list(self, word: str) -> bool:
        return not (self._known(word) or self._listed(word.lower()))

    def _corrections_of(self, word: str) -> tuple[str, ...]:
        return self.vocabulary.corrections(self.form(word))

    def _is_right(self, word: str) -> bool:
        return self._known(word) and not self._listed(word.lower())

    def _may_be_another(self, word: str) -> bool:
        return self._known(word) and word.lower() in self.confused

    def _listed(self, small: str) -> bool:
        """Returns whether a word is known to be wrong, or to be written for another."""
        return small in self.confused or bool(self.vocabulary.corrections(small))

    def _known(self, word: str) -> bool:
        """Returns whether a word is one letter, such as the *s* of *it 's*, or in the lexicon, with
        what an apostrophe adds to it or without. Small letters are unknown where the lexicon has
        it with capitals alone (*London*)."""
        lexicon, spelled = self.vocabulary.lexicon, self.vocabulary.spelled
        return lexicon is not None and (
            len(word) == 1
            or any(
                form.lower() in lexicon and form not in spelled
                for form in (word, _APOSTROPHE.split(word)[0])
            )
        )

    # candidates and their features ----------------------------------------------------------------

    def candidates(self, units: Iterable[str], batch_size: int) -> list[Candidates]:
        """For each unit, which is readable and as :meth:`form` has it."""
        units = list(units)
        cached = self._found = self._found if len(self._found) < MOST_FOUND else {}
        new = [unit for unit in dict.fromkeys(units) if unit not in cached]
        others = [unit for unit in new if unit not in self.confused]
        cached |= {unit: self._confusable(unit) for unit in new if unit in self.confused}
        cached |= zip(others, self._proposed(others, batch_size), strict=True)
        return [cached[unit] for unit in units]

    def _confusable(self, word: str) -> Candidates:
        """Returns those of a word of the lexicon; the model is not asked."""
        texts = (word, *self.confused[word])
        features = np.zeros((len(texts), len(FEATURES)))
        features[1:, CONFUSED] = 1
        met = np.array([math.log1p(self.vocabulary.count(text)) for text in texts])
        features[:, LIKELIER] = met - met[0]
        return Candidates(texts, features)

    def _proposed(self, units: Sequence[str], batch_size: int) -> list[Candidates]:
        """Returns those that the model writes and the lists have."""
        tokens = [self.tokens(self._shown(unit)) for unit in units]
        # what the lists have for a word is rated in the same search
        others = [list(map(self._asked, self._texts(unit))) for unit in units]
        written = self.model.nbest(tokens, batch_size, others)
        rows: list[dict[str, Pair]] = []
        scores: dict[Pair, float] = {}
        for unit, read, hypotheses in zip(units, tokens, written, strict=True):
            texts = self._texts(unit, map(self.processing.text, hypotheses))
            rows.append({text: (read, self._asked(text)) for text in texts})
            scores |= {(read, text): score for text, score in hypotheses.items()}
        asked = [pair for row in rows for pair in row.values() if pair not in scores]
        scores.update(zip(asked, self.model.score(asked, batch_size), strict=True))
        return [
            self._measured(unit, {text: scores[pair] for text, pair in row.items()})
            for unit, row in zip(units, rows, strict=True)
        ]

    def _measured(self, unit: str, scores: Mapping[str, float]) -> Candidates:
        score_of = {unit: scores[unit]}
        for text, score in scores.items():
            spelled = self.vocabulary.spelled.get(text, text)
            score_of[spelled] = max(score, score_of.get(spelled, score))
        features = np.zeros((len(score_of), len(FEATURES)))
        features[:, 0] = list(score_of.values())
        features[:, OF_WORDS] = [self._features_of(unit, text) for text in score_of]
        return Candidates(tuple(score_of), features)

    def features(self, candidates: Candidates, unit: str, context: Context) -> np.ndarray:
        """Returns those of the candidates at the place of a unit, as it is written there, where a
        capital counts, and neighbours."""
        features = candidates.features.copy()
        features[0, CAPITAL] = unit[0] != unit[0].lower()
        # another word that exists is written where both neighbours are there and speak for it: how
        # often it is met is no reason by itself
        enough = all(context) if candidates.features[-1, CONFUSED] else any(context)
        if (bigrams := self.vocabulary.bigrams) and enough:
            fits = np.array([bigrams.score(text.lower(), *context) for text in candidates.texts])
            # that of a word which no pair has is 0 whatever stands next to it: it does not fit
            # better than words which are met next to others
            is_met = candidates.texts[0] in bigrams
            features[:, BIGRAMS] = fits if is_met else np.maximum(fits, 0)
        features[features[:, BIGRAMS] <= features[0, BIGRAMS], LIKELIER] = 0
        return features

    def probabilities(
        self, candidates: Candidates, unit: str, context: Context = NO_CONTEXT
    ) -> np.ndarray:
        """Returns that of each candidate; arguments as of :meth:`features`."""
        scores = self.features(candidates, unit, context) @ self.weights
        scores = np.exp(scores - scores.max())
        return scores / scores.sum()

    # fitting --------------------------------------------------------------------------------------

    def fit(
        self, examples: Iterable[Example], batch_size: int = 64,
        names: Collection[str] = FEATURES,
    ) -> float:  # fmt: skip
        """Conditional maximum likelihood: the best candidates get most probable.

        They have the fewest wrong words, of these the fewest wrong characters.

        Args:
            examples: units, as they should be, and their contexts.
            names: of the weights that may change.

        Returns:
            The share of wrong ones among the examples that tell something.
        """
        kept = [(" ".join(unit.split()), right, context) for unit, right, context in examples]
        kept = [example for example in kept if example[0] and self.readable(example[0])]
        kept = [example for example in kept if self.form(example[0]) not in self.confused]
        candidates = self.candidates((self.form(unit) for unit, _, _ in kept), batch_size)
        telling = []
        for unit_candidates, (unit, right, context) in zip(candidates, kept, strict=True):
            texts = [self.cased(text, unit) for text in unit_candidates.texts]
            errors = [_errors(text, right) for text in texts]
            if len(set(errors)) > 1 and right.lower() in map(str.lower, texts):
                features = self.features(unit_candidates, self.form(unit), context)
                fewest = min(errors)
                telling.append((features, [number == fewest for number in errors]))
        if telling:
            free = [name in names and name not in KEPT for name in FEATURES]
            spread = np.concatenate([features for features, _ in telling]).var(0)
            held = HELD * len(telling) * np.maximum(spread, 1e-12)
            self.weights = most_likely(telling, self.weights, free, ridge=held)
        return sum(not best[0] for _, best in telling) / max(len(telling), 1)

    # a unit and its texts -------------------------------------------------------------------------

    def _texts(self, unit: str, written: Iterable[str] = ()) -> list[str]:
        """Returns what a unit may become, itself first, by the lists and what the model wrote."""
        return self.vocabulary.texts(unit, written, self.longest, self._spelt)

    def _features_of(self, unit: str, text: str) -> np.ndarray:
        """Returns the features :data:`OF_WORDS` of a text."""
        return self.vocabulary.features(unit, text)

    def _shown(self, unit: str) -> str:
        """Returns a unit, as :meth:`form` has it, as the model reads it."""
        return without_emphasis(unit)

    def suggestions(self, word: str) -> Sequence[str]:
        """See :class:`~.backend.Backend`."""
        if not self.readable(word):
            return ()
        (candidates,) = self.candidates([self.form(word)], batch_size=1)
        order = np.argsort(-self.probabilities(candidates, word))
        return [self.cased(candidates.texts[number], word) for number in order]

    def _readable(self, unit: str) -> bool:
        """Returns whether a word is one to rank: its model can spell it, and it is not right nor
        has capitals but of the first letter, or of all where it is not short (NATO)."""
        plain, small = unit.lower(), self.form(unit)
        forms = [plain, plain.capitalize()]
        if len(unit) > ACRONYM or self._listed(plain):
            forms.append(plain.upper())
        if unit not in forms or (self._known(unit) and not self._listed(small)):
            return False
        return self._spelt(small) and len(self.tokens(small)) <= self.limit

    def _tokens(self, text: str) -> Tokens:
        """Returns those of a candidate as the model writes it."""
        return self.tokens(text.lower())

    def _spelt(self, text: str) -> bool:
        return self.model.knows(self._tokens(text))

    def _asked(self, text: str) -> Tokens:
        """Returns those of a candidate; of a listed one without what the model cannot spell."""
        tokens, knows = self._tokens(text), self.model.knows
        return tokens if knows(tokens) else tuple(token for token in tokens if knows([token]))

    def form(self, unit: str) -> str:
        """In small letters; an unknown word without what an apostrophe adds to it."""
        small = plain_apostrophes(unit.lower())
        word, mark, rest = small.rpartition("'")
        ends = word and _ENDING.fullmatch(mark + rest)
        return word if ends and not (self._known(word) or self._listed(small)) else small

    def cased(self, text: str, unit: str) -> str:
        """A candidate as it is written for a unit."""
        form, plain = self.form(unit), plain_apostrophes(unit)
        word = plain[: len(form)] if plain.lower().startswith(form) else plain
        text = with_case(text, word) + plain[len(word) :]
        marks = [mark for mark, straight in zip(unit, plain) if straight == "'"]
        return text.replace("'", marks[0]) if marks else text
