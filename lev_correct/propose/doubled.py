"""Words that are written twice in a row: by mistake, or rightly."""

import re

#: Words that right text never has twice in a row; others, which it has where a clause has a gap
#: (*what it is is*, *if you see it it helps*); and particles of verbs (*to log in in time*).
NEVER_TWICE = frozenset("a an and because but every or our than the their they we your".split())
TWICE_BEHIND_GAPS = frozenset(
    "about as at be by for from if in into is it of on to was were when with without".split()
)
_REST = r"\b[^.;:!?]*$"
_GAP = re.compile(
    r"\b(?:all|anything|everything|guy|how|man|nothing|ones|people|person|something|things?|way|what"
    rf"|whatever|where|which|who|whoever|whom|whose|woman){_REST}"
)
#: The same for words that may end a clause of their own, and for those that verbs have (*log in*).
ENDS_CLAUSE = frozenset("is it was were be".split())
_CLAUSE = re.compile(
    r"\b(?:after|although|as|because|before|if|once|problem|question|since|that (?=\w)|there|though"
    rf"|unless|until|when|while|why|without){_REST}"
)
PARTICLES = frozenset("in on by".split())
_VERB = re.compile(
    r"\b(?:log|sign|check|com[ei]|came|go|went|mov|turn|switch|carr|hold|kick|giv|gave|fill|plug|tun"
    r"|clock|drop|settl|join|walk|get|got|keep|kept|tak|took|put|bring|brought|step|pass)\w*\s$"
)
#: Letters in front of a word that are read for it.
CLAUSE = 200


def may_be_twice(word: str, line: str, start: int) -> bool:
    """Returns whether a word that stands twice from a place of a line on may be right there."""
    if word in NEVER_TWICE:
        return False
    before = line[max(start - CLAUSE, 0) : start].lower()
    patterns = [_GAP]
    patterns += [_CLAUSE] if word in ENDS_CLAUSE else [_VERB] if word in PARTICLES else []
    return any(pattern.search(before) for pattern in patterns)
