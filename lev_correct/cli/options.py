"""The options of ``lev-correct``, ``lev-correct check`` and ``lev-correct tune``."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lev_runtime.errors import UserError, require_share
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.options import (
    Add,
    add_model_data,
    adder,
    at_least_one,
    make_parser,
    show_all,
)
from lev_runtime.io.output import refuse_overwriting
from lev_runtime.io.text_files import read_bytes

from ..repository.formats import FORMATS
from ..repository.repository import NAMED

if TYPE_CHECKING:
    from .. import Corrector

#: Loads the corrector that options choose.
Load = Callable[[argparse.Namespace], "Corrector"]
LISTS = ("lexicon", "lookup", "bigrams", "confusions", "protect_words")
#: Each command, and how it is called.
USAGE = {
    "": "[--path CHECKPOINT] [options] [FILE ...] > clean\n"
    "check [options] FILE|FOLDER ...\n"
    "lsp [options]\n"
    "tune --path CHECKPOINT [options] NOISY CLEAN",
    "check": "[--path CHECKPOINT] [options] FILE|FOLDER ...",
    "lsp": "[--path CHECKPOINT] [options]",
    "tune": "--path CHECKPOINT [options] NOISY CLEAN",
}
ABOUT = {
    "": "Correct text, line by line. Text that the model does not change is kept byte for "
    "byte, including whitespace, line ends and bytes that are not UTF-8.",
    "check": "Print file:line:column: word -> words (probability); status 1 if there are "
    "findings, 2 on errors.",
    "lsp": "Serve an editor findings, doubts and corrections (Language Server Protocol).",
    "tune": "Choose the threshold on a text with errors and the same text corrected; save it for "
    "later runs with this model.",
}
EXAMPLE = "--path model.pt --min-confidence 0.9 --edits edits.jsonl < noisy > clean"


def parse(argv: Sequence[str] | None) -> tuple[str, argparse.Namespace]:
    """Returns which command was called, and its options."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"] and not os.path.exists("help"):
        words = [*words[1:2], "--help"]
    is_named = bool(words) and words[0] != "" and words[0] in USAGE
    command = words.pop(0) if is_named else ""
    args = build_parser(command).parse_args(words)
    args.command = command
    return command, args


def build_parser(command: str = "", has_files: bool = True) -> argparse.ArgumentParser:
    """Returns the options of a command, and its files."""
    example = "" if command else EXAMPLE
    name = f"correct {command}".strip()
    parser = make_parser(name, ABOUT[command], example, USAGE[command])
    add = adder(parser)
    if command == "tune":
        add("noisy NOISY", "text with errors")
        add("clean CLEAN", "the same text without")
    elif command != "lsp" and has_files:
        add("files FILE", "text to read, or - (default: standard input)", nargs="*")
    packaged = "required" if command == "tune" else "default: the built-in English spelling model"
    add("--path CHECKPOINT", f"checkpoint or its folder ({packaged})")
    _ADD[command](parser, add)
    add("--protect-words FILE", "words and phrases to leave alone, one a line")
    add("--lexicon FILE", "known words, with or without counts; candidates for other words")
    add("--device NAME", "device, such as cuda (default: cpu)")
    _add_advanced(parser)
    if not command:
        add(
            "--print-completion SHELL",
            "print what completes commands and options in a shell, such as bash (needs shtab)",
            action=_PrintCompletion,
            choices=("bash", "zsh", "tcsh"),
            advanced=True,
        )
    return parser


