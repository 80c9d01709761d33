"""Binarise sources, targets and drafts side by side: fairseq-preprocess with a third file.

All flags of fairseq-preprocess keep their meaning, and without ``--draft-lang`` dictionaries and
data are those that it would write, byte for byte. With ``--draft-lang mt`` the drafts (y⁰, what an
editor starts from) are read from ``PREFIX.mt`` and written as ``SPLIT.SRC-TGT.mt`` in the
target's numbering. Every file is read and judged first; the output is made in a temporary
folder and moved into place at the end, so a failure leaves the destination as it was.

Training drafts count towards the target (or joined) dictionary: a draft token that the editor
keeps must be printable, and a draft's own misspellings must be seen to be deleted. A given
``--tgtdict`` (or ``--srcdict`` with ``--joined-dictionary``) is used as it is.
"""

import argparse
import errno
import os
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairseq import options, tasks, utils
from fairseq.binarizer import (
    AlignmentDatasetBinarizer,
    BinarizeSummary,
    FileBinarizer,
    VocabularyDatasetBinarizer,
)
from fairseq.data import Dictionary

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..inference.correction.loading import single_characters
from ..io.text_files import (
    Side,
    Split,
    check_split,
    has_carriage_returns,
    parse_alignment,
    read_lines,
    read_parallel,
    require_files,
)
from .names import prog

PARTS = ("train", "valid", "test")
LOG = "preprocess.log"
PACKAGE = Path(__file__).resolve().parents[1]
# What the next command trains with: first generation, then more and more drafts.
TRAINING = (
    "--criterion edit_policy_loss --label-smoothing 0.1 --dropout 0.1 --optimizer adam "
    "--clip-norm 1 --lr 0.0005 --lr-scheduler inverse_sqrt --warmup-updates 4000 "
    "--max-tokens 4000 --max-update 100000 --save-dir checkpoints"
)
ROLL_IN = "--alpha-start 0.3 --alpha 0.9 --beta-start 0.3 --beta 0.9 --roll-in-updates 70000"


# ---------------------------------------------------------------- options


def build_parser() -> argparse.ArgumentParser:
    """fairseq-preprocess's parser with a group of our own at its end."""
    parser = options.get_preprocessing_parser()
    parser.prog = prog("preprocess")
    parser.description = (
        "fairseq-preprocess with drafts: checks text files, builds dictionaries and binarises "
        "source, target and draft side by side."
    )
    parser.epilog = (
        f"example: {parser.prog} --source-lang src --target-lang pe --draft-lang mt "
        "--trainpref data/train --validpref data/dev --testpref data/test "
        "--joined-dictionary --destdir data-bin --workers 2"
    )
    group = parser.add_argument_group(
        "Drafts and checks",
        "Text is UTF-8, tokens stand between spaces, line n of each file belongs together. Empty "
        "lines are kept and counted: an empty draft means generation from scratch.",
    )
    group.add_argument(
        "--draft-lang",
        metavar="LANG",
        help="suffix of the draft files, `mt` say: drafts are read from PREFIX.LANG and written "
        "with the target's dictionary. The training drafts take part in building the target (or "
        "joined) dictionary unless it is given. Default: no drafts, plain pairs",
    )
    for part in PARTS:
        several = "" if part == "train" else ", comma separated like it"
        group.add_argument(
            f"--draftpref-{part}",
            metavar="PREFIX",
            help=f"where the {part} drafts lie if not at --{part}pref: PREFIX.LANG{several}",
        )
    group.add_argument(
        "--warn-length",
        metavar="N",
        type=int,
        default=1024,
        help="name the lines of more than N tokens, <s> and </s> counted; keep it equal to "
        "training's --max-source-positions and --max-target-positions (default: %(default)s)",
    )
    return parser


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``argv`` (None: the command line), a user's own ``--user-dir`` imported first."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--user-dir", default=None)
    found, _ = early.parse_known_args(argv)
    try:
        utils.import_user_module(found)
    except FileNotFoundError as error:
        raise UserError(f"--user-dir {found.user_dir}: no such folder; check the path") from error
    args = build_parser().parse_args(argv)
    _refuse_contradictions(args)
    return args


