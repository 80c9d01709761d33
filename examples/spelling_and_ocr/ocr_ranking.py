"""Re-ranks the hypotheses of a trained corrector by the words of the training text.

Weights and threshold are chosen on dev and written beside the checkpoint, so that
``python -m lev_plugins correct`` uses them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from ocr_pieces import paired_pieces
from ocr_scores import Scores, aligned
from score_typos import symspell

from lev_plugins.errors import UserError
from lev_plugins.inference.correction import Correction, Corrector, settings
from lev_plugins.inference.correction.corrections import apply_edits
from lev_plugins.inference.correction.ranking import Ranker, RankingBackend
from lev_plugins.inference.correction.units import NO_CONTEXT, core_of

Decode = Callable[[list[str]], list[str]]
Key = Callable[[Scores], tuple[int, int]]
#: A noisy word is listed where this share of its clean words is the same one.
MAJORITY = 0.8
STEPS = 20  # thresholds that are tried
BATCH = 64


class Candidate(NamedTuple):
    """A way to decode: what is shown of it, how it corrects text, with which checkpoints, and
    LevT's deletion threshold."""

    label: str
    decode: Decode
    paths: tuple[Path, ...] = ()
    threshold: float | None = None


class Scored(Protocol):
    """Noisy lines that can be scored once they are corrected."""

    noisy: list[str]

    def score(self, lines: list[str]) -> Scores: ...


def resources(
    work: Path,
    noisy: Sequence[str],
    clean: Sequence[str],
    lexicon: str | None = None,
    lookup: str | None = None,
) -> settings.Settings:
    """Lexicon and look-up table: files that are given, the lexicon of prepare_ocr.sh, or those of
    the training text, which are written into WORK/ranking."""
    folder = work / "ranking"
    folder.mkdir(exist_ok=True)
    if lexicon is None and (work / "lexicon.txt").is_file():
        lexicon = str(work / "lexicon.txt")
    if lexicon is None:
        words = Counter(filter(None, (core_of(word) for line in clean for word in line.split())))
        lexicon = _write(folder / "lexicon.txt", (f"{word} {n}" for word, n in words.items()))
    if lookup is None:
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        for before, after in zip(noisy, clean, strict=True):
            one, other = before.split(), after.split()
            for i, j in aligned(one, other):
                seen[one[i]][other[j]] += 1
        best = {word: counts.most_common(1)[0] for word, counts in seen.items()}
        listed = (
            f"{word}\t{right}"
            for word, (right, n) in best.items()
            if right != word and n >= MAJORITY * seen[word].total()
        )
        lookup = _write(folder / "lookup.tsv", listed)
    return settings.Settings(lexicon=lexicon, lookup=lookup)


def dictionary_corrected(known: settings.Settings, lines: Sequence[str]) -> list[str]:
    """Lines corrected by symspellpy with the words of a lexicon, in small letters as it wants them.

    Raises:
        UserError: it is not installed.
    """
    counts: Counter[str] = Counter()
    for word, count in known.resources().lexicon.counts.items():
        counts[word.lower()] += max(int(count), 1)
    try:
        return symspell(counts)(lines)
    except ImportError as error:
        raise UserError("--symspell needs symspellpy: pip install symspellpy") from error


def _write(path: Path, lines: object) -> str:
    text = "".join(f"{line}\n" for line in sorted(lines))  # type: ignore[call-overload]
    path.write_text(text, encoding="utf-8", newline="\n")
    return str(path)


@dataclass(frozen=True)
class Ranked:
    """A corrector whose hypotheses are re-ranked, and what it ranks by."""

    corrector: Corrector
    ranker: Ranker
    used: settings.Settings

    def correct(self, lines: list[str], threshold: float) -> list[str]:
        """Lines with the edits of at least this probability."""
        return [one.text for one in self._found(lines, threshold)]

    def _found(self, lines: list[str], threshold: float) -> list[Correction]:
        return self.corrector.correct(lines, min_confidence=threshold, batch_size=BATCH)

    def choose_threshold(self, dev: Scored, key: Key, most_broken: float) -> tuple[float, Scores]:
        """The threshold that is best by a key among those with which at most ``most_broken``
        words are miscorrected for each that is corrected; of equal ones the highest."""
        done = self._found(dev.noisy, 0.0)
        chances = [edit.probability for one in done for edit in one.edits]
        steps = np.quantile(chances, np.linspace(0, 1, STEPS)).tolist() if chances else []
        tried = []
        for threshold in sorted({0.0, 1.0, *steps}):
            scores = dev.score([_with(one, threshold) for one in done])
            if scores.miscorrected <= most_broken * scores.corrected:
                tried.append((key(scores), -threshold, scores))
        _, threshold, scores = min(tried, key=lambda one: one[:2])
        return -threshold, scores

    def store(self, checkpoint: Path, threshold: float, scores: Scores) -> str:
        """Puts the settings beside a checkpoint; returns the path of their file."""
        said = (
            f"on dev {scores.corrected} of {scores.counts.wrong_before} wrong words corrected, "
            f"{scores.miscorrected} of {scores.counts.right_before} right ones miscorrected"
        )
        made = replace(
            self.used,
            unit=self.corrector.unit,
            window=self.corrector.window or None,
            min_confidence=threshold,
            weights=self.ranker.named_weights(),
            tuned=said,
        )
        return settings.write(made, str(checkpoint))


def _with(one: Correction, threshold: float) -> str:
    made = (replace(e, applied=e.applied and e.probability >= threshold) for e in one.edits)
    return apply_edits(one.source, made)


def fitted(
    chosen: Candidate,
    data: str,
    words: int,
    search: tuple[int, int],
    known: settings.Settings,
    dev: tuple[Sequence[str], Sequence[str]],
) -> Ranked:
    """Loads the checkpoints of a candidate and fits the weights on dev.

    Args:
        data: folder with the dictionaries.
        words: of a segment, 0: whole lines.
        search: hypotheses, and LevT's iterations.
        known: lexicon and look-up table.
        dev: noisy and clean lines.
    """
    from lev_plugins.inference.correction.loading import load_backend

    beam, iterations = (search[0], None) if chosen.threshold is None else (None, search[1])
    options = {"beam": beam, "max_iter": iterations, "delete_threshold": chosen.threshold}
    used = replace(known, **options)
    paths = ":".join(map(str, chosen.paths))
    backend = load_backend(paths, data, processing={"bpe": "characters"}, **options)
    ranker = Ranker(backend, known.resources())
    pairs = [pair for one in zip(*dev, strict=True) for pair in paired_pieces(*one, words)]
    ranker.fit(((*pair, NO_CONTEXT) for pair in pairs), BATCH)
    words = words or (not backend.knows_spaces)  # single words that are lines
    unit, window = ("window", int(words)) if words else ("line", None)
    return Ranked(Corrector(RankingBackend(ranker), unit, window), ranker, used)
