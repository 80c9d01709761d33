"""The task: its data, what a typed line becomes, its states and its checkpoints."""

import logging
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator
from omegaconf import OmegaConf

from lev_plugins.errors import UserError
from lev_plugins.metrics.corpus import make_metric
from lev_plugins.systems.levenshtein import LevenshteinEditorConfig
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss
from lev_plugins.systems.levenshtein.decoding import RefinementGenerator
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

ROWS = tiny.triples(12, seed=3)
FURTHER = tiny.triples(5, seed=4)


def write(folder: Path, split: str, rows: list[tiny.Triple], pair: str = "src-tgt") -> None:
    """Binarised ``SPLIT.src-tgt.{src,tgt,mt}`` and the dictionaries, as preprocess writes them."""
    folder.mkdir(exist_ok=True)
    symbols = tiny.dictionary()
    for language in ("src", "tgt"):
        symbols.save(str(folder / f"dict.{language}.txt"))
    sides = zip(("src", "tgt", "mt"), zip(*rows, strict=True), strict=True)
    for language, lines in sides:
        prefix = folder / f"{split}.{pair}.{language}"
        tiny.write_indexed(prefix, (tiny.sentence(line, symbols)[1:] for line in lines))


def configured(folder: Path | str, **options: Any) -> TranslationEditConfig:
    values = {"source_lang": "src", "target_lang": "tgt", "draft_lang": "mt", "seed": 1, **options}
    # what the commands take from another part of their configuration
    elsewhere = {"dataset_impl": None, "train_subset": "train", "required_seq_len_multiple": 1}
    return TranslationEditConfig(data=str(folder), **values, **elsewhere)


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
        ({"alpha": 1.5}, "--alpha 1.5 is outside"),
        ({"beta": -1.0}, "--beta -1.0 is outside"),
        ({"alpha_start": 2.0}, "--alpha-start 2.0 is outside"),
        ({"beta_start": -0.1}, "--beta-start -0.1 is outside"),
        ({"delete_threshold": float("nan")}, "--delete-threshold nan is outside"),
        ({"source_lang": "xx"}, "dict.xx.txt does not exist; run preprocess first"),
        ({"draft_lang": "tgt"}, "--draft-lang tgt is the target's"),
    ],
)
def test_settings_that_cannot_be_are_refused(folder, options, said):
    with pytest.raises(UserError, match=said):
        TranslationEditTask.setup_task(configured(folder, **options))


