"""Words that are written twice in a row: by mistake, or rightly."""

#: Words that right text never has twice in a row; others, which it may have after a word that
#: opens a clause with a gap (*what it is is*, *if you see it it helps*) or after a verb with a
#: particle (*to log in in time*).
NEVER_TWICE = frozenset("a an and because but every or our than the their they we your".split())
TWICE_AFTER_GAPS = frozenset(
    "about as at be by for from if in into is it of on to was were when with without".split()
)
_OPENING = frozenset(
    "after all although anything as because before everything guy how if man nothing once ones "
    "people person problem question since something that there thing things though unless until "
    "way ways what whatever when where which while who whoever whom whose why without woman".split()
)
_PARTICLES = frozenset("in on by".split())
_VERBS = tuple(
    "bring brought came carr check clock com drop fill gave get giv go hold join keep kept kick "
    "log mov pass plug put settl sign step switch tak took tun turn walk went".split()
)


def may_be_twice(word: str, before: list[str]) -> bool:
    """Returns whether a word may rightly stand twice after others of its line."""
    if word in NEVER_TWICE:
        return False
    after_verb = word in _PARTICLES and any(other.startswith(_VERBS) for other in before)
    return after_verb or not _OPENING.isdisjoint(before)
