"""Entities of tags: read in every scheme, counted as conlleval counts them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.systems.enct5.entities import (
    Entity,
    Sentences,
    entities,
    entity_statistics,
    marks_entities,
)
from lev_plugins.systems.enct5.metrics import summary
from lev_plugins.systems.enct5.problem_types import ProblemType

TYPES = ("PER", "LOC", "a-b")

# (type or None for words outside, how many words): a sentence, whose entities are known
pieces = st.lists(st.tuples(st.sampled_from([*TYPES, None]), st.integers(1, 4)), max_size=8)


def spelt(sentence: list[tuple[str | None, int]], scheme: str) -> list[str]:
    """Its tags in a scheme."""
    tags: list[str] = []
    before = None
    for kind, length in sentence:
        if kind is None:
            tags += ["O"] * length
        elif scheme == "IOB1":  # B only where one of the same type ends just before
            tags += [f"{'B' if before == kind else 'I'}-{kind}"] + [f"I-{kind}"] * (length - 1)
        elif scheme == "IOB2":
            tags += [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        else:
            begin, inside, end, single = scheme
            middle = [f"{inside}-{kind}"] * (length - 2)
            tags += [f"{begin}-{kind}", *middle, f"{end}-{kind}"][:length] if length > 1 else []
            tags += [f"{single}-{kind}"] * (length == 1)
        before = kind
    return tags


@given(sentence=pieces, scheme=st.sampled_from(["IOB1", "IOB2", "BIES", "BILU"]))
def test_what_was_written_in_a_scheme_is_read_from_it(sentence, scheme):
    wanted, place = [], 0
    for kind, length in sentence:
        wanted += [Entity(kind, place, place + length)] if kind else []
        place += length
    assert entities(spelt(sentence, scheme)) == wanted


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        ("I-X I-X", [("X", 0, 2)]),  # begins without B
        ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),  # the type changes
        ("B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),  # continues behind an end
        ("E-X E-X", [("X", 0, 1), ("X", 1, 2)]),
        ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),
        ("O L-X O", [("X", 1, 2)]),
        ("B-X S-X", [("X", 0, 1), ("X", 1, 2)]),  # never closed
    ],
)
def test_tags_that_break_their_scheme_are_read_as_conlleval_reads_them(tags, wanted):
    assert entities(tags.split()) == [Entity(*one) for one in wanted]


def test_labels_mark_entities_with_an_outside_tag_and_prefixes_alone():
    assert marks_entities(["B-PER", "I-PER", "O"]) and marks_entities(["O", "S-a", "U-b-c"])
    for labels in ("O", "", "B-PER I-PER", "NOUN O", "B- O", "B-PER O X-a"):
        assert not marks_entities(labels.split()), labels


LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def counted(said: list[list[int]], true: list[list[int]]) -> dict[str, float]:
    tags = [torch.tensor(one, dtype=torch.long) for one in true]
    found = torch.tensor([tag for one in said for tag in one], dtype=torch.long)
    return entity_statistics(LABELS, found, Sentences(tags, [len(one) for one in said]))


def test_an_entity_is_right_if_its_words_and_its_type_are():
    true = [[1, 2, 0, 3], [1, 0, 3, 4]]
    said = [[1, 2, 0, 1], [1, 2, 3, 4]]  # right; another type; one word too many; right
    sums = counted(said, true)
    assert sums == {"entities_true": 4.0, "entities_said": 4.0, "entities_both": 2.0}
    whole = summary(ProblemType.TAGGING, {**words(), **sums})
    assert (whole["entity_f1"], whole["entity_precision"], whole["entity_recall"]) == (50, 50, 50)


def words() -> dict[str, float]:
    return {"true_0": 1.0, "said_0": 1.0, "both_0": 1.0}


def test_entities_do_not_cross_sentences_and_those_cut_off_are_missed():
    assert counted([[1], [2]], [[1], [2]]) == counted([[1, 0, 1]], [[1, 0, 1]])
    sums = counted([[1, 2], [0]], [[1, 2, 2], [0, 3, 4]])
    assert sums == {"entities_true": 2.0, "entities_said": 1.0, "entities_both": 0.0}
    found = summary(ProblemType.TAGGING, {**words(), **sums})
    assert (found["entity_f1"], found["entity_recall"]) == (0, 0)
    nothing = summary(ProblemType.TAGGING, {**words(), **counted([[]], [[]])})
    assert nothing["entity_f1"] == 0


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=8),
    cut=st.integers(0, 8),
)
def test_any_split_gives_the_counts_of_the_whole(seed, lengths, cut):
    torch.manual_seed(seed)
    said, true = ([torch.randint(5, (n,)).tolist() for n in lengths] for _ in range(2))
    parts = [counted(said[a:b], true[a:b]) for a, b in ((0, cut), (cut, len(lengths)))]
    assert {name: parts[0][name] + parts[1][name] for name in parts[0]} == counted(said, true)