def test_folders_without_data_are_refused(tmp_path):
    with pytest.raises(UserError, match="nowhere does not exist; run preprocess first"):
        TranslationEditTask.setup_task(configured(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="no data folder given"):
        TranslationEditTask.setup_task(TranslationEditConfig(data=""))
    with pytest.raises(UserError, match="no language pair found; name the folder that preprocess"):
        TranslationEditTask.setup_task(configured(tmp_path, source_lang=None, target_lang=None))


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


def test_data_made_in_the_other_direction_serve_too(folder):
    write(folder, "valid", FURTHER, pair="tgt-src")
    assert rows_of(loaded(folder, "valid"), "valid") == [tuple(row) for row in FURTHER]


def test_parts_of_a_split_are_joined_when_asked_for(folder):
    write(folder, "train1", FURTHER)
    assert len(loaded(folder).dataset("train")) == 12
    assert rows_of(loaded(folder, combine=True)) == [tuple(row) for row in ROWS + FURTHER]


def test_shards_take_turns_in_training_only(folder, tmp_path):
    write(tmp_path / "more", "train", FURTHER)
    write(folder, "valid", ROWS[:2])
    task = TranslationEditTask.setup_task(configured(f"{folder}:{tmp_path / 'more'}"))
    sizes = []
    for epoch in (1, 2, 3):
        task.load_dataset("train", epoch=epoch)
        task.load_dataset("valid", epoch=epoch)
        sizes.append((len(task.dataset("train")), len(task.dataset("valid"))))
    assert sizes == [(12, 2), (5, 2), (12, 2)]


def test_a_set_without_targets_can_be_decoded(folder):
    for end in ("bin", "idx"):
        (folder / f"train.src-tgt.tgt.{end}").unlink()
    data = loaded(folder).dataset("train")
    batch = data.collater([data[i] for i in range(3)])
    assert batch["target"] is None and batch["draft"].size(0) == 3


@pytest.mark.parametrize(
    ("side", "said"), [("mt", "with --draft-lang mt"), ("src", "no train data")]
)
def test_a_side_that_is_missing_is_named(folder, side, said):
    for end in ("bin", "idx"):
        (folder / f"train.src-tgt.{side}.{end}").unlink()
    with pytest.raises(UserError, match=said) as caught:
        loaded(folder)
    assert f"train.src-tgt.{side}.bin" in str(caught.value)


@pytest.mark.parametrize("side", ["tgt", "mt"])
def test_sides_of_unequal_length_are_refused(folder, side):
    write(folder, "valid", ROWS[:4])
    for end in ("bin", "idx"):
        shorter = folder / f"valid.src-tgt.{side}.{end}"
        shorter.replace(folder / f"train.src-tgt.{side}.{end}")
    with pytest.raises(UserError, match=f"12 sources but 4 lines of {side}; preprocess"):
        loaded(folder)


def test_sources_are_cut_at_the_limit_when_asked_for(folder):
    options = {"max_source_positions": 5, "max_target_positions": 64, "truncate_source": True}
    task = loaded(folder, **options)
    assert [row[0] for row in rows_of(task)] == [row.source[:3] for row in ROWS]
    data = task.dataset("train")
    indices = data.ordered_indices()
    kept = task.filter_indices_by_size(indices, data, task.max_positions())
    assert len(kept) == 12


def test_batches_do_not_depend_on_the_epoch_in_which_a_training_is_taken_up(folder):
    options = {"max_sentences": 3, "seed": 1, "required_batch_size_multiple": 1}
    batches = []
    for epoch in (1, 5):
        task = TranslationEditTask.setup_task(configured(folder))
        task.load_dataset("train", epoch=epoch)
        iterator = task.get_batch_iterator(task.dataset("train"), epoch=epoch, **options)
        assert iterator.epoch == epoch
        batches.append([list(map(int, batch)) for batch in iterator.frozen_batches])
        for _ in iterator.next_epoch_itr():
            pass
        again = task.get_batch_iterator(task.dataset("train"), epoch=epoch + 1, **options)
        assert again is iterator and again.next_epoch_idx == epoch + 1
    assert batches[0] == batches[1] and sorted(sum(batches[0], [])) == list(range(12))


def test_lines_above_a_limit_are_named_or_skipped_aloud_and_never_all(folder, caplog):
    task = loaded(folder)
    data = task.dataset("train")
    long = [n for n, row in enumerate(ROWS, 1) if max(map(len, row)) > 5]
    assert 1 < len(long) < 12
    with pytest.raises(UserError) as caught:
        task.filter_indices_by_size(data.ordered_indices(), data, (7, 7))
    assert str(caught.value).startswith(f"line {long[0]} has ")
    assert f"{len(long)} such lines: {', '.join(map(str, long))};" in str(caught.value)
    assert "--truncate-source" in str(caught.value)
    with pytest.raises(UserError) as caught:
        task.filter_indices_by_size(np.array([long[0] - 1]), data, (7, 7))
    assert "where the limit is 7/7; raise " in str(caught.value)
    with caplog.at_level(logging.WARNING):
        kept = task.filter_indices_by_size(data.ordered_indices(), data, (7, 7), True)
    assert sorted(int(i) + 1 for i in kept) == [n for n in range(1, 13) if n not in long]
    assert f"skipped: {', '.join(map(str, long))}" in caplog.text
    with pytest.raises(UserError, match="all 12 lines are above the limit of 1/1 tokens"):
        task.filter_indices_by_size(data.ordered_indices(), data, (1, 1), True)


@pytest.mark.parametrize("trained", ["mt", None])
@pytest.mark.parametrize("here", ["mt", None])
def test_drafts_that_a_model_was_trained_with_and_a_command_lacks_are_noted(
    folder, capsys, trained, here
):
    task = TranslationEditTask.setup_task(configured(folder, draft_lang=here))
    task.load_dataset("train", task_cfg=configured(folder, draft_lang=trained))
    said = capsys.readouterr().err
    assert said.startswith("note: train is read without drafts") == (trained == "mt" != here)
    assert said.count("\n") == said.count("Give --draft-lang mt")


# typed lines


def test_a_training_says_what_the_drafts_have_as_they_are(folder, caplog):
    rows = [("ab", "ab", "ab"), ("c", "c", "ca"), ("b", "b", "b")]
    write(folder, "valid", rows)
    made = TranslationEditTask.setup_task(configured(folder))
    made.text_metrics = [make_metric("accuracy"), make_metric("wer")]
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
    with pytest.raises(UserError) as caught:
        task.filter_indices_by_size(data.ordered_indices(), data, (5, 64))
    assert str(caught.value).startswith("line 2 has 7/0/2 tokens (source/target/draft)")
    assert "5/64" in str(caught.value) and "--truncate-source" in str(caught.value)


def test_typed_text_cannot_be_a_special_symbol():
    task = tiny.task()
    tokens = task.encode_text("a <s> zz </s> <pad> b", str, task.tgt_dict)
    assert tiny.letters(tokens, task.tgt_dict) == "a____b"
    assert tiny.letters(task.encode_text("  ", str, task.tgt_dict), task.tgt_dict) == ""


def test_a_line_is_a_source_or_a_source_and_a_draft():
    task = tiny.task()
    pairs, lengths = task.get_interactive_tokens_and_lengths(
        ["a b", "c\td e", "", "\t", "f\t"], str
    )
    read = [
        (tiny.letters(s, task.src_dict), d if d is None else tiny.letters(d.tokens, task.tgt_dict))
        for s, d in pairs
    ]
    assert read == [("ab", None), ("c", "de"), ("", None), ("", ""), ("f", "")]
    assert lengths == [4, 3, 2, 2, 3]


def test_lines_are_counted_from_the_first_that_was_typed():
    task = tiny.task(max_target_positions=4)
    for lines in (["a", "b"], ["c"]):
        task.get_interactive_tokens_and_lengths(lines, str)
    pairs, lengths = task.get_interactive_tokens_and_lengths(["d", "e\ta b c"], str)
    data = task.build_dataset_for_inference(pairs, lengths)
    with pytest.raises(UserError, match="^line 5 has 3/0/5 tokens"):
        task.filter_indices_by_size(data.ordered_indices(), data, task.max_positions())
    with pytest.raises(UserError, match="^input line 7 has 2 tabs"):
        task.get_interactive_tokens_and_lengths(["d", "e\ta\tb"], str)


def test_typed_drafts_reach_the_decoder_and_outputs_keep_their_order():
    task = tiny.task()
    model = tiny.sharpen(tiny.model(task), 2.0)
    lines = ["a b\tb", "", "c d e f\th g", "a\t", "h g f e d c"]
    pairs, lengths = task.get_interactive_tokens_and_lengths(lines, str)
    generator = task.build_generator([model], Namespace(iter_decode_max_iter=1))
    assert isinstance(generator, RefinementGenerator)
    data = task.build_dataset_for_inference(pairs, lengths)
    together, seen = {}, set()
    for batch in task.get_batch_iterator(data, max_sentences=2).next_epoch_itr(shuffle=False):
        seen |= {len(batch["id"])}
        hypotheses = task.inference_step(
            generator, [model], {"net_input": batch["net_input"]}, constraints=batch["constraints"]
        )
        for number, (hypothesis,) in zip(batch["id"].tolist(), hypotheses, strict=True):
            together[number] = hypothesis["tokens"].tolist()
    assert seen == {1, 2} and sorted(together) == list(range(5))
    for number, (source, draft) in enumerate(pairs):
        sample = {"net_input": {"src_tokens": source[None]}}
        if draft is not None:
            sample["draft"] = draft.tokens[None]
        ((alone,),) = task.inference_step(generator, [model], sample)
        assert alone["tokens"].tolist() == together[number]


def test_what_edit_models_do_not_do_is_refused():
    task = tiny.task()
    model = tiny.model(task)
    generator = task.build_generator([model], Namespace())
    with pytest.raises(UserError, match="--prefix-size is not supported"):
        task.inference_step(generator, [model], {}, prefix_tokens=torch.zeros(1, 1))
    for name in ("print_alignment", "score_reference", "sampling", "retain_dropout"):
        flag = "--" + name.replace("_", "-")
        with pytest.raises(UserError, match=f"{flag} .*not supported by edit models"):
            task.build_generator([model], Namespace(**{name: "hard"}))


# training


def loss(task: TranslationEditTask, model: torch.nn.Module, step: str, update: int = 0) -> float:
    """The loss of one batch in training or validation."""
    criterion = EditPolicyLoss(task, 0.1, 0.01, 1.0, 1.0, 1.0)
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


def test_the_mixture_moves_with_the_updates():
    task = tiny.task(alpha=0.8, beta=0.6, alpha_start=0.0, roll_in_updates=10)
    assert task.mixture(0) == (0.0, 0.6)
    assert task.mixture(5) == (0.4, 0.6)
    assert task.mixture(10) == task.mixture(99) == task.mixture() == (0.8, 0.6)
    model = tiny.model(task)
    assert loss(task, model, "train", 0) != loss(task, model, "train", 10)
    assert tiny.task(alpha=0.8, beta=0.6).mixture(3) == (0.8, 0.6)


def test_the_mixture_moves_with_the_time_where_a_share_of_it_is_given():
    task = tiny.task(alpha=0.8, beta=0.6, alpha_start=0.0, roll_in_updates=0.5)
    assert task.mixture(7, 0.0) == (0.0, 0.6)
    assert task.mixture(7, 0.25) == task.mixture(9000, 0.25) == (0.4, 0.6)
    assert task.mixture(1, 0.5) == task.mixture(1, 1.0) == task.mixture() == (0.8, 0.6)


def test_a_mixture_that_moves_with_the_time_needs_a_schedule_that_knows_it():
    task = tiny.task(alpha_start=0.0, roll_in_updates=0.5)
    with pytest.raises(UserError, match="needs --lr-scheduler time_budget"):
        loss(task, tiny.model(task), "train")


# checkpoints


def test_a_checkpoint_of_the_same_dictionaries_is_taken():
    saved, task = tiny.task().state_dict(), tiny.task()
    task.load_state_dict(saved)
    assert task.state_dict() == saved


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("abxdefgh", "symbol 6 is 'x' there and 'c' in"),
        ("abcdefghi", "symbol 12 is 'i' there and '<plh>' in"),
        ("abcdefg", "symbol 11 is '<plh>' there and 'h' in"),
    ],
)
def test_a_checkpoint_of_another_dictionary_is_refused(side, letters, said):
    sides = {"source": tiny.dictionary(), "target": tiny.dictionary()}
    sides[side] = tiny.dictionary(letters)
    saved = TranslationEditTask(TranslationEditConfig(), sides["source"], sides["target"])
    with pytest.raises(UserError, match=said) as caught:
        tiny.task().load_state_dict(saved.state_dict())
    assert f"another {side} dictionary" in str(caught.value)


def test_a_model_of_another_task_is_refused_by_name():
    task = tiny.task()
    foreign = Namespace(_name="transformer_tiny")
    with pytest.raises(UserError, match="holds a model of the kind transformer_tiny"):
        task.build_model(foreign, from_checkpoint=True)
    task.load_state_dict({})
    with pytest.raises(UserError, match="another task has trained"):
        task.build_model(foreign, from_checkpoint=True)


def test_other_models_of_this_task_decode_with_beam_search():
    task = tiny.task()

    class Decoder(torch.nn.Module):
        def max_decoder_positions(self) -> int:
            return 64

    model = torch.nn.Module()
    model.decoder = Decoder()
    generator = task.build_generator([model], Namespace(beam=2))
    assert isinstance(generator, SequenceGenerator) and generator.beam_size == 2


def test_the_placeholder_is_never_part_of_a_dictionary_file(folder):
    task = TranslationEditTask.setup_task(configured(folder))
    assert "<plh>" not in (folder / "dict.tgt.txt").read_text()
    assert task.target_dictionary.index("<plh>") == task.placeholder
    assert Dictionary.load(str(folder / "dict.tgt.txt")).index("<plh>") == 3