def _refuse_contradictions(args: argparse.Namespace) -> None:
    if args.workers < 1:
        raise UserError(f"--workers {args.workers}: at least 1 process is needed")
    if args.warn_length < 1:
        raise UserError(f"--warn-length {args.warn_length}: give a length of 1 or more")
    if args.dataset_impl in ("fasta", "huffman"):
        raise UserError(f"--dataset-impl {args.dataset_impl} cannot be written; choose mmap")
    if not args.only_source and not (args.source_lang and args.target_lang):
        raise UserError("--source-lang and --target-lang are needed (or --only-source)")
    if args.joined_dictionary and args.srcdict and args.tgtdict:
        raise UserError("--joined-dictionary has one dictionary: give --srcdict or --tgtdict")
    if args.align_suffix and args.only_source:
        raise UserError("--align-suffix needs the target side: leave out --only-source")
    if args.alignfile and (args.only_source or not args.trainpref):
        raise UserError("--alignfile aligns source and target of --trainpref: give both sides")
    if not (args.dict_only or args.trainpref or args.validpref or args.testpref):
        raise UserError("nothing to do: give --trainpref, --validpref or --testpref")
    _refuse_draft_contradictions(args)


def _refuse_draft_contradictions(args: argparse.Namespace) -> None:
    moved = {part: getattr(args, f"draftpref_{part}") for part in PARTS}
    if args.draft_lang is None:
        for part in PARTS:
            if moved[part] is not None:
                raise UserError(f"--draftpref-{part} says where: give --draft-lang LANG as well")
        return
    if not args.draft_lang:
        raise UserError("--draft-lang is empty; give the suffix of the draft files, mt say")
    for flag in ("source_lang", "target_lang"):
        if args.draft_lang == getattr(args, flag):
            raise UserError(
                f"--draft-lang {args.draft_lang} is the --{flag.replace('_', '-')} too; "
                "give the drafts a suffix of their own"
            )
    if args.only_source:
        raise UserError(
            "--draft-lang needs the target side: leave out --only-source (lines without a "
            "reference can go to fairseq-interactive as source<TAB>draft)"
        )
    for part in PARTS:
        given = _prefixes(args, part)
        if moved[part] is not None and len(_prefixes(args, part, "draft")) != len(given):
            raise UserError(
                f"--draftpref-{part} {moved[part]}: needs as many prefixes as --{part}pref, "
                f"which has {len(given)}"
            )


def _prefixes(args: argparse.Namespace, part: str, side: str = "") -> list[str]:
    value = getattr(args, f"{part}pref")
    if side == "draft":
        moved = getattr(args, f"draftpref_{part}")
        value = value if moved is None else moved
    if value is None:
        return []
    return [value] if part == "train" else value.split(",")


# ---------------------------------------------------------------- files to read


def _text_path(prefix: str, lang: str | None) -> str:
    return f"{prefix}.{lang}" if lang else prefix


def plan_splits(args: argparse.Namespace) -> list[Split]:
    """The files that the flags speak of; raises :class:`UserError` where one is missing."""
    splits = []
    for part in PARTS[:1] if args.dict_only else PARTS:
        prefixes = zip(_prefixes(args, part), _prefixes(args, part, "draft"), strict=True)
        for index, (prefix, draft_prefix) in enumerate(prefixes):
            sides = [Side("source", args.source_lang, _text_path(prefix, args.source_lang))]
            if not args.only_source:
                path = _text_path(prefix, args.target_lang)
                sides.append(Side("target", args.target_lang, path))
            if args.draft_lang:
                path = _text_path(draft_prefix, args.draft_lang)
                sides.append(Side("draft", args.draft_lang, path))
            split = Split(f"{part}{index or ''}", sides)
            alignment = f"{prefix}.{args.align_suffix}"
            if args.align_suffix and os.path.isfile(alignment):
                split.alignment = alignment
            splits.append(split)
    require_files([side.path for split in splits for side in split.sides], _missing_hint(args))
    require_files([path for path in (args.srcdict, args.tgtdict, args.alignfile) if path])
    return splits


