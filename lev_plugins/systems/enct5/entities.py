"""Entities that the tags of words mark: ``O``, or a prefix, a hyphen and a type (IOB1, IOB2, IOBES,
BILOU).

What counts as an entity, in tags too that break their scheme, is what conlleval of CoNLL-2000 to
2003 says. An entity begins with B, S or U, and with any other prefix after O, E, L, S or U, or
where the type changes.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"
BEGINNING = frozenset("BSU")  # prefixes that always begin an entity
ENDING = frozenset("ELSU")  # prefixes that always end an entity
_TAG = re.compile(r"[BIELSU]-.+", re.DOTALL)


class Entity(NamedTuple):
    """Words of a sentence, from ``start`` up to and without ``end``, counted from 0."""

    label: str
    start: int
    end: int


def marks_entities(labels: Sequence[str]) -> bool:
    """Whether labels are tags of entities: ``O``, others with prefixes, and nothing else."""
    prefixed = [label for label in labels if label != OUTSIDE]
    has_outside = len(prefixed) < len(labels)
    return has_outside and bool(prefixed) and all(map(_TAG.fullmatch, prefixed))


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence, in order."""
    marked = []
    start, previous_prefix, previous_type = 0, OUTSIDE, ""
    for position, tag in enumerate([*tags, OUTSIDE]):
        prefix, _, entity_type = tag.partition("-")
        is_open = previous_prefix != OUTSIDE
        goes_on = is_open and previous_prefix not in ENDING and entity_type == previous_type
        begins = prefix in BEGINNING or (prefix != OUTSIDE and not goes_on)
        if is_open and (begins or prefix == OUTSIDE):
            marked.append(Entity(previous_type, start, position))
        if begins:
            start = position
        previous_prefix, previous_type = prefix, entity_type
    return marked
