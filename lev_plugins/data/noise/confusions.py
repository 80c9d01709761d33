"""What a recogniser takes for what: tables of confusions, built in or learned from pairs of texts.

A table has, for a clean segment of one to :data:`LONGEST` characters, the segments of none to as
many that are read in its place. Spaces are in no segment, so words are neither cut nor joined.

On disk it is JSON: ``{"rates": {"m": {"rn": 0.0123, …}, …}, "learned": {…}}``; a rate is the share
of the clean piece's occurrences that were read so.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rapidfuzz.distance import Levenshtein

from ...errors import UserError
from ...io.text_files import reading
from .letters import clusters, split_words
from .rng import choose_weighted, sample

#: Characters of a segment, at most.
LONGEST = 3
Change = tuple[int, int, int, int]


class Confusions:
    """A table of confusions.

    Args:
        table: clean segment → noisy segment → rate (or, with ``measured`` off, weight).
        measured: whether the numbers are rates, the share of occurrences that are confused.
    """

    def __init__(self, table: Mapping[str, Mapping[str, float]], measured: bool) -> None:
        self.table = {clean: dict(noisy) for clean, noisy in table.items() if noisy}
        self.measured = measured
        self.longest = max((len(clusters(clean)) for clean in self.table), default=0)

    def places(self, word: Sequence[str]) -> list[tuple[int, int]]:
        """Stretches (i, j) of ``word``'s characters that the table knows."""
        return [
            (i, j)
            for i in range(len(word))
            for j in range(i + 1, min(i + self.longest, len(word)) + 1)
            if "".join(word[i:j]) in self.table
        ]

    def edit(self, word: Sequence[str], count: int, rng: random.Random) -> list[str]:
        """Confuses ``count`` segments that do not overlap; sampled by place first, then by
        weight.
        """
        by_start: dict[int, list[tuple[int, str, float]]] = {}
        for i, j in self.places(word):
            for noisy, weight in self.table["".join(word[i:j])].items():
                by_start.setdefault(i, []).append((j, noisy, weight))
        made, taken = list(word), set[int]()
        for i in sample(rng, sorted(by_start), len(by_start)):
            open_ways = [way for way in by_start[i] if not taken & set(range(i, way[0]))]
            if count == 0 or not open_ways:
                continue
            j, noisy, _ = choose_weighted(rng, open_ways, [weight for *_, weight in open_ways])
            made[i:j] = [noisy] + [""] * (j - i - 1)
            taken |= set(range(i, j))
            count -= 1
        return made

    def read(self, word: Sequence[str], scale: float, rng: random.Random) -> list[str]:
        """Reads ``word`` as the recogniser would: each segment is confused with its measured rate.

        Longer segments are tried first. A word of which nothing would be left stays as it is. Rates
        are multiplied by ``scale``; together they stay at or below 1.
        """
        made: list[str] = []
        i = 0
        while i < len(word):
            for j in range(min(i + self.longest, len(word)), i, -1):
                ways = self.table.get("".join(word[i:j]))
                if ways and rng.random() < scale * sum(ways.values()):
                    made.append(choose_weighted(rng, list(ways), list(ways.values())))
                    i = j
                    break
            else:
                made.append(word[i])
                i += 1
        return made if any(made) else list(word)


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


def _shapes() -> dict[str, dict[str, float]]:
    words, single = _ALIKE.split(), _ONE_WAY.split()
    ways = list(zip(words[::2], words[1::2]))
    ways += [(other, one) for one, other in ways]
    table: dict[str, dict[str, float]] = {}
    for clean, noisy in (*ways, *zip(single[::2], single[1::2])):
        table.setdefault(clean, {})[noisy] = 1.0
    return table


#: shapes that characters share in print, all of the weight 1: a table to begin with, no frequencies
BUILT_IN = Confusions(_shapes(), measured=False)


@dataclass
class Learned:
    """What was seen while a table was learned.

    changes are stretches that differ; left_out of them hold a space, are longer than
    :data:`LONGEST` characters on a side, or were seen too seldom.
    """

    lines: int = 0
    characters: int = 0
    changes: int = 0
    left_out: int = 0