def _missing_hint(args: argparse.Namespace) -> str:
    if not args.draft_lang:
        return ""
    return f"drafts are PREFIX.{args.draft_lang}, elsewhere with --draftpref-train/-valid/-test"


# ---------------------------------------------------------------- dictionaries


def dictionary_path(directory: str, lang: str | None) -> str:
    """Where fairseq keeps the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def refuse_old_dictionaries(args: argparse.Namespace) -> None:
    """A dictionary is never overwritten by a new one: data made with the old would be lost."""
    wanted = [(args.source_lang, args.srcdict, "--srcdict")]
    if not args.only_source:
        wanted.append((args.target_lang, args.tgtdict, "--tgtdict"))
    for lang, given, flag in wanted:
        path = dictionary_path(args.destdir, lang)
        if not given and os.path.exists(path):
            raise UserError(
                f"{path} is there already; keep it with {flag} {path}, delete it, or choose "
                "another --destdir"
            )


def load_dictionary(path: str, task: type[tasks.FairseqTask]) -> Dictionary:
    """Load a dictionary file, its mistakes as one line that names it."""
    for _ in read_lines(path):
        pass
    try:
        return task.load_dictionary(path)
    except (ValueError, RuntimeError) as error:
        raise UserError(f"{path}: is no dictionary: {error}") from error


def make_dictionaries(
    args: argparse.Namespace, train: Split | None
) -> tuple[Dictionary, Dictionary | None]:
    """Load or build the source and target dictionaries, as fairseq-preprocess does.

    Training drafts are counted with the targets.

    Returns:
        source and target dictionary, the same object where joined; None for no target.

    Raises:
        UserError: neither a dictionary nor training text is given, or a file is wrong.
    """
    task = tasks.get_task(args.task)
    given_source, given_target = args.srcdict, args.tgtdict
    if args.joined_dictionary:
        given_source = given_target = given_source or given_target
    source = load_dictionary(given_source, task) if given_source else None
    if source is None:
        roles = ("source", "target", "draft") if args.joined_dictionary else ("source",)
        source = _build(args, train, roles, task)
    if args.only_source:
        return source, None
    if args.joined_dictionary:
        return source, source
    if given_target:
        return source, load_dictionary(given_target, task)
    return source, _build(args, train, ("target", "draft"), task)


def _build(
    args: argparse.Namespace,
    train: Split | None,
    roles: Sequence[str],
    task: type[tasks.FairseqTask],
) -> Dictionary:
    if train is None:
        flag = "--srcdict" if roles[0] == "source" else "--tgtdict"
        raise UserError(f"no text to build a dictionary from: give --trainpref or {flag}")
    paths = [side.path for side in train.sides if side.role in roles]
    if args.only_source and args.joined_dictionary and args.target_lang:
        paths.append(_text_path(args.trainpref, args.target_lang))
    from_source = roles[0] == "source"
    return task.build_dictionary(
        paths,
        workers=min(safe_workers(path, args.workers) for path in paths),
        threshold=args.thresholdsrc if from_source else args.thresholdtgt,
        nwords=args.nwordssrc if from_source else args.nwordstgt,
        padding_factor=args.padding_factor,
    )


def safe_workers(path: str, workers: int) -> int:
    r"""How many processes may share a file.

    fairseq cuts a file among processes by text offsets, which go astray at ``\r\n``: lines are
    then lost or doubled. Such a file is read by one process.
    """
    return 1 if workers > 1 and has_carriage_returns(path) else workers


# ---------------------------------------------------------------- binarising


def data_prefix(args: argparse.Namespace, folder: str, name: str, lang: str | None) -> str:
    """Path of a binarised file without its extension, named as fairseq's tasks look for it."""
    base = os.path.join(folder, name)
    pair = f"{base}.{args.source_lang}-{args.target_lang}"
    if lang:
        return f"{pair}.{lang}"
    return base if args.only_source else pair


