"""n-best rescoring of lines and windows: a weighted sum of a few features of their words."""

from collections.abc import Iterable

import numpy as np

from lev_runtime.text.words import WordEdit, word_edits

from ..text.units import Context, core_of
from ..words.lexicon import distance
from .backend import Answer
from .ranking import FEATURES, OF_WORDS, Candidates, Tokens, WordRanker, with_case

#: Weights where nothing was tuned; all others are 0.
LINE_WEIGHTS = dict.fromkeys(FEATURES, 0.0) | {
    "model": 1.0, "lexicon": 2.5, "unchanged": 0.5, "lookup": 1.0, "edits": -1.0,
}  # fmt: skip
#: Near words of each unknown one, at most.
NEAR = 3


class Rescorer(WordRanker):
    """Writes the best text of a line or a window: of those of the beam, single edits of these
    and of the lists, and the first of the lists for all words at once. What the model cannot spell
    stays."""

    searches_lexicon = False

    def form(self, unit: str) -> str:
        """Returns a unit as it is."""
        return unit

    _shown = form

    def _tokens(self, text: str) -> Tokens:
        return self.tokens(text)

    def _readable(self, unit: str) -> bool:
        return self._spelt(unit)

    def cased(self, text: str, unit: str) -> str:
        """Returns a text as it is."""
        return text

    def _texts(self, unit: str, written: Iterable[str] = ()) -> list[str]:
        words, texts = unit.split(), [unit, *written]
        edits = [edit for text in texts for edit in word_edits(words, text.split())]
        rights = [self.vocabulary.corrections(word) or self._near(word) or [word] for word in words]
        for number, choices in enumerate(rights):
            edits += [WordEdit(number, number + 1, (right,)) for right in choices]
        texts.append(" ".join(right for right, *_ in rights))
        texts += [" ".join([*words[:start], *after, *words[end:]]) for start, end, after in edits]
        return [text for text in dict.fromkeys(texts) if text and self._spelt(text)]

    def _near(self, word: str) -> list[str]:
        core, lexicon = core_of(word), self.vocabulary.lexicon
        near = [] if self._exists(word) or not lexicon else lexicon.near(core.lower(), NEAR)
        return [word.replace(core, with_case(other, core), 1) for other in near]

    def _exists(self, word: str) -> bool:
        core = core_of(word)
        return self._known(core) or not any(map(str.isalpha, core))

    def _features_of(self, unit: str, text: str) -> np.ndarray:
        """Returns what the words that differ gain and lose."""
        words, features = unit.split(), dict.fromkeys(FEATURES[OF_WORDS], 0.0)
        for start, end, after in word_edits(words, text.split()):
            before, right = " ".join(words[start:end]), " ".join(after)
            is_listed = right in self.vocabulary.corrections(before)
            exist = is_listed or sum(map(self._exists, after))
            features["lexicon"] += exist - sum(map(self._exists, words[start:end]))
            features["unchanged"] -= end - start
            features["lookup"] += is_listed
            features["edits"] += distance(before, right) / max(len(before), 1)
        return np.array([*features.values()])

    def _answer(self, unit: str, candidates: Candidates, context: Context, doubts: bool) -> Answer:
        """Returns the edits of the best text; the probability of each is that of all texts that
        have it."""
        chances = self.probabilities(candidates, unit)
        edits = [word_edits(unit.split(), text.split()) for text in candidates.texts]
        best = edits[int(chances.argmax())]
        return {edit: float(chances[[edit in made for made in edits]].sum()) for edit in best}
