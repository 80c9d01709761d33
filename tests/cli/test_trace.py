"""Edits as text, as a page and as JSON, and the command that writes them."""

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from lev_plugins.cli import trace as command
from lev_plugins.errors import UserError
from lev_plugins.io.output import printable, whole_file
from lev_plugins.reports.trace_page import FEW_SENTENCES, render_html
from lev_plugins.reports.trace_text import (
    choose_joiner,
    deletion_view,
    insertion_view,
    marked_text,
    render_text,
)
from lev_plugins.systems.levenshtein.decoding.history import EditTrace, Iteration

ANSI = re.compile("\x1b\\[[0-9;]*m")
WDIFF = re.compile(r"\[-|-\]|\{\+|\+\}")
# Text with all that could break out of a page or a terminal, at every turn.
RISKY = st.text(
    st.sampled_from("<>&\"'/\0\x1b\u2028\u202e\n\t\\{}%-!ab é") | st.characters(), max_size=6
)


def edit(*words: str) -> Iteration:
    """Build an iteration from words: ``-deleted``, ``+inserted`` or kept."""
    before = [(word[0] == "-", word.removeprefix("-")) for word in words if word[0] != "+"]
    after = [(word[0] == "+", word.removeprefix("+")) for word in words if word[0] != "-"]
    return Iteration(
        before=tuple(token for _, token in before),
        deleted=tuple(gone for gone, _ in before),
        after=tuple(token for _, token in after),
        inserted=tuple(new for new, _ in after),
    )


def spell(word: str) -> Iteration:
    """Build an iteration over characters: ``-x`` deletes x, ``+x`` inserts it."""
    return edit(*re.findall(r"[-+]?.", word))


def traced(*steps: Iteration, **fields: Any) -> EditTrace:
    given: dict[str, Any] = {
        "source": "src",
        "draft": None,
        "text": "out",
        "score": -0.25,
        "terminated": "unchanged",
    }
    return EditTrace(iterations=steps, **(given | fields))


@st.composite
def iterations(draw: Any, tokens: st.SearchStrategy[str] = RISKY) -> Iteration:
    kinds = st.sampled_from(["keep", "delete", "insert"])
    edits = draw(st.lists(st.tuples(kinds, tokens), max_size=8))
    return Iteration(
        before=tuple(token for kind, token in edits if kind != "insert"),
        deleted=tuple(kind == "delete" for kind, _ in edits if kind != "insert"),
        after=tuple(token for kind, token in edits if kind != "delete"),
        inserted=tuple(kind == "insert" for kind, _ in edits if kind != "delete"),
    )


# Text ------------------------------------------------------------------------------------------


def test_text_follows_the_papers_figure():
    steps = [("-teh", "-teh", "cat", "+sat"), ("cat", "-sat", "+slept"), ("cat", "slept")]
    given = {"source": "die Katze schlief", "draft": "teh teh cat", "text": "cat slept"}
    shown = render_text(traced(*(edit(*step) for step in steps), **given), number=3)
    assert shown == (
        "(sentence 3)    source » die Katze schlief\n"
        "                draft  » teh teh cat\n"
        "(iteration 1)   delete » [-teh teh-] cat\n"
        "                insert » cat {+sat+}\n"
        "(iteration 2)   delete » cat [-sat-]\n"
        "                insert » cat {+slept+}\n"
        "                nothing to delete, nothing to insert » [terminate]\n"
        "                edits  » [-teh teh-] cat {+slept+}\n"
        "                output » cat slept\n"
        "                score  » -0.2500\n"
    )


def test_text_says_when_nothing_was_deleted_or_inserted_and_what_is_empty():
    steps = edit("+a", "+b"), edit("a", "-b"), edit("a")
    trace = traced(*steps, source="", text="", terminated="max_iterations")
    shown = render_text(trace, number=1, joiner=" ")
    assert shown.splitlines() == [
        "(sentence 1)    source » (empty)",
        "(iteration 1)   nothing to delete",
        "                insert » {+a b+}",
        "(iteration 2)   delete » a [-b-]",
        "                nothing to insert",
        "(iteration 3)   nothing to delete",
        "                nothing to insert",
        "                the iteration limit was reached » [terminate]",
        "                output » (empty)",
        "                score  » -0.2500",
    ]


