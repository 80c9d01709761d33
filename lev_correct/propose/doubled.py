"""Words that are written twice in a row: by mistake, or rightly."""

import re

#: Words that right text never has twice in a row; others, which it may have after a word that
#: opens a clause with a gap (*what it is is*); of these some that may end a clause (*if you see it
#: it helps*), and particles of verbs (*to log in in time*).
NEVER_TWICE = frozenset("a an and because but every or our than the their they we your".split())
TWICE_AFTER_GAPS = frozenset(
    "about as at be by for from if in into is it of on to was were when with without".split()
)
_GAPS = frozenset(
    "all anything everything guy how man nothing ones people person something thing things way "
    "ways what whatever where which who whoever whom whose woman".split()
)
_ENDS = frozenset("is it was were be".split())
_CLAUSES = frozenset(
    "after although as because before if once problem question since that there though unless "
    "until when while why without".split()
)
_PARTICLES = frozenset("in on by".split())
_VERBS = tuple(
    "bring brought came carr check clock com drop fill gave get giv go hold join keep kept kick "
    "log mov pass plug put settl sign step switch tak took tun turn walk went".split()
)
_CLAUSE = re.compile(r"[^.;:!?]*\Z")


def may_be_twice(word: str, before: str) -> bool:
    """Returns whether a word may rightly stand twice after the text of its line before it."""
    if word in NEVER_TWICE:
        return False
    found = _CLAUSE.search(before)
    words = found[0].lower().split() if found else []
    opening = _GAPS | _CLAUSES if word in _ENDS else _GAPS
    is_particle = word in _PARTICLES and bool(words) and words[-1].startswith(_VERBS)
    return is_particle or not opening.isdisjoint(words)
