"""The task of noisy text: which files are read, with which noise, and what is refused."""

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import Dictionary, LanguagePairDataset
from plain_files import put, read
from refusals import refuses
from tables import cases

from lev_plugins.cli import noise as noise_command
from lev_plugins.data.noise.noiser import Noise
from lev_plugins.data.noise.rng import sentence_random
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINES = [f"house {LETTERS[i : i + 6]} kindly {LETTERS[i:]}" for i in range(12)]
UPPER = [line.upper() for line in LINES]


@pytest.fixture
def folder(tmp_path):
    """Dictionaries of characters, and a text for the target alone in three splits."""
    symbols = Dictionary()
    for letter in LETTERS + LETTERS.upper() + "0123456789!@#$%^&*()_+▁":
        symbols.add_symbol(letter)
    for lang in ("noisy", "clean"):
        symbols.save(str(tmp_path / f"dict.{lang}.txt"))
    sides(tmp_path, "clean", train=LINES, valid=LINES[:5], test=LINES[:7])
    return tmp_path


def sides(folder, lang, **splits):
    for split, lines in splits.items():
        put(folder / f"{split}.{lang}", lines)


def task_of(folder, **options):
    settings = {"data": str(folder), "source_lang": "noisy", "target_lang": "clean"}
    # what the commands take from another part of their configuration
    settings |= {"train_subset": "train", "dataset_impl": None, "required_seq_len_multiple": 1}
    settings |= {"text_bpe": "characters", "text_tokenizer": None, "seed": 1}
    settings |= {"best_checkpoint_metric": "loss", "maximize_best_checkpoint_metric": False}
    return NoisyTranslationTask.setup_task(NoisyTranslationConfig(**{**settings, **options}))


def loaded(task, split="train", **options):
    task.load_dataset(split, **options)
    return task.dataset(split)


def texts(data, side="source", epoch=None):
    """A side of all sentences, as text."""
    if epoch is not None:
        data.set_epoch(epoch)
    tokens = (data[i][side] for i in range(len(data)))
    return [
        data.src_dict.string(sentence).replace(" ", "").replace("▁", " ") for sentence in tokens
    ]


# what is read -------------------------------------------------------------------------------------


def test_a_share_of_real_pairs_has_noise_made_anew_from_the_target(folder):
    sides(folder, "noisy", train=UPPER, valid=UPPER[:5])
    task = task_of(folder, noise="delete", noise_target_share=0.65)
    data = loaded(task)
    assert texts(data, "target") == LINES
    first, second, again = (texts(data, epoch=epoch) for epoch in (1, 2, 1))
    assert first == again != second
    real = [text == line for text, line in zip(first, UPPER, strict=True)]
    assert 0 < sum(real) < 6
    for text, line, same in zip(first, LINES, real, strict=True):
        assert same or text.islower() and len(text) < len(line)
    assert texts(loaded(task, "valid")) == UPPER[:5]


@pytest.mark.parametrize("options", [{"seed": 5}, {"seed": None, "source_lang": "clean"}])
def test_a_target_alone_is_its_own_source_with_the_noise_of_seed_and_epoch(folder, options):
    data = loaded(task_of(folder, noise="keyboard,delete", **options))
    noise, run = Noise(("keyboard", "delete")), options["seed"] or 0
    for epoch in (1, 2, 1):
        expected = [noise(line, sentence_random(1, epoch, i, run)) for i, line in enumerate(LINES)]
        assert texts(data, epoch=epoch) == expected
    assert texts(data, "target") == LINES and not {*expected} & {*LINES}


def test_noise_stays_below_the_limit_and_the_clean_text_is_held_to_it(folder):
    rates = {"noise_char_rate": 1.0, "noise_word_rate": 1.0}
    task = task_of(folder, noise="random", **rates)
    data, longest = loaded(task), len(LINES[0]) + 1
    assert len(task.filter_indices_by_size(np.arange(12), data, (longest, 100))) == 12
    noisy = {text for epoch in range(1, 20) for text in texts(data, epoch=epoch)}
    assert max(map(len, noisy)) < longest and LINES[0] in noisy and len(noisy) > 100
    kept = task.filter_indices_by_size(np.arange(12), data, (longest - 4, 100), True)
    assert kept.tolist() == list(range(4, 12))


