"""Translation memory: repair fuzzy translations, or train a model that edits them."""

import argparse
import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from lev_runtime.errors import UserError, printable, require_extra, require_share
from lev_runtime.io.commands import run_cli
from lev_runtime.io.lines import progress
from lev_runtime.io.options import Add, adder, make_parser
from lev_runtime.io.options import say as warn
from lev_runtime.io.text_files import read_bytes

from .formats.files import (
    READERS,
    Problems,
    files_in,
    folder_memory,
    language_of,
    messages,
    noted,
    read_document,
    write_json,
    write_lines,
)
from .formats.keys import FORMATS, KeyedFile
from .formats.markdown import ENDINGS as MARKDOWN
from .formats.markdown import OTHER_MARKUP, Markdown, committed
from .formats.tmx import write_tmx
from .formats.units import BilingualFile, subtags
from .memory import Pair
from .translation_memory import Decision, Filled, Report, TranslationMemory, proposals_of, summary

say = functools.partial(print, flush=True)

#: each command and what it does
ABOUT = {
    "repair": "Repair fuzzy translations from the project's own; needs no training.",
    "prepare": "Make training data from a memory.",
    "train": "Train the model, or resume.",
    "evaluate": "Choose settings, and score by similarity.",
    "propose": "Fill the fuzzy translations in files.",
}
USAGE = "repair PATH\nprepare WORK --memory PATH\ntrain WORK\nevaluate WORK\npropose WORK PATH"


