"""What is faster on a CPU than torch's own."""

import contextlib
import ctypes

_MALLOC_OPTIONS = {-4: 0, -1: -1, -2: 2**26}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD of malloc.h


def keep_memory() -> None:
    """Let glibc keep what an update frees for the next one, which takes the same again.

    By itself it returns blocks above 32 megabytes, such as a batch's logits, and the kernel clears
    their pages anew: a quarter of a translation model's training.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        for option, value in _MALLOC_OPTIONS.items():
            ctypes.CDLL(None).mallopt(option, value)