def write_side(
    args: argparse.Namespace, folder: str, split: Split, side: Side, dictionary: Dictionary
) -> None:
    """Binarise (or, for ``raw``, copy) one text file and note its unknown tokens."""
    prefix = data_prefix(args, folder, split.name, side.lang)
    binarizer = VocabularyDatasetBinarizer(dictionary, append_eos=True)
    if args.dataset_impl == "raw":
        summary = BinarizeSummary()
        for line in read_lines(side.path):
            binarizer.binarize_line(line, summary)
        shutil.copyfile(side.path, prefix)
    else:
        summary = FileBinarizer.multiprocess_dataset(
            side.path,
            args.dataset_impl,
            binarizer,
            prefix,
            vocab_size=len(dictionary),
            num_workers=safe_workers(side.path, args.workers),
        )
    side.unknown = summary.num_replaced
    if summary.num_seq != split.lines:
        raise UserError(
            f"{side.path}: {split.lines} lines were read but {summary.num_seq} written; if the "
            "file did not change meanwhile, try --workers 1"
        )


def write_alignment(args: argparse.Namespace, folder: str, split: Split) -> None:
    """Binarise the word alignments of a split."""
    assert split.alignment is not None
    FileBinarizer.multiprocess_dataset(
        split.alignment,
        args.dataset_impl,
        AlignmentDatasetBinarizer(utils.parse_alignment),
        data_prefix(args, folder, f"{split.name}.align", None),
        num_workers=safe_workers(split.alignment, args.workers),
    )


def write_alignment_dictionary(
    args: argparse.Namespace, folder: str, train: Split, source: Dictionary, target: Dictionary
) -> None:
    """From ``--alignfile``: for each source word the target word it is aligned to most often.

    Here alone the output differs from fairseq-preprocess's: that counts every occurrence apart
    (its keys are tensors), lists a word as often as it occurs, and so finds no frequencies.
    """
    counts: dict[int, Counter[int]] = {}
    paths = [*(side.path for side in train.sides[:2]), args.alignfile]
    for number, (text, translation, items) in enumerate(read_parallel(paths), start=1):
        words = [source.index(word) for word in text.split()]
        others = [target.index(word) for word in translation.split()]
        pairs = parse_alignment(args.alignfile, number, items, len(words), len(others))
        for i, j in pairs:
            if words[i] != source.unk() and others[j] != target.unk():
                counts.setdefault(words[i], Counter())[others[j]] += 1
    name = f"alignment.{args.source_lang}-{args.target_lang}.txt"
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        for word, found in counts.items():
            file.write(f"{source[word]} {target[found.most_common(1)[0][0]]}\n")


def write_all(
    args: argparse.Namespace,
    folder: str,
    splits: Sequence[Split],
    source: Dictionary,
    target: Dictionary | None,
) -> None:
    """Write dictionaries and all data into ``folder``."""
    source.save(dictionary_path(folder, args.source_lang))
    if target is not None:
        target.save(dictionary_path(folder, args.target_lang))
    if args.dict_only:
        return
    for split in splits:
        for side in split.sides:
            dictionary = source if side.role == "source" or target is None else target
            print(f"binarise {side.path}", flush=True)
            write_side(args, folder, split, side, dictionary)
        if split.alignment:
            write_alignment(args, folder, split)
    if args.alignfile and target is not None:
        write_alignment_dictionary(args, folder, splits[0], source, target)


# ---------------------------------------------------------------- all or nothing


