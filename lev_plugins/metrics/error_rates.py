"""Metrics of words and characters against a reference: accuracy, recognition, error rates.

Words are what stands between spaces; texts are taken as they are, with case and punctuation. Rates
are of the whole corpus: sums over sums, not means of sentences.
"""

from collections.abc import Callable, Sequence

from rapidfuzz.distance import Levenshtein

from .words import percent, right_words


class Share:
    """Sums two numbers of a sentence; the score is the first in per cent of the second.

    tokens, how: what the signature says of the counting.
    """

    name: str
    higher_is_better = True
    size = 2
    tokens, how = "whitespace", ""

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The two numbers of one sentence."""
        raise NotImplementedError

    def score(self, totals: Sequence[float]) -> float:
        """Of a corpus with these sums; 0 where the second is 0."""
        return percent(*totals)

    def signature(self) -> str:
        """In sacrebleu's form."""
        return f"nrefs:1|case:mixed|tok:{self.tokens}|{self.how}|library:lev_plugins"


class WordAccuracy(Share):
    """The share of the reference's words that are right in the output.

    A word is right where an alignment of fewest errors, of these one with the most equal words,
    sets it against an equal word. Words too many do not count: for them there is WER.
    """

    name = "word_accuracy"
    how = "align:fewest-errors-most-equal"

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """Right words and words of the reference of one sentence."""
        words = reference.split()
        return float(len(right_words(hypothesis.split(), words))), float(len(words))


class ErrorRate(Share):
    """Insertions, deletions and substitutions per hundred words or characters of the reference.

    The definition of the library jiwer: operations of all sentences over the length of all
    references, so that it can be above 100. Spaces at the ends of a sentence do not count.

    Args:
        name: ``wer`` or ``cer``.
    """

    higher_is_better = False
    how = "ops:ins,del,sub"

    def __init__(self, name: str) -> None:
        self.name = name
        self.tokens = "whitespace" if name == "wer" else "char"
        self._cut: Callable[[str], Sequence[str]] = str.split if name == "wer" else str.strip

    def statistics(self, hypothesis: str, reference: str) -> tuple[float, ...]:
        """Operations and length of the reference of one sentence."""
        output, wanted = self._cut(hypothesis), self._cut(reference)
        return float(Levenshtein.distance(output, wanted)), float(len(wanted))


class WordRecognition(ErrorRate):
    """WRR, the word recognition rate: 100 − WER. With many words too many it is below 0."""

    higher_is_better = True
    how = "wrr:100-wer"

    def __init__(self) -> None:
        super().__init__("wer")
        self.name = "wrr"

    def score(self, totals: Sequence[float]) -> float:
        """100 − WER; 0 where the references are empty."""
        return 100.0 - super().score(totals) if totals[1] else 0.0
