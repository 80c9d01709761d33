"""All names of this package, and what applies them (:func:`apply`)."""

# ruff: noqa: F401  (what others import from here)

from ..io.archives import check_archive
from ..io.causes import explain, refusal
from ..io.checkpoint_files import (
    exceeds_storage,
    harden_checkpoint_loading,
    read_checkpoint,
    wrap_checkpoint_errors,
)
from ..io.evaluation import evaluate_settings, evaluated
from ..io.finite import refuse_non_finite_scores
from ..io.indexed import check_index_files
from ..io.saving import (
    atomic_save,
    recovery_hint,
    refuse_asynchronous_checkpoints,
    write_checkpoints_whole,
    write_failure,
)
from ..io.trust import Origin, check_checkpoint_settings, origin, settings_of
from .adafactor import patch_adafactor
from .batches import deterministic_batching, keep_last_batch, lossless_batches
from .checkpoints import absolute_data_paths, allow_checkpoint_globals
from .encoders import configure_plain_encoders
from .flags import show_whole_help
from .interactive import patch_interactive_reader, read_interactive_lines
from .launch import check_launches, infer_torchrun_on_cpu
from .lengths import WORDS_LEARNT
from .logs import filter_mask_warning, hide_private_stats, quiet_commands
from .precision import bf16_without_tpu, refuse_fp16_on_cpu
from .registries import import_fairseq, is_lean
from .reports import one_line_errors, run_cli
from .symbols import compare_symbols, difference, keep_symbols, refuse_other_symbols
from .threads import stop_prefetch_threads
from .training import prepare_trainings
from .user_dir import accept_imported_package

_applied = False


def apply(lean: bool = False) -> None:
    """Work around faults of fairseq in this process; a second call does nothing.

    Args:
        lean: import of fairseq only what is needed (:mod:`.registries`).
    """
    global _applied
    if _applied:
        return
    one_line_errors()
    import_fairseq(lean)
    accept_imported_package()
    quiet_commands()
    allow_checkpoint_globals()
    harden_checkpoint_loading()
    check_checkpoint_settings()
    evaluate_settings()
    check_index_files()
    write_checkpoints_whole()
    infer_torchrun_on_cpu()
    check_launches()
    show_whole_help()
    keep_last_batch()
    deterministic_batching()
    prepare_trainings()
    keep_symbols()
    if not is_lean():
        patch_interactive_reader()
    patch_adafactor()
    hide_private_stats()
    configure_plain_encoders()
    stop_prefetch_threads()
    _applied = True
