"""Fits the judge of a corrector, and says what it does to text that the fit has not seen.

    python examples/spelling_and_ocr/fit_judge.py OUT TEXT… --misspellings NOISY CLEAN
    python examples/spelling_and_ocr/fit_judge.py OUT TEXT… --misspellings NOISY CLEAN \\
        --typo-commits FOLDER [--labels FILE …]

Each TEXT is right text of one register, a paragraph a line. Of the corrector's known words a fifth,
by a hash, is hidden: rare words of right text are then in no list, in their natural place. What
the corrector proposes is noted in the text as it is; with misspellings, spaces and apostrophes
that are wrong, and words written for others, few and many; with hidden words in the place of
common ones, and with known ones; and in single words and short lines. A proposal is right where it
restores the text.

OUT gets the weights, those of a logistic regression for each kind of edit; a corrector.json beside
it names it. With --typo-commits OUT gets those of words in texts of few errors besides, fitted on
what people corrected, each line in the part of its file that typo_commits.py has, and on right text
with each fifth of the known words hidden in turn; of left-out right text as much becomes wrong as
EDITS says. --labels has the errors of right text: lines of its file's name, line, offset, what
stands there, the correction, a probability and "error", with tabs between. The table has what is
done to each kind of text, judged by the fit of other registers.
"""

import gzip
import json
import math
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
from lists import parser_of
from made_up_typos import Typist

from lev_correct import Corrector, settings
from lev_correct.corrector import DEFAULT_THRESHOLD
from lev_correct.document import Document
from lev_correct.files.markup import opens_sentence
from lev_correct.judge.features import FEW, TYPED, Weights
from lev_correct.judge.judge import OF_LISTS, Evidence, Kind, Run
from lev_correct.words.lexicon import TEXT, KnownWords
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import read_lines
from lev_runtime.logistic import logistic

#: One known word in so many is hidden.
HIDDEN = 5
#: Shares of words that are wrong; lines of each register with hidden words; lone words of a kind.
SHARES, TERMS, LONE = (0.01, 0.1), 600, 1200
#: The share of hidden words that stand there as names.
NAMES = 0.3
#: How much an example counts by what it is of. Most text that is read is right, and of its terms
#: all have to stay; learners' texts have more errors than ours, and fewer rare words. With hidden
#: words alone a fit takes a word's level for nothing: all of them have none.
COUNTS = {
    **{"right": 20.0, "term": 30.0, "known": 30.0, "lone right": 10.0, "lone known": 10.0},
    **{"few": 2.0, "right of few": 4.0, "many": 16.0},
    **dict.fromkeys(("right of many", "right of term", "right of known"), 0.0),
}
#: The same in texts of few errors; what else the lines of commits and ours propose is not counted:
#: half of it are errors, too.
COUNTS_OF_FEW = {"right": 1.0, "term": 1.0, "commits": 2.0, "line": 0.4}
#: Wrong edits of unlisted words in 1,000 right ones of registers left out.
EDITS = 0.05
#: The same of right lines that are texts of their own and of no file.
TYPED_EDITS = 0.07
STRENGTH = 0.3  # of the regression's regularization, the inverse
FEWEST = 20  # examples of either class that a kind needs; of one with fewer the model tells,
UNLEARNT = -8.0  # nats: but not of spaces, of which each proposal is as sure
THE_MODEL = {"bias": (-0.5, 0.0), "certain": (1.0, 0.0), "sure": (1.0, 0.0)}
#: A list says more of a misspelling than our texts, in which it is more often wrong than right.
OF_LISTED = {
    **THE_MODEL,
    **{"bias": (0.0, 0.0), "not the first correction": (-4.6, 0.0), "name": (-8.7, 0.0)},
}
#: What no text here tells: by hand, in nats, of three source trees. Comments have more errors than
#: right text, of which there is little, and many words that are rightly written apart.
BY_HAND = {"no prose": 0.5, "returns in the files": -6.0, "oftener in the files": 3.0}
SPACED, NO_PROSE = ("left out", "put in"), -1.5
#: What a text with more errors cannot have a lower chance by: such a weight only tells our texts
#: apart, and is left out.
NEVER_FALLS = "errors in the text"
#: Texts of a line each, which nothing else tells of.
ALONE = ("lone wrong", "lone right", "lone known", "short wrong", "short right", "line")
#: Texts of which all is right.
ALL_RIGHT = ("right", "term", "lone right", "short right")
WORD = re.compile(r"(?<![\w'’/.@-])[^\W\d_]+(?:['’][^\W\d_]+)?(?![\w'’/@-])")
#: A hidden word and a correction of the same stem: *automations* is in most lists, and no term.
_ENDING = "(?:s|es|d|ed|ing|ly|al|er|r|y|n|ic|e|a)?"
INFLECTED = re.compile(rf"(\w{{3,}}){_ENDING} > \1{_ENDING}", re.IGNORECASE)
#: Parts of the registers that are left out in turn; bounds of what is stated.
PARTS, STEPS = 4, (0.3, 0.5, 0.7, 0.9, 0.99, 1.01)
Table = dict[str, tuple[float, float]]


