"""How a checkpoint is to be used for correction: a file next to it, ``corrector.json``."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lev_runtime.errors import UserError
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import read_lines, reading

from .propose.ranking import WordLists
from .text.protection import Protection
from .text.units import check_unit
from .words.lexicon import KnownWords, Lexicon, Lookup, read_confusions
from .words.ngrams import Bigrams
from .words.prepared import write_arrays

NAME = "corrector.json"
#: Settings that name a file, which lies next to the checkpoint as ``corrector.NAME``.
FILES = ("lexicon", "lookup", "bigrams", "confusions", "protect_words", "known", "judge")
#: What older versions wrote: checksums, and that a text tells its share of errors.
GONE = ("files", "adapts")
#: Of these, what :mod:`.prepared` has a form for.
PREPARED: dict[str, type[Lexicon | Bigrams | KnownWords]] = {
    "lexicon": Lexicon,
    "bigrams": Bigrams,
    "known": KnownWords,
}


@dataclass(frozen=True)
class Settings:
    """Holds what ``correct`` uses by default.

    unit, window: as of :class:`~.corrector.Corrector`. min_confidence: probability of the edits
    that are made, where a call gives none. longest: characters that an edit may add, at most.
    temperature: of the model's probabilities (:func:`.calibrated`). protect_code: whether code and
    the like stay as they are (:mod:`.protection`). weights: of the ranking
    (:data:`.ranking.WEIGHTS`). tuned: what for. beam: width of the search of a left-to-right model
    (default 5; 0: among the words of the lexicon alone). Paths of lists (:mod:`.lexicon`):
    lexicon, lookup, bigrams, confusions; protect_words: words that stay; known: words that exist
    (:class:`.KnownWords`), by which edits are judged (:class:`.Evidence`), with the weights of
    judge; language: of the text, as of :data:`.languages.LANGUAGES`; grammar: whether everyday
    slips between English words are reported, too (:mod:`.usage`).
    """

    unit: str | None = None
    window: int | None = None
    min_confidence: float = 0.0
    lexicon: str | None = None
    lookup: str | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    longest: int | None = None
    tuned: str | None = None
    temperature: float = 1.0
    bigrams: str | None = None
    confusions: str | None = None
    beam: int | None = None
    protect_words: str | None = None
    protect_code: bool = False
    known: str | None = None
    judge: str | None = None
    language: str = "en"
    grammar: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that are none, or cannot be."""
        counts = [n for n in (self.window, self.beam, self.longest) if n is not None]
        numbers = [self.min_confidence, self.temperature, *self.weights.values(), *counts]
        if not all(isinstance(number, int | float) for number in numbers):
            raise ValueError("what should be a number is none")
        if not 0 <= self.min_confidence <= 1 or self.temperature <= 0 or min(counts, default=1) < 0:
            raise ValueError("a number is out of its range")

    @property
    def by_word(self) -> bool:
        """Returns whether words are ranked one by one, where candidates are."""
        return self.unit in (None, "word", "letters")

    @property
    def ranks(self) -> bool:
        """Returns whether candidates are ranked."""
        return bool(self.lexicon or self.lookup)

    def protection(self) -> Protection:
        """Reads the words of :attr:`protect_words`; raises UserError where they cannot be read."""
        return Protection(words=read_lines(self.protect_words) if self.protect_words else ())

    def vocabulary(self) -> WordLists:
        """The files of words; raises UserError where one cannot be read."""
        lexicon = Lexicon.read(self.lexicon) if self.lexicon else None
        return WordLists(
            lexicon,
            Lookup.read(self.lookup) if self.lookup else None,
            Bigrams.read(self.bigrams) if self.bigrams else None,
            read_confusions(self.confusions) if self.confusions else {},
        )


DEFAULTS = Settings()
NAMES = vars(DEFAULTS).keys()


def beside(checkpoint: str) -> str | None:
    """The settings file of a checkpoint, or of a folder of checkpoints, where there is one."""
    path = os.path.join(_folder(checkpoint), NAME)
    return path if os.path.isfile(path) else None


def chosen(path: str, file: str | None, given: Mapping[str, Any]) -> tuple[Settings, str | None]:
    """Returns what is set for a checkpoint, and the settings file that says so.

    Args:
        file: settings, ``"none"`` for none; by default those next to the checkpoint.
        given: settings that come before those of the file, where they are not None.

    Raises:
        UserError: settings that cannot be read or used.
    """
    settings_file = None if file == "none" else file or beside(path)
    stored = DEFAULTS if settings_file is None else read(settings_file)
    given = {name: value for name, value in given.items() if value is not None}
    if is_of_unit := not given.keys().isdisjoint({"unit", "window"}):
        window = given.get("window")
        given |= {"unit": check_unit(given.get("unit"), window), "window": window}
    try:
        use = replace(stored, **given)
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"settings: {error}") from None
    one_by_one = (None,) if stored.ranks else (None, "word")
    if use.ranks and not is_of_unit and use.unit in one_by_one:
        use = replace(use, unit="letters")  # lists are of words without punctuation
    tuned = stored.weights if use.by_word == stored.by_word else {}
    use = replace(use, weights={**tuned, **given.get("weights", {})})
    return use, settings_file


def _folder(checkpoint: str) -> str:
    path = os.path.abspath(checkpoint)
    return path if os.path.isdir(path) else os.path.dirname(path)


def read(path: str) -> Settings:
    """A settings file, next to which the files lie that it names; raises UserError for none and a
    broken one."""
    folder = os.path.dirname(os.path.abspath(path))
    with reading(path), open(path, "rb") as file:
        raw = file.read()
    try:
        items = json.loads(raw).items()
        stored = {key: value for key, value in items if value is not None and key not in GONE}
        for key in stored.keys() & {*FILES}:
            stored[key] = os.path.join(folder, os.path.basename(stored[key]))
        return Settings(**stored)
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is not a settings file ({error}); ignore it with --settings none, or "
            "replace it: lev-correct tune --settings none --path CHECKPOINT NOISY CLEAN"
        ) from None


def write(settings: Settings, checkpoint: str, prepare: bool = False) -> str:
    """Puts settings and the files that they name next to a checkpoint, or into its folder, each
    whole or not at all; returns the path of the settings file.

    Args:
        prepare: lists are written as :mod:`.prepared` has them, where it has.

    Raises:
        UserError: a file cannot be read or written.
    """
    folder = _folder(checkpoint)
    stored = asdict(settings)
    for key in FILES:
        if source := stored[key]:
            stored[key] = f"corrector.{key}"
            target = os.path.join(folder, stored[key])
            if prepare and key in PREPARED:
                write_arrays(target, PREPARED[key].read(source).arrays())
            elif not (os.path.exists(target) and os.path.samefile(source, target)):
                with reading(source), open(source, "rb") as file, whole_file(target) as copy:
                    shutil.copyfileobj(file, copy.buffer)
    path = os.path.join(folder, NAME)
    with whole_file(path) as stream:
        json.dump(stored, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return path
