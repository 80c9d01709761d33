"""The command line of fairseq's commands: the whole help, a flag that cannot work."""

import argparse
import sys
from collections.abc import Sequence

from ..errors import UserError
from ..io.causes import NO_REPLACEMENT
from ..io.patching import Stock, patches

HELP = ("-h", "--help")


def show_whole_help() -> None:
    """Lets ``--help`` of fairseq's commands show the options of task, model and criterion too."""
    from fairseq import options  # after what it says at its import has been silenced

    @patches(options, "parse_args_and_arch")
    def parse(
        stock: Stock,
        parser: argparse.ArgumentParser,
        input_args: Sequence[str] | None = None,
        *how: object,
        **named: object,
    ) -> object:
        """fairseq's, with all that is registered in its help."""
        if set(HELP) & set(sys.argv[1:] if input_args is None else input_args):
            _hold_help_back(parser)
        return stock(parser, input_args, *how, **named)


def _hold_help_back(parser: argparse.ArgumentParser) -> None:
    """Leaves --help to the second of fairseq's two passes over the arguments.

    Fault: in the first pass, which finds out what is asked for, argparse prints the help and ends
    the program: the options of task, model, criterion and optimizer come after it.
    """
    whole = parser.parse_known_args

    def first(given: Sequence[str]) -> object:
        del parser.parse_known_args  # of the instance: that of the class serves the second pass
        found = whole([one for one in given if one not in HELP])
        if getattr(found[0], "arch", "") is None:  # fairseq-train, where fairseq asks for one
            parser.print_help()
            parser.exit()
        return found

    parser.parse_known_args = first  # type: ignore[assignment, method-assign]


def refuse_replacement() -> None:
    """Refuses ``--replace-unk`` before anything is decoded.

    Faults: without a file fairseq looks for one named ``@@ ``. With one, or with an empty name, the
    first ``<unk>`` in an output is a traceback: beam search leaves no alignment, and with
    ``--print-alignment`` one of another form.
    """
    from fairseq import utils

    @patches(utils, "load_align_dict")
    def load_align_dict(stock: Stock, replace_unk: str | None) -> object:
        """fairseq's, for no replacement."""
        if replace_unk is not None:
            raise UserError(NO_REPLACEMENT)
        return stock(replace_unk)
