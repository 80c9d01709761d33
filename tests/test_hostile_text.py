"""Text that breaks programs, through Python: as many answers as lines, in order, and in time."""

import time
from functools import cache

import editors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins import UserError

#: what is known, what only looks known, spaces of all kinds, marks, and halves of characters
CHARACTERS = "abcdefgh _-.1\t\0\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000"
CHARACTERS += "\u0301\u05d0\u200b\u200d\u202e\u2066\u2581\ufeff\ufffd\ufdd0\U0010ffff\ud800\udcff"
SYMBOLS = "</s> <s> <pad> <unk> <plh> madeupword0000 @@ ## \\ <script> [= =] [- -] [+ +]"
PIECES = [*CHARACTERS, *SYMBOLS.split(), "e\u0301", "\U0001f469\u200d\U0001f467", "\u0130\ufb01"]
LINE = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=12).map("".join)
LINES = st.lists(LINE, max_size=6)
#: beginnings of lines of 100,000 bytes
UNITS = (
    "a|a |.|. |.'|\u3002a|\u3002|\u0301|a\u0301|\u202e|\0|\x85|\u2028|\ud800|\\[=|[=|[=a=]|[=a=] |"
)
UNITS += "[+a+] |<s> |@@ |abcdefgh |\U0001f469\u200d\U0001f467"
LONG = [unit * (100_000 // len(unit.encode("utf-8", "surrogatepass"))) for unit in UNITS.split("|")]
SECONDS = 40.0  # of the processor; what is not bounded takes many minutes


editor = cache(editors.editor)
edits = cache(lambda: editors.edit_corrector("line", max_iter=3))
translates = cache(lambda: editors.writing_corrector(unit="line"))


@given(LINES, st.data(), st.booleans(), st.integers(1, 4))
def test_an_editor_answers_every_line_in_order(lines, data, characters, size):
    drafts = data.draw(st.lists(st.none() | LINE, min_size=len(lines), max_size=len(lines)))
    of = editor(1, characters)
    traces = of.edit(lines, drafts, max_iter=2, batch_size=size)
    assert [(trace.source, trace.draft) for trace in traces] == list(zip(lines, drafts))
    for trace in traces:
        assert isinstance(trace.text, str) and 0 <= trace.steps <= 2
        draft = trace.draft or ""
        limit = max(len((of.bpe.encode(draft) if of.bpe else draft).split()), 62)
        assert all(len(step.after) <= limit for step in trace.iterations)
    assert len(of.task.tgt_dict) == of.task.placeholder + 1
    # nothing goes, nothing comes: word for word what it was
    still = editor(max_insertions=0)
    traces = still.edit(["a"] * len(lines), lines, max_iter=2, delete_threshold=1.0)
    assert [trace.text for trace in traces] == [" ".join(line.split()) for line in lines]
    assert all(trace.terminated == "unchanged" for trace in traces)


def edit(line: str) -> None:
    for markup in (False, True):
        try:
            (trace,) = editor(1, True).edit(["a"], [line], markup=markup, max_iter=1)
        except UserError as error:
            assert len(str(error)) < 2_100
        else:
            assert len(trace.iterations) == 1


def correct(line: str) -> None:
    lines, corrector = ["a b", line, "c"], edits() if len(line) % 3 else translates()
    corrections = corrector.correct(lines, min_confidence=1.0)
    assert [correction.source for correction in corrections] == lines


@pytest.mark.slow
@pytest.mark.parametrize("call", [edit, correct])
def test_long_lines_are_answered_in_time(call):
    start = time.process_time()
    for line in LONG:
        call(line)
    assert time.process_time() - start < SECONDS