@contextmanager
def staged(destdir: str) -> Iterator[str]:
    """A folder to write into; what is there at the end of the block goes to ``destdir``.

    It lies in ``destdir``, or in the nearest folder above that exists: on the same file system,
    so that moving is renaming. Files of ``destdir`` with other names stay. On any exception
    ``destdir`` is left, or put back, as it was.
    """
    final = Path(destdir).resolve()
    anchor = final
    while not os.path.lexists(anchor):
        anchor = anchor.parent
    if not anchor.is_dir():
        raise UserError(f"--destdir {destdir}: {anchor} is a file; choose another folder")
    try:
        with tempfile.TemporaryDirectory(prefix=".preprocess-", dir=anchor) as temporary:
            folder, old = Path(temporary, "new"), Path(temporary, "old")
            folder.mkdir()
            old.mkdir()
            yield str(folder)
            if final.exists():
                _move_into(folder, final, old)
            else:
                final.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(final)
    except BrokenPipeError:  # the reader of our standard output has gone: no fault of destdir
        raise
    except OSError as error:
        raise UserError(
            f"{error.filename or destdir}: {error.strerror or error}; {destdir} is as it was, "
            "fix that or choose another --destdir"
        ) from error


def _move_into(folder: Path, final: Path, old: Path) -> None:
    """Move the files of ``folder`` to ``final``; undo it all if one cannot be moved."""
    moved: list[str] = []
    try:
        for path in sorted(folder.iterdir()):
            target = final / path.name
            moved.append(path.name)
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a folder is in the way", str(target))
            if target.exists():
                target.rename(old / path.name)
            path.rename(target)
    except BaseException:
        for name in reversed(moved):
            if not (folder / name).exists():
                (final / name).rename(folder / name)
            if (old / name).exists():
                (old / name).rename(final / name)
        raise


def write_log(args: argparse.Namespace, folder: str, command: str, summary: str) -> None:
    """Append command and summary to what an earlier run left in ``preprocess.log``."""
    before = Path(args.destdir, LOG)
    earlier = before.read_text(encoding="utf-8", errors="replace") if before.is_file() else ""
    Path(folder, LOG).write_text(f"{earlier}$ {command}\n{summary}\n", encoding="utf-8")


# ---------------------------------------------------------------- summary


def summarise(
    args: argparse.Namespace,
    splits: Sequence[Split],
    source: Dictionary,
    target: Dictionary | None,
) -> str:
    """What was read and written, what deserves a look, and the command to type next."""
    lines = [f"{args.destdir}: {_dictionary_line(args, source, target)}"]
    if not args.dict_only:
        lines += _table(splits)
        lines += _draft_lines(splits)
        for split in splits:
            for side in split.sides:
                lines += _side_notes(side, args.warn_length)
            if args.align_suffix and split.alignment is None:
                lines.append(f"note: {split.name} has no .{args.align_suffix} file: no alignments")
    if args.workers > 1:
        lines += [
            f"note: {side.path} has \\r\\n line ends, so one process reads it alone"
            for split in splits
            for side in split.sides
            if safe_workers(side.path, args.workers) == 1
        ]
    command = next_command(args, target)
    if command and target is not None:
        lines += _subword_note(target)
        lines.append(f"next: {command}")
    return "\n".join(lines)


def _dictionary_line(
    args: argparse.Namespace, source: Dictionary, target: Dictionary | None
) -> str:
    if target is None:
        return f"dictionary of {len(source):,} symbols"
    if target is source:
        return f"joined dictionary of {len(source):,} symbols"
    return (
        f"dictionaries of {len(source):,} ({args.source_lang}) "
        f"and {len(target):,} ({args.target_lang}) symbols"
    )


def _table(splits: Sequence[Split]) -> list[str]:
    rows = [("split", "side", "file", "sentences", "tokens", "unknown", "empty", "long")]
    for split in splits:
        for side in split.sides:
            share = 100 * side.unknown / max(side.tokens, 1)
            numbers = (split.lines, side.tokens, side.empty.count, side.long.count)
            lines, tokens, empty, long = (f"{number:,}" for number in numbers)
            unknown = f"{share:.2f} %"
            rows.append((split.name, side.role, side.path, lines, tokens, unknown, empty, long))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        table.append("  ".join(left + right))
    return table


def _draft_lines(splits: Sequence[Split]) -> list[str]:
    found = [
        f"{split.name} {split.unedited:,} of {split.lines:,}"
        for split in splits
        if split.side("draft") is not None
    ]
    return [f"drafts that need no edit: {', '.join(found)}"] if found else []


