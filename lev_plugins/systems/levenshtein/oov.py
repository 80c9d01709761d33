"""Out-of-vocabulary words of one batch: read as ``<unk>``, written back as they were typed."""

from fairseq.data import Dictionary


class OOVWords:
    """Numbers of words that a dictionary does not have, behind those of the dictionary.

    Args:
        dictionary: of the target; only looked up, never changed.
        first: the first number, behind the placeholder's.
    """

    def __init__(self, dictionary: Dictionary, first: int) -> None:
        self.dictionary, self.first = dictionary, first
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word, the same for the same word: equal answers have equal tokens."""
        if word not in self._numbers:
            self._numbers[word] = self.first + len(self.words)
            self.words.append(word)
        return self._numbers[word]

    def symbol(self, token: int) -> str:
        """What a token is written as, known to the dictionary or not."""
        return self.words[token - self.first] if token >= self.first else self.dictionary[token]
