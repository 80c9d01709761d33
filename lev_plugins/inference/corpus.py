"""A split of preprocessed data for commands that decode it again and again, and score it.

What fairseq-generate does once for one setting, :func:`load`, :func:`read_corpus` and
:func:`scorer` do for many: the models, the batches and the sentences' statistics are kept.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..errors import UserError, counted
from ..io.text_files import SUBWORDS, read_lines
from ..metrics.corpus import Metric, add_up

if TYPE_CHECKING:
    from fairseq.models import BaseFairseqModel
    from torch import Tensor

    from ..data.batch import Batch
    from ..systems.levenshtein.task import TranslationEditTask

UNKNOWN = "<<unk>>"  # what fairseq puts in the place of a reference's unknown word


@dataclass(frozen=True)
class Corpus:
    """What is decoded: batches, and texts by the number of the sentence.

    drafts is None where there are none.
    """

    batches: list["Batch"]
    references: dict[int, str]
    drafts: dict[int, str] | None


def load(args: argparse.Namespace) -> tuple["TranslationEditTask", list["BaseFairseqModel"]]:
    """The task for the data folder, set up as fairseq-generate does it, and the models.

    Raises:
        UserError: no such data, a checkpoint that does not fit them, or no edit model.
    """
    import torch
    from fairseq import checkpoint_utils, options, tasks

    from ..systems.levenshtein.decoding.policy import is_edit_model
    from .checkpoints import find_checkpoints

    words = [args.data, "--task=translation_edit", f"--path={args.path}"]
    words.append(f"--delete-threshold={args.delete_threshold}")
    for name in ("source_lang", "target_lang", "draft_lang"):
        if getattr(args, name) is not None:
            words.append(f"--{name.replace('_', '-')}={getattr(args, name)}")
    parsed = options.parse_args_and_arch(options.get_generation_parser(), words)
    task = tasks.setup_task(parsed)
    task.load_dataset(args.gen_subset)  # a matter of a moment; the models may not be
    if task.dataset(args.gen_subset).tgt is None:
        raise UserError(
            f"{args.data}: {args.gen_subset} has no {task.cfg.target_lang} side, and the oracle "
            "reads the references; preprocess it with them"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice to fairseq's programmers
        models, _, _ = checkpoint_utils.load_model_ensemble_and_task(
            find_checkpoints(args.path), task=task
        )
    for model in models:
        if not is_edit_model(model):
            raise UserError(
                f"--path {args.path}: {type(model).__name__} is no edit model, which is what the "
                "oracle helps"
            )
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    return task, [model.to(device).eval() for model in models]


def read_corpus(
    task: "TranslationEditTask", models: Sequence["BaseFairseqModel"], args: argparse.Namespace
) -> Corpus:
    """The split's batches, on the models' device, and its texts.

    Raises:
        UserError: no sentences, sentences too long, or references of another number.
    """
    from fairseq import utils

    data = task.dataset(args.gen_subset)
    if len(data) == 0:
        raise UserError(f"{args.data}: {args.gen_subset} has no sentences; name another split")
    iterator = task.get_batch_iterator(
        data,
        max_sentences=args.batch_size,
        max_positions=utils.resolve_max_positions(*(model.max_positions() for model in models)),
        ignore_invalid_inputs=args.skip_invalid_size_inputs_valid_test,
        required_batch_size_multiple=1,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'pin_memory'", UserWarning)
        batches = list(iterator.next_epoch_itr(shuffle=False))
    text = text_of(task, args.remove_bpe)
    given = None if args.references is None else read_references(args.references, len(data))
    references: dict[int, str] = {}
    drafts: dict[int, str] = {}
    for batch in batches:
        for row, number in enumerate(batch["id"].tolist()):
            reference = text(batch["target"][row], True) if given is None else given[number]
            references[number] = reference
            if "draft" in batch:
                drafts[number] = text(batch["draft"][row], False)
    if given is None and any(UNKNOWN in reference for reference in references.values()):
        print(
            f"references hold {UNKNOWN}, words that are not in the dictionary and never count as "
            "right; --references FILE scores against the text",
            file=sys.stderr,
        )
    device = next(models[0].parameters()).device
    moved = [batch if device.type == "cpu" else utils.move_to_cuda(batch) for batch in batches]
    return Corpus(moved, references, drafts or None)


def read_references(path: str, size: int) -> list[str]:
    """A line for each of ``size`` sentences.

    Raises:
        UserError: there are fewer or more.
    """
    lines = list(read_lines(path))
    if len(lines) != size:
        raise UserError(
            f"--references {path} has {counted(len(lines), 'line')} for "
            f"{counted(size, 'sentence')}; line n has to be the reference of sentence n"
        )
    return lines


def text_of(task: "TranslationEditTask", remove_bpe: str | None) -> Callable[["Tensor", bool], str]:
    """How fairseq-generate makes text of tokens; ``escape`` marks a reference's unknown words."""
    symbol = None if remove_bpe is None else SUBWORDS[remove_bpe]
    dictionary = task.tgt_dict

    def text(tokens: "Tensor", escape: bool) -> str:
        words = tokens[tokens.ne(dictionary.pad())].int().cpu()
        return str(dictionary.string(words, symbol, escape_unk=escape))

    return text


def scorer(metric: Metric) -> Callable[[dict[int, str], dict[int, str]], float]:
    """Corpus scores; the statistics of a sentence are computed once, however often it comes up."""
    statistics = cache(metric.statistics)

    def score(outputs: dict[int, str], references: dict[int, str]) -> float:
        found = (statistics(outputs[number], references[number]) for number in sorted(references))
        return metric.score(add_up(metric, found))

    return score
