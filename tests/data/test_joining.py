"""Which tokens are written as one word, by what the symbols of a dictionary look like."""

import pytest

from lev_plugins.systems.levenshtein.markup import (
    BEGINS,
    ENDS,
    JOINED,
    KEEP,
    Joining,
    whole_words,
)

SENTENCEPIECE = ["▁Fluss", "▁Win", "ter", "n", ".", "▁", "7", "的", "-", "▁der"]
BYTES = ["ĠFluss", "ĠWin", "ter", "n", ".", "Ġ", "7"]
WORDPIECE = ["Fluss", "Win", "##ter", "##n", ".", "7", "##s"]
BPE = ["Fluss", "Win@@", "ter", "n", ".", "Fl@@", "(@@"]
CHARACTERS = ["F", "l", "▁", ".", "7", "的", "s"]
WORDS = ["Fluss", "Winter", "a@", "#b", "▁seen", *map(str, range(30))]


@pytest.mark.parametrize(
    ("symbols", "joined", "apart"),
    [
        (
            SENTENCEPIECE,
            [("▁Fluss", "n"), ("▁Win", "ter"), ("ter", "7"), ("n", "n")],
            [("▁Fluss", "▁Win"), ("▁Fluss", "."), ("▁", "n"), (".", "n"), ("-", "n"), ("n", "▁")],
        ),
        (BYTES, [("ĠFluss", "n"), ("7", "ter")], [("n", "ĠWin"), ("n", "."), ("Ġ", "n")]),
        (WORDPIECE, [("Win", "##ter"), ("7", "##s")], [("Fluss", "Win"), (".", "##s"), ("n", ".")]),
        (BPE, [("Win@@", "ter"), ("Fl@@", "n")], [("Fluss", "n"), ("(@@", "ter"), ("Win@@", ".")]),
        (CHARACTERS, [("F", "l"), ("l", "7")], [("F", "▁"), ("▁", "l"), ("F", "."), ("l", "的")]),
        (WORDS, [], [("Fluss", "Winter"), ("a@", "Fluss"), ("Fluss", "▁seen")]),
    ],
    ids=["sentencepiece", "byte-level", "wordpiece", "bpe", "characters", "words"],
)
def test_tokens_join_where_no_space_stands_between_letters(symbols, joined, apart):
    joining = Joining(["<s>", "<unk>", *symbols, "<plh>"])
    for pairs, wanted in ((joined, True), (apart, False)):
        for before, behind in pairs:
            one = joining.edges(before)[1] and joining.edges(behind)[0]
            assert one == wanted, (before, behind)
    assert joining.edges("<unk>") == (False, False)


@pytest.mark.parametrize(
    ("tokens", "kept", "expected"),
    [
        ("▁Fluss .", [0], [KEEP | ENDS, 0]),
        ("▁der ▁Win ter .", [1, 2], [0, KEEP | JOINED, KEEP | ENDS, 0]),
        ("▁Win ter n", [0, 1], [KEEP | JOINED, KEEP, 0]),  # the mark ends inside a word
        ("ter ▁Fluss", [0, 1], [KEEP | BEGINS | ENDS, KEEP | ENDS]),
        (". -", [0, 1], [KEEP, KEEP]),
    ],
)
def test_what_stays_is_closed_where_it_begins_or_ends_with_a_word(tokens, kept, expected):
    words = tokens.split()
    bits = [KEEP * (i in kept) for i in range(len(words))]
    assert whole_words(words, bits, Joining(SENTENCEPIECE)) == expected
