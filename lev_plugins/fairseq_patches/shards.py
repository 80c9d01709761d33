"""Decoding a part of the lines."""

import logging
import traceback
from typing import TextIO

from omegaconf import DictConfig

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import program_modules, running_command

logger = logging.getLogger(__name__)


def decode_shards() -> None:
    """Let ``fairseq-generate --num-shards N --shard-id I`` decode every N-th batch.

    Fault: fairseq-generate takes both options and gives all lines to every shard; its iterator is
    told the place of the process among distributed ones, of which there is one.
    """
    for program in program_modules("generate"):

        @patches(program, "_main")
        def main(stock: Stock, cfg: DictConfig, output: TextIO) -> object:
            """fairseq's, as process I of N."""
            number, count = cfg.dataset.shard_id, cfg.dataset.num_shards
            if not 0 <= number < count:
                raise UserError(
                    f"--shard-id {number}: with --num-shards {count} shards go from 0 to "
                    f"{count - 1}"
                )
            if count > 1:
                cfg.distributed_training.distributed_world_size = count
                cfg.distributed_training.distributed_rank = number
            try:
                return stock(cfg, output)
            except ZeroDivisionError as error:  # sentences a second
                if count == 1 or not _decoded_nothing(error):
                    raise
                logger.warning("shard %d of %d has no batch: nothing to decode", number, count)
                return None


def _decoded_nothing(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_locals.get("num_sentences") == 0


def refuse_shards(cfg: DictConfig) -> None:
    """Refuse ``--num-shards`` in commands that would use all lines.

    Args:
        cfg: ``FairseqConfig`` of a command other than fairseq-generate.

    Raises:
        UserError: shards were asked for. fairseq-eval-lm knows them.
    """
    command = running_command()
    if cfg.dataset.num_shards > 1 and command not in (None, "generate", "eval-lm"):
        raise UserError(
            f"--num-shards {cfg.dataset.num_shards}: fairseq-{command} knows no shards and would "
            "use all lines; leave it out (fairseq-generate knows them)"
        )