def test_a_loop_is_named():
    shown = render_text(traced(edit("-a", "+a"), terminated="loop"), number=1)
    assert "an earlier state came back » [terminate]" in shown


def test_marks_in_a_word_of_characters_are_joined_and_merged():
    step = spell("acc-oo+m+modate")
    assert choose_joiner(traced(step)) == ""
    assert marked_text(step.merged(), "", color=False) == "acc[-o-]o{+mm+}odate"


@pytest.mark.parametrize(
    ("words", "joiner"),
    [
        ("a +▁ b", ""),
        ("a -<unk> é e\u0301", ""),
        ("語 +の", ""),
        ("a +bc", " "),
        ("+▁the ▁cat", " "),
        ("-<unk>", " "),
        ("", " "),
    ],
)
def test_the_joiner_is_empty_for_characters_only(words, joiner):
    assert choose_joiner(traced(edit(*words.split()))) == joiner


def test_a_given_joiner_wins():
    assert "insert » a·{+b·c+}" in render_text(traced(edit("a", "+b", "+c")), 1, joiner="·")


def test_colours_strike_deletions_and_underline_insertions():
    shown = render_text(traced(edit("a", "-b", "+c")), 1, color=True)
    assert "a\x1b[31;9mb\x1b[0m\n" in shown
    assert "a\x1b[1;34;4mc\x1b[0m\n" in shown


@given(iterations(), st.sampled_from(["", " "]))
def test_without_colours_marks_taken_away_leaves_the_tokens(step, joiner):
    def bare(view: list[Any]) -> str:
        return ANSI.sub("", marked_text(view, joiner, color=True))

    assert bare(deletion_view(step)) == printable(joiner.join(step.before))
    assert bare(insertion_view(step)) == printable(joiner.join(step.after))


@given(iterations(st.text("abü\n", max_size=3)), st.sampled_from(["", " "]))
def test_without_wdiff_marks_the_tokens_are_left(step, joiner):
    def bare(view: list[Any]) -> str:
        return WDIFF.sub("", marked_text(view, joiner, color=False))

    assert bare(deletion_view(step)) == printable(joiner.join(step.before))
    assert bare(insertion_view(step)) == printable(joiner.join(step.after))


@given(iterations())
def test_the_merged_view_holds_both_sides_with_deletions_first(step):
    merged = step.merged()
    assert tuple(token for mark, token in merged if mark != "inserted") == step.before
    assert tuple(token for mark, token in merged if mark != "deleted") == step.after
    neighbours = zip(merged, merged[1:], strict=False)
    assert ("inserted", "deleted") not in [(left[0], right[0]) for left, right in neighbours]


@given(RISKY, iterations())
def test_text_holds_no_control_characters_but_line_ends(risky, step):
    shown = render_text(traced(step, source=risky, draft=risky, text=risky), 1)
    assert all(char == "\n" or char == " " or char == printable(char) for char in shown)
    assert not {"\x1b", "\0", "\u2028", "\u202e", "\r", "\x85"} & set(shown)
    shown.encode("utf-8")  # no lone surrogates


# Page ------------------------------------------------------------------------------------------


def test_the_page_marks_edits_as_elements():
    page = render_html([traced(spell("ac-c-co+m+modate"))], "title")
    assert ">ac<del>cc</del>oodate</p>" in page
    assert ">aco<ins>mm</ins>odate</p>" in page
    assert ">ac<del>cc</del>o<ins>mm</ins>odate</p>" in page


def test_the_pages_header_sums_up():
    traces = [
        traced(edit("-a", "+b", "+c"), edit("b", "-c"), edit("b")),
        traced(edit("a", "+b")),
        traced(edit("a")),
    ]
    page = render_html(traces, "title")
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert facts == {
        "sentences": "3",
        "changed": "66.7 %",
        "iterations on average": "1.00",
        "tokens deleted": "1",
        "tokens inserted": "2",
    }
    assert "2 iterations, then nothing to delete, nothing to insert" in page
    assert "1 iteration, then" in page