def test_control_symbols_typed_as_text_are_unknown_words(folder):
    sides(folder, "clean", train=["a </s> b <pad> <unk>", ""])
    first, second = loaded(task_of(folder, noise="swap", text_bpe=None)).tgt
    a, b, unk, eos = 4, 5, 3, 2
    assert first.tolist() == [a, unk, b, unk, unk, eos] and second.tolist() == [eos]


def test_a_source_next_to_the_target_is_read_and_without_noise_as_it_is(folder):
    sides(folder, "noisy", train=UPPER, new=LINES)
    task = task_of(folder)
    data = loaded(task)
    assert texts(data) == UPPER and texts(data, "target") == LINES
    noisy = texts(loaded(task_of(folder, noise="keyboard")), epoch=1)
    assert all(line.isupper() and line != clean for line, clean in zip(noisy, UPPER))
    (more := folder / "more").mkdir()
    sides(more, "clean", train=UPPER)
    other = task_of(f"{folder}:{more}", noise="delete")  # folders take turns
    assert texts(loaded(other, epoch=2), "target") == UPPER
    data = loaded(task, "new")  # without a target
    assert data.tgt is None and texts(data) == LINES
    assert data.size(0) == (len(LINES[0]) + 1, 0)


def test_noise_on_validation_and_test_is_fixed_and_can_be_another(folder):
    sides(folder, "noisy", test=LINES[:7])

    def valid(**options):
        return texts(loaded(task_of(folder, **{"noise": "keyboard", **options}), "valid"), epoch=7)

    task = task_of(folder, noise="keyboard", noise_test="none")
    before = texts(loaded(task, "valid"))
    assert texts(loaded(task, "test")) == LINES[:7]
    assert valid(seed=9) == valid(noise="none", noise_valid="keyboard") == before
    assert before != LINES[:5] and valid(noise_seed=2) != before
    flags = f"--kind keyboard --input {folder}/valid.clean --output {folder}/out"
    noise_command.main(flags.split())
    assert read(folder / "out") == before, "the command's"


def binarised(folder, split):
    for lang in ("noisy", "clean"):
        rows = map(torch.tensor, ([4, 5, 2], [6, 2]))
        tiny.write_indexed(folder / f"{split}.noisy-clean.{lang}", rows)


def test_binarised_data_are_read_where_there_is_no_text_and_no_noise(folder):
    binarised(folder, "bin")
    data = loaded(task_of(folder), "bin")
    assert type(data) is LanguagePairDataset and data[0]["source"].tolist() == [4, 5, 2]


def test_a_table_of_confusions_is_read_with_the_data_only(folder):
    table = folder / "table.json"
    table.write_text('{"rates": {"h": {"b": 1.0}}}')
    data = loaded(task_of(folder, noise="ocr", noise_confusions=str(table)), "valid")
    assert texts(data) == [line.replace("h", "b") for line in LINES[:5]]


def test_long_sources_are_cut_where_that_is_asked_for(folder):
    task = task_of(folder, noise="keyboard", truncate_source=True, max_source_positions=20)
    data = loaded(task)
    assert len(task.filter_indices_by_size(np.arange(12), data, (18, 100))) == 12
    assert max(len(data[i]["source"]) for i in range(12)) == 18


def test_validation_reads_pieces_as_text(folder):
    task = task_of(folder, noise="all")
    loaded(task, "valid")
    tokens = task.tgt_dict.encode_line("h a n d ▁ t o", add_if_not_exist=False)
    assert task.decoded_text(tokens, "?") == "hand to"
    task.cfg.eval_bleu_remove_bpe = "@@ "
    assert task.decoded_text(tokens, "?") == "h a n d ▁ t o"


@pytest.mark.parametrize("split, options, messages", cases("tasks/cases.tsv", "noisy text"))
def test_what_cannot_be_is_named(folder, split, options, messages):
    binarised(folder, "bin")
    sides(folder, "noisy", short=LINES[:4])
    sides(folder, "clean", short=LINES)
    with refuses(*(message.replace("DATA", str(folder)) for message in messages)):
        loaded(task_of(folder, **options), split)
