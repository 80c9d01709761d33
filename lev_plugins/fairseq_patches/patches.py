"""All names of this package, and what applies them (:func:`apply`)."""

# ruff: noqa: F401  (what others import from here)

from .batches import deterministic_batching, end_readers, keep_last_batch, stop_prefetch_threads
from .checkpoints import read_checkpoint, read_plain_checkpoints, wrap_checkpoint_errors
from .commands import configure_plain_encoders, patch_interactive_reader, show_whole_help
from .contents import WORDS_LEARNT, difference, keep_symbols
from .imports import accept_imported_package, import_fairseq, is_lean
from .launch import settle_trainings, train_on_cpus
from .logs import filter_mask_warning, filter_torch_warnings, quiet_commands
from .optimizers import keep_masters, patch_adafactor
from .reports import explain, one_line_errors
from .saving import atomic_save, write_checkpoints_whole
from .training import prepare_trainings
from .trust import Origin, check_checkpoint_settings, origin, settings_of

_applied = False


def apply(lean: bool = False) -> None:
    """Work around faults of fairseq in this process; a second call does nothing.

    Args:
        lean: import of fairseq only what is needed (:mod:`.imports`).
    """
    global _applied
    if _applied:
        return
    one_line_errors()
    filter_torch_warnings()
    import_fairseq(lean)
    accept_imported_package()
    quiet_commands()
    read_plain_checkpoints()
    check_checkpoint_settings()
    write_checkpoints_whole()
    train_on_cpus()
    settle_trainings()
    show_whole_help()
    keep_last_batch()
    deterministic_batching()
    prepare_trainings()
    keep_symbols()
    if not is_lean():
        patch_interactive_reader()
    keep_masters()
    patch_adafactor()
    configure_plain_encoders()
    stop_prefetch_threads()
    _applied = True
