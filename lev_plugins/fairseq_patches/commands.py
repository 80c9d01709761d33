"""What fairseq's commands print and read: help, typed lines, text for ``--bpe``."""

import argparse
import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..io.lines import decode, raw_lines
from ..io.patching import Stock, patches
from ..io.program import running_command
from ..io.text_files import plain_spaces
from .logs import untouched_root_logger


def show_whole_help() -> None:
    """Lets ``--help`` of fairseq's commands show the options of task, model and criterion too.

    Fault: the first of two passes over the arguments, in which these are not there, prints it.
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
        """fairseq's; where help is asked for, once all options are there."""

        def show(*_: object) -> None:
            parser.print_help()
            parser.exit()

        typed = list(sys.argv[1:] if input_args is None else input_args)
        if not {"-h", "--help"} & set(typed):
            return stock(parser, input_args, *how, **named)
        parser.error = show  # type: ignore[method-assign, assignment]  # what is missing besides
        with contextlib.suppress(RuntimeError):  # fairseq-train without --arch
            stock(parser, [one for one in typed if one not in ("-h", "--help")], *how, **named)
        show()
        return None


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read`` (``input``: a file, or ``-``).

    Fault: fairseq strips every line, so a tab at either end (an empty source, an empty draft) is
    lost; it also ends a line at a lone carriage return and reads in the locale's encoding.

    Returns:
        ``buffer_size`` lines at a time, the last time perhaps fewer, without their ends, and
        without spaces at the ends of what stands between tabs.

    Raises:
        UserError: a line is not UTF-8.
    """

    def lines() -> Iterator[str]:
        for number, raw in enumerate(raw_lines(input), start=1):
            line = decode("standard input" if input == "-" else input, number, raw)
            line = line.removeprefix("\ufeff") if number == 1 else line  # a byte order mark
            yield "\t".join(field.strip() for field in line.split("\t"))

    found = lines()
    while buffer := list(islice(found, buffer_size)):
        yield buffer


def patch_interactive_reader() -> None:
    """Puts :func:`read_interactive_lines` in the place of fairseq's reader."""
    with untouched_root_logger():  # the module sets up logging when it is imported
        modules: list[Any] = [importlib.import_module("fairseq_cli.interactive")]
    if running_command() == "interactive":  # a second copy of it
        modules.append(sys.modules["__main__"])
    for module in modules:
        module.buffered_read = read_interactive_lines


def configure_plain_encoders() -> None:
    """Makes ``--bpe characters`` work, and lets encoders take every space for one.

    Faults: without a config dataclass every command that is given it dies (``Could not find
    'bpe/characters'``). And a non-breaking or another space of Unicode becomes a part of a token;
    where tokens are told apart, at whitespace, it vanishes, and the words beside it are joined.
    """
    from fairseq.dataclass import FairseqDataclass
    from fairseq.registry import REGISTRIES
    from hydra.core.config_store import ConfigStore

    @dataclass
    class PlainEncoderConfig(FairseqDataclass):
        """No options."""

    known = REGISTRIES["bpe"]
    if known["dataclass_registry"].get("characters") is None:
        known["dataclass_registry"]["characters"] = PlainEncoderConfig
        node = PlainEncoderConfig()
        node._name = "characters"
        ConfigStore.instance().store(name=node._name, group="bpe", node=node, provider="fairseq")
    for name in ("sentencepiece", "characters", "subword_nmt"):

        @patches(known["registry"][name], "encode")
        def encode(stock: Stock, *arguments: object, **named: object) -> str:
            """fairseq's, of the text with plain spaces; the text comes last."""
            *owner, text = (*arguments, *named.values())
            return str(stock(*owner, plain_spaces(str(text))))
