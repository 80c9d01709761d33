"""Edits as text and as JSON, and the command that writes them."""

import io
import json
import re
import sys
from pathlib import Path

import editors
import pytest
import saved
import tiny
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from tables import table

from lev_plugins.cli import trace as command
from lev_plugins.export.folder import export
from lev_plugins.inference.editor import LevenshteinEditor
from lev_plugins.packaged import DEMO_LINES
from lev_plugins.reports.traces import render_text
from lev_runtime.history import EditTrace, Iteration
from lev_runtime.io.lines import BATCHES_PER_CHUNK
from lev_runtime.io.output import printable

RISKY = st.text(
    st.sampled_from("<>&\"'/\0\x1b\u2028\u202e\n\t\\{}%-!ab é") | st.characters(), min_size=1
)


def edit(*words: str) -> Iteration:
    """Build an iteration from words: ``-deleted``, ``+inserted`` or kept."""
    sides = []
    for sign, other in ("-+", "+-"):
        rest = [word for word in words if word[0] != other]
        sides.append(tuple(word.removeprefix(sign) for word in rest))
        sides.append(tuple(word[0] == sign for word in rest))
    return Iteration(*sides)


# Text ------------------------------------------------------------------------------------------

SHOWN = """(sentence 3)    source » die Katze schlief
                draft  » teh teh cat
(iteration 1)   delete » [-teh teh-] cat
                insert » cat {+sat+}
(iteration 2)   delete » cat [-sat-]
                nothing to insert
(iteration 3)   nothing to delete
                insert » cat {+slept+}
                nothing to delete, nothing to insert » [terminate]
                edits  » [-teh teh-] cat {+slept+}
                output » (empty)
                score  » -0.2500
"""


def rendered(*steps: str, source: str = "", draft: str | None = None) -> str:
    iterations = tuple(edit(*step.split()) for step in steps)
    return render_text(EditTrace(source, draft, "", -0.25, iterations, "unchanged"), number=3)


def test_text_follows_the_papers_figure():
    steps = ["-teh -teh cat +sat", "cat -sat", "cat +slept", "cat slept"]
    assert rendered(*steps, source="die Katze schlief", draft="teh teh cat") == SHOWN
    assert " » a[-<unk>-]é\n" in rendered("a -<unk> é +e\u0301"), "characters are joined"
    assert " » a {+bc+}\n" in rendered("a +bc"), "words are not"
    assert " » Retorna [-línea-].\n" in rendered("▁Re torna -▁lí -nea +▁colum +na .")


@given(RISKY)
def test_text_holds_no_control_characters_but_line_ends(risky):
    shown = render_text(editors.trace(risky), 1)
    assert all(char == "\n" or char == " " or char == printable(char) for char in shown)
    assert not {"\x1b", "\0", "\u2028", "\u202e", "\r", "\x85"} & set(shown)
    shown.encode("utf-8")  # no lone surrogates


# Command ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An edit model that nobody trained."""
    folder = tmp_path_factory.mktemp("model")
    tiny.dictionaries(folder / "bin")
    return saved.save(folder / "model.pt", folder / "bin", "editor")


@pytest.fixture
def trace(model, monkeypatch, tmp_path, capsys):
    """Runs the command on what is typed, in an empty folder: standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(typed: str, *words: str) -> tuple[str, str]:
        stdin = io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="ascii")
        monkeypatch.setattr(sys, "stdin", stdin)
        command.main(["--path", str(model), "--max-iter", "2", "--bpe", "none", *words])
        return capsys.readouterr()

    return run


def test_lines_become_the_editors_traces_in_order_and_empty_lines_count(trace, model):
    rows = [("a b", "b"), ("", None), ("c \u2028", "a a"), ("d", ""), ("", "c")]
    typed = "\ufeff" + "\r\n".join(s if d is None else f"{s}\t{d}" for s, d in rows)
    out, _ = trace(typed, "--json", "lines", "--batch-size", "2")
    editor = LevenshteinEditor.from_pretrained(model, bpe=None)
    expected = editor.edit(*map(list, zip(*rows)), max_iter=2)
    records = [json.loads(line) for line in Path("lines").read_text("utf-8").splitlines()]
    assert out.count("(sentence ") == len(records)
    for record, trace_ in zip(records, expected, strict=True):
        for name in ("source", "draft", "text", "terminated"):
            assert record[name] == getattr(trace_, name)


def test_an_export_shows_the_edits_of_its_model_without_torch(trace, model, monkeypatch, capsys):
    export(str(model), "exported", bpe="none")
    typed = "a b\tb\n\na\n"
    expected, _ = trace(typed)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
    monkeypatch.setattr(command, "register", None)  # what imports torch and fairseq
    command.main(["--path", "exported", "--max-iter", "2"])
    shown, _ = capsys.readouterr()
    score = re.compile(r"-?[0-9]+[.][0-9]{4}")
    assert score.sub("", shown) == score.sub("", expected) and shown.count("(sentence ") == 3


def test_the_demo_shows_what_the_packages_model_does_with_lines_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(command, "register", None)  # what imports torch and fairseq
    command.main(["--demo", "--json"])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    drafts = [line.split("\t")[1] for line in DEMO_LINES.read_text("utf-8").splitlines()]
    assert [record["draft"] for record in records] == drafts
    assert all(record["iterations"] and record["text"] != record["draft"] for record in records)


def test_many_lines_are_numbered_across_chunks_and_marks_are_obeyed(trace):
    lines = 2 * BATCHES_PER_CHUNK + 1
    Path("in").write_text("a\t[=a=] [-b-]\n" * lines)
    out, _ = trace("", "--input", "in", "--batch-size", "2", "--markup")
    numbers = re.findall(r"\(sentence (\d+)\)", out)
    assert list(map(int, numbers)) == list(range(1, lines + 1))
    assert out.count("[-b-]") >= lines and "[-a" not in out


def test_a_model_of_drafts_says_once_that_it_generates_where_a_line_has_none(trace, model):
    path = saved.changed(model, Path("mt.pt"), "task", draft_lang="mt")
    for name, count in ((path, 1), (model, 0)):
        _, notes = trace("a\tb\na\t\na\na\n", "--path", str(name))
        assert notes.count("\n") == notes.count("note: line 3 ") == count


@pytest.mark.parametrize("words, named", table("cli/refused.tsv", "trace"))
def test_a_mistake_is_one_line_and_leaves_no_files(trace, words, named):
    text = "fine\na\tb\tc\td\n"
    Path("lines").write_text(text)
    assert named in refusal(lambda arguments: trace(text, *arguments), *words.split())
