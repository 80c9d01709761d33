"""Correctors of single words, trained ones and the dictionary that users would pick.

    python benchmarks/spelling_peers.py TEXT --system LevT=levt.pt --system PBD=pbd.pt

TEXT is the folder of examples/spelling_and_ocr/prepare_codespell.py. Every system gets the same
words in one run: the held-out misspellings (accuracy: how many are corrected), and right words, of
which none should change (miscorrected): known ones, which are corrections of the training set, and
new ones, corrections in codespell's dictionary of which no misspelling is in TEXT.

symspellpy (pip install -r benchmarks/requirements-peers.txt) runs twice: with the English frequency
dictionary that comes with it, and with the corrections of the training set as its dictionary. The
first knows far more words than the models, the second exactly the words that can be right.
"""

import argparse
import importlib.metadata
import importlib.resources
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "examples" / "spelling_and_ocr"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import prepare_codespell  # noqa: E402

from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference import averaging  # noqa: E402
from lev_plugins.inference.correction.vocabulary import with_case  # noqa: E402
from lev_plugins.io.text_files import read_lines  # noqa: E402

SPACE = prepare_codespell.SPACE
FREQUENCIES = "frequency_dictionary_en_82_765.txt"

Correct = Callable[[Sequence[str]], list[str]]


class System(NamedTuple):
    """Something that corrects words.

    correct: words → words, in order. size: what it knows, in words.
    """

    name: str
    correct: Correct
    size: str


class Words(NamedTuple):
    """What is corrected: misspellings and what they should be, and right words of two kinds."""

    typos: list[str]
    meant: list[str]
    known: list[str]
    new: list[str]


class Result(NamedTuple):
    """What a system did. together, alone: milliseconds a word, all in one call or one a call."""

    system: System
    corrected: int
    miscorrected_known: int
    miscorrected_new: int
    together: float
    alone: float


# ---------------------------------------------------------------- words


def read_words(text: Path, count: int, seed: int) -> tuple[Words, Counter[str]]:
    """The words to correct, at most ``count`` of each kind, and the training set's corrections.

    Raises:
        UserError: TEXT lacks a file.
    """
    train = Counter(plain(text / "train.word"))
    known = {*train, *plain(text / "valid.word"), *plain(text / "test.word")}
    rng = random.Random(seed)
    words = Words(
        plain(text / "test.typo")[:count],
        plain(text / "test.word")[:count],
        sample(sorted(train), count, rng),
        sample(new_words(known), count, rng),
    )
    return words, train


def plain(path: Path) -> list[str]:
    """Lines of characters as words."""
    if not path.is_file():
        script = "python examples/spelling_and_ocr/prepare_codespell.py"
        raise UserError(f"no file {path}: {script} {path.parent} makes it")
    return [line.replace(" ", "").replace(SPACE, " ") for line in read_lines(str(path))]


def new_words(known: set[str]) -> list[str]:
    """Single words of codespell's corrections that are not ``known``, in order.

    Raises:
        UserError: codespell is not installed, or has a dictionary of another form.
    """
    try:
        pairs = prepare_codespell.single_corrections(prepare_codespell.installed_dictionary())
    except ValueError as error:
        raise UserError(str(error)) from error
    misspelt = {typo for typo, _ in pairs}
    found = {word for _, word in pairs if word.isalpha()}
    return sorted(found - known - misspelt)