def test_histories_are_unfolded_for_few_sentences_only():
    few = render_html([traced()] * FEW_SENTENCES, "title")
    many = render_html([traced()] * (FEW_SENTENCES + 1), "title")
    assert few.count("<details open>") == FEW_SENTENCES
    assert many.count("<details>") == FEW_SENTENCES + 1


def test_empty_lines_keep_their_place_on_the_page():
    page = render_html([traced(edit("-a"), source="", draft="", text="")], "title")
    assert page.count('<span class="note">empty</span>') == 3


# Command ---------------------------------------------------------------------------------------


class FakeEditor:
    """Turns every ``teh`` of the draft (of the source, where there is none) into ``the``."""

    draft_lang: str | None = None

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def edit(
        self,
        sources: list[str],
        drafts: list[str | None] | None = None,
        max_iter: int = 10,
        batch_size: int = 64,
        markup: bool = False,
    ) -> list[EditTrace]:
        self.calls.append({"size": len(sources), "max_iter": max_iter, "batch_size": batch_size})
        pairs = zip(sources, drafts or [None] * len(sources), strict=True)
        return [self._edit(source, draft) for source, draft in pairs]

    def _edit(self, source: str, draft: str | None) -> EditTrace:
        words: list[str] = []
        for word in (source if draft is None else draft).split():
            words += ["-teh", "+the"] if word == "teh" else [word]
        step = edit(*words)
        return traced(step, source=source, draft=draft, text=" ".join(step.after))


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch) -> FakeEditor:
    fake = FakeEditor()
    monkeypatch.setattr(command, "load_editor", lambda path, data, processing: fake)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return fake


