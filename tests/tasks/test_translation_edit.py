"""The task: its data, what a typed line becomes, its states and its checkpoints."""

import logging
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from omegaconf import OmegaConf
from refusals import refuses

from lev_plugins.metrics.corpus import make_metric
from lev_plugins.systems.levenshtein import LevenshteinEditorConfig
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

ROWS = tiny.triples(12, seed=3)


def write(folder: Path, split: str, rows: list[tiny.Triple]) -> None:
    """Binarised ``SPLIT.src-tgt.{src,tgt,mt}`` and the dictionaries, as preprocess writes them."""
    folder.mkdir(exist_ok=True)
    symbols = tiny.dictionary()
    for language in ("src", "tgt"):
        symbols.save(str(folder / f"dict.{language}.txt"))
    sides = zip(("src", "tgt", "mt"), zip(*rows, strict=True), strict=True)
    for language, lines in sides:
        prefix = folder / f"{split}.src-tgt.{language}"
        tiny.write_indexed(prefix, (tiny.sentence(line, symbols)[1:] for line in lines))


def configured(folder: Path | str, **options: Any) -> TranslationEditConfig:
    values = {"source_lang": "src", "target_lang": "tgt", "draft_lang": "mt", "seed": 1}
    values = {"data": str(folder), **values, **options}
    # what the commands take from another part of their configuration
    elsewhere = {"dataset_impl": None, "train_subset": "train", "required_seq_len_multiple": 1}
    return TranslationEditConfig(**values, **elsewhere)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "bin", "train", ROWS)
    return tmp_path / "bin"


def loaded(
    folder: Path | str, split: str = "train", combine: bool = False, **options: Any
) -> TranslationEditTask:
    """A task that has read a split."""
    task = TranslationEditTask.setup_task(configured(folder, **options))
    task.load_dataset(split, combine=combine)
    return task


def rows_of(task: TranslationEditTask, split: str = "train") -> list[tuple[str, ...]]:
    """What a loaded split holds, as strings."""
    found = []
    for item in (task.dataset(split)[i] for i in range(len(task.dataset(split)))):
        sides = ((item["source"], task.src_dict), (item["target"], task.tgt_dict))
        texts = [tiny.letters(tokens, symbols) for tokens, symbols in sides]
        if "draft" in item:
            texts.append(tiny.letters(item["draft"], task.tgt_dict))
        found.append(tuple(texts))
    return found


# setting up


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source_lang": "xx"}, "dict.xx.txt"),
        ({"draft_lang": "tgt"}, "--draft-lang tgt"),
        ({"data": "nowhere"}, "nowhere/dict.src.txt"),
        ({"data": ""}, "dict.src.txt"),
    ],
)
def test_settings_that_cannot_be_are_refused(folder, options, said, monkeypatch):
    monkeypatch.chdir(folder.parent)
    with refuses(said):
        TranslationEditTask.setup_task(configured(**{"folder": folder, **options}))


def test_languages_are_inferred_from_the_files(folder):
    task = loaded(folder, source_lang=None, target_lang=None)
    assert (task.cfg.source_lang, task.cfg.target_lang) == ("src", "tgt")
    assert rows_of(task) == [tuple(row) for row in ROWS]


@pytest.mark.parametrize("joined", [True, False])
def test_both_dictionaries_end_in_the_placeholder(joined):
    task = tiny.task(joined=joined)
    for symbols in (task.source_dictionary, task.target_dictionary):
        assert len(symbols) == len(tiny.dictionary()) + 1
        assert symbols[len(symbols) - 1] == "<plh>"
    assert task.placeholder == len(task.target_dictionary) - 1
    assert task.state_dict()["symbols"]["target"] == task.target_dictionary.symbols


# data


def test_triples_are_read_side_by_side(folder):
    assert rows_of(loaded(folder)) == [tuple(row) for row in ROWS]
    assert rows_of(loaded(folder, draft_lang=None)) == [row[:2] for row in ROWS]


