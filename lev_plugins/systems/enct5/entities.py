"""Entities that tags write: named entities or chunks, and how many of them were found.

Tags are ``O`` and a prefix, a hyphen and a type, as IOB1, IOB2, IOBES and BILOU have them. What
counts as an entity, in tags too that break their scheme, is what conlleval says, the script of
the shared tasks of CoNLL-2000 to 2003: an entity begins with B, S or U, and with any other prefix
after O, after E, L, S or U, or where the type changes.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

OUTSIDE = "O"
FIRST = frozenset("BSU")  # prefixes that always begin an entity
LAST = frozenset("ELSU")  # … and that always end one
_TAG = re.compile(r"[BIELSU]-.+", re.DOTALL)


class Entity(NamedTuple):
    """Words of a sentence, from ``start`` up to and without ``end``, counted from 0."""

    label: str
    start: int
    end: int


def marks_entities(labels: Sequence[str]) -> bool:
    """Whether labels are tags of entities: ``O``, others with prefixes, and nothing else."""
    others = [label for label in labels if label != OUTSIDE]
    return 0 < len(others) < len(labels) and all(_TAG.fullmatch(one) for one in others)


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one sentence, in order."""
    found = []
    start, prefix, kind = 0, OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        before, kind_before = prefix, kind
        prefix, _, kind = tag.partition("-")
        inside = before != OUTSIDE and before not in LAST and kind == kind_before
        begins = prefix in FIRST or (prefix != OUTSIDE and not inside)
        if before != OUTSIDE and (begins or prefix == OUTSIDE):
            found.append(Entity(kind_before, start, place))
        if begins:
            start = place
    return found


def entity_statistics(
    labels: Sequence[str], found: Tensor, sentences: Sequence[tuple[Sequence[int], int]]
) -> dict[str, float]:
    """How many entities are right there, found, and both, as sums over sentences.

    Args:
        labels: the tags by id.
        found: ids of the tags of all words that the model sees, one sentence after the other.
        sentences: of each the ids of its right tags, and how many of its words the model sees.
    """
    true = said = both = 0.0
    seen = found.split([reached for _, reached in sentences])
    for (ids, _), here in zip(sentences, seen):
        tags = ids, here.tolist()
        wanted, given = (set(entities([labels[i] for i in one])) for one in tags)
        true, said, both = true + len(wanted), said + len(given), both + len(wanted & given)
    return {"entities_true": true, "entities_said": said, "entities_both": both}
