"""Choosing among what a word may become.

A log-linear model: a candidate's score is a weighted sum of its features, its probability the
softmax over all candidates.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np

from lev_runtime.errors import LARGEST, UserError, require_number
from lev_runtime.text.words import WordEdit

from ..text.units import (
    APOSTROPHES,
    NO_CONTEXT,
    Context,
    Knows,
    ModelUnit,
    core_of,
    plain_apostrophes,
    with_case,
)
from ..words.lexicon import Confusions, Lexicon, Lookup, distance
from ..words.ngrams import Bigrams
from .backend import Answer, Backend, Tokens
from .searching import Pair, Searching
from .spacing import Spacing

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
    "files": 2.0,  # words that the files have far oftener, which count as known
}
FEATURES = tuple(WEIGHTS)
#: Features of the words, as :meth:`.WordLists.features` has them.
OF_WORDS = slice(1, 15)
#: Those of the lists, and of a place in a text.
KNOWN = FEATURES.index("lexicon")
CAPITAL = FEATURES.index("capital")
BIGRAMS = FEATURES.index("bigrams")
CONFUSED = FEATURES.index("confused")
LIKELIER = FEATURES.index("likelier")
OF_FILES = FEATURES.index("files")
#: Letters that a candidate may have more for each word.
LONGEST = 4
#: Words whose candidates are remembered, some kilobytes each.
MOST_FOUND = 10_000
#: What is put after a word, in small letters.
_ENDING = re.compile(r"'(?:s|d|ll|re|ve)")
_APOSTROPHE = re.compile(f"[{APOSTROPHES}]")
#: Log-probability of a letter, in nats, where "shape" is 0.
TYPICAL = -2.0
#: Letters of a word where "length" is 0.
SHORT = 6
#: Letters of an abbreviation in small letters (km), at most.
ABBREVIATION = 3
#: Letters of one in capitals (NATO), at most.
ACRONYM = 5
#: A letter that is repeated for emphasis (soooo).
_REPEATED = re.compile(r"(.)\1{2,}")
_DOUBLED = re.compile(r"(.)\1+")
_SILENT = re.compile("[aeiouyhw'’]")
#: Near words at most (of 681 learners' errors 508 become right with 4, 6 or 12).
NEAR = 6
#: What is remembered of changes, at most.
MOST_KEPT = 100_000


class WordLists:
    """Lists as words are looked up in them: in small letters."""

    def __init__(
        self,
        lexicon: Lexicon | None = None,
        lookup: Lookup | None = None,
        bigrams: Bigrams | None = None,
        confusions: Confusions = MappingProxyType({}),
    ) -> None:
        self.lexicon, self.bigrams = lexicon, bigrams
        self.lookup = lookup and lookup.in_small_letters(lexicon or Lexicon({}))
        self.spelled: Mapping[str, str] = {}  # small letters → as the lexicon has it
        if lexicon:
            self.lexicon, self.spelled = lexicon.in_small_letters()
        #: Words of the lexicon and the bigrams, and others of these that are written for them.
        self.confused: dict[str, tuple[str, ...]] = {}
        if self.lexicon and bigrams:
            met = {word for word in confusions if word in self.lexicon and word in bigrams}
            for word in met:
                others = tuple(other for other in confusions[word] if other in met)
                if others and not self._listed(word):
                    self.confused[word] = others
        #: Those of :data:`.ranking.OF_WORDS`, for a word that becomes another text, or stays.
        self.features = lru_cache(MOST_KEPT)(self._measured)
        #: What the table has for a text.
        self.corrections = lru_cache(MOST_KEPT)(self._corrections)

    @cached_property
    def spacing(self) -> Spacing | None:
        """Returns it where there are counts and bigrams."""
        words = self.lexicon
        if not (self.bigrams and words and any(words.counts.values())):
            return None
        return Spacing(words.counts, self.bigrams, words, self.corrections)

    def count(self, word: str) -> float:
        """How often the lexicon has a word; 0 for what has no letters, −1 if it has not."""
        if self.lexicon is None:
            return -1.0
        small = word.lower()
        if self.spelled.get(small, small) == word and small in self.lexicon:
            return self.lexicon.counts[small]
        return -1.0 if any(map(str.isalpha, word)) else 0.0

    def _corrections(self, text: str) -> tuple[str, ...]:
        """Returns what the table has for a text as it stands, else without punctuation, else in
        small letters, where the lexicon lacks it with its capitals (*Mus*, a noun, for *mus*);
        of several the one that only puts an apostrophe in (*childrens*)."""
        core = text if self._listed(text) else core_of(text)
        corrections = self._listed(core)
        if not corrections and core not in (self.lexicon or ()):
            small = self._listed(core.lower())
            corrections = tuple(with_case(right, core) for right in small)
        if bare := [right for right in corrections if right.replace("'", "") == core]:
            corrections = tuple(bare)
        return tuple(text.replace(core, right, 1) for right in corrections)

    def _listed(self, word: str) -> tuple[str, ...]:
        return self.lookup.corrections(word) if self.lookup else ()

    def texts(self, word: str, written: Iterable[str], longest: int, spelt: Knows) -> list[str]:
        """Lists what a word may become, itself first: its listed corrections; where it has none,
        what the model wrote, and near words, the nearest first, but for what grows by more than
        ``longest`` letters.

        Args:
            spelt: whether the model can write a text.
        """
        if listed := sorted(self.corrections(word)):
            return list(dict.fromkeys([word, *listed]))
        others = [" ".join(text.split()) for text in written]
        if self.lexicon:
            others += self.lexicon.near(without_emphasis(word), NEAR)
        texts = [word]
        for text in dict.fromkeys(others):
            is_short = 0 < len(text) <= len(word) + longest
            if is_short and text != word and spelt(text):
                texts.append(text)
        return texts

    def _measured(self, before: str, after: str) -> np.ndarray:
        # a correction of several words is known where all of them are
        count = min(map(self.count, after.split()), default=-1.0)
        is_known = count >= 0
        frequency = math.log1p(count) - self.lexicon.mean_log if is_known and self.lexicon else 0.0
        corrections = self.corrections(before)
        is_listed = after in corrections
        misspellings = self.lookup.times(after) if self.lookup else 0
        # the lexicon's capital counts as an edit where nothing else differs
        small = after.lower() if is_known and after.lower() != before else after
        stays = before == after
        plain = before if stays else without_emphasis(before)
        edits = distance(plain, small)
        heard = distance(consonants(before), consonants(small)) if edits else 0
        capital = short = False
        shape, letters = 0.0, 0
        if stays:
            capital = before[:1] != before[:1].lower()
            shape = self.lexicon.per_letter(before) - TYPICAL if self.lexicon else 0.0
            letters = len(before) - SHORT
            short = len(before) <= ABBREVIATION and not corrections
        features = [
            is_known or is_listed,
            frequency,
            stays - (not before),
            capital,
            is_listed,
            math.log1p(misspellings),
            edits / max(len(plain), 1),
            heard,
            len(after) - len(plain),
            small[:1] != before[:1],
            small[-1:] != before[-1:],
            shape,
            letters,
            short,
        ]
        return np.array(features, dtype=np.float64)


@lru_cache(MOST_KEPT)
def consonants(text: str) -> str:
    """A text in small letters without its vowels, letters that are often silent, and doublings:
    people write what they hear."""
    if not text.isascii():
        chars = unicodedata.normalize("NFD", text)
        text = "".join(char for char in chars if not unicodedata.combining(char))
    return _DOUBLED.sub(r"\1", _SILENT.sub("", text))


def without_emphasis(word: str) -> str:
    """A word without more than two of a letter in a row (*soo* for *soooo*), unless it is short."""
    return word if len(word) <= ABBREVIATION else _REPEATED.sub(r"\1\1", word)


#: A word, and others of its files that it may be a slip of.
Query = tuple[str, tuple[str, ...]]


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
        self._found: dict[Query, Candidates] = {}
        self.uses_context = vocabulary.bigrams is not None
        self.confused, self.spacing = vocabulary.confused, vocabulary.spacing
        cached = lru_cache(MOST_KEPT)
        self.readable, self.knows = cached(self._readable), cached(self._is_right)
        self.unknown, self.misspelt = cached(self._in_no_list), cached(self._corrections_of)
        self.is_confused = cached(self._may_be_another)
        if lexicon := vocabulary.lexicon:
            model.lexicon = lexicon if self.searches_lexicon else None
            self.shape = lexicon.per_letter
        if self.spacing:
            self.rating = cached(self.spacing.rating)
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
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~.backend.Backend`; an answer always comes to an end."""
        query_of = dict[ModelUnit, Query]()
        for unit in units:
            if self.readable(unit.text):
                query_of[unit] = self.form(unit.text), unit.often
        queries = sorted({*query_of.values()})
        candidates = dict(zip(queries, self.candidates(queries, batch_size), strict=True))
        answers: list[Answer | None] = []
        for unit in units:
            query = query_of.get(unit)
            answers.append(self._answer(unit, candidates[query], doubts) if query else {})
        return answers

    def _answer(self, unit: ModelUnit, candidates: Candidates, doubts: bool) -> Answer:
        chances = self.probabilities(candidates, unit.text, unit.context)
        best = self._best(candidates, unit.text, chances, doubts)
        text = self.cased(candidates.texts[best], unit.text)
        if text == unit.text:
            return {}
        words = WordEdit(0, 1, tuple(text.split()))
        return {words: float(chances[best])}

    def _best(self, candidates: Candidates, unit: str, chances: np.ndarray, doubts: bool) -> int:
        """Returns the number of the candidate that is written."""
        listed = self.misspelt(unit)
        if len(listed) == 1 and listed[0] in candidates.texts:  # the text tells how sure it is
            return candidates.texts.index(listed[0])
        if doubts and self.unknown(unit) and len(chances) > 1:
            return 1 + int(chances[1:].argmax())
        return int(chances.argmax())

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

    def candidates(self, queries: Sequence[Query], batch_size: int) -> list[Candidates]:
        """Returns those of each word, which is readable and as :meth:`form` has it."""
        if len(self._found) >= MOST_FOUND:
            self._found = {}
        others = list[Query]()
        for query in dict.fromkeys(queries):
            word, _ = query
            if query in self._found:
                continue
            if word in self.confused:
                self._found[query] = self._confusable(word)
            else:
                others.append(query)
        proposed = self._proposed(others, batch_size)
        self._found |= zip(others, proposed, strict=True)
        return [self._found[query] for query in queries]

    def _confusable(self, word: str) -> Candidates:
        """Returns those of a word of the lexicon; the model rates none."""
        texts = (word, *self.confused[word])
        features = np.zeros((len(texts), len(FEATURES)))
        features[1:, CONFUSED] = 1
        met = np.array([math.log1p(self.vocabulary.count(text)) for text in texts])
        features[:, LIKELIER] = met - met[0]
        return Candidates(texts, features)

    def _proposed(self, queries: Sequence[Query], batch_size: int) -> list[Candidates]:
        """Returns those that the model writes, and the lists and the files have."""
        tokens = [self.tokens(self._shown(unit)) for unit, _ in queries]
        # what the lists have for a word is rated in the same search
        listed = [self._texts(*query) for query in queries]
        others = [[self._rated(text) for text in texts] for texts in listed]
        written = self.model.nbest(tokens, batch_size, others)
        rows: list[dict[str, Pair]] = []
        scores: dict[Pair, float] = {}
        for (unit, often), read, hypotheses in zip(queries, tokens, written, strict=True):
            texts = self._texts(unit, [*map(self.processing.text, hypotheses), *often])
            rows.append({text: (read, self._rated(text)) for text in texts})
            for text, score in hypotheses.items():
                scores[read, text] = score
        unrated = [pair for row in rows for pair in row.values() if pair not in scores]
        scores.update(zip(unrated, self.model.score(unrated, batch_size), strict=True))
        candidates = []
        for query, row in zip(queries, rows, strict=True):
            score_of = {text: scores[pair] for text, pair in row.items()}
            candidates.append(self._measured(*query, score_of))
        return candidates

    def _measured(self, unit: str, often: Sequence[str], scores: Mapping[str, float]) -> Candidates:
        score_of = {unit: scores[unit]}
        for text, score in scores.items():
            spelled = self.vocabulary.spelled.get(text, text)
            score_of[spelled] = max(score, score_of.get(spelled, score))
        shape = len(score_of), len(FEATURES)
        features = np.zeros(shape)
        features[:, 0] = [*score_of.values()]
        features[:, OF_WORDS] = [self._features_of(unit, text) for text in score_of]
        features[:, OF_FILES] = [text.lower() in often for text in score_of]
        features[:, KNOWN] = np.maximum(features[:, KNOWN], features[:, OF_FILES])
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
        if word.split() != [word] or not self.readable(word):
            return ()
        (candidates,) = self.candidates([(self.form(word), ())], batch_size=1)
        chances = self.probabilities(candidates, word)
        order = np.argsort(-chances)
        texts = [self.cased(text, word) for text in candidates.texts]
        return [texts[number] for number in order]

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

    def _rated(self, text: str) -> Tokens:
        """Returns the tokens of a candidate; of a listed one those that the model can spell."""
        tokens, knows = self._tokens(text), self.model.knows
        if knows(tokens):
            return tokens
        return tuple(token for token in tokens if knows([token]))

    def form(self, unit: str) -> str:
        """In small letters; an unknown word without what an apostrophe adds to it."""
        small = plain_apostrophes(unit.lower())
        word, mark, rest = small.rpartition("'")
        if not (word and _ENDING.fullmatch(mark + rest)):
            return small
        if self._known(word) or self._listed(small):
            return small
        return word

    def cased(self, text: str, unit: str) -> str:
        """A candidate as it is written for a unit."""
        word = plain = plain_apostrophes(unit)
        form = self.form(unit)
        if plain.lower().startswith(form):
            word = plain[: len(form)]
        text = with_case(text, word) + plain[len(word) :]
        if "'" not in plain:
            return text
        mark = unit[plain.index("'")]
        return text.replace("'", mark)
