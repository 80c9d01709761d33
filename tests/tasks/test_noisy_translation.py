"""The task of noisy text: which files are read, with which noise, and what is refused."""

import logging
import pickle
import re

import pytest
import tiny
import torch
from fairseq.data import Dictionary, LanguagePairDataset
from plain_files import put

from lev_plugins.cli import noise as command
from lev_plugins.errors import UserError
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINES = [f"house {LETTERS[i : i + 6]} kindly {LETTERS[i:]}" for i in range(12)]


@pytest.fixture
def folder(tmp_path):
    """Dictionaries of characters, and a text for the target alone in three splits."""
    symbols = Dictionary()
    for letter in LETTERS + LETTERS.upper() + "0123456789!@#$%^&*()_+▁":
        symbols.add_symbol(letter)
    for lang in ("noisy", "clean"):
        symbols.save(str(tmp_path / f"dict.{lang}.txt"))
    for split, size in (("train", 12), ("valid", 5), ("test", 7)):
        put(tmp_path / f"{split}.clean", LINES[:size])
    return tmp_path


def task_of(folder, **options):
    given = {
        "data": str(folder),
        "source_lang": "noisy",
        "target_lang": "clean",
        "train_subset": "train",
        "dataset_impl": None,
        "required_seq_len_multiple": 1,
        "text_bpe": "characters",
        "text_tokenizer": None,
        "seed": 1,
        "best_checkpoint_metric": "loss",
        "maximize_best_checkpoint_metric": False,
    }
    return NoisyTranslationTask.setup_task(NoisyTranslationConfig(**{**given, **options}))


def loaded(task, split="train", **options):
    task.load_dataset(split, **options)
    return task.dataset(split)


def texts(task, data, side="source"):
    symbols = task.src_dict if side == "source" else task.tgt_dict
    return [
        symbols.string(data[i][side]).replace(" ", "").replace("▁", " ") for i in range(len(data))
    ]


def refused(folder, split="train", combine=False, **options):
    with pytest.raises(UserError) as error:
        loaded(task_of(folder, **options), split, combine=combine)
    return str(error.value).replace(str(folder), "DATA")


# real pairs and re-noised ones -------------------------------------------------------------------


def mixed_folder(folder):
    put(folder / "train.noisy", [line.upper() for line in LINES])
    put(folder / "valid.noisy", [line.upper() for line in LINES[:5]])


def test_a_share_of_real_pairs_has_noise_made_anew_from_the_target(folder):
    mixed_folder(folder)
    task = task_of(folder, noise="delete", noise_target_share=0.5)
    data = loaded(task)
    assert texts(task, data, "target") == LINES
    epochs = []
    for epoch in (1, 2):
        data.set_epoch(epoch)
        epochs.append(texts(task, data))
        real = [one == line.upper() for one, line in zip(epochs[-1], LINES, strict=True)]
        assert 2 < sum(real) < 10
        for one, line, same in zip(epochs[-1], LINES, real, strict=True):
            assert same or one.islower() and len(one) < len(line)
    assert epochs[0] != epochs[1]
    assert data.size(0) == (len(LINES[0]) + 1, len(LINES[0]) + 1)
    data.set_epoch(1)
    assert texts(task, data) == epochs[0]
    assert texts(task, loaded(task, "valid")) == [line.upper() for line in LINES[:5]]


def test_what_the_noise_of_a_target_makes_too_long_is_read_as_it_is(folder):
    put(folder / "train.noisy", ["house", "gut"])
    put(folder / "train.clean", ["houses and more", "good"])
    options = {"noise": "swap", "noise_target_share": 1.0, "max_source_positions": 8}
    task = task_of(folder, **options)
    data = loaded(task)
    first, second = texts(task, data)
    assert first == "house" and sorted(second) == sorted("good") and second != "good"
    assert data.src.sizes.tolist() == [6, 5] and data.src.clean_sizes.tolist() == [6, 4]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"noise": "none", "noise_target_share": 0.5}, "--noise-target-share 0.5 needs noise"),
        ({"noise": "all", "noise_target_share": 1.5}, "--noise-target-share 1.5 is outside"),
        ({"noise": "all", "noise_target_share": 0.5}, "train has no real pairs, train.noisy"),
    ],
)
def test_a_mixture_that_cannot_be_is_refused(folder, options, said):
    assert said in refused(folder, **options)


# what is read ------------------------------------------------------------------------------------


