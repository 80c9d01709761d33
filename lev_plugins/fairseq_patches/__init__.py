"""The only place that works around fairseq: one file per family of faults.

``apply()`` is called once, when the package is imported, before anything is registered.

====================  ==============================================================================
``logs``              importing fairseq turns the root logger to DEBUG; hydra's warnings
``checkpoints``       torch refuses fairseq's checkpoints; checkpoints keep relative data paths
``saving``            a kill or a full disk leaves half a checkpoint where a whole one stood
``archives``          a checkpoint may be small on the disk and have no end in memory
``checkpoint_files``  checkpoints are believed: what they say is run, allocated, or a traceback
``copies``            tasks and models cannot be copied, nor sent to another process
``trust``             a checkpoint chooses models, files and addresses
``evaluation``        settings of a checkpoint are run as Python
``indexed``           index files are believed
``divergence``        a training that diverges ends in tracebacks, and its last loss is NaN
``resuming``          a resumed training forgets its patience and the last loss
``training``          a training in a sweep inherits the best score of the one before
``preemption``        a signal that asks a training to end costs all since the last save
``launch``            several processes on a CPU crash, train nothing, or train each for itself
``precision``         ``--bf16`` takes every machine for a TPU, ``--fp16`` on a CPU crashes
``batches``           the last batch is dropped when its size does not suit the multiple; a resumed
                      training has other batches; ``--curriculum`` never ends
``shards``            ``--num-shards`` changes nothing
``symbols``           a dictionary whose symbols have moved goes unnoticed
``interactive``       input lines lose their tabs and bad bytes end in a traceback
``encoders``          ``--bpe characters`` dies before anything begins
``scorers``           the chrF scorer cannot give its score
``adafactor``         ``--scale-parameter`` multiplies the sizes of all tensors
``progress``          progress bars show what metrics are made of
``reports``           a user's mistake ends in a traceback instead of one line
``threads``           a training that ends within an epoch is aborted when Python shuts down
``user_dir``          an installed package that is imported already is refused
====================  ==============================================================================
"""

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
from .batches import (
    batch_every_sentence,
    deterministic_batching,
    keep_last_batch,
    lossless_batches,
    shuffle_when_asked,
)
from .checkpoints import absolute_data_paths, allow_checkpoint_globals
from .copies import allow_copies
from .encoders import configure_plain_encoders
from .flags import accept_renamed_flags
from .interactive import patch_interactive_reader, read_interactive_lines
from .launch import check_launches, infer_torchrun_on_cpu
from .logs import filter_hydra_warnings, import_fairseq, restore_log_level
from .precision import bf16_without_tpu, refuse_fp16_on_cpu
from .progress import hide_private_stats
from .reports import one_line_errors, run_cli
from .scorers import patch_chrf
from .shards import decode_shards
from .symbols import compare_symbols, difference, keep_symbols, refuse_other_symbols
from .threads import stop_prefetch_threads
from .training import prepare_trainings
from .user_dir import accept_imported_package

_applied = False


def apply() -> None:
    """Work around faults of fairseq in this process; a second call does nothing."""
    global _applied
    if _applied:
        return
    one_line_errors()
    import_fairseq()
    accept_imported_package()
    restore_log_level()
    filter_hydra_warnings()
    allow_checkpoint_globals()
    harden_checkpoint_loading()
    allow_copies()
    check_checkpoint_settings()
    evaluate_settings()
    check_index_files()
    write_checkpoints_whole()
    infer_torchrun_on_cpu()
    check_launches()
    accept_renamed_flags()
    keep_last_batch()
    deterministic_batching()
    shuffle_when_asked()
    prepare_trainings()
    keep_symbols()
    decode_shards()
    patch_interactive_reader()
    patch_chrf()
    patch_adafactor()
    hide_private_stats()
    configure_plain_encoders()
    stop_prefetch_threads()
    _applied = True
