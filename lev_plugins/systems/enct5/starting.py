"""What a training of EncT5 begins with: a checkpoint that it resumes or is fine-tuned from."""

import logging
import os
from typing import Any

from ...errors import UserError
from ...fairseq_patches import read_checkpoint
from .metadata import Metadata
from .problem_types import ProblemType
from .task_config import EncT5TaskConfig, problem_type, resolved

logger = logging.getLogger(__name__)

KIND = "kind"
LAST = "checkpoint_last.pt"  # fairseq looks for it in --save-dir, for others where they are


def starting_state(cfg: EncT5TaskConfig) -> tuple[Any, bool]:
    """The task's state in the checkpoint that a training begins with.

    Returns:
        The state, None where there is no such checkpoint, with the ``--kind`` of the training; and
        whether it is that of ``--finetune-from-model``.
    """
    restored = resolved(cfg.restore_file)
    if restored == LAST:
        restored = os.path.join(resolved(cfg.save_dir) or "", LAST)
    finetuned = resolved(cfg.finetune_from_model)
    starts = (restored, resolved(cfg.continue_once), finetuned)
    path = next((path for path in starts if path and os.path.isfile(path)), None)
    if path is None:
        return None, False
    try:
        state = read_checkpoint(path, mmap=True)
        settings = (state.get("cfg") or {}).get("task") or {}
        return {**state["task_state"], KIND: settings.get(KIND)}, path == finetuned
    except Exception:  # fairseq reads it next, and says what is wrong with it
        return None, False


def description(state_dict: object, where: str = "the checkpoint") -> Metadata:
    """What the state of a task says of the data that it was trained on.

    Args:
        where: the state was read, for messages.

    Raises:
        UserError: nothing, or nonsense.
    """
    values = state_dict.get("description") if isinstance(state_dict, dict) else None
    if not isinstance(values, dict):
        raise UserError(f"{where} holds no description of its data: it is no EncT5's")
    return Metadata.of(values, where)


def trained_kind(state_dict: dict[str, Any]) -> ProblemType:
    """What a checkpoint of :func:`starting_state` was trained to predict."""
    return problem_type(resolved(state_dict.get(KIND)) or description(state_dict).kind)


def check_resumed_kind(kind: ProblemType, state_dict: dict[str, Any]) -> None:
    """Raise where a checkpoint of :func:`starting_state` predicts something else.

    Raises:
        UserError: it was trained with another ``--kind``.
    """
    if (before := trained_kind(state_dict)) is not kind:
        raise UserError(
            f"--kind {kind.value}: the checkpoint was trained with --kind {before.value}; give "
            "that, or begin with it in another --save-dir by --finetune-from-model"
        )


def anew_for(
    metadata: Metadata, kind: ProblemType, state_dict: dict[str, Any], where: str
) -> tuple[str, ...]:
    """Prefixes of the parameters that begin anew where a checkpoint was trained for other labels.

    Args:
        metadata, kind: of the data and the training of today. state_dict: of
            :func:`starting_state`. where: the data are, for messages.

    Raises:
        UserError: it reads other subwords.
    """
    kept = description(state_dict)
    metadata.check_subwords(kept, where)
    kinds = kind, trained_kind(state_dict)
    if metadata.predicts_the_same(kept) and kinds[0] is kinds[1]:
        return ()
    logger.info(
        "the checkpoint was trained for other labels or another --kind (%s): encoder and decoder "
        "blocks begin with its parameters, the output layer with random ones",
        kinds[1].value,
    )
    # a latent of its own for each label, or one for all
    latents = ProblemType.MULTILABEL in kinds
    return ("head.", "decoder.table.") if latents else ("head.",)
