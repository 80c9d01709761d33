"""Refuses options of decoding that nobody reads, and decodes the share of ``--num-shards``.

Faults: fairseq's commands take every option of every generator and pass over those that theirs does
not read; ``--num-shards`` and ``--shard-id`` are read by none.
"""

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from fairseq import options
from fairseq.dataclass.configs import GenerationConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.tasks import FairseqTask
from fairseq.tasks.translation import TranslationTask
from fairseq.tasks.translation_lev import TranslationLevenshteinTask

from lev_runtime.errors import UserError, flag

from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command
from .imports import untouched_root_logger
from .small import share

EDITS, STOCK_DECODING = "edit models", "--stock-decoding"
BEAM_SEARCH, OWN_BEAM_SEARCH = "beam search", "beam search with this model"
SCORER, STOCK_EDITS = "--score-reference", "--task translation_lev"
_ITERATIONS = (
    "iter_decode_eos_penalty iter_decode_max_iter iter_decode_force_max_iter retain_iter_history "
    "print_step "
)
_CANDIDATES = "iter_decode_with_beam iter_decode_with_external_reranker "
_DROPOUT = "retain_dropout retain_dropout_modules "
_SEARCH = (
    "beam nbest max_len_a max_len_b min_len match_source_len unnormalized lenpen unkpen "
    "replace_unk score_reference prefix_size no_repeat_ngram_size sampling sampling_topk "
    "sampling_topp constraints temperature diverse_beam_groups diverse_beam_strength "
    "diversity_rate print_alignment lm_path lm_weight "
)
#: which of fairseq's options of generation each generator reads, its model and what prints it
READ = {
    EDITS: f"{_ITERATIONS}{_CANDIDATES}nbest max_len_a max_len_b lenpen unkpen",
    STOCK_DECODING: _ITERATIONS,
    BEAM_SEARCH: f"{_SEARCH}{_DROPOUT}no_beamable_mm",
    OWN_BEAM_SEARCH: _SEARCH,
    SCORER: f"{_DROPOUT}score_reference print_alignment",
    STOCK_EDITS: f"{_ITERATIONS}{_CANDIDATES}{_DROPOUT}decoding_format replace_unk",
}
#: options that nothing reads without another one, where both are known
NEEDS = {
    "sampling_topk": "sampling",
    "sampling_topp": "sampling",
    "diverse_beam_strength": "diverse_beam_groups",
    "lm_weight": "lm_path",
    "retain_dropout_modules": "retain_dropout",
    "lenpen": "iter_decode_with_external_reranker",
}
#: what each command does not read, of all that it takes for decoding and its data
UNREAD = {
    "generate": "constraints",
    "interactive": "prefix_size print_step retain_iter_history lm_path lm_weight score_reference "
    "quiet results_path gen_subset num_shards shard_id",
    "validate": "post_process quiet results_path gen_subset num_shards shard_id",
    "train": "gen_subset num_shards shard_id",
}
_SET = ("_name", "no_seed_provided")  # by fairseq itself
#: what to give instead
_INSTEAD = {
    "sacrebleu": "give --scoring sacrebleu, or score with lev-report",
    "constraints": "fairseq-interactive reads it with beam search, and --markup with edit models",
    "prefix_size": "fairseq-generate reads it with beam search; edit models read a draft",
    "num_shards": "only fairseq-generate decodes a share",
    "beam": "edit models have --iter-decode-with-beam",
    "sampling": "edit models have --iter-decode-with-beam and --noise-scale",
}


def require_read(args: Any, generator: str) -> None:
    """Raises :class:`UserError` for an option that ``generator``, of :data:`READ`, does not read.

    args: fairseq's options of generation, or any namespace with some of them. One that is at its
    default is not given; ``--beam 1`` asks for no beam.
    """
    read = READ[generator].split()
    usual = {field.name: field.default for field in fields(GenerationConfig)}
    given = [
        name
        for name, default in usual.items()
        if name not in _SET and getattr(args, name, None) not in (None, False, default)
    ]
    for name in given:
        needed = NEEDS.get(name)
        if name not in read and not (name == "beam" and args.beam == 1):
            refuse(name, generator)
        if needed in read and needed not in given:
            raise UserError(f"{flag(name)} is read with {flag(needed)} only; give both or neither")


def refuse(name: str, reader: str) -> None:
    """Raises :class:`UserError` for an option that ``reader`` does not read."""
    instead = _INSTEAD.get(name, "leave it out")
    raise UserError(f"{flag(name)} is not read by {reader}; {instead}")


@patches(options, "parse_args_and_arch")
def parse_args_and_arch(
    stock: Stock, parser: argparse.ArgumentParser, *more: Any, **named: Any
) -> Any:
    """Refuses what the running command does not read."""
    args = stock(parser, *more, **named)
    command = running_command()
    for name in UNREAD.get(str(command), "").split():
        if getattr(args, name, None) not in (None, parser.get_default(name)):
            refuse(name, f"fairseq-{command}")
    return args


def _build_generator(
    stock: Stock, self: FairseqTask, models: Sequence[Any], args: Any, *more: Any, **named: Any
) -> Any:
    """Builds fairseq's beam search, scorer or iterative refinement for options that it reads."""
    if isinstance(self, TranslationLevenshteinTask):
        require_read(args, STOCK_EDITS)
    elif isinstance(self, TranslationTask):
        require_read(args, SCORER if getattr(args, "score_reference", False) else BEAM_SEARCH)
    return stock(self, models, args, *more, **named)


for _task in (FairseqTask, TranslationLevenshteinTask):
    patches(_task, "build_generator")(_build_generator)


def _generate(stock: Stock, cfg: Any, **named: Any) -> Any:
    """Decodes the sentences of one shard: every N-th, of those of all lengths.

    Raises:
        UserError: a shard that there is not, or shards that would write the same file.
    """
    if isinstance(cfg, argparse.Namespace):
        cfg = convert_namespace_to_omegaconf(cfg)
    shards, shard = cfg.dataset.num_shards, cfg.dataset.shard_id
    if not 0 <= shard < shards:
        raise UserError(
            f"--shard-id {shard} is outside [0, {shards - 1}], of --num-shards {shards}"
        )
    if shards > 1 and cfg.common_eval.results_path is not None:
        raise UserError("--results-path: all shards would write one file; redirect the output")
    token = share.set(slice(shard, None, shards))
    try:
        return stock(cfg, **named)
    finally:
        share.reset(token)


with untouched_root_logger():  # the module sets up logging when it is imported
    import fairseq_cli.generate  # noqa: F401
for module in program_modules("generate"):
    patches(module, "main")(_generate)