@pytest.fixture
def trace(editor: FakeEditor, monkeypatch: Any, tmp_path: Path, capsys: Any) -> Any:
    """Runs the command on what is typed, in an empty folder: standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(typed: str | bytes, *words: str, tty: bool = False) -> tuple[str, str]:
        data = typed.encode() if isinstance(typed, str) else typed
        stdin = io.TextIOWrapper(io.BytesIO(data), encoding="ascii")
        monkeypatch.setattr(stdin, "isatty", lambda: tty, raising=False)
        monkeypatch.setattr(sys, "stdin", stdin)
        command.main(["--path", "some/model.pt", *words])
        return capsys.readouterr()

    return run


@pytest.mark.parametrize("draft_lang", ["mt", None])
def test_a_model_of_drafts_says_once_that_it_generates_where_a_line_has_none(
    editor, trace, draft_lang
):
    editor.draft_lang = draft_lang
    _, said = trace("teh\tteh\nteh\t\nteh\nteh\n")
    expected = "note: line 3 has no draft, and the model was trained to correct drafts"
    assert said.count("\n") == said.count(expected) == (draft_lang is not None)
    assert draft_lang is None or "Give 'source<TAB>draft'" in said


def test_lines_become_traces_in_order_and_empty_lines_count(trace):
    out, _ = trace("\ufeffteh Größe\r\n\nsrc\tteh draft\nsrc\t\n\tteh", "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert [(r["source"], r["draft"], r["text"]) for r in records] == [
        ("teh Größe", None, "the Größe"),
        ("", None, ""),
        ("src", "teh draft", "the draft"),
        ("src", "", ""),
        ("", "teh", "the"),
    ]


def test_text_is_printed_with_a_blank_line_between_sentences(trace):
    first, second = trace("teh cat\nteh dog\n")[0].split("\n\n")
    assert first.startswith(
        "(sentence 1)    source » teh cat\n(iteration 1)   delete » [-teh-] cat"
    )
    assert second.startswith("(sentence 2)    source » teh dog\n")


def test_settings_reach_the_editor_and_input_goes_in_chunks(editor, trace):
    lines = 2 * command.BATCHES_PER_CHUNK + 1
    Path("in").write_text("teh\n" * lines)
    out, _ = trace("", "--input", "in", "--batch-size", "2", "--max-iter", "3")
    assert editor.calls == [
        {"size": lines - 1, "max_iter": 3, "batch_size": 2},
        {"size": 1, "max_iter": 3, "batch_size": 2},
    ]
    assert out.count("(sentence ") == lines


def test_a_typed_line_is_answered_at_once(editor, trace):
    _, said = trace("teh\nteh\n", tty=True)
    assert [call["size"] for call in editor.calls] == [1, 1]
    assert "one line per sentence" in said


def test_checkpoint_and_data_reach_the_editor_lazily(trace, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "load_editor", lambda *given: asked.append(given) or FakeEditor())
    trace("", "--path", "dir/model.pt", "--data", "bin", "--bpe", "characters")
    assert asked == [("dir/model.pt", "bin", {"bpe": "characters"})]


@pytest.mark.parametrize(
    ("choice", "tty", "no_color", "term", "colored"),
    [
        ("auto", True, "", "xterm", True),
        ("auto", False, "", "xterm", False),
        ("auto", True, "1", "xterm", False),
        ("auto", True, "", "dumb", False),
        ("always", False, "1", "dumb", True),
        ("never", True, "", "xterm", False),
    ],
)
def test_colours_are_for_terminals_unless_told(
    trace, monkeypatch, choice, tty, no_color, term, colored
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty, raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    assert ("\x1b[" in trace("teh\n", "--color", choice)[0]) is colored


def test_page_and_json_are_written_beside_the_text(trace):
    typed = "teh \u2028 cat\nteh\u0085\n"
    out, err = trace(typed, "--html", "page", "--json", "lines", "--joiner", "_")
    assert out.count("(sentence ") == 2
    assert err.splitlines() == [f"2 sentences written to {name}" for name in ("lines", "page")]
    records = [json.loads(line) for line in Path("lines").read_text("utf-8").splitlines()]
    assert [one["source"] for one in records] == ["teh \u2028 cat", "teh\u0085"]
    page = Path("page").read_text("utf-8")
    assert "<title>Edits by model.pt</title>" in page and "<ins>the</ins>_cat" in page
    assert sorted(os.listdir()) == ["lines", "page"]


def test_json_on_stdout_stands_alone_and_a_title_can_be_given(trace):
    out, _ = trace("teh\n", "--json", "-", "--html", "page", "--title", "A & B")
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["the"]
    assert "<title>A &amp; B</title>" in Path("page").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--max-iter 0", "--max-iter 0: must be 1 or more"),
        ("--batch-size 0", "--batch-size 0: must be 1 or more"),
        ("--html -", "--html needs the name of a file"),
        ("--html x --json ./x", "--json would write over --html x"),
        ("--input missing.txt", "missing.txt: cannot be read"),
        ("--html missing/page.html", "missing/page.html: cannot be written"),
        ("--json .", ".: cannot be written"),
    ],
)
def test_bad_arguments_are_told_before_the_model_is_loaded(trace, monkeypatch, words, message):
    monkeypatch.setattr(command, "load_editor", lambda *_: pytest.fail("the model was loaded"))
    assert message in refusal(lambda given: trace("teh\n", *given), *words.split())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"fine\na\tb\tc\n", "line 2: 2 tabs; a line is 'source' or 'source<TAB>draft'"),
        (b"fine\nfine\nna\xefve\n", "line 3"),
    ],
)
@pytest.mark.parametrize("source", ["lines", "-"])
def test_a_bad_line_is_named_and_leaves_no_files(editor, trace, data, message, source):
    Path("page").write_text("old")
    Path("lines").write_bytes(data)
    words = ("--input", source, "--html", "page", "--json", "records")
    said = refusal(lambda given: trace(data, *given), *words)
    assert message in said and ("stdin" if source == "-" else source) in said
    assert source == "-" or not editor.calls


def test_a_file_is_replaced_through_a_link_and_only_when_whole(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with pytest.raises(RuntimeError), whole_file(str(link)) as stream:
        stream.write("half")
        raise RuntimeError
    assert target.read_text() == "old"
    with whole_file(str(link)) as stream:
        stream.write("new \udc80")
        stream.flush()
        assert target.read_text() == "old"
    assert target.read_text() == r"new \udc80"
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(str(pipe)) as stream:
            stream.write("through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_line():
    with pytest.raises(UserError, match="/dev/full: not written .*; free some space"):
        with whole_file("/dev/full") as stream:
            stream.write("x")