class Example(NamedTuple):
    """A proposal: of which register and kind of text, what is judged, whether it is right."""

    register: str
    source: str
    kind: str
    features: dict[str, float]
    is_right: bool
    text: str


class Forgetful(NamedTuple):
    """Known words without a part of them."""

    words: KnownWords
    part: int = 0

    def level(self, word: str) -> int:
        return 0 if is_hidden(word, self.part) else self.words.level(word)


def is_hidden(word: str, part: int = 0) -> bool:
    """Returns whether a word is hidden, by its hash."""
    return zlib.crc32(word.encode()) % HIDDEN == part


def forgetful(corrector: Corrector, part: int = 0) -> Run:
    """Returns what texts share whose proposals are noted, and that do not know a part of the known
    words."""
    known = Forgetful(KnownWords.read(corrector.settings.known), part)
    return Run(corrector.backend, known, Weights({}), corrector.languages, measured=[])


#: Where a word begins and ends that was changed, and what was meant there.
Gold = tuple[int, int, str]


class Spoiler:
    """Writes wrong what is right, and knows what was right.

    Args:
        corrector: whose lists say which words are common, and which are written for others.
        pairs: misspellings of people, and their words.
        capitals: whether words have a capital that are no names.
    """

    def __init__(
        self, corrector: Corrector, pairs: Sequence[tuple[str, str]], capitals: bool = False
    ) -> None:
        self.words, self.capitals, self.rng = corrector.backend, capitals, random.Random(1)
        self.of: dict[str, list[str]] = defaultdict(list)
        for wrong, right in pairs:
            self.of[right.lower()].append(wrong.lower())
        self.typist = Typist(
            [(wrong, right) for right, all in self.of.items() for wrong in all], self.rng
        )
        known = KnownWords.read(corrector.settings.known)
        words = (
            line.partition("\t")[0] for line in known.arrays()[TEXT].tobytes().decode().splitlines()
        )
        words = [word for word in words if word.isalpha() and len(word) > 3]
        words = [word for word in words if not self.is_two(word)]
        unlisted = filter(self.is_unlisted, words)
        self.hidden, self.known = [], []
        for word in unlisted:
            (self.hidden if is_hidden(word) else self.known).append(word)

    def cased(self, *words: str) -> tuple[str, ...]:
        """Returns words, half of the time with a capital where it says nothing."""
        has_capital = self.capitals and self.rng.random() < 0.5
        return tuple(map(str.capitalize, words)) if has_capital else words

    def is_unlisted(self, word: str) -> bool:
        """Returns whether no list has a word, neither as right nor as wrong."""
        return not (self.words.knows(word) or self.words.misspelt(word))

    def is_two(self, word: str) -> bool:
        """Returns whether a word of a list is two common ones without their space (*ofthe*)."""
        spacing = self.words.spacing
        common = spacing.common if spacing else ()
        return any(word[:cut] in common and word[cut:] in common for cut in range(1, len(word)))

    def misspelt(self, word: str) -> str:
        """Returns a misspelling: one of people, or made up."""
        listed = self.of.get(word)
        return self.rng.choice(listed) if listed and self.rng.random() < 0.5 else self.typist(word)

    def wrong(self, word: str) -> str:
        """Returns a common word as it may be written by mistake."""
        kind, cut = self.rng.random(), self.rng.randrange(1, len(word))
        if "'" in word:
            return word.replace("'", "") if kind < 0.5 else word
        if kind < 0.1:
            return f"{word[:cut]} {word[cut:]}"
        if kind < 0.2 and word in self.words.confused:
            return self.rng.choice(self.words.confused[word])
        return self.misspelt(word) if len(word) > 3 else word

    def line(self, line: str, share: float) -> tuple[str, list[Gold]]:
        """Returns a line with a share of its words wrong, and of each where it stands and what
        stood there."""
        parts, golds, end, size = [], [], 0, 0
        for match in WORD.finditer(line):
            word = match[0].lower()
            opens = match[0] == word.capitalize()
            opens &= self.capitals or opens_sentence(line, match.start())
            if len(word) < 2 or not (opens or match[0] == word) or not self.words.knows(word):
                continue
            if self.rng.random() > share:
                continue
            wrong, last, meant = self.wrong(word), match.end(), word
            if opens:
                wrong, meant = wrong.capitalize(), match[0]
            follower = WORD.match(line, last + 1)
            if (
                line[last : last + 1] == " "
                and follower
                and self.rng.random() < 0.06
                and match.start() >= end
            ):
                last = follower.end()
                cut = self.rng.choice((len(word), len(word) - 1, len(word) + 1))
                meant, joined = line[match.start() : last], match[0] + follower[0]
                wrong = joined if cut == len(word) else f"{joined[:cut]} {joined[cut:]}"
            if (
                wrong == meant
                or self.words.knows(wrong)
                and wrong not in self.words.confused
                or match.start() < end
            ):
                continue
            parts += [line[end : match.start()], wrong]
            size += match.start() - end
            golds.append((size, size + len(wrong), meant))
            size, end = size + len(wrong), last
        return "".join(parts) + line[end:], golds

    def short(self, line: str) -> str:
        """Returns two to four words of a line."""
        words, size = line.split(), self.rng.randint(2, 4)
        start = self.rng.randrange(max(len(words) - size, 0) + 1)
        return " ".join(words[start : start + size])

    def term(self, line: str, words: Sequence[str]) -> tuple[str, list[Gold]]:
        """Returns a line with one of some words, a term or name, in the place of a common one, and
        where it stands."""
        places = [
            m
            for m in WORD.finditer(line)
            if len(m[0]) > 4 and m[0].islower() and self.words.knows(m[0])
        ]
        if not (places and words):
            return line, []
        match, word = self.rng.choice(places), self.rng.choice(words)
        word = word.capitalize() if self.rng.random() < NAMES else word
        start, end = match.start(), match.start() + len(word)
        return line[:start] + word + line[match.end() :], [(start, end, word)]


