"""``--draft-guided``: greedy decoding that reads ahead in a draft, for fairseq's commands.

It is an option of every task derived from fairseq's translation, that task itself included.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from hydra.core.config_store import ConfigStore
from torch import Tensor

from lev_runtime.errors import UserError

from ..data.batch import Batch
from ..io.patching import Stock, patches
from ..io.program import running_command
from ..nn.seq2seq.draft_guided import DraftGuidedGenerator
from ..options import option

#: options of generation that ask for more than the greedy text, or for another one
EXCLUDED = (
    "sampling diverse_beam_groups diversity_rate match_source_len constraints prefix_size lm_path "
    "no_repeat_ngram_size print_alignment replace_unk retain_dropout score_reference nbest"
).split()


def draft_guided_option() -> Any:
    """Makes the option, a field of a task's configuration."""
    return option(
        False,
        "greedy decoding that reads ahead in the draft, or in the source if there is no "
        "draft: the output of --beam 1 in fewer decoder passes",
    )


@dataclass
class DraftGuidedTranslationConfig(TranslationConfig):
    """fairseq's options of translation, and ``--draft-guided``."""

    draft_guided: bool = draft_guided_option()


def is_draft_guided(task: TranslationTask, args: Any) -> bool:
    """Returns whether it is on: in Python by options of generation, in commands by the task's."""
    if getattr(args, "draft_guided", False):
        return True
    return running_command() is not None and bool(getattr(task.cfg, "draft_guided", False))


def check_options(args: Namespace | GenerationConfig) -> None:
    """Raises :class:`UserError` for options that do not go with ``--draft-guided``."""
    beam = getattr(args, "beam", 5)
    if beam != 1:
        raise UserError(
            f"--draft-guided is greedy decoding, but the beam is {beam}: give --beam 1, or "
            "leave out --draft-guided"
        )
    for name in EXCLUDED:
        default = GenerationConfig.__dataclass_fields__[name].default
        if getattr(args, name, default) != default:
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"--draft-guided and {flag} exclude each other; leave one of them out")


def target_numbers(source: Dictionary, target: Dictionary) -> Tensor | None:
    """Returns the number in ``target`` of every symbol of ``source``; None where they are equal."""
    if source == target:
        return None
    return torch.tensor([target.index(symbol) for symbol in source.symbols])


class SourceAsDraft:
    """Gives the sources of a batch as its drafts; a word that the target has not is unknown."""

    def __init__(self, source: Dictionary, target: Dictionary) -> None:
        self.numbers = target_numbers(source, target)

    def __call__(self, sample: Batch) -> list[list[int]]:
        tokens = sample["net_input"]["src_tokens"].cpu()
        return (tokens if self.numbers is None else self.numbers[tokens]).tolist()


@patches(TranslationTask, "build_generator")
def build_generator(
    stock: Stock,
    task: Any,
    models: Sequence[BaseFairseqModel],
    args: Any,
    seq_gen_cls: Any = None,
    extra_gen_cls_kwargs: dict[str, Any] | None = None,
    prefix_allowed_tokens_fn: Any = None,
) -> Any:
    """fairseq's generator, or that of ``--draft-guided``; options that do not go are refused.

    A task whose batches have drafts gives them by a method ``drafts``.
    """
    extra = dict(extra_gen_cls_kwargs or {})
    if is_draft_guided(task, args):
        check_options(args)
        if prefix_allowed_tokens_fn is not None:
            raise UserError("--draft-guided: not with prefix_allowed_tokens_fn; leave one out")
        source = SourceAsDraft(task.source_dictionary, task.target_dictionary)
        extra["drafts"] = getattr(task, "drafts", source)
        seq_gen_cls = DraftGuidedGenerator
    return stock(task, models, args, seq_gen_cls, extra, prefix_allowed_tokens_fn)


def _add_to_translation() -> None:
    """Gives fairseq's own translation task the option."""
    setattr(TranslationTask, "__dataclass", DraftGuidedTranslationConfig)  # noqa: B010
    TASK_DATACLASS_REGISTRY["translation"] = DraftGuidedTranslationConfig
    node = DraftGuidedTranslationConfig()
    node._name = "translation"
    ConfigStore.instance().store("translation", node, group="task", provider="fairseq")


_add_to_translation()