def _add_prepare(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder to make", type=Path)
    kind = adder(parser.add_mutually_exclusive_group(required=True))
    kind(
        "--memory --po PATH",
        "folder with .po, XLIFF and .tmx files, or one of them",
        type=Path,
    )
    kind("--text FILE", "line-aligned sources and translations", nargs=2)
    kind(
        "--splits",
        "data already split into train.SRC, train.TGT, valid.SRC and so on, plain or .gz; matches "
        "next to them (train.old, .draft, .sim; .old2 …) are used",
        nargs=3,
        metavar=("FOLDER", "SRC", "TGT"),
    )
    add("--language CODE", "target language, if the memory has several", "")
    add("--vocabulary N", "number of subwords (default: 8000)", 8000)
    add(
        "--like WORK",
        "use the subwords of another memory, to start from its model",
        type=Path,
    )
    add("--plain-drafts", "train on drafts as they were too: a model for use without lev-memory")


def _add_train(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare; further options go to fairseq-train", type=Path)
    add("--minutes N", "CPU minutes of all stages together (default: 60)", 60.0)
    add("--seed N", "random seed (default: 1)", 1)
    add(
        "--start WORK",
        "start from the model of another memory, the one of prepare --like",
        type=Path,
    )


def _add_evaluate(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare and train", type=Path)
    add("--precision SHARE", "share of proposals to report (default: 0.8)", 0.8)


def _add_files(add: Add, place: str = "place PATH", **options: Any) -> None:
    about = "a .po or XLIFF file, or a folder with such files"
    if options:
        about += "; of Markdown, or texts by key (.json, .yml, .arb, .properties, .strings, .resx, "
        about += "strings.xml): the source as it was, the source as it is, and its translation"
    add(place, about, type=Path, **options)
    add("-o --output PATH", "write here and leave the files unchanged", type=Path)


def _add_proposals(add: Add, precision: str) -> None:
    add("--precision SHARE", f"{precision} (default: 0.8)", 0.8)
    add("--dry-run", "only report")
    add("--diff", "print the changes, do not write them")
    add("--backup", "keep the old file as FILE.bak")
    about = "write as JSON what becomes of each fuzzy entry, and why; of Markdown, a page of it"
    add("--report FILE", about, type=Path)
    add("--tmx OUT", "write proposals as a translation memory too, but none in part", type=Path)


def _add_repair(parser: argparse.ArgumentParser, add: Add) -> None:
    _add_files(add, "places PATH", nargs="+")
    since = "take the source as it was in this revision of its git repository"
    add("--since REVISION", since)
    new = "Markdown: put in what is new in the source, marked, and take out what it lost"
    add("--insert-new", new)
    more = "more translations to repair from; they match untranslated entries, too"
    add("--memory PATH", more, type=Path, nargs="+", default=[])
    add("--language CODE", "target language, if the files do not say it")
    _add_proposals(
        add, "share of proposals that must need fewer edits than the old text, in other projects"
    )


def _add_propose(parser: argparse.ArgumentParser, add: Add) -> None:
    add("work WORK", "folder of prepare and train", type=Path)
    _add_files(add)
    add("--memory PATH", "more files to match from", type=Path)
    add("--language CODE", "target language, if neither the files nor WORK say it", "")
    add(
        "--terms FILE",
        "glossary of source<TAB>translation; proposals contain its terms",
        type=Path,
    )
    _add_proposals(
        add,
        "share of proposals that must need fewer edits than the old text, on the validation part",
    )


_ADD = {
    "repair": _add_repair,
    "prepare": _add_prepare,
    "train": _add_train,
    "evaluate": _add_evaluate,
    "propose": _add_propose,
}


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """Returns the options of a command; without one, the parser of its name."""
    if command:
        parser = make_parser(f"memory {command}", ABOUT[command])
        _ADD[command](parser, adder(parser))
        return parser
    parser = make_parser("memory", __doc__ or "", usage=USAGE)
    order = "one after the other; COMMAND --help shows the options of one"
    commands = parser.add_subparsers(
        title="commands", description=order, dest="command", metavar="COMMAND", required=True
    )
    for name, about in ABOUT.items():
        commands.add_parser(name, help=about, add_help=False)
    return parser


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; ``extra`` is for fairseq-train."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
    args = parser.parse_args(words[:1])
    parser = build_parser(args.command)
    if args.command != "train":
        return parser.parse_args(words[1:], args)
    args, args.extra = parser.parse_known_args(words[1:], args)
    return args


def paths_of(place: Path, output: Path | None) -> list[Path]:
    """Returns the files to fill, without those of an output within their folder.

    Raises:
        UserError: there is none, or the output is a file and they are in a folder.
    """
    paths = files_in(place, READERS)
    if output is None or not place.is_dir():
        return paths
    if output.exists() and not output.is_dir():
        raise UserError(f"-o {output} is a file, and {place} a folder: name a folder")
    outside, inside = place.resolve(), output.resolve()
    is_within = outside in inside.parents
    return [path for path in paths if not (is_within and inside in path.resolve().parents)]


def target_of(path: Path, place: Path, output: Path | None) -> Path:
    """Returns where a file is written: below the output, if that is a folder or is for one."""
    if output is None:
        return path
    if place.is_dir():
        return output / path.relative_to(place)
    return output / path.name if output.is_dir() else output


def _repair(args: argparse.Namespace) -> int:
    """Repairs files, each with the memory of those in its language."""
    require_share("--precision", args.precision)
    problems = Problems()
    if args.since or len(args.places) > 1:
        documents = _with_sources(args, problems)
    else:
        documents = _alone(args, problems)
    by_language: dict[tuple[str, ...], list[Path]] = {}
    for path, document in documents.items():
        language = args.language or language_of(document)
        by_language.setdefault(subtags(language)[:2], []).append(path)
    memories: dict[Path, TranslationMemory] = {}
    for group in by_language.values():
        read = [documents[path] for path in group]
        language = args.language or language_of(read[0])
        more = list[Pair]()
        for place in args.memory:
            pairs, named = folder_memory(place, language, problems)
            more, language = [*more, *pairs], language or named
        memory = TranslationMemory.of(read, more, language, args.precision)
        memories |= dict.fromkeys(group, memory)
    pages = [document for document in documents.values() if isinstance(document, Markdown)]
    page = args.report if pages else None
    args.report = None if pages else args.report
    _fill(args, memories, problems, documents)
    if page:
        write_lines(page, itertools.chain(*(each.report() for each in pages)))
    return 2 if problems else 0


def _alone(args: argparse.Namespace, problems: Problems) -> dict[Path, BilingualFile]:
    """Reads .po and XLIFF files, which have their older sources in them."""
    (args.place,) = args.places
    if args.insert_new:
        raise UserError("--insert-new is for OLD.md NEW.md TRANSLATION.md; for .po use msgmerge")
    documents = dict[Path, BilingualFile]()
    for path in paths_of(args.place, args.output):
        with noted(problems, path, path == args.place):
            documents[path] = read_document(path)
    return documents


def _with_sources(args: argparse.Namespace, problems: Problems) -> dict[Path, BilingualFile]:
    """Reads translations beside both versions of their sources."""
    if len(args.places) != (2 if args.since else 3):
        wanted = "OLD NEW TRANSLATION, or --since REVISION NEW TRANSLATION"
        raise UserError(f"give three files or folders, {wanted}")
    *olds, new, args.place = args.places
    for path in args.places:
        if tool := OTHER_MARKUP.get(path.suffix.lower()):
            raise UserError(f"{path} is no Markdown; {tool} makes .po files of it")
    documents = dict[Path, BilingualFile]()
    for path, source in _beside(args.place, new):
        with noted(problems, path, path == args.place):
            if args.since:
                before = committed(args.since, source)
            else:
                before = read_bytes(str(olds[0] / source.relative_to(new)))
            sides = read_bytes(str(path)), before, read_bytes(str(source))
            documents[path] = _followed(args, path, *sides)
            documents[path].language = args.language or ""
    return documents


def _beside(place: Path, new: Path) -> Iterator[tuple[Path, Path]]:
    """Yields translations and their sources: a file's, those of a folder by their names, those of
    the other languages in a source's own folder, or of its name."""
    kinds = [*MARKDOWN, *FORMATS] if new.is_dir() else [new.suffix]
    for path in files_in(place, kinds):
        if place.is_file():
            yield path, new
        elif new.is_dir():
            yield path, new / path.relative_to(place)
        elif path != new and (path.name == new.name or path.with_name(new.name) == new):
            yield path, new


def _followed(
    args: argparse.Namespace, path: Path, there: bytes, old: bytes, new: bytes
) -> BilingualFile:
    """Reads a translation by its ending: of a document, or of texts by key."""
    if path.suffix.lower() not in FORMATS:
        return Markdown(path, there, old, new, args.insert_new)
    if args.insert_new:
        raise UserError(f"--insert-new is for Markdown, not for {path}: new keys are named")
    since = committed(args.since, path) if args.since else None
    return KeyedFile(path, there, old, new, since)


def _propose(args: argparse.Namespace) -> int:
    require_share("--precision", args.precision)
    paths, problems = paths_of(args.place, args.output), Problems()
    more = args.precision, args.terms, args.memory, args.language, problems
    memory = TranslationMemory.load(args.work, *more)
    _fill(args, dict.fromkeys(paths, memory), problems, {})
    return 2 if problems else 0


def _fill(
    args: argparse.Namespace,
    memories: dict[Path, TranslationMemory],
    problems: Problems,
    documents: dict[Path, BilingualFile],
) -> None:
    """Fills files, each from its memory, and prints what became of them.

    documents: what was read of them already. Both are emptied, since a memory is large.
    """
    paths = [*memories]
    report, described = Report(), list[dict[str, object]]()
    translations = list[tuple[str, str, str]]()
    write = not (args.diff or args.dry_run)
    for number, path in enumerate(progress(paths, "files"), start=1):
        with noted(problems, path, len(paths) == 1 and path == args.place):
            target = target_of(path, args.place, args.output)
            memory, document = memories.pop(path), documents.pop(path, None)
            filled = memory.fill(path, target, args.backup, write, document)
            report.update(filled.report)
            described += [_described(path, decision) for decision in filled.decisions]
            language = language_of(filled.document) or memory.language
            translations += [
                (unit.source, proposal.text, language)
                for unit, proposal in proposals_of(filled.decisions).items()
                if proposal.is_all  # tools show it as a match of 100 %
            ]
            if args.diff:
                print(filled.diff(), end="")
            kept = "" if write else ", not written"
            say(f"[{number}/{len(paths)}] {printable(str(path))}{kept}: {told(filled)}")
    warn(*messages(problems))
    if len(paths) > 1:
        count, total = len(problems), len({*paths, *problems})
        broken = f", {count} left alone" if count else ""
        say(f"{total - count} of {total} files{broken}: {summary(report)}")
    if args.report:
        write_json(args.report, described)
    if args.tmx and translations:
        write_tmx(args.tmx, translations)
    elif args.tmx:
        warn(f"{args.tmx} was not written: there are no proposals that follow all of a change")


def told(filled: Filled) -> str:
    """Returns what became of a file, or why there is nothing to do."""
    units = filled.document.units
    empty = sum(unit.state == "untranslated" for unit in units)
    hint = f", untranslated: {empty}; --memory gives these matches" if empty else ""
    entries = f"nothing to do: no entry of {len(units)} is fuzzy{hint}"
    if filled.decisions:
        is_done = {each.outcome for each in filled.decisions} == {"left"}
        entries = ("nothing new to do: " if is_done else "") + summary(filled.report)
    return filled.document.outcome(entries)


def _described(path: Path, decision: Decision) -> dict[str, object]:
    """Returns what becomes of an entry, for a report."""
    unit, proposal = decision.unit, decision.proposal
    described: dict[str, object] = {
        "file": str(path),
        "outcome": decision.outcome,
        "why": decision.why,
        "source": unit.source,
        "old": unit.old,
        "text": unit.target,
    }
    if proposal:
        described |= {
            "proposal": proposal.text,
            "probability": round(proposal.probability, 3),
            "in part": not proposal.is_all,
            "to do": proposal.left,
            "kinds": [*proposal.kinds],
        }
    return described


def _prepare(args: argparse.Namespace) -> int:
    require_extra("train", what="lev-memory train, the next step,")
    from .prepare import Corpus, prepare

    problems: Problems = {}
    origin = Corpus(args.memory, args.text, args.splits, args.language)
    prepare(args.work, origin, args.vocabulary, args.like, args.plain_drafts, problems, say)
    warn(*messages(problems))
    say(f"next: lev-memory train {args.work}")
    return 2 if problems else 0


def _train(args: argparse.Namespace) -> int:
    from .train import train

    train(args.work, args.minutes, args.seed, args.start, args.extra, say)
    say(f"next: lev-memory evaluate {args.work}")
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    from .evaluate import evaluate

    say(evaluate(args.work, args.precision, say))
    return 0


RUN = {
    "repair": _repair,
    "prepare": _prepare,
    "train": _train,
    "evaluate": _evaluate,
    "propose": _propose,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its status, 2 where files were left alone."""
    args = arguments(argv)
    return RUN[args.command](args)


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    run_cli(main)