def examples(
    corrector: Corrector,
    run: Run,
    register: str,
    source: str,
    lines: Sequence[str],
    golds: Sequence[Sequence[Gold]] = (),
) -> Iterator[Example]:
    """Yields what the corrector proposes in a text; run: of :func:`forgetful`; golds: what was
    changed in each of its lines."""
    run.measured = []
    for text in [[line] for line in lines] if source in ALONE else [lines]:
        document = Document(Evidence(run), corrector.backend.knows)
        corrector.correct(text, document=document, min_confidence=1.0)
    wrong = defaultdict(list)
    for line, line_golds in zip(lines, golds or [()] * len(lines), strict=True):
        wrong[line] = list(line_golds)
    seen = set()
    for line, start, before, after, kind, features in run.measured:
        meant, is_changed = before, not golds
        for first, last, right in wrong[line]:
            if first < start + len(before) and start < last:
                is_changed = True
                inside = start <= first and last <= start + len(before)
                meant = before[: first - start] + right + before[last - start :] if inside else ""
        key = line, start, after, kind
        if key not in seen:
            seen.add(key)
            of = source if is_changed else f"right of {source}"
            is_right = meant.lower() == after.lower()
            yield Example(register, of, kind, features, is_right, f"{before} > {after}")


def collected(
    corrector: Corrector, spoiler: Spoiler, texts: dict[str, list[str]]
) -> Iterator[Example]:
    """Yields the examples of all registers, and of lone words in as many."""
    run = forgetful(corrector)

    def noted(register: str, source: str, pairs: Sequence[tuple[str, list[Gold]]]):
        return examples(corrector, run, register, source, *map(list, zip(*pairs, strict=True)))

    for register, lines in texts.items():
        yield from examples(corrector, run, register, "right", lines)
        for number, (share, source) in enumerate(zip(SHARES, ("few", "many"), strict=True)):
            pairs = [spoiler.line(line, share) for line in lines[number::2]]
            yield from noted(register, source, pairs)
        for source, terms in (("term", spoiler.hidden), ("known", spoiler.known)):
            yield from noted(
                register, source, [spoiler.term(line, terms) for line in lines[:TERMS]]
            )
    rng = spoiler.rng
    words = [
        word
        for lines in texts.values()
        for line in lines
        for word in WORD.findall(line)
        if word.islower()
    ]
    common = [word for word in dict.fromkeys(words) if len(word) > 3 and spoiler.words.knows(word)]
    people = [(wrong, right) for right, all in spoiler.of.items() for wrong in all]
    people = rng.sample(people, min(LONE, len(people)))
    own = [(spoiler.misspelt(word), word) for word in rng.sample(common, min(LONE, len(common)))]
    lone = [(wrong, right) for wrong, right in people + own if not spoiler.words.knows(wrong)]
    for number, (register, lines) in enumerate(texts.items()):
        part = [spoiler.cased(*pair) for pair in lone[number :: len(texts)]]
        pairs = [(wrong, [(0, len(wrong), right)]) for wrong, right in part]
        yield from noted(register, "lone wrong", pairs)
        for source, terms in (("lone right", spoiler.hidden), ("lone known", spoiler.known)):
            sample = [spoiler.cased(w)[0] for w in rng.sample(terms, min(LONE // 5, len(terms)))]
            yield from examples(corrector, run, register, source, sample)
        short = [line for line in map(spoiler.short, rng.choices(lines, k=LONE // 5)) if line]
        right = [spoiler.term(line, spoiler.hidden)[0] for line in short]
        yield from examples(corrector, run, register, "short right", right)
        yield from noted(register, "short wrong", [spoiler.line(line, 0.5) for line in short])


def collected_of_few(
    corrector: Corrector, spoiler: Spoiler, texts: dict[str, list[str]], commits: Path
) -> Iterator[Example]:
    """Yields the examples of words in texts of few errors: of all registers, and of commits, each
    of whose excerpts is a text."""
    runs = [forgetful(corrector, part) for part in range(HIDDEN)]
    for register, lines in texts.items():
        for run in runs:
            yield from examples(corrector, run, register, "right", lines)
        for source, pairs in (
            ("term", [spoiler.term(line, spoiler.hidden) for line in lines[:TERMS]]),
            ("line", [spoiler.line(line, SHARES[1]) for line in lines[: TERMS // 2]]),
        ):
            pairs = [pair for pair in pairs if pair[1]]
            rows = [*zip(*pairs, strict=True)]
            yield from examples(corrector, runs[0], register, source, *map(list, rows))
    for path in sorted(commits.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as excerpts:
            for row in map(json.loads, excerpts):
                if row["place"] != "fence":
                    golds = corrected(row)
                    yield from examples(
                        corrector, runs[0], path.name, "commits", row["lines"], golds
                    )


def corrected(row: dict) -> list[list[Gold]]:
    """Returns what people corrected in each line of a row of typo_commits.py."""
    line = row["lines"][row["line"]]
    found = ((re.search(rf"\b{re.escape(old)}\b", line), new) for old, new in row["words"])
    golds: list[list[Gold]] = [[] for _ in row["lines"]]
    golds[row["line"]] = [(*match.span(), new) for match, new in found if match]
    return golds


def labelled(paths: Sequence[Path]) -> set[tuple[str, str]]:
    """Returns the errors of right text, each as its register and ``before > after``."""
    rows = [line.split("\t") for path in paths for line in read_lines(str(path))]
    return {
        (Path(row[0]).stem, f"{row[3]} > {row[4]}")
        for row in rows
        if not row[0].startswith("#") and row[6] == "error"
    }


def table(rows: Sequence[Example], counts: dict[str, float], without: str = TYPED) -> Table | None:
    """Returns the weights of the features in some rows of one kind, and their mean; None where
    there are too few.

    Args:
        without: a feature that is left out.
    """
    right = np.array([row.is_right for row in rows], bool)
    if min(right.sum(), (~right).sum()) < FEWEST:
        return None
    names = [name for name in rows[0].features if name not in (*BY_HAND, TYPED, without)]
    values = np.array([[row.features[name] for name in names] for row in rows])
    mean, scale = values.mean(0), np.maximum(values.std(0), 1e-6)
    standard = np.column_stack([np.ones(len(rows)), (values - mean) / scale])
    ridge = np.array([0.0] + [1 / STRENGTH] * len(names))
    bias, *scaled = logistic(standard, right, [counts.get(row.source, 1.0) for row in rows], ridge)
    weights = scaled / scale
    learnt = {n: (round(float(w), 4), round(float(m), 4)) for n, w, m in zip(names, weights, mean)}
    if learnt.get(NEVER_FALLS, (0.0, 0.0))[0] < 0:
        return table(rows, counts, NEVER_FALLS)
    by_hand = {name: (weight, 0.0) for name, weight in BY_HAND.items()}
    return {"bias": (round(float(bias), 4), 0.0)} | learnt | by_hand


def fitted(rows: Sequence[Example]) -> dict[str, Table]:
    """Returns the weights of each kind of edit."""
    by_hand = {name: (weight, 0.0) for name, weight in BY_HAND.items()}
    kinds = {kind: THE_MODEL | by_hand for kind in get_args(Kind)}
    kinds |= {"listed": OF_LISTED, "confused": THE_MODEL}
    for kind in kinds.keys() - {*OF_LISTS}:
        unlearnt = kinds[kind] | ({"bias": (UNLEARNT, 0.0)} if kind in SPACED else {})
        learnt = table([row for row in rows if row.kind == kind], COUNTS)
        kinds[kind] = learnt or unlearnt
        if learnt and kind in SPACED:
            kinds[kind]["no prose"] = (NO_PROSE, 0.0)
    return kinds


def fitted_of_few(rows: Sequence[Example]) -> dict[str, Table]:
    """Returns the weights of words in texts of few errors; exits where there are too few."""
    learnt = table([row for row in rows if row.source in COUNTS_OF_FEW], COUNTS_OF_FEW)
    if learnt is None:
        raise SystemExit("error: too few words of texts and commits to learn from: give more")
    return {FEW: learnt}


def left_out(
    rows: Sequence[Example], fit: Callable[[Sequence[Example]], dict[str, Table]]
) -> np.ndarray:
    """Returns the log-odds of each example by the fit of other registers."""
    odds, registers = np.zeros(len(rows)), sorted({row.register for row in rows})
    for part in range(PARTS):
        held = {*registers[part::PARTS]}
        weights = Weights(fit([row for row in rows if row.register not in held]))
        for number, row in enumerate(rows):
            if row.register in held:
                odds[number], _ = weights.judged(row.kind, row.features)
    return odds


def report(rows: Sequence[Example], odds: np.ndarray) -> None:
    """Prints what becomes of texts of each kind, and how much of what is stated comes true."""
    chances, counts = 1 / (1 + np.exp(-odds)), defaultdict(lambda: [0, 0])
    for chance, row in zip(chances, rows, strict=True):
        wanted = row.source in ALL_RIGHT or row.is_right
        counts[row.source][0] += chance >= DEFAULT_THRESHOLD and wanted
        counts[row.source][1] += wanted
    for source, (edits, of) in counts.items():
        if of:
            print(f"{source}: {edits} of {of} {'changed' if source in ALL_RIGHT else 'right'}")
    # terms are far more than met, and the rest of their lines is counted as right text
    met = np.array([not re.search("term|known", row.source) for row in rows])
    right = np.array([row.is_right for row in rows])
    for low, high in zip(STEPS, STEPS[1:]):
        inside = (chances >= low) & (chances < high) & met
        if inside.any():
            stated = f"stated {low} to {min(high, 1)}"
            print(f"{stated}: {right[inside].mean():.1%} of {inside.sum()} right")


def main() -> None:
    """Runs the command."""
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--misspellings", nargs=2, required=True, metavar=("NOISY", "CLEAN"))
    parser.add_argument("--typo-commits", type=Path, metavar="FOLDER")
    parser.add_argument("--labels", type=Path, nargs="+", default=(), metavar="FILE")
    parser.add_argument("--path", help="corrector (default: the package's)")
    parser.add_argument("--capitals", action="store_true", help="nouns have one, as in German")
    args = parser.parse_args()
    corrector = Corrector.from_pretrained(args.path)
    pairs = [*zip(*map(read_lines, args.misspellings), strict=True)]
    pairs = [pair for pair in pairs if " " not in "".join(pair)]
    spoiler = Spoiler(corrector, pairs, args.capitals)
    texts = {
        path.stem: [line for line in read_lines(str(path)) if line.strip()] for path in args.texts
    }
    words = {name: sum(len(line.split()) for line in lines) for name, lines in texts.items()}
    if args.typo_commits:
        stored, errors = json.loads(args.out.read_bytes()), labelled(args.labels)
        rows = [
            row._replace(kind=FEW, is_right=row.is_right or (row.register, row.text) in errors)
            for row in collected_of_few(corrector, spoiler, texts, args.typo_commits)
            if row.kind == "word"
            and row.features["errors in the text"] < 0.5
            and not (row.source in ALL_RIGHT and INFLECTED.fullmatch(row.text))
        ]
        kinds = stored["kinds"] | fitted_of_few(rows)
        odds = left_out(rows, fitted_of_few)
        # the biases under which as much of left-out right text becomes wrong as it may
        is_wrong = [row.source == "right" and not row.is_right for row in rows]
        of_right_text = np.sort(odds[is_wrong])[::-1]
        most = (
            round(edits * sum(words.values()) * HIDDEN / 1000) for edits in (EDITS, TYPED_EDITS)
        )
        least = math.log(DEFAULT_THRESHOLD / (1 - DEFAULT_THRESHOLD))
        shift, of_typed = (least - of_right_text[number] for number in most)
        odds += shift
        kinds[FEW]["bias"] = (round(kinds[FEW]["bias"][0] + float(shift), 4), 0.0)
        kinds[FEW][TYPED] = (round(float(of_typed - shift), 4), 0.0)
        print("typed:")
        report(rows, odds + of_typed - shift)
        print("others:")
        told = stored["fitted on"] | {"few": {"words": words, "examples": len(rows)}}
    else:
        rows = [*collected(corrector, spoiler, texts)]
        kinds, odds = fitted(rows), left_out(rows, fitted)
        told = {"words": words, "examples": len(rows)}
    report(rows, odds)
    with whole_file(str(args.out)) as stream:
        json.dump({"kinds": kinds, "fitted on": told}, stream, indent=1)
    path = args.out.parent / settings.NAME
    if path.is_file():
        use = settings.read(str(path))
        use = replace(use, judge=str(args.out), min_confidence=0.0, protect_code=True)
        settings.write(use, str(args.out.parent))


if __name__ == "__main__":
    main()