def test_drafts_that_are_missing_or_fewer_are_named_and_without_targets_data_are_decoded(folder):
    write(folder, "valid", ROWS[:4])
    for end in ("bin", "idx"):
        (folder / f"train.src-tgt.tgt.{end}").unlink()
        (folder / f"valid.src-tgt.mt.{end}").replace(folder / f"few.src-tgt.mt.{end}")
        (folder / f"valid.src-tgt.src.{end}").unlink()
    data = loaded(folder).dataset("train")
    batch = data.collater([data[i] for i in range(3)])
    assert batch["target"] is None and batch["draft"].size(0) == 3
    for end in ("bin", "idx"):
        (folder / f"few.src-tgt.mt.{end}").replace(folder / f"train.src-tgt.mt.{end}")
    with refuses("12 sources", "4 lines of mt"):
        loaded(folder)
    with refuses("train.src-tgt.pe.bin", "--draft-lang pe"):
        loaded(folder, draft_lang="pe")


def test_sources_are_cut_at_the_limit_when_asked_for(folder):
    options = {"max_source_positions": 5, "max_target_positions": 64, "truncate_source": True}
    task = loaded(folder, **options)
    assert [row[0] for row in rows_of(task)] == [row.source[:3] for row in ROWS]
    data = task.dataset("train")
    assert len(task.filter_indices_by_size(data.ordered_indices(), data, (5, 64))) == 12


def test_lines_above_a_limit_are_named_or_skipped_aloud_and_never_all(folder, caplog):
    task = loaded(folder)
    data = task.dataset("train")
    long = [n for n, row in enumerate(ROWS, 1) if max(map(len, row)) > 5]
    shown = ", ".join(map(str, long))
    assert 1 < len(long) < 12
    with refuses(f"line {long[0]} has ", shown, "7/7", "--truncate-source"):
        task.filter_indices_by_size(data.ordered_indices(), data, (7, 7))
    with caplog.at_level(logging.WARNING):
        kept = task.filter_indices_by_size(data.ordered_indices(), data, (7, 7), True)
    assert sorted(int(i) + 1 for i in kept) == [n for n in range(1, 13) if n not in long]
    assert shown in caplog.text and "7/7" in caplog.text
    with refuses("12 such lines", "1/1"):
        task.filter_indices_by_size(data.ordered_indices(), data, (1, 1), True)


# typed lines


def test_a_training_says_what_the_drafts_have_as_they_are(folder, caplog):
    rows = [("ab", "ab", "ab"), ("c", "c", "ca"), ("b", "b", "b")]
    write(folder, "valid", rows)
    made = TranslationEditTask.setup_task(configured(folder))
    made.validation.metrics = [make_metric("accuracy"), make_metric("wer")]
    said = "no edits, the drafts as they are"
    with caplog.at_level("INFO"):
        made.load_dataset("valid")  # to decode
        assert said not in caplog.text
        made.trains = True
        made.load_dataset("train")
        assert said not in caplog.text
        made.load_dataset("valid")
    assert f"valid: {said}: accuracy 66.67" in caplog.text
    assert f"valid: {said}: wer 25.00" in caplog.text


@pytest.mark.parametrize("limit, learnt", [(5, 64), (64, 5)], ids=["task", "model"])
def test_typed_sources_are_cut_at_the_tighter_limit_when_asked_for(limit, learnt):
    task = tiny.task(max_source_positions=limit, truncate_source=True)
    sizes = {**tiny.SIZES, "max_source_positions": learnt, "_name": "levenshtein_editor"}
    task.build_model(OmegaConf.structured(LevenshteinEditorConfig(**sizes)), from_checkpoint=True)
    pairs, lengths = task.get_interactive_tokens_and_lengths(["a b c d e\ta b c d e"], str)
    data = task.build_dataset_for_inference(pairs, lengths)
    assert lengths == [5] and data.size(0) == (5, 0, 7)
    assert tiny.letters(data[0]["source"], task.src_dict) == "abc"
    task.cfg.truncate_source = False
    pairs, lengths = task.get_interactive_tokens_and_lengths(["a b c d e"], str)
    data = task.build_dataset_for_inference(pairs, lengths)
    with refuses("line 2 has 7/0/2 tokens (source/target/draft)", "5/64"):
        task.filter_indices_by_size(data.ordered_indices(), data, (5, 64))


