"""The only place that works around fairseq: one file per family of faults.

``apply()`` is called once, before anything is registered. The names of all files can be imported
from here; they are loaded when asked for.

====================  ==============================================================================
``logs``              importing fairseq turns the root logger to DEBUG; hydra's and torch's warnings
``checkpoints``       torch refuses fairseq's checkpoints; checkpoints keep relative data paths
``saving``            a kill or a full disk leaves half a checkpoint where a whole one stood
``archives``          a checkpoint may be small on the disk and have no end in memory
``checkpoint_files``  checkpoints are believed: what they say is run, allocated, or a traceback
``trust``             a checkpoint chooses models, files and addresses
``evaluation``        settings of a checkpoint are run as Python
``indexed``           index files are believed
``divergence``        a training that diverges ends in tracebacks, and its last loss is NaN
``resuming``          a resumed training forgets its patience and the last loss
``lengths``           a checkpoint does not say how long the texts were that its model learnt from
``training``          a training in a sweep inherits the best score of the one before
``preemption``        a signal that asks a training to end costs all since the last save
``launch``            several processes on a CPU crash, train nothing, or train each for itself
``precision``         ``--bf16`` takes every machine for a TPU, ``--fp16`` on a CPU crashes
``batches``           the last batch is dropped when its size does not suit the multiple; a resumed
                      training has other batches
``symbols``           a dictionary whose symbols have moved goes unnoticed
``interactive``       input lines lose their tabs
``encoders``          ``--bpe characters`` dies before anything begins; odd spaces join words
``adafactor``         ``--scale-parameter`` multiplies the sizes of all tensors
``registries``        importing fairseq imports every model and task, and all that they need
``reports``           a user's mistake ends in a traceback instead of one line
``threads``           a training that ends within an epoch is aborted when Python shuts down
``user_dir``          an installed package that is imported already is refused
====================  ==============================================================================
"""

# ruff: noqa: F401, F403  (what others import from here)

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .reports import run_cli

if TYPE_CHECKING:
    from .patches import *


def __getattr__(name: str) -> Any:
    """Every name but :func:`run_cli`: these need torch, which the help of a command does not."""
    if not name.startswith("_"):
        try:
            return getattr(import_module(".patches", __name__), name)
        except AttributeError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
