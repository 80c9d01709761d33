"""A beam search among the words of a lexicon."""

import pytest
from editors import writing_corrector

from lev_plugins.inference.correction.candidates import scorer_of
from lev_plugins.inference.correction.prefix_tree import PrefixTree

EOS = 2


@pytest.mark.parametrize(
    ("written", "allowed"),
    [([], [5, 7]), ([5], [EOS, 6, 9]), ([5, 6], [EOS]), ([7, 7], [8]), ([6], []), ([5, 9], [EOS])],
)
def test_what_may_follow_makes_a_word_or_the_beginning_of_one(written, allowed):
    tree = PrefixTree([(7, 7, 8), (5,), (5, 6), (5, 9), (5, 6)], EOS)
    for _ in range(2):  # computed, then kept
        assert tree(written) == allowed
    assert tree.longest == 3


def test_the_words_of_a_lexicon_that_a_model_holds_most_probable_are_among_its_candidates():
    backend = writing_corrector().backend
    words = ["abc", "bead", "é", "a", "fade", "dab", "cab", "face", "bed", "ad", "deaf", "b", "ca"]
    (alone,) = scorer_of(backend).nbest([tuple("abc")], 4)
    scorer = scorer_of(backend, words)
    (found,) = scorer.nbest([tuple("abc")], 4)
    more = list(found)[len(alone) :]
    assert list(found)[: len(alone)] == list(alone) and 0 < len(more) < len(words)
    assert {"".join(text) for text in more} <= set(words) - {"é"}
    every = scorer.score([(tuple("abc"), tuple(word)) for word in words if word != "é"], 4)
    assert max(found[text] for text in more) == pytest.approx(max(every), rel=1e-4)
    # what writing tells of a text is what the model says when it is asked
    asked = scorer.score([(tuple("abc"), text) for text in found], 4)
    assert list(found.values()) == pytest.approx(asked, rel=1e-4)
