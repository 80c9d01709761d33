"""Words that are written for one another, and which of them fits between its neighbours.

A misspelling that is itself a word (*then* for *than*) is a real-word error: no lexicon finds it.
Where two words are equally likely to be slips for each other, Bayes' rule asks which of them is
more probable here: by how often it is met, and by what stands beside it.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...errors import UserError
from ...io.text_files import read_lines
from .bigrams import Bigrams
from .lexicon import Lexicon


class Confusions:
    """Sets of words in small letters that are written for one another; a word may be in several."""

    def __init__(self, sets: Iterable[Sequence[str]]) -> None:
        self.others: dict[str, tuple[str, ...]] = {}
        for words in sets:
            for word in words:
                both = {*self.others.get(word, ()), *words} - {word}
                self.others[word] = tuple(sorted(both))

    @classmethod
    def read(cls, path: str) -> "Confusions":
        """A file of two words or more on each line, such as ``then than``.

        Capitals do not matter.

        Raises:
            UserError: no such file, no UTF-8, a line of another form.
        """
        sets = []
        for number, line in enumerate(read_lines(path), start=1):
            words = line.lower().split()
            if len({*words}) < 2:
                raise UserError(
                    f"{path}, line {number}: {line!r} is no set of words that are written for one "
                    "another; give two or more, with spaces between them"
                )
            sets.append(words)
        if not sets:
            raise UserError(f"{path} holds no words")
        return cls(sets)

    def known(self, lexicon: Lexicon, bigrams: Bigrams) -> Mapping[str, tuple[str, ...]]:
        """For each word the others, where the lexicon and the bigrams have it and them.

        Of a word that is in no pair its neighbours say nothing, which is not that they are
        improbable.
        """
        met = {word for word in self.others if word in lexicon and word in bigrams}
        found = {word: tuple(one for one in self.others[word] if one in met) for word in met}
        return {word: others for word, others in found.items() if others}
