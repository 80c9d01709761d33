"""Words that are written twice in a row: by mistake, or rightly."""

#: Words that right text never has twice in a row; others, which it has where a clause has a gap
#: (*what it is is*, *if you see it it helps*); and particles of verbs (*to log in in time*).
NEVER_TWICE = frozenset("a an and because but every or our than the their they we your".split())
TWICE_BEHIND_GAPS = frozenset(
    "about as at be by for from if in into is it of on to was were when with without".split()
)
