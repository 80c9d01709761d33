"""Dictionaries and binarised data, as fairseq-preprocess writes them, drafts as well."""

import argparse
import os
import shutil
from collections import Counter
from collections.abc import Sequence

from fairseq import tasks, utils
from fairseq.binarizer import (
    AlignmentDatasetBinarizer,
    BinarizeSummary,
    FileBinarizer,
    VocabularyDatasetBinarizer,
)
from fairseq.data import Dictionary

from ..errors import UserError
from ..io.text_files import (
    Side,
    Split,
    count_lines,
    has_carriage_returns,
    parse_alignment,
    read_lines,
    read_parallel,
)


def text_path(prefix: str, lang: str | None) -> str:
    """The file of a language."""
    return f"{prefix}.{lang}" if lang else prefix


def dictionary_path(directory: str, lang: str | None) -> str:
    """Where fairseq keeps the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def load_dictionary(path: str, task: type[tasks.FairseqTask]) -> Dictionary:
    """Load a dictionary file, its mistakes as one line that names it."""
    count_lines(path)  # which reads and checks all of it
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
        paths.append(text_path(args.trainpref, args.target_lang))
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