def learn(
    pairs: Iterable[tuple[str, str]], least: int = 2
) -> tuple[dict[str, dict[str, float]], Learned]:
    """Rates of confusions in pairs of a noisy and a clean line, aligned character by character.

    Characters that were inserted count as a confusion of the character before them, at the
    beginning of a word of the one behind them. A confusion seen less often than ``least`` is left
    out. With the table, sorted, comes what was seen.
    """
    seen, known = Learned(), Counter[tuple[str, str]]()
    occurrences = Counter[str]()
    for noisy_line, clean_line in pairs:
        clean, noisy = _characters(clean_line), _characters(noisy_line)
        found = changes(clean, noisy)
        seen.lines += 1
        seen.characters += len(clean)
        seen.changes += len(found)
        _count_pieces(clean_line, occurrences)
        for change in found:
            before, after = _pieces(clean, noisy, change)
            spaced = any(one.isspace() for one in (*before, *after))
            if before and not spaced and max(len(before), len(after)) <= LONGEST:
                known["".join(before), "".join(after)] += 1
    table: dict[str, dict[str, float]] = {}
    for (clean_piece, noisy_piece), count in sorted(known.items()):
        if count >= least:
            share = count / occurrences[clean_piece]
            table.setdefault(clean_piece, {})[noisy_piece] = round(share, 9)
    seen.left_out = seen.changes - sum(count for count in known.values() if count >= least)
    return table, seen


def changes(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """Stretches ``before[i:j]`` that became ``after[k:m]``, as ``(i, j, k, m)``, in order.

    They come of a script with as few substitutions, insertions and deletions as possible.
    """
    found, i, k = [], 0, 0
    for equal in Levenshtein.editops(before, after).as_matching_blocks():  # the last is empty
        if (i, k) != (equal.a, equal.b):
            found.append((i, equal.a, k, equal.b))
        i, k = equal.a + equal.size, equal.b + equal.size
    return found


def _characters(line: str) -> list[str]:
    return [one for part in split_words(line) for one in clusters(part)]


def _pieces(
    clean: Sequence[str], noisy: Sequence[str], change: Change
) -> tuple[Sequence[str], Sequence[str]]:
    """What became what; an insertion with the character beside it."""
    i, j, k, m = change
    if i == j:
        if i > 0 and k > 0 and not clean[i - 1].isspace():
            i, k = i - 1, k - 1
        elif j < len(clean) and m < len(noisy) and not clean[j].isspace():
            j, m = j + 1, m + 1
    return clean[i:j], noisy[k:m]


def _count_pieces(line: str, counts: Counter[str]) -> None:
    """Counts all segments of up to LONGEST characters within words."""
    for word in split_words(line)[::2]:
        parts = clusters(word)
        for length in range(1, LONGEST + 1):
            counts.update("".join(parts[i : i + length]) for i in range(len(parts) - length + 1))


def to_json(table: Mapping[str, Mapping[str, float]], seen: Learned) -> str:
    """The text of a table's file."""
    made = {"rates": table, "learned": asdict(seen)}
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def load_confusions(path: str) -> Confusions:
    """Reads a table that :func:`to_json` has written, or one written by hand.

    Raises:
        UserError: the file cannot be read, is no such table, or holds a segment or a rate that
            cannot be.
    """
    with reading(path), open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
            raise UserError(f"{path}: not JSON ({error}); {_MAKE}") from error
    rates = found.get("rates") if isinstance(found, dict) else None
    if not isinstance(rates, dict) or not rates:
        raise UserError(f"{path}: no confusions in it; {_MAKE}")
    for clean, ways in rates.items():
        if not isinstance(ways, dict):
            raise UserError(f'{path}: {clean!r}: write {{"what is read": rate}} for it')
        for piece, least in [(clean, 1), *((noisy, 0) for noisy in ways)]:
            if not least <= len(clusters(piece)) <= LONGEST or any(map(str.isspace, piece)):
                raise UserError(
                    f"{path}: {clean!r}: the segment {piece!r} has to have {least} to {LONGEST} "
                    "characters and no space"
                )
        good = all(isinstance(rate, int | float) and 0 <= rate <= 1 for rate in ways.values())
        if not good or sum(ways.values()) > 1 + 1e-6:
            raise UserError(f"{path}: {clean!r}: rates are shares of 0 to 1, and 1 together")
    return Confusions(rates, measured=True)


_MAKE = "make a table with lev-noise --learn-confusions"
