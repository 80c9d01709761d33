"""What sounds alike, or nearly: what people write who spell a word as they hear it.

Small letters of languages in Latin, Cyrillic and Greek script. Letters are doubled and doubles are
not, vowels take one another's place, and so do consonants that differ by the voice alone.
"""

from .segments import table

# Each takes the place of the other.
_ALIKE = """
a e     e i     i y     o u     a o     i ie    e ee    o oo    a aa    a ah    e eh    o oh
u uh    ä e     e é     ai ei   eu äu   au o    ou u    ai e    ea e    ie ei   en an
b p     d t     g k     c k     k ck    k q     q ck    kw qu   c s     s z     z tz    s ss
f v     v w     b v     f ph    t th    t dt    r rh    x ks    x chs   j y     j g     n m
ch sch  sh sch  ll y    c ss    g gu    h ch
о а     е и     и ы     я е     т д     с з     б п     г к     в ф     ш щ     ж ш     тся ться
ο ω     η ι     υ ι     ε αι    ι ει    ι οι
"""
_DOUBLED = "bcdfglmnprst" + "бвгдзклмнпрст" + "λμνπρστκ"
# Only the second stands for the first: a letter that is not heard.
_ONE_WAY = "ha a    he e    hi i    ho o    hu u    kn n    ps s    mb m    gn n"

#: segment → segments that are written in its place
SOUNDS = table(f"{_ALIKE} {' '.join(f'{letter} {2 * letter}' for letter in _DOUBLED)}", _ONE_WAY)
