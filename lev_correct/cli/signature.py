"""The signature of a run of ``lev-correct``."""

import argparse
from typing import TYPE_CHECKING

from lev_runtime.io.options import say
from lev_runtime.io.signature import signature

from ..packaged import ENGLISH_SPELLING

if TYPE_CHECKING:
    from .. import Corrector


def signed(corrector: "Corrector", args: argparse.Namespace) -> dict[str, str]:
    """Prints the signature of a run, and returns it as a field of JSON records."""
    sure = args.min_confidence
    line = signature(
        args.path or ENGLISH_SPELLING,
        precision=args.precision,
        unit=corrector.unit,
        threshold=float(corrector.min_confidence if sure is None else sure),
        eager="yes" if args.eager else "no",
    )
    say(f"signature: {line}")
    return {"signature": line}
