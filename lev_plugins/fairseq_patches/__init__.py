"""The only place that works around fairseq: each file patches it when imported.

checkpoint_files and checkpoints are for all that reads checkpoints, training, signals and progress
for trainings, gpu for trainings on a GPU, decoding_options for decoding, and small has a function
or two for each small fault. :mod:`.hooks` has what components may do when a training begins.
"""

from importlib import import_module

from lev_runtime.io.commands import run_cli as run_cli

from .imports import import_fairseq, one_line_errors


def apply() -> None:
    """Works around faults of fairseq in this process."""
    one_line_errors()
    import_fairseq()
    from . import checkpoint_files, checkpoints, decoding_options, gpu, small, training  # noqa: F401

    for name in checkpoints.READERS:
        checkpoints.read_plain_data(import_module(name))
    checkpoint_files.evaluate_literals()
    training.resolve_in_main()