def _side_notes(side: Side, longest: int) -> list[str]:
    notes = []
    if side.empty:
        outcome = "generated from scratch" if side.role == "draft" else "kept as empty sentences"
        notes.append(f"note: {side.path}: empty lines {side.empty}: {outcome}")
    if side.long:
        positions = "source" if side.role == "source" else "target"
        notes.append(
            f"warning: {side.path}: lines {side.long} have more than {longest} tokens with <s> "
            f"and </s>: shorten them or train with --max-{positions}-positions N"
        )
    return notes


def _subword_note(dictionary: Dictionary) -> list[str]:
    """Which text processing the symbols show whose files only the user knows."""
    words = dictionary.symbols[dictionary.nspecial :]
    kinds = {
        "sentencepiece --sentencepiece-model FILE": [w for w in words if w[0] == "▁" != w],
        "subword_nmt --bpe-codes FILE": [w for w in words if w.endswith("@@") and w != "@@"],
    }
    return [
        f"note: symbols such as {found[0]}: add --bpe {flags} to the next command, so that models "
        "take plain text in fairseq-interactive, correct, trace and Python"
        for flags, found in kinds.items()
        if 10 * len(found) > len(words)
    ]


def next_command(args: argparse.Namespace, target: Dictionary | None) -> str:
    """The fairseq command that takes the data further, empty where there is none."""
    if args.dict_only or target is None:
        return ""
    package = os.path.relpath(PACKAGE) if PACKAGE.is_relative_to(Path.cwd()) else str(PACKAGE)
    words = ["fairseq-train" if args.trainpref else "fairseq-generate", args.destdir]
    words += ["--user-dir", package, "--task", "translation_edit"]
    words += ["--source-lang", args.source_lang, "--target-lang", args.target_lang]
    words += ["--draft-lang", args.draft_lang] if args.draft_lang else []
    characters = single_characters(target)
    words += ["--bpe", "characters"] if characters else []
    if not args.trainpref:
        subset = "test" if args.testpref else "valid"
        words += ["--gen-subset", subset, "--path", "checkpoints/checkpoint_best.pt"]
        return shlex.join(words)
    words += ["--arch", "levenshtein_editor_char" if characters else "levenshtein_editor"]
    words += ["--share-all-embeddings"] if args.joined_dictionary else []
    words += TRAINING.split() + ["--adam-betas", "(0.9, 0.98)"]
    words += ROLL_IN.split() if args.draft_lang else []
    words += [] if args.validpref else ["--disable-validation"]
    return shlex.join(words)


# ---------------------------------------------------------------- main


def check_all(args: argparse.Namespace, splits: Sequence[Split]) -> None:
    """Read every file that will be used; raises :class:`UserError` before anything is written."""
    for split in splits:
        print(f"check {' '.join(side.path for side in split.sides)}", flush=True)
        alignments = [split.alignment] if split.alignment else []
        if split.name == "train" and args.alignfile:
            alignments.append(args.alignfile)
        check_split(split, args.warn_length, alignments)
    if args.only_source and args.joined_dictionary and args.target_lang and args.trainpref:
        path = _text_path(args.trainpref, args.target_lang)
        require_files([path])
        check_split(Split("dictionary", [Side("target", None, path)]), args.warn_length)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with nothing written."""
    args = parse_args(argv)
    refuse_old_dictionaries(args)
    splits = plan_splits(args)
    check_all(args, splits)
    train = splits[0] if args.trainpref else None
    source, target = make_dictionaries(args, train)
    typed = sys.argv[1:] if argv is None else argv
    command = shlex.join(["python", "-m", f"{__package__}.preprocess", *typed])
    with staged(args.destdir) as folder:
        write_all(args, folder, splits, source, target)
        summary = summarise(args, splits, source, target)
        write_log(args, folder, command, summary)
    print(summary)
    return 0


if __name__ == "__main__":
    run_cli(main)
