"""Input lines of ``fairseq-interactive``, as they were typed."""

import contextlib
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..errors import UserError
from ..io.notes import GIVE_DRAFTS, CutNotes, encoder_name, say_no_draft
from ..io.patching import Stock, patches
from ..io.program import running_command
from .logs import untouched_root_logger

if TYPE_CHECKING:
    from fairseq.tasks import FairseqTask
    from omegaconf import DictConfig


@contextlib.contextmanager
def _open_lines(source: str) -> Iterator[Iterable[bytes]]:
    """Lines of a file, or of standard input for ``-``, as bytes that end in a line feed."""
    if source != "-":
        with open(source, "rb") as lines:
            yield lines
    elif sys.stdin is None:
        raise UserError("standard input is closed; give a file: --input FILE")
    elif hasattr(sys.stdin, "buffer"):
        yield sys.stdin.buffer
    else:  # a program has put text in the place of standard input
        yield (line.encode("utf-8", "surrogateescape") for line in sys.stdin)


def _decode(line: bytes, source: str, number: int) -> str:
    """One line as text: its fields stripped of spaces, the tabs between them kept."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        name = "standard input" if source == "-" else source
        raise UserError(
            f"{name}, line {number}: byte {line[error.start]:#04x} at position {error.start + 1} "
            "is not UTF-8; convert the text first (iconv -f LATIN1 -t UTF-8)"
        ) from error
    if number == 1:
        text = text.removeprefix("\ufeff")  # a byte order mark is no text
    return "\t".join(field.strip() for field in text.split("\t"))


def read_interactive_lines(input: str, buffer_size: int) -> Iterator[list[str]]:
    """Stands in for ``fairseq_cli.interactive.buffered_read``.

    Fault: fairseq strips every line, so a tab at either end (an empty source, an empty draft)
    is lost; it also ends a line at a lone carriage return, reads standard input in the locale's
    encoding, and dies with a traceback on bytes that are not UTF-8.

    Args:
        input: a file, or ``-`` for standard input (fairseq's name for this argument).
        buffer_size: lines in a buffer; the last one may be shorter.

    Yields:
        Buffers of lines, without line ends, spaces at the ends of tab separated fields removed.

    Raises:
        UserError: a line is not UTF-8; lines before it have been given out by then.
    """
    buffer: list[str] = []
    with _open_lines(input) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                buffer.append(_decode(line, input, number))
            except UserError:
                if buffer:
                    yield buffer
                raise
            if len(buffer) >= buffer_size:
                yield buffer
                buffer = []
    if buffer:
        yield buffer


class _Notes:
    """What is said once of lines that are not what a task's checkpoint was trained for."""

    def __init__(self, cfg: "DictConfig", task: Any) -> None:
        trained = getattr(task, "checkpoint_cfg", None)  # of the checkpoint loaded last
        drafts = None if cfg.generation.constraints else getattr(trained, "task", None)
        self.draft_lang: str | None = getattr(drafts, "draft_lang", None)
        self.known, self.lines = task.source_dictionary, 0
        names = (encoder_name(getattr(one, "bpe", None)) for one in (cfg, trained))
        self.cut = CutNotes(self.known.symbols[self.known.nspecial :], *names)

    def look_at_drafts(self, lines: Sequence[str]) -> None:
        """Looks for a line without one."""
        for number, line in enumerate(lines, start=self.lines + 1):
            if self.draft_lang and "\t" not in line:
                say_no_draft(f"line {number} has no draft", self.draft_lang, GIVE_DRAFTS)
                self.draft_lang = None
        self.lines += len(lines)

    def look_at_sources(self, lines: Sequence[str], tokens: Any) -> None:
        """Looks at the tokens (B × S) of some of the lines."""
        if not self.cut.done:
            unknown = tokens.eq(self.known.unk())
            words = tokens.ge(self.known.nspecial) | unknown
            self.cut.look_at(lines, int(words.sum()), int(unknown.sum()))


_notes: WeakKeyDictionary[Any, _Notes] = WeakKeyDictionary()


def _looked_at(
    stock: Stock,
    lines: Sequence[str],
    cfg: "DictConfig",
    task: Any,
    *rest: object,
    **named: object,
) -> Iterator[Any]:
    """fairseq's batches, with notes on what they hold."""
    from fairseq.tasks.translation import TranslationTask

    if not isinstance(task, TranslationTask):
        yield from stock(lines, cfg, task, *rest, **named)
        return
    if task not in _notes:
        _notes[task] = _Notes(cfg, task)
    notes, sources = _notes[task], [line.split("\t")[0] for line in lines]
    notes.look_at_drafts(lines)
    for batch in stock(lines, cfg, task, *rest, **named):
        notes.look_at_sources(sources, batch.src_tokens)
        yield batch


def _forget_buffers(program: ModuleType) -> None:
    """Lets ``make_batches`` let go of a buffer when it has been answered.

    Fault: the task keeps the iterator of every buffer, and with it the lines, as if they were the
    split of a training: about 650 bytes a line of eight words, until the command ends.
    """

    @patches(program, "make_batches")
    def make_batches(
        stock: Stock,
        lines: Sequence[str],
        cfg: "DictConfig",
        task: "FairseqTask",
        *rest: object,
        **named: object,
    ) -> Iterator[object]:
        """The batches of a buffer."""
        try:
            yield from _looked_at(stock, lines, cfg, task, *rest, **named)
        finally:
            task.dataset_to_epoch_iter.clear()


def patch_interactive_reader() -> None:
    """Put :func:`read_interactive_lines` in the place of fairseq's reader, and keep no buffer.

    ``main()`` looks the name up when it runs, so it is enough to do this before: in the module,
    and in ``__main__`` where ``python -m fairseq_cli.interactive`` runs a second copy of it.
    """
    with untouched_root_logger():  # the module sets up logging when it is imported
        modules: list[Any] = [importlib.import_module("fairseq_cli.interactive")]
    if running_command() == "interactive" and hasattr(sys.modules["__main__"], "buffered_read"):
        modules.append(sys.modules["__main__"])
    for module in modules:
        module.buffered_read = read_interactive_lines
        _forget_buffers(module)
