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
#: Near words of each unknown one, at most.
NEAR = 3
#: Texts of a line, at most.
MOST = 32


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
        words, texts, edits = unit.split(), [unit, *written], list[WordEdit]()
        for text in texts:
            edits += word_edits(words, text.split())
        first, longest = list[str](), 0
        for number, word in enumerate(words):
            listed = self.vocabulary.corrections(word)
            rights = listed or self._near(word) or [word]
            edits += [WordEdit(number, number + 1, (right,)) for right in rights]
            first.append(rights[0])
            longest += max(map(len, [word, *listed])) + 1 + self.longest
        texts.append(" ".join(first))
        for start, end, after in edits:
            edited = [*words[:start], *after, *words[end:]]
            texts.append(" ".join(edited))
        able = (text for text in dict.fromkeys(texts) if 0 < len(text) <= longest)
        return list(islice(filter(self._spelt, able), MOST))

    def _near(self, word: str) -> list[str]:
        lexicon = self.vocabulary.lexicon
        if lexicon is None or self._exists(word):
            return []
        core = core_of(word)
        near = [with_case(other, core) for other in lexicon.near(core.lower(), NEAR)]
        return [word.replace(core, other, 1) for other in near]

    def _exists(self, word: str) -> bool:
        core = core_of(word)
        return self._known(core) or not any(map(str.isalpha, core))

    def _features_of(self, unit: str, text: str) -> np.ndarray:
        """Returns the sum of what words have that stay, and what they become."""
        words, place = unit.split(), 0
        total = np.zeros(OF_WORDS.stop - OF_WORDS.start)
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
        stays = before.replace(core, other, 1) == after
        if core and other and stays:
            return self.vocabulary.features(core, other)
        return self.vocabulary.features(before, after)

    def features(self, candidates: Candidates, unit: str, context: Context) -> np.ndarray:
        """Returns those of the candidates: nothing stands next to a line."""
        return candidates.features

    def _answer(self, unit: ModelUnit, candidates: Candidates, doubts: bool) -> Answer:
        """Returns the edits of the best text; the probability of each is that of all texts that
        have it."""
        chances = self.probabilities(candidates, unit.text)
        words = unit.text.split()
        edits = [word_edits(words, text.split()) for text in candidates.texts]
        answer = dict[WordEdit, float]()
        for edit in edits[int(chances.argmax())]:
            has_it = [edit in made for made in edits]
            answer[edit] = float(chances[has_it].sum())
        return answer