def test_a_target_alone_is_its_own_source_with_noise(folder):
    task = task_of(folder, noise="delete")
    data = loaded(task)
    assert texts(task, data, "target") == LINES
    data.set_epoch(1)
    first = texts(task, data)
    data.set_epoch(2)
    second = texts(task, data)
    for line, one in zip(LINES, first, strict=True):
        assert len(one) < len(line) and len(one.split()) == len(line.split())
        assert one.split()[0] in ("house", *("house"[:i] + "house"[i + 1 :] for i in range(5)))
    assert first != second
    assert data.src_sizes.tolist() != data.tgt_sizes.tolist()


def test_a_source_beside_the_target_is_read_and_without_noise_as_it_is(folder):
    put(folder / "train.noisy", [line.upper() for line in LINES])
    task = task_of(folder)
    data = loaded(task)
    assert texts(task, data) == [line.upper() for line in LINES]
    assert texts(task, data, "target") == LINES
    data = loaded(task_of(folder, noise="keyboard"))
    data.set_epoch(1)
    made = texts(task, data)
    assert all(line.upper() == line and line != clean.upper() for line, clean in zip(made, LINES))


def test_one_language_for_both_sides_is_denoising_too(folder):
    task = task_of(folder, noise="swap", source_lang="clean")
    data = loaded(task)
    assert texts(task, data, "target") == LINES != texts(task, data)


def test_a_source_without_target_can_be_corrected(folder):
    put(folder / "new.noisy", LINES)
    task = task_of(folder)
    data = loaded(task, "new")
    assert data.tgt is None and texts(task, data) == LINES
    assert data.size(0) == (len(LINES[0]) + 1, 0)


def test_noise_on_validation_and_test_is_fixed_and_can_be_another(folder):
    put(folder / "test.noisy", LINES[:7])
    task = task_of(folder, noise="keyboard", noise_test="none")
    valid, test = loaded(task, "valid"), loaded(task, "test")
    before = texts(task, valid)
    valid.set_epoch(7)
    assert texts(task, valid) == before != LINES[:5]
    assert texts(task, test) == LINES[:7]
    for same, options in ((True, {"seed": 9}), (False, {"noise_seed": 2})):
        other = task_of(folder, noise="keyboard", **options)
        assert (texts(other, loaded(other, "valid")) == before) == same
    another = task_of(folder, noise="none", noise_valid="keyboard")
    assert texts(another, loaded(another, "valid")) == before


@pytest.mark.parametrize("real", [False, True])
def test_training_noise_has_the_seed_of_the_training(folder, real):
    if real:
        mixed_folder(folder)
    options = {"noise_target_share": 0.9} if real else {}
    made = []
    for seed in (1, 1, 2):
        task = task_of(folder, noise="keyboard", seed=seed, **options)
        data = loaded(task)
        data.set_epoch(1)
        made.append(texts(task, data))
    assert made[0] == made[1] != made[2]


def test_a_test_set_has_the_noise_that_the_command_writes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    flags = "--input test.clean --output made --kind random,swap --seed 4 --word-rate 0.5"
    command.main(flags.split())
    task = task_of(folder, noise="random,swap", noise_seed=4, noise_word_rate=0.5)
    assert (folder / "made").read_text().splitlines() == texts(task, loaded(task, "test"))


def test_parts_of_a_training_set_are_joined_and_the_first_can_count_more(folder):
    put(folder / "train1.clean", ["one more line"])
    task = task_of(folder, noise="delete", upsample_primary=2)
    data = loaded(task, combine=True)
    assert texts(task, data, "target") == [*LINES, *LINES, "one more line"]
    data.set_epoch(1)
    made = texts(task, data)
    assert sum(a == b for a, b in zip(made[:12], made[12:24])) < 6, "each copy has its own noise"
    assert len(loaded(task)) == 12, "parts are not asked for"


