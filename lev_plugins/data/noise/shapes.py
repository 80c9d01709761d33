"""What looks alike in print: what a recogniser takes for what where nothing was measured."""

import random
from collections.abc import Sequence

from .letters import clusters
from .rng import choose, sample

# Each takes the place of the other.
_ALIKE = """
rn m    l 1     O 0     o 0     I l     I 1     I |     l |     S 5     s 5     B 8     Z 2
z 2     g 9     q 9     b 6     G 6     D 0     T 7     cl d    cl ol   vv w    VV W    ii u
ri n    li h    lc k    nn m    ni m    in m    c e     o e     a o     o c     u n     u v
h b     i j     i l     t f     f s     r t     k h     y v     C G     E F     P R     U V
Q O     D O     M N     K X     , .     ; :     . ·     - —     ' ’     ' `     " ”     fi ﬁ
fl ﬂ    ae æ    oe œ    é e     è e     ê e     é è     à a     â a     ä a     á a     ö o
ô o     ó o     ü u     û u     ú u     ü ii    î i     ï i     í i     ç c     ñ n     ß B
и н     п н     ш щ     е с     о с     з э     ь б     ц и     ы ьт    г т     л п     й и
ν υ     ο σ     η n     α ο     ρ p     ι ί     ו ן     ד ר     ה ח     ב כ     ם ס     ت ث
ب ت     ج ح     ح خ     د ذ     ر ز     س ش     ص ض     日 曰     未 末     土 士     己 已
"""
# Only the first is taken for the second: old print.
_ONE_WAY = "ſ f    ſ l    w vv    tt H    ll U    ff if"


def _shapes() -> dict[str, list[str]]:
    words, single = _ALIKE.split(), _ONE_WAY.split()
    ways = list(zip(words[::2], words[1::2]))
    ways += [(other, shape) for shape, other in ways]
    table: dict[str, list[str]] = {}
    for clean, noisy in (*ways, *zip(single[::2], single[1::2])):
        table.setdefault(clean, []).append(noisy)
    return table


#: segment → segments that are read in its place
SHAPES = _shapes()
_LONGEST = max(len(clusters(clean)) for clean in SHAPES)


def _ways(word: Sequence[str], i: int) -> list[tuple[int, str]]:
    """Ends j of segments from i on, with what is read in the place of each ``word[i:j]``."""
    ends = range(i + 1, min(i + _LONGEST, len(word)) + 1)
    return [(j, noisy) for j in ends for noisy in SHAPES.get("".join(word[i:j]), ())]


def places(word: Sequence[str]) -> list[int]:
    """Where segments begin that look like something else."""
    return [i for i in range(len(word)) if _ways(word, i)]


def confuse(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Confuses ``count`` segments that do not overlap; sampled by place first, then by shape."""
    changed, taken, starts = list(word), set[int](), places(word)
    for i in sample(rng, starts, len(starts)):
        open_ways = [way for way in _ways(word, i) if not taken & set(range(i, way[0]))]
        if count == 0 or not open_ways:
            continue
        j, noisy = choose(rng, open_ways)
        changed[i:j] = [noisy] + [""] * (j - i - 1)
        taken |= set(range(i, j))
        count -= 1
    return changed
