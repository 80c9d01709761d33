"""Tables of confusions, built in or learned from pairs of texts.

A table has, for a clean segment of one to :data:`LONGEST` characters, the segments of none to as
many that stand in its place. Spaces are in no segment, so words are neither cut nor joined.

On disk it is JSON: ``{"rates": {"m": {"rn": 0.0123, …}, …}}``; a rate is the share of the clean
segment's occurrences that were read so.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz.distance import Levenshtein

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import reading
from lev_runtime.text.source_change import Change, changes

from .letters import clusters, split_words
from .rng import choose, choose_weighted, sample

#: Characters of a segment, at most.
LONGEST = 3
Table = Mapping[str, Mapping[str, float]]

_LOOK_ALIKE = """
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
_OLD_PRINT = "ſ f    ſ l    w vv    tt H    ll U    ff if"
# Small letters in Latin, Cyrillic and Greek script. Letters are doubled and doubles are not, vowels
# take one another's place, and so do consonants that differ by the voice alone.
_SOUND_ALIKE = """
a e     e i     i y     o u     a o     i ie    e ee    o oo    a aa    a ah    e eh    o oh
u uh    ä e     e é     ai ei   eu äu   au o    ou u    ai e    ea e    ie ei   en an
b p     d t     g k     c k     k ck    k q     q ck    kw qu   c s     s z     z tz    s ss
f v     v w     b v     f ph    t th    t dt    r rh    x ks    x chs   j y     j g     n m
ch sch  sh sch  ll y    c ss    g gu    h ch
о а     е и     и ы     я е     т д     с з     б п     г к     в ф     ш щ     ж ш     тся ться
ο ω     η ι     υ ι     ε αι    ι ει    ι οι
"""
_DOUBLED = "bcdfglmnprst" + "бвгдзклмнпрст" + "λμνπρστκ"
_SILENT = "ha a    he e    hi i    ho o    hu u    kn n    ps s    mb m    gn n"


def _segments(alike: str, one_way: str) -> dict[str, list[str]]:
    """Reads pairs with spaces between: of ``alike`` each may stand for the other, of ``one_way``
    the second for the first."""
    words, single = alike.split(), one_way.split()
    ways = list(zip(words[::2], words[1::2], strict=True))
    ways += [(other, segment) for segment, other in ways]
    ways += zip(single[::2], single[1::2], strict=True)
    table: dict[str, list[str]] = {}
    for clean, noisy in ways:
        table.setdefault(clean, []).append(noisy)
    return table


_doubles = " ".join(f"{letter} {2 * letter}" for letter in _DOUBLED)
#: segment → segments that look alike in print
SHAPES = _segments(_LOOK_ALIKE, _OLD_PRINT)
#: segment → segments that are written by people who spell a word as they hear it
SOUNDS = _segments(f"{_SOUND_ALIKE} {_doubles}", _SILENT)


class SegmentEdit:
    """A kind of noise: segments of a word are replaced by those that stand for them in a table."""

    def __init__(self, segments: Mapping[str, Sequence[str]]) -> None:
        self.segments = segments
        self.longest = max(len(clusters(segment)) for segment in segments)

    def _ways(self, word: Sequence[str], start: int) -> list[tuple[int, str]]:
        """Returns ends of segments from ``start`` on, with what may stand for each."""
        most = min(start + self.longest, len(word))
        return [
            (end, noisy)
            for end in range(start + 1, most + 1)
            for noisy in self.segments.get("".join(word[start:end]), ())
        ]

    def places(self, word: Sequence[str]) -> list[int]:
        """Returns where segments begin that others may stand for."""
        return [start for start in range(len(word)) if self._ways(word, start)]

    def edit(self, word: Sequence[str], count: int, rng: random.Random) -> list[str]:
        """Replaces segments that do not overlap; samples the place first, then the segment."""
        noisy_word = list(word)
        taken = set[int]()
        starts = self.places(word)
        for start in sample(rng, starts, len(starts)):
            ways = [way for way in self._ways(word, start) if not taken & {*range(start, way[0])}]
            if count and ways:
                end, noisy = choose(rng, ways)
                noisy_word[start:end] = [noisy] + [""] * (end - start - 1)
                taken |= {*range(start, end)}
                count -= 1
        return noisy_word