def test_folders_take_turns_in_training(folder, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    put(second / "train.clean", ["another text"])
    task = task_of(f"{folder}:{second}", noise="delete")
    assert [len(loaded(task, epoch=epoch)) for epoch in (1, 2, 3)] == [12, 1, 12]
    assert len(loaded(task, "valid", epoch=2)) == 5


def binarised(folder, split="train"):
    for lang in ("noisy", "clean"):
        rows = map(torch.tensor, ([4, 5, 2], [6, 2]))
        tiny.write_indexed(folder / f"{split}.noisy-clean.{lang}", rows)


def test_binarised_data_are_read_where_there_is_no_text_and_no_noise(folder):
    binarised(folder, "bin")
    task = task_of(folder)
    data = loaded(task, "bin")
    assert type(data) is LanguagePairDataset and data[0]["source"].tolist() == [4, 5, 2]
    said = refused(folder, "bin", noise="all")
    assert said.startswith("DATA/bin.noisy-clean.*: --noise-test needs plain text")
    # text goes first
    binarised(folder)
    assert len(loaded(task_of(folder, noise="all"))) == 12


# batches -----------------------------------------------------------------------------------------


def batches(task, data, epoch, **options):
    iterator = task.get_batch_iterator(
        data, max_tokens=200, max_positions=(100, 100), seed=3, epoch=epoch, **options
    )
    return iterator, [list(map(int, batch)) for batch in iterator.frozen_batches]


def test_batches_are_the_same_wherever_a_training_begins(folder):
    made = []
    for epoch in (1, 3):
        task = task_of(folder, noise="random")
        data = loaded(task)
        iterator, found = batches(task, data, epoch)
        assert sorted(i for batch in found for i in batch) == list(range(12))
        fresh = loaded(task_of(folder, noise="random"))
        fresh.set_epoch(epoch)
        assert iterator.epoch == epoch and texts(task, data) == texts(task, fresh)
        made.append(found)
    assert made[0] == made[1] and len(made[0]) > 2
    assert task.get_batch_iterator(data, epoch=4) is iterator, "they serve all epochs"


def test_a_model_with_fewer_positions_lowers_the_limit(folder):
    task = task_of(folder, noise="random", noise_char_rate=1.0, noise_word_rate=1.0)
    data = loaded(task)
    longest = max(map(len, LINES)) + 1
    task.get_batch_iterator(data, max_tokens=300, max_positions=(longest, 100), epoch=1)
    assert data.src.longest == longest
    assert max(len(data[i]["source"]) for i in range(12)) <= longest


def test_lines_that_are_too_long_are_all_named(folder):
    longest = [i + 1 for i, line in enumerate(LINES) if len(line) + 1 > 40]
    assert longest and longest != list(range(1, 13))
    shown = ", ".join(map(str, longest))
    task = task_of(folder, noise="all")
    data = loaded(task)
    with pytest.raises(UserError) as error:
        task.get_batch_iterator(data, max_tokens=200, max_positions=(40, 100))
    size = len(LINES[longest[0] - 1]) + 1
    said = f"line {longest[0]} has {size}/{size} tokens (source/target) where the limit is 40/100; "
    assert str(error.value).startswith(f"{said}{len(longest)} such lines: {shown}; raise")
    options = {"max_positions": (40, 100), "ignore_invalid_inputs": True}
    iterator = task.get_batch_iterator(data, max_tokens=200, **options)
    kept = sorted(int(i) + 1 for batch in iterator.frozen_batches for i in batch)
    assert kept == [i for i in range(1, 13) if i not in longest]


def test_long_sources_are_cut_where_that_is_asked_for(folder):
    task = task_of(folder, noise="keyboard", truncate_source=True, max_source_positions=20)
    data = loaded(task)
    _, found = batches(task, data, 1)
    assert sorted(i for batch in found for i in batch) == list(range(12))
    assert max(len(data[i]["source"]) for i in range(12)) == 20
    (typed, short), lengths = task.get_interactive_tokens_and_lengths(["a " * 20, "a"], " ".join)
    assert lengths == [20, 2] and typed[-1] == short[-1] == task.src_dict.eos()


def test_an_interactive_line_that_is_too_long_is_named_by_its_number_in_the_input(folder):
    task = task_of(folder)
    for lines in (["a", "a"], ["a", "a a a"]):  # two buffers
        tokens, lengths = task.get_interactive_tokens_and_lengths(lines, str)
        data = task.build_dataset_for_inference(tokens, lengths)
    with pytest.raises(UserError, match=r"^line 4 has 4/0 tokens \(source/target\) where .* 3/9; "):
        task.get_batch_iterator(data, max_positions=(3, 9))


# what is said ------------------------------------------------------------------------------------


def test_each_split_says_what_noise_it_has(folder, caplog):
    caplog.set_level(logging.INFO)
    task = task_of(folder, noise="all", noise_valid="ocr")
    put(folder / "new.noisy", LINES)
    for split in ("train", "valid"):
        loaded(task, split)
    loaded(task_of(folder), "new")
    said = [one.getMessage() for one in caplog.records if "lines of text" in one.getMessage()]
    assert said == [
        "train: 12 lines of text, noise: random,keyboard,swap,delete (sampled anew every epoch)",
        "valid: 5 lines of text, noise: ocr (fixed)",
        "new: 12 lines of text, noise: none (the source as it is), no target",
    ]


def test_text_that_is_cut_otherwise_than_the_dictionary_is_warned_of(folder, caplog):
    loaded(task_of(folder, noise="swap"), "valid")
    assert not caplog.records
    loaded(task_of(folder, noise="swap", text_bpe=None), "valid")
    first, second = (one.getMessage() for one in caplog.records)
    assert first.startswith("valid: 20 of 25 source tokens are unknown; is --bpe")
    assert second.startswith("valid: 20 of 25 target tokens")


def test_lines_that_noise_makes_too_long_are_named(folder, caplog):
    put(folder / "valid.clean", ["a b", "abcdefghij"])
    options = {"noise_random_edits": "insert", "noise_char_rate": 1.0, "max_source_positions": 12}
    data = loaded(task_of(folder, noise="random", **options), "valid")
    (said,) = (one.getMessage() for one in caplog.records)
    assert said == ("valid: 1 line read without noise, of more than 12 tokens with it: 2")
    assert len(data[1]["source"]) == 11


def test_validation_reads_pieces_as_text(folder):
    task = task_of(folder, noise="all")
    loaded(task, "valid")
    tokens = task.tgt_dict.encode_line("h a n d ▁ t o", add_if_not_exist=False)
    assert task.decoded_text(tokens, "?") == "hand to"
    task.cfg.eval_bleu_remove_bpe = "@@ "
    assert task.decoded_text(tokens, "?") == "h a n d ▁ t o"


# what is refused ---------------------------------------------------------------------------------


def test_missing_files_are_named(folder):
    assert refused(folder, "other") == (
        "DATA has no other data for noisy-clean: neither other.noisy nor other.clean is there; "
        "put the text into the folder, or name another split"
    )
    said = refused(folder)
    assert said.startswith("DATA/train.clean has no train.noisy beside it, and without noise")
    assert said.endswith("give --noise all, or the source")
    assert "give --noise-valid all" in refused(folder, "valid", noise="all", noise_valid="none")
    (folder / "dict.noisy.txt").unlink()
    assert refused(folder).startswith("dictionary DATA/dict.noisy.txt does not exist")
    assert refused(folder / "none") == "data folder DATA does not exist; check the path"
    assert "give --source-lang and --target-lang" in refused(folder, target_lang=None)


def test_sides_of_different_length_are_refused(folder):
    put(folder / "train.noisy", LINES[:4])
    assert refused(folder) == (
        "line counts differ: DATA/train.noisy has 4, DATA/train.clean has 12; line n of each must "
        "belong together"
    )
    put(folder / "train.noisy", LINES)
    put(folder / "train1.clean", LINES)
    said = refused(folder, combine=True)
    assert said.startswith("DATA/train1.*: text for clean, but train.* has it for noisy, clean")


@pytest.mark.parametrize(
    "options, said",
    [
        ({"noise": "keybord"}, "--noise keybord: there is no noise 'keybord'"),
        ({"noise_valid": "x"}, "--noise-valid x: there is no noise"),
        ({"noise_test": "x"}, "--noise-test x: there is no noise"),
        ({"noise_word_rate": 1.2}, "--noise-word-rate 1.2 is outside [0, 1]"),
        ({"noise_char_rate": -1.0}, "--noise-char-rate -1.0 is outside [0, 1]"),
        ({"noise_max_words": 0}, "--noise-max-words 0: give a number of 1 or more"),
        ({"noise_random_edits": "x"}, "--noise-random-edits x: there is no edit 'x'"),
        ({"noise_confusions": "t.json"}, "--noise-confusions t.json is for ocr noise"),
        ({"num_batch_buckets": 2}, "--num-batch-buckets fails in fairseq"),
        ({"eval_metrics": "blue"}, "--eval-metrics blue: there is no metric"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_read(folder, options, said):
    with pytest.raises(UserError, match=re.escape(said)):
        task_of(folder, **options)


def test_a_table_of_confusions_is_read_with_the_data_only(folder):
    table = folder / "table.json"
    table.write_text('{"rates": {"h": {"b": 1.0}}}')
    task = task_of(folder, noise="ocr", noise_confusions=str(table))
    data = loaded(task, "valid")
    assert texts(task, data) == [line.replace("h", "b") for line in LINES[:5]]
    gone = task_of(folder, noise="ocr", noise_confusions=str(folder / "gone"))
    with pytest.raises(UserError, match="gone: cannot be read"):
        loaded(gone, "valid")


def test_a_data_set_says_the_same_in_a_process_that_is_sent_it(folder):
    data = loaded(task_of(folder, noise="random,swap"))
    sent = pickle.loads(pickle.dumps(data))
    assert all(torch.equal(data[i]["source"], sent[i]["source"]) for i in range(len(data)))