def test_a_line_is_a_source_or_a_source_and_a_draft():
    task = tiny.task()
    pairs, lengths = task.get_interactive_tokens_and_lengths(
        ["a b", "c <s>\td <plh> e", "", "\t", "f </s>\t<pad>"], str
    )
    read = [
        (tiny.letters(s, task.src_dict), d if d is None else tiny.letters(d.tokens, task.tgt_dict))
        for s, d in pairs
    ]
    # a special symbol typed as text is an unknown word
    assert read == [("ab", None), ("c_", "d_e"), ("", None), ("", ""), ("f_", "_")]
    assert lengths == [4, 4, 2, 2, 4]


def test_what_edit_models_do_not_do_is_refused():
    task = tiny.task()
    model = tiny.model(task)
    generator = task.build_generator([model], Namespace())
    with refuses("--prefix-size"):
        task.inference_step(generator, [model], {}, prefix_tokens=torch.zeros(1, 1))
    for name in ("print_alignment", "score_reference", "sampling", "retain_dropout"):
        flag = "--" + name.replace("_", "-")
        with refuses(flag):
            task.build_generator([model], Namespace(**{name: "hard"}))
    with refuses("--nbest 0"):
        task.build_generator([model], Namespace(nbest=0))
    with refuses("--constraints", "--markup"):
        task.build_dataset_for_inference([], [], constraints=torch.zeros(1, 1))


# training


def loss(task: TranslationEditTask, model: torch.nn.Module, step: str, update: int = 0) -> float:
    """The loss of one batch in training or validation."""
    criterion = EditPolicyLoss(task, EditPolicyLossConfig())
    sample = tiny.batch(task, ROWS)
    if step == "valid":
        return float(task.valid_step(sample, model, criterion)[0])
    optimizer = Namespace(backward=lambda loss: loss.backward())
    return float(task.train_step(sample, model, criterion, optimizer, update)[0].detach())


def test_every_epoch_draws_new_states_and_every_validation_the_same():
    task = tiny.task(alpha=0.5, beta=0.5)
    model = tiny.model(task)
    trained, validated = [], []
    for epoch in (1, 2):
        task.begin_epoch(epoch, model)
        trained += [loss(task, model, "train"), loss(task, model, "train")]
        validated.append(loss(task, model, "valid"))
    assert trained[0] == trained[1] != trained[2] == trained[3]
    assert validated[0] == validated[1]


def test_the_mixture_moves_with_the_updates_or_the_time():
    values = {"alpha": 0.8, "beta": 0.6, "alpha_start": 0.0}
    task = tiny.task(**values, roll_in_updates=10)
    assert [task.mixture(update)[0] for update in (0, 5, 10, 99, None)] == [0, 0.4, 0.8, 0.8, 0.8]
    assert task.mixture(5)[1] == 0.6
    model = tiny.model(task)
    assert loss(task, model, "train", 0) != loss(task, model, "train", 10)
    assert tiny.task(alpha=0.8, beta=0.6).mixture(3) == (0.8, 0.6)
    task = tiny.task(**values, roll_in_updates=0.5)
    assert [task.mixture(7, time)[0] for time in (0.0, 0.25, 0.5, 1.0)] == [0, 0.4, 0.8, 0.8]
    assert task.mixture(9000, 0.25) == (0.4, 0.6) and task.mixture() == (0.8, 0.6)
    with refuses("--lr-scheduler time_budget"):
        loss(task, tiny.model(task), "train")


# checkpoints


@pytest.mark.parametrize(
    ("side", "letters", "said"),
    [
        ("source", "abxdefgh", "symbol 6 is 'x' there and 'c' in"),
        ("target", "abcdefghi", "symbol 12 is 'i' there and '<plh>' in"),
        ("target", "abcdefg", "symbol 11 is '<plh>' there and 'h' in"),
    ],
)
def test_a_checkpoint_of_another_dictionary_is_refused(side, letters, said):
    sides = {"source": tiny.dictionary(), "target": tiny.dictionary()}
    sides[side] = tiny.dictionary(letters)
    saved = TranslationEditTask(TranslationEditConfig(), sides["source"], sides["target"])
    with refuses(said, f"another {side} dictionary"):
        tiny.task().load_state_dict(saved.state_dict())


def test_a_model_of_another_task_is_refused_by_name():
    task = tiny.task()
    for _ in range(2):
        with refuses("transformer_tiny"):
            task.build_model(Namespace(_name="transformer_tiny"), from_checkpoint=True)
        task.load_state_dict({})