class Confusions:
    """A table of confusions: clean segment → noisy segment → rate."""

    def __init__(self, table: Table) -> None:
        self.table = {clean: dict(noisy) for clean, noisy in table.items() if noisy}
        self.longest = max((len(clusters(clean)) for clean in self.table), default=0)

    def read(self, word: Sequence[str], scale: float, rng: random.Random) -> list[str]:
        """Reads ``word`` as the recogniser would: each segment is confused with its measured rate.

        Longer segments are tried first. A word of which nothing would be left stays as it is. Rates
        are multiplied by ``scale``; together they stay at or below 1.
        """
        noisy: list[str] = []
        i = 0
        while i < len(word):
            for j in range(min(i + self.longest, len(word)), i, -1):
                ways = self.table.get("".join(word[i:j]))
                if ways and rng.random() < scale * sum(ways.values()):
                    noisy.append(choose_weighted(rng, list(ways), list(ways.values())))
                    i = j
                    break
            else:
                noisy.append(word[i])
                i += 1
        return noisy if any(noisy) else list(word)


def learn(pairs: Iterable[tuple[str, str]], least: int = 2) -> Table:
    """Returns rates of confusions in pairs of a noisy and a clean line, aligned by characters.

    Characters that were inserted count as a confusion of the character before them, at the
    beginning of a word of the one after them.

    Left out are those that hold a space, are longer than :data:`LONGEST` characters on a side, or
    were seen less often than ``least``.
    """
    known = Counter[tuple[str, str]]()
    occurrences = Counter[str]()
    for noisy_line, clean_line in pairs:
        clean, noisy = _characters(clean_line), _characters(noisy_line)
        for word in split_words(clean_line)[::2]:
            parts = clusters(word)
            for length in range(1, LONGEST + 1):
                starts = range(len(parts) - length + 1)
                occurrences.update("".join(parts[start : start + length]) for start in starts)
        for change in changes(Levenshtein.editops(clean, noisy)):
            before, after = _with_neighbour(clean, noisy, change)
            spaced = any(side.isspace() for side in (*before, *after))
            longest = max(len(before), len(after))
            if before and not spaced and longest <= LONGEST:
                known["".join(before), "".join(after)] += 1
    table: dict[str, dict[str, float]] = {}
    for (cluster, other), count in sorted(known.items()):
        if count >= least:
            table.setdefault(cluster, {})[other] = count
    for cluster, ways in table.items():  # insertions on both sides of it count twice
        cluster_total = max(occurrences[cluster], sum(ways.values()))
        table[cluster] = {other: round(count / cluster_total, 9) for other, count in ways.items()}
    return table


def _characters(line: str) -> list[str]:
    return [cluster for part in split_words(line) for cluster in clusters(part)]


def _with_neighbour(
    clean: Sequence[str], noisy: Sequence[str], change: Change
) -> tuple[Sequence[str], Sequence[str]]:
    """Returns both sides of a change; an insertion with a neighbouring character."""
    i, j, k, m = change
    if i < j:
        return clean[i:j], noisy[k:m]
    if i > 0 and k > 0 and not clean[i - 1].isspace():
        return clean[i - 1 : j], noisy[k - 1 : m]
    if j < len(clean) and m < len(noisy) and not clean[j].isspace():
        return clean[i : j + 1], noisy[k : m + 1]
    return clean[i:j], noisy[k:m]


_MAKE = "make one with lev-noise --learn-confusions"


def load_confusions(path: str) -> Confusions:
    """Reads a table's file, one of :func:`learn` or one written by hand.

    Raises:
        UserError: the file cannot be read, is no such table, or holds a segment or a rate that
            cannot be.
    """
    with reading(path), open(path, encoding="utf-8") as file:
        try:
            table = json.load(file)["rates"]
            for clean, ways in table.items():
                _check(clean, ways)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(f"{path} is not a table of confusions ({error!r}); {_MAKE}") from None
    if not table:
        raise UserError(f"{path} has no confusions; {_MAKE}")
    return Confusions(table)


def _check(clean: str, ways: Mapping[str, float]) -> None:
    segments = [clean, *ways]
    sizes = [len(clusters(segment)) for segment in segments]
    fits = sizes[0] > 0 and max(sizes) <= LONGEST
    spaced = re.search(r"\s", "".join(segments))
    rates = ways.values()
    shares = all(rate >= 0 for rate in rates) and sum(rates) <= 1 + 1e-6
    if spaced or not fits or not shares:
        raise ValueError(f"{clean!r}: rates are shares of 1, segments 1 to {LONGEST} characters")
