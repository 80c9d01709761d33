"""Flags of fairseq's commands that had another name in version 0.5."""

import argparse
import functools
from collections.abc import Sequence

from ..deprecation import FLAGS, renamed_flags


def accept_renamed_flags() -> None:
    """Lets fairseq's commands take old names of our flags, each with a line on standard error."""
    from fairseq import options  # after what it says at its import has been silenced

    stock = options.parse_args_and_arch

    @functools.wraps(stock, assigned=())
    def parse(
        parser: argparse.ArgumentParser, input_args: Sequence[str] | None = None, **how: object
    ) -> object:
        """fairseq's, with the new names."""
        return stock(parser, renamed_flags(input_args, FLAGS), **how)

    options.parse_args_and_arch = parse
