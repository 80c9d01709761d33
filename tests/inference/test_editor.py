"""The Python interface: checkpoints come from anywhere, sentences keep their order."""

import dataclasses
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import saved
import tiny
import torch
from closeness import near
from refusals import refuses
from saved import write
from tiny import holds

from lev_plugins import EditTrace, LevenshteinEditor
from lev_plugins.systems.levenshtein.task import TranslationEditTask

SIZES = f"{saved.SIZES} --max-insertions 3"
NOISE = {"nbest": 3, "candidates": 5, "noise_scale": 1.0}


def configuration(data: Path, flags: str = "") -> Any:
    """What fairseq-train would save for a model of ours."""
    words = (
        f"{data} --task translation_edit --source-lang src --target-lang tgt --optimizer adam "
        f"--arch levenshtein_editor_char --criterion edit_policy_loss {SIZES} {flags}"
    )
    return saved.configuration(words.split())


@torch.no_grad()
def enliven(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Random parameters with which sentences are edited in different ways and for a while."""
    torch.manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape)
        if parameter.dim() == 1:
            parameter.add_(0.2 * noise)
        else:
            scale = 3.75 if "cross" in name else 1.5
            parameter.copy_(scale * noise * parameter.size(1) ** -0.5)
    model.placeholder_head.weight[0] *= 2
    return model


def save(path: Path, cfg: Any, seed: int = 4) -> Path:
    """A checkpoint of a model that was not trained."""
    task = TranslationEditTask(cfg.task, tiny.dictionary(), tiny.dictionary())
    torch.manual_seed(seed)
    model = enliven(task.build_model(cfg.model), seed)
    return write(path, cfg, model, task.state_dict())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin`` with two dictionaries, ``ck/checkpoint_last.pt``, and two.pt and three.pt."""
    made = tmp_path_factory.mktemp("editor")
    cfg = configuration(tiny.dictionaries(made / "bin"))
    save(made / "ck" / "checkpoint_last.pt", cfg)
    for seed, name in ((5, "two"), (6, "three")):
        save(made / f"{name}.pt", cfg, seed)
    return made


@pytest.fixture(scope="module")
def editor(folder: Path) -> LevenshteinEditor:
    return LevenshteinEditor.from_pretrained(folder / "ck")


@pytest.fixture(autouse=True)
def dictionary_stays_as_it_is(editor):
    """Whatever is edited or refused."""
    before = list(editor.task.tgt_dict.symbols), list(editor.task.tgt_dict.count)
    yield
    assert (editor.task.tgt_dict.symbols, editor.task.tgt_dict.count) == before


def spelled(letters: str) -> str:
    return " ".join(letters)


def texts(traces: list[EditTrace]) -> list[str]:
    return [trace.text for trace in traces]


def assert_same(one: list[EditTrace], other: list[EditTrace]) -> None:
    """The same traces; scores may differ in their last digits."""
    for first, second in zip(one, other, strict=True):
        assert first.score == near(second.score)
        assert dataclasses.replace(first, score=0.0) == dataclasses.replace(second, score=0.0)


def inputs(count: int = 30) -> tuple[list[str], list[str]]:
    """Sources and drafts of all lengths, some of them empty."""
    rows = tiny.triples(count, longest=9)
    return [spelled(row.source) for row in rows], [spelled(row.draft) for row in rows]


SOURCES, DRAFTS = inputs(12)

# loading --------------------------------------------------------------------------------------


def test_a_folder_can_be_moved_away_from_its_data(folder, editor, tmp_path, monkeypatch):
    shutil.copytree(folder / "ck", tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    state = torch.load("elsewhere/checkpoint_last.pt", weights_only=True)
    state["cfg"]["task"]["data"] = "/nowhere/bin"
    torch.save(state, "elsewhere/checkpoint_last.pt")
    moved = LevenshteinEditor.from_pretrained("elsewhere")
    assert moved.task.src_dict == editor.task.src_dict
    assert_same(moved.edit(SOURCES, DRAFTS), editor.edit(SOURCES, DRAFTS))


def test_options_of_the_training_are_those_of_the_editor(folder, tmp_path):
    path = save(tmp_path / "model.pt", configuration(folder / "bin", "--delete-threshold 1.0"))
    cautious = LevenshteinEditor.from_pretrained(tmp_path).edit(SOURCES, DRAFTS, max_iter=1)
    assert all(not any(trace.net().deleted) for trace in cautious), "no probability is above 1"
    bold = LevenshteinEditor.from_pretrained(path).edit(
        SOURCES, DRAFTS, max_iter=1, delete_threshold=0.0
    )
    drafted = [trace for trace in bold if trace.draft]
    assert drafted and all(all(trace.iterations[0].deleted) for trace in drafted)


def test_a_folder_of_data_may_be_given(folder, tmp_path):
    editor = LevenshteinEditor.from_pretrained(folder / "ck", data=folder / "bin")
    assert editor.edit(["a b"], ["a"])[0].source == "a b"
    tiny.dictionaries(tmp_path, "xyz")
    with refuses("source dictionary", "'a'", "'x'"):
        LevenshteinEditor.from_pretrained(folder / "ck", data=tmp_path)


def test_what_cannot_be_loaded_is_named(folder, tmp_path):
    state = torch.load(folder / "two.pt", weights_only=True)
    del state["model"]["deletion_head.weight"]
    torch.save(state, tmp_path / "model.pt")
    for path, named in (
        (f"{folder}/two.pt:{tmp_path}/none.pt", "none.pt"),
        (folder, "checkpoint_best.pt"),
        (tmp_path, "deletion_head.weight"),
    ):
        with refuses(named):
            LevenshteinEditor.from_pretrained(path)


def test_text_is_split_and_joined_as_asked_for(folder, editor, tmp_path):
    characters = LevenshteinEditor.from_pretrained(folder / "ck", bpe="characters")
    expected = editor.edit(["a b c"], ["b b"])[0]
    trace = characters.edit(["abc"], ["bb"])[0]
    assert (trace.source, trace.draft) == ("abc", "bb")
    assert trace.text == expected.text.replace(" ", "")
    assert trace.iterations == expected.iterations
    trained = save(tmp_path / "model.pt", configuration(folder / "bin", "--bpe characters"))
    assert_same(LevenshteinEditor.from_pretrained(trained).edit(["abc"], ["bb"]), [trace])
    for off in ("none", None):  # the text is cut already
        cut = LevenshteinEditor.from_pretrained(trained, bpe=off)
        assert cut.edit(["a b c"], ["b b"])[0].iterations == trace.iterations


def test_files_of_a_sentencepiece_model_may_have_moved(folder, tmp_path):
    lines = ["abcdefgh", "hgfedcba"]
    tiny.sentencepiece_model(tmp_path / "old.model", lines, model_type="char", vocab_size=12)
    flags = f"--bpe sentencepiece --sentencepiece-model {tmp_path}/old.model"
    path = save(tmp_path / "model.pt", configuration(folder / "bin", flags))
    here = LevenshteinEditor.from_pretrained(path).edit(["abc"], ["ba"], delete_threshold=1.0)
    assert here[0].text and "▁" not in here[0].text
    (tmp_path / "old.model").rename(tmp_path / "new.model")
    with refuses("old.model"):
        LevenshteinEditor.from_pretrained(path)
    moved = {"sentencepiece_model": str(tmp_path / "new.model")}
    for files in (moved, {"bpe": "sentencepiece", **moved}):
        there = LevenshteinEditor.from_pretrained(path, **files)
        assert_same(there.edit(["abc"], ["ba"], delete_threshold=1.0), here)
    with refuses("bpe: 'nosuch'"):
        LevenshteinEditor.from_pretrained(path, bpe="nosuch")


# editing --------------------------------------------------------------------------------------


def test_every_source_gets_its_trace_in_order_whatever_the_size_of_batches(editor):
    sources, drafts = inputs()
    traces = editor.edit(iter(sources), iter(drafts))
    assert [trace.source for trace in traces] == sources
    assert [trace.draft for trace in traces] == drafts
    for size in (1, 7, 30):
        assert_same(editor.edit(sources, drafts, batch_size=size), traces)
    assert len(set(texts(traces))) > 10, "the outputs are too uniform to tell an order"
    assert any(trace.text != trace.draft for trace in traces)


def test_traces_lead_from_the_draft_to_the_text(editor):
    endings = set()
    threshold = 0.5
    for trace in editor.edit(*inputs(), max_iter=4):
        begin = trace.iterations[0].before if trace.iterations else trace.text.split()
        end = trace.iterations[-1].after if trace.iterations else trace.draft.split()
        assert (" ".join(begin), " ".join(end)) == (trace.draft, trace.text)
        assert trace.steps <= len(trace.iterations) <= 4 and trace.score <= 0
        endings.add(trace.terminated)
        for step in trace.iterations:
            assert step.deleted == tuple(p > threshold for p in step.delete_probabilities)
            assert len(step.token_probabilities) == len(step.after)
            assert all(0 <= p <= 1 for p in step.token_probabilities)
    assert endings == {"unchanged", "loop", "max_iterations"}, "not everything was tested"


def test_sentences_without_a_draft_are_written_from_nothing(editor):
    nothing = editor.edit(SOURCES[:6])
    for drafts in ([""] * 6, [None] * 6):
        assert texts(nothing) == texts(editor.edit(SOURCES[:6], drafts))
    assert all(trace.draft is None for trace in nothing)
    mixed = editor.edit(SOURCES[:2], [None, "a b"])
    assert_same(mixed[:1], nothing[:1])
    assert mixed[1].draft == "a b"


def test_unknown_words_that_are_kept_stand_in_the_text_as_they_were_typed(editor):
    rng = random.Random(2)
    words = ["a", "b", "Zürich", "<s>", "<plh>", "xyz"]
    drafts = [" ".join(rng.choices(words, k=n % 6)) for n in range(12)]
    for trace in editor.edit(SOURCES, drafts, max_iter=3, delete_threshold=1.0):
        rest = iter(trace.text.split())
        assert all(word in rest for word in trace.draft.split()), (trace.draft, trace.text)
        assert all("<unk>" not in step.before for step in trace.iterations[:1])
    assert any(any(trace.net().deleted) for trace in editor.edit(SOURCES, drafts))


# n-best and ensembles -------------------------------------------------------------------------


def test_candidates_come_best_first_and_depend_on_the_seed_alone(editor):
    plain = editor.edit(SOURCES, DRAFTS)
    groups = editor.edit_nbest(SOURCES, DRAFTS, **NOISE)
    for group, single in zip(groups, plain, strict=True):
        scores = [trace.score for trace in group]
        assert scores == sorted(scores, reverse=True) and len(set(texts(group))) == len(group)
        assert all((one.source, one.draft) == (single.source, single.draft) for one in group)
    assert max(map(len, groups)) == 3 and texts(plain) != texts([group[0] for group in groups])
    assert_same(editor.edit(SOURCES, DRAFTS, **{**NOISE, "nbest": 1}), [one[0] for one in groups])
    again = editor.edit_nbest(SOURCES, DRAFTS, batch_size=5, **NOISE)
    for one, two in zip(groups, again, strict=True):
        assert_same(one, two)
    other = editor.edit_nbest(SOURCES, DRAFTS, seed=2, **NOISE)
    assert list(map(texts, other)) != list(map(texts, groups))


def test_models_may_come_in_any_order_and_all_have_their_say(folder):
    one, two, three = f"{folder}/ck", f"{folder}/two.pt", f"{folder}/three.pt"

    def edited(*paths: str) -> list[EditTrace]:
        loaded = LevenshteinEditor.from_pretrained(":".join(paths))
        assert len(loaded.models) == len(paths)
        return loaded.edit(SOURCES, DRAFTS, max_iter=3)

    together = edited(one, two, three)
    assert_same(edited(three, one, two), together)
    for paths in ((one,), (one, two), (two, three), (one, three)):
        assert texts(edited(*paths)) != texts(together)


# terms and marks ------------------------------------------------------------------------------

TERMS = [["a b"], ["h", "g f"], None, ["c c c"], [], ["b", "b"], ["e"], ["a b c d", "e f", "a"]]


def test_terms_are_in_the_output_whole_and_in_their_order(editor):
    sources = SOURCES[: len(TERMS)]
    for options in ({}, {"delete_threshold": 0.0}, NOISE):
        found = editor.edit_nbest(sources, terms=TERMS, **options)
        for group, terms in zip(found, TERMS, strict=True):
            assert all(holds(trace.text, terms or []) for trace in group)
    traces = editor.edit(sources, terms=iter(TERMS))
    assert traces[0].iterations[0].before == ("a", "b") and traces[0].draft is None
    assert_same([traces[2], traces[4]], editor.edit([sources[2], sources[4]]))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"sources": ["a", "b " * 39]}, "sentence 2: 41 source tokens"),
        ({"drafts": ["b " * 39, ""]}, "sentence 1: 41 draft tokens"),
        ({"drafts": ["a"]}, "drafts"),
        ({"terms": [["a"]]}, "terms"),
        ({"drafts": ["a", "b"], "terms": [None, ["a"]]}, "sentence 2"),
        ({"terms": [None, "a b"]}, "terms"),
        ({"terms": [["a"], ["a", "b xyz"]]}, "sentence 2: the term 'b xyz' has 'xyz'"),
        ({"terms": [["a"], [" "]]}, "sentence 2: "),
        ({"drafts": ["a", "[=b"], "markup": True}, "sentence 2: "),
    ],
)
def test_what_cannot_be_edited_is_refused(editor, arguments, named):
    with refuses(named):
        editor.edit(**{"sources": ["a", "b"], **arguments})


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


def test_characters_can_be_marked_alone(folder, editor):
    spelling = LevenshteinEditor.from_pretrained(folder / "ck", bpe="characters")
    for threshold in (0.0, 1.0):
        (trace,) = spelling.edit(
            ["abc"], ["a[=bc=]d[-e-]"], markup=True, delete_threshold=threshold, max_iter=1
        )
        assert trace.iterations[0].before == ("a", "b", "c", "d", "e")
        deleted = trace.iterations[0].deleted
        assert deleted == (not threshold, False, False, not threshold, True)
    (trace,) = spelling.edit(["abc"], terms=[["bc"]], delete_threshold=0.0)
    (plain,) = editor.edit(["a b c"], terms=[["b c"]], delete_threshold=0.0)
    assert "bc" in trace.text and trace.text == plain.text.replace(" ", "")
