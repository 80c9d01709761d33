"""ERRANT: what the adapter makes of it, with an ERRANT of our own and with the real one."""

import importlib.metadata
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from refusals import refuses

from lev_plugins.metrics import grammar, make_correction_metric
from lev_plugins.metrics.corpus import add_up
from lev_plugins.metrics.word_edits import word_edits

NAMES = ("errant_precision", "errant_recall", "errant_f05")
LINES = [
    ("This are a gramamtical sentence .", "This is a gramamtical text .", "This is a sentence ."),
    ("I has a dog .", "I have a dog .", "I have a dog ."),
    ("No error here .", "No error here .", "No error here ."),
    ("He go home", "He go home", "He goes home now"),
]


class Annotator:
    """ERRANT by our own edits: what it was asked is remembered."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def parse(self, text: str) -> list[str]:
        self.parsed.append(text)
        return text.split()

    def annotate(self, before: list[str], after: list[str]) -> list[Any]:
        return [
            SimpleNamespace(
                o_start=edit.start,
                o_end=edit.end,
                c_str=" ".join(edit.words),
                type="UNK" if "unknown" in edit.words else "R:OTHER",
            )
            for edit in word_edits(before, after)
        ]


@pytest.fixture(autouse=True)
def loaded_anew() -> Iterator[None]:
    """What one test has loaded is not another's."""
    grammar.load_annotator.cache_clear()
    yield
    grammar.load_annotator.cache_clear()


@pytest.fixture
def annotator(monkeypatch: pytest.MonkeyPatch) -> Annotator:
    """An installed ERRANT of version 9."""
    made, module = Annotator(), ModuleType("errant")
    module.load = {"en": made}.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "errant", module)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"errant": "9"}.get(name, "8"))
    return made


def scored(lines: list[tuple[str, str, str]]) -> tuple[list[float], list[float]]:
    """Sums and the three scores."""
    metrics = [make_correction_metric(name) for name in NAMES]
    (counts,) = {metric.counts for metric in metrics}
    totals = add_up(counts, (counts.statistics(*line) for line in lines))
    return totals, [metric.score(totals) for metric in metrics]


def test_edits_are_right_where_span_and_words_are_those_of_the_reference(annotator):
    totals, (p, r, f) = scored(LINES)
    # right: is, have; wrong: text; missing: one that drops a word, and two
    assert totals == [2, 1, 3, 4]
    assert (p, r) == (pytest.approx(200 / 3), pytest.approx(40))
    assert f == pytest.approx(100 * 1.25 * (2 / 3) * 0.4 / (0.25 * 2 / 3 + 0.4))
    assert make_correction_metric(NAMES[0]).signature() == (
        "nrefs:1|case:mixed|tok:whitespace|match:span-and-words|none:100|errant:9|spacy:8"
    )


def test_the_no_edit_baseline_is_worth_nothing_and_the_reference_all(annotator):
    assert scored([(s, s, r) for s, _, r in LINES])[1] == [100, 0, 0]
    assert scored([(s, r, r) for s, _, r in LINES])[1] == [100, 100, 100]
    assert scored([])[1] == [0, 0, 0]


def test_edits_of_unknown_type_do_not_count_as_in_errants_own_scorer(annotator):
    assert scored([("a b", "a unknown", "a c")])[0] == [0, 0, 1, 1]


def test_a_sentence_is_parsed_once_and_equal_ones_not_at_all(annotator):
    scored([("a  b ", "a c", "a c"), ("d e", "d e", " d e")])
    assert annotator.parsed == ["a b", "a c"]


@pytest.mark.parametrize("name", NAMES)
def test_without_errant_one_line_says_how_to_install_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "errant", None)
    with refuses("pip install 'lev_plugins[grammar]'"):
        make_correction_metric(name)


@pytest.mark.parametrize("error", [OSError("[E050] Can't find model\n"), ImportError("no spacy")])
def test_without_its_language_model_one_line_says_how_to_install_it(monkeypatch, error):
    def load(language: str) -> None:
        raise error

    module = ModuleType("errant")
    module.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "errant", module)
    with refuses(match=r"en_core_web_sm.*python -m spacy download en_core_web_sm$"):
        make_correction_metric("errant_f05")


def test_the_real_errant_counts_as_its_own_command_does(monkeypatch):
    errant = pytest.importorskip("errant")
    spacy = pytest.importorskip("spacy")
    compare = pytest.importorskip("errant.commands.compare_m2")

    def tagged(doc: Any) -> Any:
        for token in doc:
            token.tag_, token.lemma_ = "NN", token.lower_
        return doc

    # spaCy's model has to be downloaded; that the types of edits come out wrong does no harm here
    spacy.language.Language.component("one_tag", func=tagged)
    language = spacy.space("en")
    language.add_pipe("one_tag")
    load = errant.load
    monkeypatch.setattr(errant, "load", lambda name: load(name, language))
    totals, _ = scored(LINES)
    annotator = grammar.load_annotator()

    def edits(before: str, after: str) -> dict[tuple[int, int, str], list[str]]:
        found = annotator.annotate(annotator.parse(before), annotator.parse(after))
        return {(one.o_start, one.o_end, one.c_str): [one.type] for one in found}

    theirs = [compare.compareEdits(edits(s, o), edits(s, r))[:3] for s, o, r in LINES]
    assert totals == [*(sum(column) for column in zip(*theirs)), len(LINES)]
    assert totals[0] > 0 < totals[2]
