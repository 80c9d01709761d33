"""The Python interface: n-best, several models, terms, and marks on drafts."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import tiny
from test_hub import assert_same, configuration, inputs, save, spelled, texts
from tiny import holds

from lev_plugins import LevenshteinEditor, UserError

SOURCES, DRAFTS = inputs(12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints of the same data that were not trained: one.pt, two.pt and three.pt."""
    made = tmp_path_factory.mktemp("answers")
    tiny.dictionaries(made)
    for seed, name in ((3, "one"), (5, "two"), (6, "three")):
        save(made / f"{name}.pt", configuration(made), seed=seed)
    return made


def load(folder: Path, *names: str) -> LevenshteinEditor:
    return LevenshteinEditor.from_pretrained(":".join(str(folder / f"{n}.pt") for n in names))


@pytest.fixture(scope="module")
def editor(folder: Path) -> LevenshteinEditor:
    return load(folder, "one")


@pytest.fixture(autouse=True)
def dictionary_stays_as_it_is(editor):
    """Whatever is edited or refused."""
    before = list(editor.task.tgt_dict.symbols), list(editor.task.tgt_dict.count)
    yield
    assert (editor.task.tgt_dict.symbols, editor.task.tgt_dict.count) == before


def test_the_best_answers_come_first_and_none_comes_twice(editor):
    plain = editor.edit(SOURCES, DRAFTS)
    groups = editor.edit_nbest(SOURCES, DRAFTS, nbest=4, noise_scale=1.0)
    assert len(groups) == len(SOURCES)
    for group, single in zip(groups, plain, strict=True):
        scores = [trace.score for trace in group]
        assert 1 <= len(group) <= 4 and scores == sorted(scores, reverse=True)
        assert len(set(texts(group))) == len(group)
        assert single.text in texts(group)
        assert all((one.source, one.draft) == (single.source, single.draft) for one in group)
    assert max(map(len, groups)) > 1
    assert any(group[0].text != single.text for group, single in zip(groups, plain, strict=True))


def test_one_answer_is_that_of_edit(editor):
    plain = editor.edit(SOURCES, DRAFTS)
    assert_same([group[0] for group in editor.edit_nbest(SOURCES, DRAFTS)], plain)
    assert_same(editor.edit(SOURCES, DRAFTS, noise_scale=9.0), plain)
    still = editor.edit(SOURCES, DRAFTS, candidates=3, noise_scale=0.0)
    assert [dataclasses.replace(one, score=0.0) for one in still] == [
        dataclasses.replace(one, score=0.0) for one in plain
    ]


def test_more_answers_may_be_made_than_are_given_back(editor):
    many = editor.edit_nbest(SOURCES, DRAFTS, nbest=5)
    best = editor.edit(SOURCES, DRAFTS, candidates=5)
    assert_same(best, [group[0] for group in many])
    assert max(map(len, editor.edit_nbest(SOURCES, DRAFTS, nbest=2, candidates=5))) == 2


def test_answers_do_not_depend_on_the_batch_and_noise_is_sampled_anew_only_by_its_seed(editor):
    options = {"nbest": 3, "noise_scale": 1.0}
    whole = editor.edit_nbest(SOURCES, DRAFTS, **options)
    for size in (1, 5):
        for one, two in zip(
            whole, editor.edit_nbest(SOURCES, DRAFTS, batch_size=size, **options), strict=True
        ):
            assert_same(one, two)
    other = editor.edit_nbest(SOURCES, DRAFTS, seed=2, **options)
    assert list(map(texts, other)) != list(map(texts, whole))


def test_an_option_that_cannot_be_is_refused_by_its_old_name_too(editor):
    with pytest.raises(UserError, match="^candidates 0: must be 1 or more"):
        editor.edit_nbest(["a"], ["b"], answers=0)


def test_models_may_come_in_any_order_and_all_have_their_say(folder, editor):
    three = load(folder, "one", "two", "three").edit(SOURCES, DRAFTS, max_iter=3)
    assert_same(load(folder, "three", "one", "two").edit(SOURCES, DRAFTS, max_iter=3), three)
    for names in (("one",), ("one", "two"), ("two", "three"), ("one", "three")):
        fewer = load(folder, *names).edit(SOURCES, DRAFTS, max_iter=3)
        assert texts(fewer) != texts(three)


def test_a_path_may_have_a_colon_in_it(folder, editor, tmp_path):
    shutil.copy(folder / "one.pt", tmp_path / "one:two.pt")
    alone = LevenshteinEditor.from_pretrained(str(tmp_path / "one:two.pt"))
    assert len(alone.models) == 1
    assert_same(alone.edit(SOURCES, DRAFTS), editor.edit(SOURCES, DRAFTS))


def test_a_second_checkpoint_that_cannot_be_read_is_named(folder, tmp_path):
    with pytest.raises(UserError, match="none.pt does not exist"):
        load(folder, "one", "none")
    (folder / "broken.pt").write_bytes(b"nothing")
    with pytest.raises(UserError, match="broken.pt is truncated, damaged or not a checkpoint"):
        load(folder, "one", "broken")
    (folder / "broken.pt").unlink()


