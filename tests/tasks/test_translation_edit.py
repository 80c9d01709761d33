"""The task: its data, what a typed line and its marks become, its states and its checkpoints."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from omegaconf import OmegaConf
from refusals import refuses
from tables import cases

from lev_plugins.systems.levenshtein import LevenshteinEditorConfig
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from lev_runtime.text.markup import JOINED, KEEP

ROWS = tiny.triples(12, seed=3)


def write(folder: Path, split: str, rows: list[tiny.Triple]) -> None:
    """Binarised ``SPLIT.src-tgt.{src,tgt,mt}``, as preprocess writes them."""
    symbols = tiny.dictionary()
    for language, lines in zip(("src", "tgt", "mt"), zip(*rows, strict=True), strict=True):
        prefix = folder / f"{split}.src-tgt.{language}"
        tiny.write_indexed(prefix, (tiny.sentence(line, symbols)[1:] for line in lines))


@pytest.fixture
def folder(tmp_path):
    write(tiny.dictionaries(tmp_path / "bin"), "train", ROWS)
    return tmp_path / "bin"


def task_of(folder: Path | str, **options: Any) -> TranslationEditTask:
    values = {"data": str(folder), "source_lang": "src", "target_lang": "tgt", "draft_lang": "mt"}
    # what the commands take from another part of their configuration
    elsewhere = {"dataset_impl": None, "train_subset": "train", "required_seq_len_multiple": 1}
    config = TranslationEditConfig(**{"seed": 1, **values, **elsewhere, **options})
    return TranslationEditTask.setup_task(config)


def loaded(folder: Path | str, epoch: int = 1, **options: Any) -> TranslationEditTask:
    """A task that has read its training set."""
    task = task_of(folder, **options)
    task.load_dataset("train", epoch)
    return task


def rows_of(task: TranslationEditTask) -> list[tuple[str, ...]]:
    """What the training set holds, as strings."""
    data = task.dataset("train")
    pairs = [(data[i]["source"], data[i]["target"]) for i in range(len(data))]
    if data.draft is not None:
        pairs = [(*sides, data.draft[i]) for i, sides in enumerate(pairs)]
    return [tuple(tiny.letters(side, task.src_dict) for side in sides) for sides in pairs]


# data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, message", cases("tasks/cases.tsv", "drafts"))
def test_settings_that_cannot_be_are_refused(folder, options, message):
    rows = (tiny.sentence(row.draft, tiny.dictionary()) for row in ROWS[:4])
    tiny.write_indexed(folder / "train.src-tgt.short", rows)
    with refuses(message):
        loaded(folder, **options)


def test_triples_are_read_side_by_side_from_folders_that_take_turns(folder):
    edit_task = loaded(folder, source_lang=None, target_lang=None)  # by the files' names
    assert rows_of(loaded(folder)) == rows_of(edit_task) == ROWS
    assert rows_of(loaded(folder, draft_lang=None)) == [row[:2] for row in ROWS]
    write(tiny.dictionaries(folder / "more"), "train", ROWS[:4])
    task = loaded(f"{folder}:{folder}/more", epoch=2)
    assert rows_of(task) == ROWS[:4]
    task.get_batch_iterator(task.dataset("train"), max_tokens=99, epoch=2)
    task.load_dataset("train", 3)
    assert not task.dataset_to_epoch_iter, "what was read before is not kept"


def test_without_targets_data_are_decoded(folder):
    for end in ("bin", "idx"):
        (folder / f"train.src-tgt.tgt.{end}").unlink()
    data = loaded(folder).dataset("train")
    batch = data.collater([data[i] for i in range(3)])
    assert batch["target"] is None and batch["draft"].size(0) == 3


def test_lines_above_a_limit_are_named_or_skipped_and_never_all(folder):
    task = loaded(folder)
    data = task.dataset("train")
    indices = data.ordered_indices()
    long = [n for n, row in enumerate(ROWS, 1) if max(map(len, row)) > 5]
    with refuses(f"line {long[0]} has ", "7/7"):
        task.filter_indices_by_size(indices, data, (7, 7))
    kept = task.filter_indices_by_size(indices, data, (7, 7), True)
    assert sorted([*kept + 1, *long]) == list(range(1, 13))
    with refuses("12 such lines", "1/1"):
        task.filter_indices_by_size(indices, data, (1, 1), True)


# typed lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit, learnt", [(5, 64), (64, 5)], ids=["task", "model"])
def test_typed_sources_are_cut_at_the_tighter_limit_when_asked_for(limit, learnt):
    task = tiny.task(max_source_positions=limit, truncate_source=True)
    sizes = {**tiny.SIZES, "max_source_positions": learnt, "_name": "levenshtein_editor"}
    task.build_model(OmegaConf.structured(LevenshteinEditorConfig(**sizes)), from_checkpoint=True)
    pairs, lengths = task.get_interactive_tokens_and_lengths(["a b c d e\ta b c d e"], str)
    data = task.build_dataset_for_inference(pairs, lengths)
    assert lengths == [5] and data.size(0) == (5, 0, 7)
    assert tiny.letters(data[0]["source"], task.src_dict) == "abc"


def test_a_line_is_a_source_or_a_source_and_a_draft():
    task = tiny.task()
    pairs, lengths = task.get_interactive_tokens_and_lengths(
        ["a b", "c <s>\td <plh> e xyz", "", "\t", "f </s>\t<pad>"], str
    )
    read = [
        (tiny.letters(s, task.src_dict), d if d is None else tiny.letters(d.tokens, task.tgt_dict))
        for s, d in pairs
    ]
    # a special symbol typed as text is an unknown word
    assert read == [("ab", None), ("c_", "d_e_"), ("", None), ("", ""), ("f_", "_")]
    assert lengths == [4, 4, 2, 2, 4]


@pytest.mark.parametrize(
    "line, message", [("a\tb [=a", "[=a"), ("a\t[+a xyz+]", "'xyz'"), ("a\tb\ta", "2 tabs")]
)
def test_a_line_that_cannot_be_read_is_named_by_its_number(line, message):
    task = tiny.task(markup=True)
    task.count_lines(["a"])
    with refuses("input line 3", message):
        task.get_interactive_tokens_and_lengths(["b\t[=xyz=] [+a+] [-uvw-]", line], str)


def test_a_source_of_the_terms_file_starts_from_its_terms(tmp_path):
    (tmp_path / "terms").write_text("a b\tc d\te\nf\n")
    task = tiny.task(terms=str(tmp_path / "terms"))
    pairs, _ = task.get_interactive_tokens_and_lengths(["a b", "f", "b\t[=a=]"], str)
    (_, draft), (_, nothing), (_, marked) = pairs
    assert draft.words == ["c", "d", "e"] and nothing is None and marked.words == ["a"]
    kept = [bool(mark & KEEP) for mark in draft.marks.tolist()]
    joined = [bool(mark & JOINED) for mark in draft.marks.tolist()]
    assert kept == [False, True, True, True, False]
    assert joined == [False, True, False, False, False]
    with refuses("--terms", "'a b'"):
        task.get_interactive_tokens_and_lengths(["a b\tc"], str)


@pytest.mark.parametrize("name", ["prefix_size", "print_alignment", "sampling", "constraints"])
def test_what_edit_models_do_not_do_is_refused(name):
    task, prefix = tiny.task(), torch.zeros(1, 1)
    flags = {name: "hard"} if name != "prefix_size" else {}
    with refuses("--" + name.replace("_", "-")):
        generator = task.build_generator([tiny.model(task)], Namespace(**flags))
        task.inference_step(generator, [], {}, prefix_tokens=prefix)


# training and checkpoints -------------------------------------------------------------------------


@pytest.mark.parametrize("duration, progress, alpha", cases("tasks/cases.tsv", "mixture"))
def test_the_mixture_moves_with_the_updates_or_the_time(duration, progress, alpha):
    task = tiny.task(alpha=0.8, beta=0.6, alpha_start=0.0, roll_in_updates=duration)
    assert task.mixture(*progress) == (alpha, 0.6)
    assert tiny.task(alpha=0.8, beta=0.6).mixture(3) == (0.8, 0.6)
