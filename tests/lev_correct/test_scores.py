"""What models say of texts that others propose, and the search among the words of a lexicon."""

from functools import cache

import pytest
import torch
from editors import writing_corrector
from fairseq.dataclass.configs import GenerationConfig
from fairseq.search import PrefixConstrainedBeamSearch
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_correct.propose.searching import LEXICON_BEAM
from lev_correct.words.lexicon import Lexicon

EOS = 2


WORDS = """
abc bead a fade dab cab face bed ad deaf b ca abe hedge head fed cafe gag badge faced
""".split()


@cache
def searching(kind):
    backend = writing_corrector(kind).backend
    backend.lexicon = Lexicon(dict.fromkeys(WORDS, 0.0))
    return backend


class WordsOnly(PrefixConstrainedBeamSearch):
    """fairseq's search that writes given words alone."""

    def __init__(self, dictionary, words):
        def allowed(sentence, written):
            text = written.tolist()[1:]
            rests = [word[len(text) :] for word in spelt if word[: len(text)] == text]
            return torch.tensor([rest[0] for rest in rests if rest], dtype=torch.long)

        spelt = [[*map(dictionary.index, word), EOS] for word in words]
        super().__init__(dictionary, allowed)


@settings(max_examples=4)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=6, unique=True),
       st.integers(1, 4),
       st.sampled_from(["pbd", "stock"]))  # fmt: skip
def test_searches_that_share_prefixes_find_what_fairseqs_find_one_by_one(units, size, kind):
    backend = searching(kind)
    units = [tuple(unit) for unit in units]
    dictionary = backend.task.target_dictionary
    longest = max(map(len, WORDS)) + 1
    options = GenerationConfig(beam=LEXICON_BEAM, max_len_a=0, max_len_b=longest)
    among_words = backend.task.build_generator([backend.model], options)
    among_words.search = WordsOnly(dictionary, WORDS)
    others = [[("a", "b"), unit] for unit in units]
    written = backend.nbest(units, size, others)
    for unit, unit_texts, asked in zip(units, written, others, strict=True):
        beams = backend.search([unit])[0], backend.search([unit], among_words)[0]
        wanted = {
            tuple(dictionary[n] for n in hypothesis["tokens"][:-1]): float(
                hypothesis["positional_scores"].sum()
            )
            for hypothesis in (*beams[0], *beams[1])
        }
        wanted = {text: score for text, score in wanted.items() if {*text} <= {*"abcdefgh"}}
        assert list(unit_texts)[: len(wanted)] == list(wanted)
        assert {*unit_texts} == {*wanted, *asked}
        scores = backend.score([(unit, text) for text in unit_texts], 3)
        assert list(unit_texts.values()) == pytest.approx(scores, rel=1e-4)
        assert [unit_texts[text] for text in wanted] == pytest.approx(
            list(wanted.values()), rel=1e-4
        )