TERMS = [["a b"], ["h", "g f"], None, ["c c c"], [], ["b", "b"], ["e"], ["a b c d", "e f", "a"]]


def test_hard_terms_are_in_the_output_whole_and_in_their_order(editor):
    sources = SOURCES[: len(TERMS)]
    for options in ({}, {"delete_threshold": 0.0}, {"nbest": 3}):
        for group, terms in zip(
            editor.edit_nbest(sources, terms=TERMS, **options), TERMS, strict=True
        ):
            assert all(holds(trace.text, terms or []) for trace in group)
    traces = editor.edit(sources, terms=TERMS)
    assert traces[0].iterations[0].before == ("a", "b") and traces[0].draft is None
    assert_same([traces[2], traces[4]], editor.edit([sources[2], sources[4]]))


def test_soft_terms_are_what_the_model_starts_from_and_may_delete(editor):
    sources = SOURCES[: len(TERMS)]
    joined = [" ".join(terms) if terms else None for terms in TERMS]
    soft = editor.edit(sources, terms=TERMS, hard_terms=False)
    assert texts(soft) == texts(editor.edit(sources, joined))
    assert not all(holds(one.text, terms or []) for one, terms in zip(soft, TERMS, strict=True))
    (unknown,) = editor.edit(["a"], terms=[["xyz"]], hard_terms=False, delete_threshold=1.0)
    assert "xyz" in unknown.text.split()
    bracketed = editor.edit(["a"], terms=[["[=a=]"]], hard_terms=False, markup=True)
    assert bracketed[0].iterations[0].before == ("[=a=]",), "terms have no marks"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"drafts": ["a", "b"], "terms": [None, ["a"]]}, "^sentence 2 has a draft and terms; mark"),
        ({"terms": [["a"]]}, "^2 sources but 1 lists of terms"),
        ({"terms": [None, "a b"]}, "^sentence 2: terms are a list of texts, not a single text"),
        (
            {"terms": [["a"], ["a", "b xyz"]]},
            "^sentence 2: the term 'b xyz' has 'xyz', which is not",
        ),
        ({"terms": [["a"], [" "]]}, "^sentence 2: .* is empty"),
    ],
)
def test_terms_that_cannot_be_are_refused(editor, arguments, said):
    with pytest.raises(UserError, match=said):
        editor.edit(["a", "b"], **arguments)


def test_drafts_and_terms_may_share_a_call(editor):
    mixed = editor.edit(["a b", "c"], ["h a", None], terms=[None, ["f g"]])
    assert_same(mixed[:1], editor.edit(["a b"], ["h a"]))
    assert_same(mixed[1:], editor.edit(["c"], terms=[["f g"]]))


def test_marks_are_orders_only_where_they_are_asked_for(editor):
    draft = "a [=b=] [-c-] [+d e+] \\[=f"
    for threshold in (0.0, 0.5, 1.0):
        (trace,) = editor.edit(["a b"], [draft], markup=True, delete_threshold=threshold)
        assert trace.draft == draft
        assert trace.iterations[0].before == ("a", "b", "c", "d", "e", "[=f")
        assert holds(trace.text, ["b", "d e"]) and "c" not in trace.text.split()
        (typed,) = editor.edit(["a b"], [draft], delete_threshold=threshold)
        before = typed.iterations[0].before if typed.iterations else tuple(typed.text.split())
        assert before == tuple(draft.split())


def test_a_kept_word_that_is_not_known_stands_in_every_answer(editor):
    drafts = [f"a [=Zürich=] {draft}" for draft in DRAFTS]
    for group in editor.edit_nbest(SOURCES, drafts, nbest=3, markup=True, delete_threshold=0.0):
        assert all(trace.text.split().count("Zürich") == 1 for trace in group)
        assert all("Zürich" in step.after for trace in group for step in trace.iterations)


def test_characters_can_be_marked_alone(folder):
    spelling = LevenshteinEditor.from_pretrained(str(folder / "one.pt"), bpe="characters")
    for threshold in (0.0, 1.0):
        (trace,) = spelling.edit(
            ["abc"], ["a[=bc=]d[-e-]"], markup=True, delete_threshold=threshold, max_iter=1
        )
        assert trace.iterations[0].before == ("a", "b", "c", "d", "e")
        deleted = trace.iterations[0].deleted
        assert deleted == (not threshold, False, False, not threshold, True)
    (trace,) = spelling.edit(["abc"], terms=[["bc"]], delete_threshold=0.0)
    assert "bc" in trace.text
    plain = LevenshteinEditor.from_pretrained(str(folder / "one.pt"))
    assert (
        spelled(trace.text) == plain.edit(["a b c"], terms=[["b c"]], delete_threshold=0.0)[0].text
    )
