"""n-best rescoring of lines and windows: a weighted sum of a few features of their words."""

from collections.abc import Iterable
from itertools import islice

import numpy as np

from lev_runtime.text.words import WordEdit, word_edits

from ..text.units import Context, ModelUnit, core_of, with_case
from .backend import Answer
from .ranking import FEATURES, OF_WORDS, Candidates, Tokens, WordRanker

#: Weights where nothing was tuned; all others are 0.
LINE_WEIGHTS = dict.fromkeys(FEATURES, 0.0) | {
    "model": 1.0, "lexicon": 2.5, "frequency": 0.1, "unchanged": 0.5, "capital": 0.5,
    "lookup": 1.0, "edits": -1.0,
}  # fmt: skip
#: Near words of each unknown one, and texts of a line, at most.
NEAR, MOST = 3, 32


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
        return self._spelt(unit) and len(self.tokens(unit)) <= self.limit

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
        listed = ([word, *self.vocabulary.corrections(word)] for word in words)
        longest = sum(max(map(len, choices)) + 1 + self.longest for choices in listed)
        able = (text for text in dict.fromkeys(texts) if text and len(text) <= longest)
        return list(islice(filter(self._spelt, able), MOST))

    def _near(self, word: str) -> list[str]:
        core, lexicon = core_of(word), self.vocabulary.lexicon
        near = [] if self._exists(word) or not lexicon else lexicon.near(core.lower(), NEAR)
        return [word.replace(core, with_case(other, core), 1) for other in near]

    def _exists(self, word: str) -> bool:
        core = core_of(word)
        return self._known(core) or not any(map(str.isalpha, core))

    def _features_of(self, unit: str, text: str) -> np.ndarray:
        """Returns the sum of what words have that stay, and what they become."""
        words, total, place = unit.split(), np.zeros(OF_WORDS.stop - OF_WORDS.start), 0
        for start, end, after in [*word_edits(words, text.split()), (len(words), len(words), ())]:
            pairs = [(word, word) for word in words[place:start]]
            if end > start or after:
                pairs.append((" ".join(words[start:end]), " ".join(after)))
            total += sum(self._measured_pair(*pair) for pair in pairs)
            place = end
        return total

    def _measured_pair(self, before: str, after: str) -> np.ndarray:
        """Returns the features of a word, without punctuation that stays around it."""
        core, other = core_of(before), core_of(after)
        if core and other and before.replace(core, other, 1) == after:
            before, after = core, other
        return self.vocabulary.features(before, after)

    def features(self, candidates: Candidates, unit: str, context: Context) -> np.ndarray:
        """Returns those of the candidates: what stands next to a line is not asked."""
        return candidates.features

    def _answer(self, unit: ModelUnit, candidates: Candidates, doubts: bool) -> Answer:
        """Returns the edits of the best text; the probability of each is that of all texts that
        have it."""
        chances = self.probabilities(candidates, unit.text)
        edits = [word_edits(unit.text.split(), text.split()) for text in candidates.texts]
        best = edits[int(chances.argmax())]
        return {edit: float(chances[[edit in made for made in edits]].sum()) for edit in best}
