"""How a checkpoint is to be used for correction: a file beside it, ``corrector.json``."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...errors import UserError
from ...io.output import whole_file
from ...io.reading import checksum
from ...io.text_files import read_lines
from .bigrams import Bigrams
from .confusions import Confusions
from .lexicon import Lexicon, Lookup
from .protection import Protection
from .word_ranking import DEFAULTS, FEATURES, Resources

NAME = "corrector.json"
LEXICON, LOOKUP = "corrector.lexicon", "corrector.lookup"
#: Settings that name a file → its name beside the checkpoint.
FILES: Mapping[str, str] = {
    "lexicon": LEXICON,
    "lookup": LOOKUP,
    "bigrams": "corrector.bigrams",
    "confusions": "corrector.confusions",
    "protect_words": "corrector.protected",
}
#: Settings of the search, as ``Corrector.from_pretrained`` has them; None: its default.
SEARCH = ("beam", "max_iter", "delete_threshold")


@dataclass(frozen=True)
class Settings:
    """What ``correct`` uses unless it is told otherwise.

    unit, window: as of :class:`~.corrector.Corrector`. min_confidence: threshold of edits.
    lexicon, lookup, bigrams, confusions, protect_words: paths of files. weights: of the ranking.
    longest: letters that a correction may have more than the word. tuned: what it was tuned for.
    temperature: of the probabilities (:mod:`.calibration`). beam, max_iter, delete_threshold: of
    the search.
    """

    unit: str | None = None
    window: int | None = None
    min_confidence: float = 0.0
    lexicon: str | None = None
    lookup: str | None = None
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULTS))
    longest: int = Resources.longest
    tuned: str | None = None
    temperature: float = 1.0
    bigrams: str | None = None
    confusions: str | None = None
    beam: int | None = None
    max_iter: int | None = None
    delete_threshold: float | None = None
    protect_words: str | None = None

    def protection(self) -> Protection:
        """Of the words of :attr:`protect_words`.

        Raises:
            UserError: a file that cannot be read.
        """
        return Protection(words=read_lines(self.protect_words) if self.protect_words else ())

    def resources(self) -> Resources:
        """Reads the files.

        Raises:
            UserError: one that cannot be read.
        """
        return Resources(
            Lexicon.read(self.lexicon) if self.lexicon else None,
            Lookup.read(self.lookup) if self.lookup else None,
            longest=self.longest,
            bigrams=Bigrams.read(self.bigrams) if self.bigrams else None,
            confusions=Confusions.read(self.confusions) if self.confusions else None,
        )


def beside(checkpoint: str) -> str | None:
    """The settings file of a checkpoint, or of a folder of checkpoints, where there is one."""
    path = os.path.join(_folder(checkpoint), NAME)
    return path if os.path.isfile(path) else None


def chosen(
    path: str, file: str | None, given: Mapping[str, str | None]
) -> tuple[Settings, str | None]:
    """What is set for a checkpoint, and the settings file that says so.

    Args:
        path: as of :meth:`~.corrector.Corrector.from_pretrained`.
        file: settings, ``"none"`` for none; by default those beside the checkpoint.
        given: files of :data:`FILES`, which come before those of the settings.

    Raises:
        UserError: settings that cannot be read.
    """
    from ..checkpoints import separate_paths  # slow to import

    found = file or beside(separate_paths(path)[0])
    if found == "none":
        found = None
    use = Settings() if found is None else read(found)
    named: dict[str, Any] = {key: name for key, name in given.items() if name}
    before, use = use, Settings(**{**asdict(use), **named})
    if not (use.lexicon or use.lookup):
        return use, found
    if not (before.lexicon or before.lookup):
        unit = "letters" if use.unit == "word" else use.unit
        tuned = use.tuned and f"{use.tuned}; without the lists that are given now"
        use = replace(use, unit=unit, tuned=tuned, weights={}, longest=Resources.longest)
    elif not before.lookup:  # its weights were tuned without a table
        known = {name: value for name, value in use.weights.items() if name != "lookup"}
        use = replace(use, weights=known)
    return replace(use, unit=use.unit or "letters"), found  # words are ranked one by one


def _folder(checkpoint: str) -> str:
    path = os.path.abspath(checkpoint)
    return path if os.path.isdir(path) else os.path.dirname(path)


def read(path: str) -> Settings:
    """A settings file.

    Raises:
        UserError: no such file, one that is broken, or one whose files are gone or were changed.
    """
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        files = stored.pop("files")
        stored.pop("calibration_error", None)  # of version 0.5
        settings = Settings(**stored)
        _check(settings)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} is no settings file ({error}); leave it out with --settings none, also to "
            "write it anew: --settings none --tune NOISY CLEAN"
        ) from error
    found: dict[str, Any] = {}
    for key in FILES:
        if getattr(settings, key):
            name = os.path.join(os.path.dirname(os.path.abspath(path)), getattr(settings, key))
            if not os.path.isfile(name) or checksum(name) != files[key]:
                raise UserError(
                    f"{name} is not the file that {path} was tuned with; bring it back, or leave "
                    "the settings out: --settings none, also to tune anew"
                )
            found[key] = name
    return Settings(**{**asdict(settings), **found})


def _check(settings: Settings) -> None:
    numbers = [settings.min_confidence, settings.longest, *settings.weights.values()]
    numbers.append(settings.temperature)
    numbers += [one for key in SEARCH if (one := getattr(settings, key)) is not None]
    if not all(isinstance(one, (int, float)) for one in numbers):
        raise ValueError("what should be a number is none")
    counts = [one for one in (settings.beam, settings.max_iter) if one is not None]
    if not all(isinstance(one, int) and one >= 1 for one in counts):
        raise ValueError("beam and max_iter must be whole numbers, 1 or more")
    if not settings.temperature > 0:
        raise ValueError(f"a temperature of {settings.temperature}")
    if not set(settings.weights) <= set(FEATURES):
        raise ValueError(f"there are no weights but {', '.join(FEATURES)}")
    for name in (getattr(settings, key) for key in FILES):
        if name is not None and os.path.basename(name) != name:
            raise ValueError(f"{name!r} is not beside it")


def write(settings: Settings, checkpoint: str) -> str:
    """Puts settings and the files that they name beside a checkpoint, or into its folder, whole or
    not at all.

    Returns:
        the path of the settings file.

    Raises:
        UserError: the folder cannot be written.
    """
    folder = _folder(checkpoint)
    stored = {**asdict(settings), "files": {}}
    try:
        for key, name in FILES.items():
            source, target = getattr(settings, key), os.path.join(folder, name)
            if source:
                if not (os.path.exists(target) and os.path.samefile(source, target)):
                    with open(source, "rb") as file, whole_file(target) as copy:
                        shutil.copyfileobj(file, copy.buffer)
                stored[key], stored["files"][key] = name, checksum(target)
        path = os.path.join(folder, NAME)
        with whole_file(path) as stream:
            json.dump(stored, stream, indent=1, ensure_ascii=False)
            stream.write("\n")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return path