class _PrintCompletion(argparse.Action):
    """Prints what completes all commands in a shell, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, shell: Any, *more: Any) -> None:
        try:
            from shtab import FILE, complete
        except ModuleNotFoundError:
            raise UserError("--print-completion needs shtab: pip install shtab") from None
        parts = {name: build_parser(name, has_files=bool(name)) for name in USAGE}
        for part in parts.values():
            show_all(part)
            for action in part._actions:
                if action.metavar in ("FILE", "CHECKPOINT"):
                    action.complete = FILE  # type: ignore[attr-defined]
        whole = parts.pop("")
        commands = whole.add_subparsers()
        for name, part in parts.items():
            commands.add_parser(name, parents=[part], add_help=False, help=ABOUT[name])
        print(complete(whole, shell))
        parser.exit()


def _add_edits(add: Add) -> None:
    add(
        "--min-confidence P",
        "minimum probability of an edit (default: as tuned; 0.3 or more where words are judged)",
        type=float,
    )
    add(
        "--protect REGEX",
        "do not edit text that matches REGEX; code protects code, none nothing; repeatable",
        action="append",
    )
    add("--grammar", "also report everyday slips between English words (could of, their is)")


def _add_files(add: Add) -> None:
    _add_edits(add)
    add("--edits FILE", "also write all edits, applied or not, as JSON lines")
    add("--jobs N", "processes that share the files (default: 1)", 1)
    add("-q --quiet", "print no notes and no summary")
    add(
        "--color WHEN",
        "auto (on a terminal, unless NO_COLOR is set), always or never",
        "auto",
        choices=("auto", "always", "never"),
    )


def _add_correct(parser: argparse.ArgumentParser, add: Add) -> None:
    _add_files(add)
    add = adder(parser.add_mutually_exclusive_group())
    add("--in-place", "overwrite each file, completely or not at all")
    add("--diff", "print the changes as a unified diff")


def _add_check(parser: argparse.ArgumentParser, add: Add) -> None:
    _add_files(add)
    add("--exclude GLOB", "paths to skip; repeatable", action="append")
    add("--since REV", "only lines changed since a git revision; all files count as context")
    add("--identifiers", "also list misspelt names in code (testRecieve), which fail no check")
    add("--no-cache", "read files again; else your cache tells what was found in unchanged ones")
    add("--stdin-filename PATH", "name of the file that standard input is, for an editor")
    add("--format NAME", "text, github, json, sarif (default: text)", choices=[*FORMATS])
    add("--json", "the same as --format json", dest="format", action="store_const", const="json")
    add = adder(parser.add_mutually_exclusive_group())
    add("--diff", "print the changes as a unified diff")
    add("--accept", "add the words found to the repository's word list")
    add("-w --write --fix --in-place", "correct the files; print what was found, and what is left")


def _add_tune(parser: argparse.ArgumentParser, add: Add) -> None:
    add("--goal GOAL", "changed:N or accuracy (default: changed:1)", "changed:1")
    add("--tune-weights", "also fit the weights of the ranking")
    add("--protect NAME", "code: leave it alone from now on; or none", action="append",
        choices=NAMED)  # fmt: skip


_ADD = {
    "": _add_correct,
    "check": _add_check,
    "lsp": lambda parser, add: _add_edits(add),
    "tune": _add_tune,
}


def _add_advanced(parser: argparse.ArgumentParser) -> None:
    """Adds what ``--help-all`` alone shows."""
    add = partial(adder(parser.add_argument_group("model and speed")), advanced=True)
    add(
        "--unit KIND",
        "what the model reads at once: word, letters, line or window (default: as tuned; "
        "otherwise letters with --lexicon or --lookup; otherwise as in training)",
    )
    add("--window N", "words in a window (default: as in training)", type=int)
    add_model_data(add, "; none turns it off", advanced=True)
    add("--beam N", "left-to-right models: beam size (default: as tuned, otherwise 5)", type=int)
    add("--batch-size N", "units per batch (default: 64)", 64)
    add(
        "--buffer N",
        "lines of a stream to correct together; 1 answers each at once (default: 1024; on a "
        "terminal 1)",
        1024,
    )
    add(
        "--precision",
        "bf16 is faster and may change corrections (default: fp32; 8 bits: lev-export --int8)",
        "fp32",
        choices=("fp32", "bf16"),
    )
    add = partial(adder(parser.add_argument_group("ranking")), advanced=True)
    add("--lookup FILE", "known misspellings: wrong, tab, right, one pair a line")
    add(
        "--bigrams FILE",
        "two neighbouring words and their count on each line; ranks candidates by their "
        "neighbours too",
    )
    add(
        "--confusions FILE",
        "words often confused, two or more a line (then than); the neighbours decide which was "
        "meant; needs --bigrams",
    )
    add(
        "--settings FILE",
        "file written by tune, or none (default: corrector.json beside the checkpoint)",
    )


def check(args: argparse.Namespace) -> None:
    """Refuses options that cannot be used, before the model is loaded."""
    at_least_one(args, "batch_size", "buffer")
    for name in LISTS:
        path, flag = getattr(args, name), f"--{name.replace('_', '-')}"
        if path and args.command == "tune" and is_stream(path):
            raise UserError(f"{flag} {path} cannot be read twice, as tune needs; give a file")
    if args.command != "tune" and args.min_confidence is not None:
        require_share("--min-confidence", args.min_confidence)
    if args.command in ("", "check"):
        at_least_one(args, "jobs")
        _check_edits(args)
    if args.command == "check":
        _check_input(args)


def _check_edits(args: argparse.Namespace) -> None:
    in_place = args.command == "" and args.in_place
    if in_place and (not args.files or STANDARD_STREAM in args.files):
        raise UserError("--in-place needs files, not standard input")
    has_text = args.diff or not (in_place or args.command)
    if args.edits == STANDARD_STREAM and has_text:
        raise UserError("--edits -: standard output is used for the text; name a file")
    check_overwriting(args, args.files)
    # `--edits letter.txt` would lose the letter that somebody wants to see corrected
    if args.edits and os.path.isfile(args.edits) and read_bytes(args.edits)[:1] not in (b"", b"{"):
        raise UserError(f"--edits {args.edits}: the file to write edits to holds something else")


def _check_input(args: argparse.Namespace) -> None:
    """Refuses what asks for standard input and files at once."""
    if args.stdin_filename and (args.since or args.files not in ([], [STANDARD_STREAM])):
        raise UserError("--stdin-filename is for standard input: leave out the files and --since")
    if args.diff and args.format:
        raise UserError("--diff prints a diff: leave out --format")
    files = args.files or ([] if args.since else [STANDARD_STREAM])
    if args.write and any(map(is_stream, files)):
        raise UserError("--write needs files, not standard input")
    if args.since and any(map(is_stream, args.files)):
        raise UserError("--since: standard input has no revision; name files or folders")


def check_overwriting(args: argparse.Namespace, files: Sequence[str]) -> None:
    """Refuses edits that would be written over what is read."""
    read = [("the input", path) for path in files if not os.path.isdir(path)]
    refuse_overwriting({"--edits": args.edits}, [("--protect-words", args.protect_words), *read])
