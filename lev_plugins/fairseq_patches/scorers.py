"""Scorers of fairseq that cannot give their score."""

from ..io.patching import Stock, patches


def patch_chrf() -> None:
    """Let ``--scoring chrf`` give its score as a number.

    Fault: ``ChrFScorer.score`` asks the text of the result for its score, and raises.
    """
    from fairseq.scoring.chrf import ChrFScorer

    @patches(ChrFScorer, "score")
    def score(stock: Stock, self: ChrFScorer, order: int = 4) -> float:
        """chrF2 of all sentences so far, 0 to 100; ``order`` is there for fairseq's sake."""
        return float(self.sacrebleu.corpus_chrf(self.pred, [self.ref]).score)
