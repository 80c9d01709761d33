"""The help of fairseq's commands."""

import argparse
import sys
from collections.abc import Sequence

from ..io.patching import Stock, patches


def show_whole_help() -> None:
    """Lets ``--help`` of fairseq's commands show the options of task, model and criterion too.

    Fault: in the first of two passes over the arguments, which finds out what is asked for,
    argparse prints the help and ends the program: these options come after it.
    """
    from fairseq import options  # after what it says at its import has been silenced

    @patches(options, "parse_args_and_arch")
    def parse(
        stock: Stock,
        parser: argparse.ArgumentParser,
        input_args: Sequence[str] | None = None,
        *how: object,
        **named: object,
    ) -> object:
        """fairseq's, whose first pass is not told of ``--help``."""
        whole = parser.parse_known_args

        typed = list(sys.argv[1:] if input_args is None else input_args)

        def first(given: object) -> object:
            del parser.parse_known_args  # of the instance: that of the class serves the second
            found = whole([one for one in typed if one not in asked])
            if getattr(found[0], "arch", "") is None:  # fairseq-train, where fairseq asks for one
                parser.print_help()
                parser.exit()
            return found

        asked = {"-h", "--help"} & set(typed)
        if asked:
            parser.parse_known_args = first  # type: ignore[assignment, method-assign]
        return stock(parser, input_args, *how, **named)