def sample(words: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """``count`` of the words, or all where there are no more."""
    return rng.sample(list(words), min(count, len(words)))


# ---------------------------------------------------------------- systems


def symspell(frequencies: Counter[str] | None, distance: int) -> System:
    """symspellpy with a dictionary of its own (None) or of given words.

    Raises:
        UserError: it is not installed.
    """
    try:
        from symspellpy import SymSpell, Verbosity
    except ImportError as error:
        raise UserError(
            "symspellpy is not installed: pip install -r benchmarks/requirements-peers.txt, or "
            "leave it out with --no-symspell"
        ) from error
    speller = SymSpell(max_dictionary_edit_distance=distance, prefix_length=7)
    if frequencies is None:
        name = "symspellpy, its dictionary"
        with importlib.resources.as_file(
            importlib.resources.files("symspellpy") / FREQUENCIES
        ) as path:
            speller.load_dictionary(str(path), term_index=0, count_index=1)
    else:
        name = "symspellpy, training words"
        for word, frequency in frequencies.items():
            speller.create_dictionary_entry(word, frequency)
    # its own dictionary has lower case only; capitals are put back here (see score_typos.symspell)
    small = frequencies is None

    def word_of(word: str) -> str:
        asked = word.lower() if small else word
        found = speller.lookup(asked, Verbosity.TOP, max_edit_distance=distance)
        if not found or found[0].term == asked:
            return word
        return with_case(found[0].term, word) if small else found[0].term

    return System(name, lambda words: list(map(word_of, words)), f"{len(speller.words):,} words")


def trained(name: str, path: str, data: str | None, args: argparse.Namespace) -> System:
    """A checkpoint of ours, by the corrector's interface.

    Raises:
        UserError: it cannot be read or does not correct.
    """
    from lev_plugins.inference.correction import Corrector

    corrector = Corrector.from_pretrained(path, data)

    def correct(words: Sequence[str]) -> list[str]:
        return [one.text for one in corrector.correct(words, batch_size=args.batch_size)]

    tensors = averaging.load(Path(path))["model"].values()
    sizes = {one.untyped_storage().data_ptr(): one.numel() for one in tensors}
    return System(name, correct, f"{sum(sizes.values()) / 1e6:.2f} M parameters")


def systems(args: argparse.Namespace, train: Counter[str]) -> list[System]:
    """The no-edit baseline, symspellpy twice, and the checkpoints."""
    found = [System("no-edit baseline", list, "–")]
    if not args.no_symspell:
        found += [symspell(None, args.edit_distance), symspell(train, args.edit_distance)]
    for given in args.system:
        name, separator, path = given.partition("=")
        if not (separator and name and path):
            raise UserError(f"--system {given}: give NAME=FILE, a checkpoint")
        found.append(trained(name, path, args.data, args))
    return found


# ---------------------------------------------------------------- measuring


def measure(every: Sequence[System], words: Words, args: argparse.Namespace) -> list[Result]:
    """What each system does to all words; one after the other for each kind of measurement."""
    now = time.process_time if args.clock == "cpu" else time.perf_counter
    everything = [*words.typos, *words.known, *words.new]
    few = words.typos[:: max(len(words.typos) // args.alone, 1)][: args.alone]
    together, alone, outputs = {}, {}, {}
    for system in every:
        system.correct(few[:2])  # not counted: first allocations
        started = now()
        outputs[system.name] = system.correct(everything)
        together[system.name] = 1000 * (now() - started) / max(len(everything), 1)
    for system in every:
        started = now()
        for word in few:
            system.correct([word])
        alone[system.name] = 1000 * (now() - started) / max(len(few), 1)
    return [
        result(system, outputs[system.name], words, together[system.name], alone[system.name])
        for system in every
    ]


def result(
    system: System, outputs: Sequence[str], words: Words, together: float, alone: float
) -> Result:
    """Counts what is right, corrected and miscorrected.

    Args:
        outputs: of the misspellings, the known and the new words, one behind the other.
    """
    wanted = [*words.meant, *words.known, *words.new]
    right = [output == word for output, word in zip(outputs, wanted, strict=True)]
    ends = len(words.typos), len(words.typos) + len(words.known)
    return Result(
        system,
        sum(right[: ends[0]]),
        len(words.known) - sum(right[ends[0] : ends[1]]),
        len(words.new) - sum(right[ends[1] :]),
        together,
        alone,
    )


# ---------------------------------------------------------------- the report


def table(results: Sequence[Result], words: Words) -> str:
    """A line for each system."""

    def share(part: int, whole: int) -> str:
        return f"{part:>5} {100 * part / max(whole, 1):6.2f} %"

    width = max(len(one.system.name) for one in results)
    heads = (
        f"{'corrected':>14}{'miscorrected, known':>21}{'miscorrected, new':>19}"
        f"{'ms, all':>10}{'ms, one':>10}"
    )
    lines = [f"{'':{width}}{heads}  size"]
    for one in results:
        lines.append(
            f"{one.system.name:{width}}{share(one.corrected, len(words.typos))}"
            f"       {share(one.miscorrected_known, len(words.known))}"
            f"     {share(one.miscorrected_new, len(words.new))}"
            f"{one.together:>10.3f}{one.alone:>10.3f}  {one.system.size}"
        )
    return "\n".join(lines)


def signature(args: argparse.Namespace) -> str:
    """What the numbers depend on."""
    import torch

    versions = {}
    for package in ("symspellpy", "editdistpy", "codespell"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "none"
    parts = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        **versions,
        "cpu": machine("cpu"),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "clock": args.clock,
        "batch": args.batch_size,
        "edit-distance": args.edit_distance,
        "alone": args.alone,
        "seed": args.seed,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    number = prepare_codespell.whole_number(1)
    add(
        "text", type=Path, help="folder of prepare_codespell.py: test.typo, test.word, train.word …"
    )
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a checkpoint of a corrector of ours; can be repeated",
    )
    add("--data", help="folder with the dictionaries (default: those of each checkpoint)")
    add("--words", type=number, default=1500, help="of each kind, at most (default 1500)")
    add("--alone", type=number, default=100, help="words for the time of one (default 100)")
    add("--batch-size", type=number, default=250, help="of our correctors (default 250)")
    add("--edit-distance", type=number, default=2, help="symspellpy's limit (default 2)")
    add("--no-symspell", action="store_true", help="leave symspellpy out")
    add("--threads", type=number, help="torch's threads (default: torch's own choice)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="wall: what one waits (default); cpu: what the process computes, for a machine that "
        "others use meanwhile",
    )
    add("--seed", type=int, default=1, help="of the sample of right words (default 1)")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = parser().parse_args(argv)
    if args.threads:
        import torch

        torch.set_num_threads(args.threads)
    words, train = read_words(args.text, args.words, args.seed)
    results = measure(systems(args, train), words, args)
    print(
        f"{len(words.typos):,} misspellings; {len(words.known):,} right words of the training set, "
        f"{len(words.new):,} that are in no part of the data"
    )
    print(table(results, words))
    print("ms: a word, where all are given at once and where one is given at a time")
    print(signature(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
