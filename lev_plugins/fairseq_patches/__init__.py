"""The only place that works around fairseq: a file a fault, which patches it when imported.

Of what decoding needs too: reading checkpoints (checkpoints, trust, own_dictionaries, symbols,
full_precision), kept_paths, bpe_spaces, last_batch, resumed_epochs, reader_threads. The other files
are of commands and trainings. :mod:`.hooks` has what components may do when a training begins.
"""

from importlib import import_module

from lev_runtime.io.commands import run_cli as run_cli

from .error_lines import one_line_errors


def apply() -> None:
    """Work around faults of fairseq in this process."""
    from . import imports  # slow to import

    one_line_errors()
    imports.import_fairseq()
    from . import (  # noqa: F401
        adafactor_rate,
        agreement,
        atomic_saves,
        beginning,
        bleu_start,
        bpe_spaces,
        checkpoints,
        deferred_logs,
        full_precision,
        fused_adam,
        gradient_norm,
        half_precision,
        language_models,
        last_batch,
        launch,
        reader_threads,
        resumed_epochs,
        symbols,
        typed_lines,
    )

    for name in checkpoints.READERS:
        checkpoints.read_plain_data(import_module(name))
