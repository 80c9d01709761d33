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
from saved import write

import lev_plugins
from lev_plugins import LevenshteinEditor, UserError
from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.decoding.history import EditTrace
from lev_plugins.systems.levenshtein.task import TranslationEditTask

PACKAGE = Path(lev_plugins.__file__).parent
SIZES = f"{saved.SIZES} --max-insertions 3"


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
    """``bin`` with two dictionaries, and ``ck/checkpoint_last.pt``."""
    made = tmp_path_factory.mktemp("hub")
    tiny.dictionaries(made / "bin")
    save(made / "ck" / "checkpoint_last.pt", configuration(made / "bin"))
    return made


@pytest.fixture(scope="module")
def editor(folder: Path) -> LevenshteinEditor:
    return LevenshteinEditor.from_pretrained(str(folder / "ck"))


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


# loading


def test_a_folder_can_be_moved_away_from_its_data(folder, editor, tmp_path, monkeypatch):
    shutil.copytree(folder / "ck", tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    state = torch.load("elsewhere/checkpoint_last.pt", weights_only=True)
    state["cfg"]["task"]["data"] = "/nowhere/bin"
    torch.save(state, "elsewhere/checkpoint_last.pt")
    moved = LevenshteinEditor.from_pretrained("elsewhere")
    assert moved.task.tgt_dict == editor.task.tgt_dict
    assert moved.task.src_dict == editor.task.src_dict
    sources, drafts = inputs(8)
    assert_same(moved.edit(sources, drafts), editor.edit(sources, drafts))


def test_the_best_checkpoint_of_a_folder_comes_first(folder, tmp_path):
    shutil.copytree(folder / "ck", tmp_path / "ck")
    save(tmp_path / "ck" / "checkpoint_best.pt", configuration(folder / "bin"), seed=5)

    def weight(path: Path) -> torch.Tensor:
        return LevenshteinEditor.from_pretrained(str(path)).models[0].deletion_head.weight

    best, last = (tmp_path / "ck" / f"checkpoint_{name}.pt" for name in ("best", "last"))
    assert torch.equal(weight(tmp_path / "ck"), weight(best))
    assert not torch.equal(weight(best), weight(last))


def test_options_of_the_training_are_those_of_the_editor(folder, tmp_path):
    cfg = configuration(folder / "bin", "--delete-threshold 1.0")
    path = save(tmp_path / "model.pt", cfg)
    cautious = LevenshteinEditor.from_pretrained(str(tmp_path))
    sources, drafts = inputs(8)
    traces = cautious.edit(sources, drafts, max_iter=1)
    assert all(trace.net().nothing_deleted for trace in traces), "no probability is above 1"
    bold = LevenshteinEditor.from_pretrained(str(path)).edit(
        sources, drafts, max_iter=1, delete_threshold=0.0
    )
    drafted = [trace for trace in bold if trace.draft]
    assert drafted and all(all(trace.iterations[0].deleted) for trace in drafted)


def test_a_folder_of_data_may_be_given(folder, tmp_path):
    editor = LevenshteinEditor.from_pretrained(str(folder / "ck"), data=str(folder / "bin"))
    assert editor.edit(["a b"], ["a"])[0].source == "a b"
    other = tiny.dictionary("xyz")
    for language in ("src", "tgt"):
        other.save(str(tmp_path / f"dict.{language}.txt"))
    with pytest.raises(UserError, match="another source dictionary .symbol 4 is 'a' there and 'x'"):
        LevenshteinEditor.from_pretrained(str(folder / "ck"), data=str(tmp_path))


def test_fairseqs_own_way_loads_it_too(folder, editor, monkeypatch):
    hub = LevenshteinEditorModel.from_pretrained(
        str(folder / "ck"),
        checkpoint_file="checkpoint_last.pt",
        data_name_or_path=str(folder / "bin"),
        user_dir=str(PACKAGE),
    )
    sources, _ = inputs(12)
    outputs = hub.translate(sources, iter_decode_max_iter=10)
    assert outputs == texts(editor.edit(sources))
    assert len(set(outputs)) > 3


def test_a_checkpoint_of_0_5_0_has_fewer_options(folder, tmp_path):
    path = save(tmp_path / "model.pt", configuration(folder / "bin", "--source-copy none"))
    expected = texts(LevenshteinEditor.from_pretrained(str(path)).edit(*inputs(8)))
    state = torch.load(path, weights_only=True)
    del state["model"]["source_copy"]
    del state["cfg"]["model"]["source_copy"]
    torch.save(state, path)
    assert texts(LevenshteinEditor.from_pretrained(str(path)).edit(*inputs(8))) == expected


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(UserError, match="none.pt does not exist"):
        LevenshteinEditor.from_pretrained(str(tmp_path / "none.pt"))
    with pytest.raises(UserError, match="holds none of checkpoint_best.pt, checkpoint_last.pt"):
        LevenshteinEditor.from_pretrained(str(tmp_path))


def test_parameters_that_do_not_fit_are_a_users_error(folder, tmp_path):
    path = save(tmp_path / "model.pt", configuration(folder / "bin"))
    state = torch.load(path, weights_only=True)
    del state["model"]["deletion_head.weight"]
    torch.save(state, path)
    with pytest.raises(UserError, match="deletion_head.weight"):
        LevenshteinEditor.from_pretrained(str(path))


# editing


def test_every_source_gets_its_trace_in_order_whatever_the_size_of_batches(editor):
    sources, drafts = inputs()
    traces = editor.edit(sources, drafts)
    assert [trace.source for trace in traces] == sources
    assert [trace.draft for trace in traces] == drafts
    pairs = zip(sources, drafts, strict=True)
    assert_same(traces, [editor.edit([source], [draft])[0] for source, draft in pairs])
    for size in (1, 7, 30):
        assert_same(editor.edit(sources, drafts, batch_size=size), traces)
    assert len(set(texts(traces))) > 10, "the outputs are too uniform to tell an order"
    assert any(trace.text != trace.draft for trace in traces)


def test_traces_lead_from_the_draft_to_the_text(editor):
    sources, drafts = inputs()
    endings = set()
    for trace in editor.edit(sources, drafts, max_iter=4):
        begin = trace.iterations[0].before if trace.iterations else trace.text.split()
        end = trace.iterations[-1].after if trace.iterations else trace.draft.split()
        assert (" ".join(begin), " ".join(end)) == (trace.draft, trace.text)
        assert trace.steps <= len(trace.iterations) <= 4
        assert trace.score <= 0
        endings.add(trace.terminated)
    assert endings == {"unchanged", "loop", "max_iterations"}, "not everything was tested"


def test_every_deletion_and_insertion_of_a_trace_has_its_probability(editor):
    sources, drafts = inputs()
    threshold = 0.5
    steps = [step for trace in editor.edit(sources, drafts) for step in trace.iterations]
    assert any(step.changed for step in steps)
    for step in steps:
        assert step.deleted == tuple(p > threshold for p in step.delete_probabilities)
        assert len(step.token_probabilities) == len(step.after)
        assert all(0 <= p <= 1 for p in step.token_probabilities)


def test_sentences_without_a_draft_are_written_from_nothing(editor):
    sources, _ = inputs(6)
    nothing = editor.edit(sources)
    assert texts(nothing) == texts(editor.edit(sources, [""] * 6))
    assert texts(nothing) == texts(editor.edit(sources, [None] * 6))
    assert all(trace.draft is None for trace in nothing)
    mixed = editor.edit(sources[:2], [None, "a b"])
    assert_same(mixed[:1], nothing[:1])
    assert mixed[1].draft == "a b"


def test_unknown_words_that_are_kept_stand_in_the_text_as_they_were_typed(editor):
    rng = random.Random(2)
    sources, _ = inputs(12)
    drafts = [
        " ".join(rng.choices(["a", "b", "Zürich", "<s>", "<plh>", "xyz"], k=n % 6))
        for n in range(12)
    ]
    for trace in editor.edit(sources, drafts, max_iter=3, delete_threshold=1.0):
        rest = iter(trace.text.split())
        assert all(word in rest for word in trace.draft.split()), (trace.draft, trace.text)
        assert all("<unk>" not in step.before for step in trace.iterations[:1])
    deleting = editor.edit(sources, drafts)
    assert any(any(trace.net().deleted) for trace in deleting)


def test_more_insertions_come_with_a_penalty_for_none(editor):
    sources, drafts = inputs(10)
    plain = editor.edit(sources, drafts, max_iter=1)
    longer = editor.edit(sources, drafts, max_iter=1, empty_penalty=3)
    assert sum(map(len, texts(longer))) > sum(map(len, texts(plain)))


def test_text_is_split_and_joined_as_asked_for(folder, tmp_path):
    path = str(folder / "ck")
    plain = LevenshteinEditor.from_pretrained(path)
    characters = LevenshteinEditor.from_pretrained(path, bpe="characters")
    expected = plain.edit(["a b c"], ["b b"])[0]
    trace = characters.edit(["abc"], ["bb"])[0]
    assert (trace.source, trace.draft) == ("abc", "bb")
    assert trace.text == expected.text.replace(" ", "")
    assert trace.iterations == expected.iterations
    trained = save(tmp_path / "model.pt", configuration(folder / "bin", "--bpe characters"))
    assert_same(LevenshteinEditor.from_pretrained(str(trained)).edit(["abc"], ["bb"]), [trace])


def test_files_of_a_sentencepiece_model_may_have_moved(folder, tmp_path):
    lines = ["abcdefgh", "hgfedcba"]
    tiny.sentencepiece_model(tmp_path / "old.model", lines, model_type="char", vocab_size=12)
    flags = f"--bpe sentencepiece --sentencepiece-model {tmp_path}/old.model"
    path = str(save(tmp_path / "model.pt", configuration(folder / "bin", flags)))
    here = LevenshteinEditor.from_pretrained(path).edit(["abc"], ["ba"], delete_threshold=1.0)
    assert here[0].text and "▁" not in here[0].text
    (tmp_path / "old.model").rename(tmp_path / "new.model")
    with pytest.raises(UserError, match="bpe: .*old.model.* not found; .*sentencepiece_model="):
        LevenshteinEditor.from_pretrained(path)
    moved = {"sentencepiece_model": str(tmp_path / "new.model")}
    for files in (moved, {"bpe": "sentencepiece", **moved}):
        there = LevenshteinEditor.from_pretrained(path, **files)
        assert_same(there.edit(["abc"], ["ba"], delete_threshold=1.0), here)
    with pytest.raises(UserError, match="bpe 'nosuch' is not one that fairseq has"):
        LevenshteinEditor.from_pretrained(path, bpe="nosuch")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((["a", "b"], ["a"]), "2 sources but 1 drafts"),
        ((["a"], []), "1 sources but 0 drafts"),
        ((["a", "b " * 39],), "source 2 has 41 tokens where the model's limit is 40"),
        ((["a"], ["b " * 39]), "draft 1 has 41 tokens where the model's limit is 40"),
    ],
)
def test_what_cannot_be_edited_is_refused(editor, arguments, said):
    with pytest.raises(UserError, match=said):
        editor.edit(*arguments)
