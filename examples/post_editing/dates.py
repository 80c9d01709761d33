"""Writes triples to try LevT with: sentences about dates, and translations of others as drafts.

    python examples/post_editing/dates.py FOLDER

Each English sentence says what happens when. Its draft is the German translation of the sentence
before its day, its hour or what happens was changed; one draft in five is right already. Dates are
written as CLDR has them (babel, BSD licence). FOLDER gets text/{train,valid,test}.{src,mt,pe}; no
sentence is in two of the parts.
"""

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from babel.dates import format_date, format_time

from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser

#: sentences of each part
SIZES = {"train": 20_000, "valid": 500, "test": 1_000}
#: the share of drafts that are right
RIGHT = 0.2
#: how probable it is that a part of the sentence was changed
CHANGED = 0.5
FIRST_DAY = datetime(2020, 1, 1)
DAYS = 4_000
#: hours are those of a quarter
QUARTERS = 24 * 4
EVENTS = {
    "The concert begins": "Das Konzert beginnt",
    "The meeting begins": "Die Sitzung beginnt",
    "The lecture begins": "Der Vortrag beginnt",
    "The race begins": "Das Rennen beginnt",
    "The museum opens": "Das Museum öffnet",
    "The library opens": "Die Bibliothek öffnet",
    "The shop closes": "Das Geschäft schließt",
    "The office closes": "Das Büro schließt",
    "The sale ends": "Der Verkauf endet",
    "The offer ends": "Das Angebot endet",
}


class Notice(NamedTuple):
    """What happens when."""

    event: str
    day: int  # days after the first
    quarter: int  # quarters of an hour after midnight

    @property
    def time(self) -> datetime:
        """Returns when it happens."""
        return FIRST_DAY + timedelta(days=self.day, minutes=15 * self.quarter)

    def english(self) -> str:
        """Returns the source."""
        day = format_date(self.time, "full", locale="en")
        return f"{self.event} on {day} at {format_time(self.time, 'h:mm a', locale='en')}."

    def german(self) -> str:
        """Returns its translation."""
        day = format_date(self.time, "full", locale="de")
        return f"{EVENTS[self.event]} am {day} um {format_time(self.time, 'HH:mm', locale='de')}."


def drawn(rng: random.Random) -> Notice:
    """Returns any notice."""
    return Notice(rng.choice([*EVENTS]), rng.randrange(DAYS), rng.randrange(QUARTERS))


def earlier(notice: Notice, rng: random.Random) -> Notice:
    """Returns what the notice may have said before it was changed."""
    if rng.random() < RIGHT:
        return notice
    parts = zip(notice, drawn(rng), strict=True)
    return Notice(*(other if rng.random() < CHANGED else part for part, other in parts))


def main() -> None:
    """Runs the script."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="gets text/PART.SIDE")
    text, rng = parser.parse_args().folder / "text", random.Random(1)
    text.mkdir(parents=True, exist_ok=True)
    notices = list(dict.fromkeys(drawn(rng) for _ in range(2 * sum(SIZES.values()))))
    for part, size in SIZES.items():
        chosen, notices = notices[:size], notices[size:]
        sides = {
            "src": [notice.english() for notice in chosen],
            "mt": [earlier(notice, rng).german() for notice in chosen],
            "pe": [notice.german() for notice in chosen],
        }
        for side, lines in sides.items():
            path = text / f"{part}.{side}"
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


if __name__ == "__main__":
    run_cli(main)
