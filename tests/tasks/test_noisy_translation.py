"""The task of noisy text: which files are read, with which noise, and what is refused."""

import logging
import pickle

import pytest
import tiny
import torch
from fairseq.data import Dictionary, LanguagePairDataset
from plain_files import put
from refusals import refuses

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


def sides(folder, lang, **splits):
    for split, lines in splits.items():
        put(folder / f"{split}.{lang}", lines)


UPPER = [line.upper() for line in LINES]


# what is read ------------------------------------------------------------------------------------


def test_a_share_of_real_pairs_has_noise_made_anew_from_the_target(folder):
    sides(folder, "noisy", train=UPPER, valid=UPPER[:5])
    task = task_of(folder, noise="delete", noise_target_share=0.5)
    data = loaded(task)
    assert texts(task, data, "target") == LINES
    epochs = []
    for epoch in (1, 2, 1):
        data.set_epoch(epoch)
        epochs.append(texts(task, data))
        real = [one == line.upper() for one, line in zip(epochs[-1], LINES, strict=True)]
        assert 2 < sum(real) < 10
        for one, line, same in zip(epochs[-1], LINES, real, strict=True):
            assert same or one.islower() and len(one) < len(line)
    assert epochs[0] != epochs[1] and epochs[0] == epochs[2]
    assert data.size(0) == (len(LINES[0]) + 1, len(LINES[0]) + 1)
    assert texts(task, loaded(task, "valid")) == UPPER[:5]


def test_what_the_noise_of_a_target_makes_too_long_is_read_as_it_is(folder):
    sides(folder, "noisy", train=["house", "gut"])
    sides(folder, "clean", train=["houses and more", "good"])
    task = task_of(folder, noise="swap", noise_target_share=1.0, max_source_positions=8)
    data = loaded(task)
    first, second = texts(task, data)
    assert first == "house" and sorted(second) == sorted("good") and second != "good"
    assert data.src_sizes.tolist() == [6, 5] and data.src.clean_sizes.tolist() == [6, 4]


@pytest.mark.parametrize("options", [{}, {"source_lang": "clean"}])
def test_a_target_alone_is_its_own_source_with_noise(folder, options):
    task = task_of(folder, noise="delete", **options)
    data = loaded(task)
    assert texts(task, data, "target") == LINES
    made = []
    for epoch in (1, 2):
        data.set_epoch(epoch)
        made.append(texts(task, data))
    for line, one in zip(LINES, made[0], strict=True):
        assert len(one) < len(line) and len(one.split()) == len(line.split())
        assert one.split()[0] in ("house", *("house"[:i] + "house"[i + 1 :] for i in range(5)))
    assert made[0] != made[1]
    assert data.src_sizes.tolist() != data.tgt_sizes.tolist()


def test_a_source_beside_the_target_is_read_and_without_noise_as_it_is(folder):
    sides(folder, "noisy", train=UPPER, new=LINES)
    task = task_of(folder)
    data = loaded(task)
    assert texts(task, data) == UPPER and texts(task, data, "target") == LINES
    data = loaded(task_of(folder, noise="keyboard"))
    data.set_epoch(1)
    made = texts(task, data)
    assert all(line.isupper() and line != clean for line, clean in zip(made, UPPER))
    data = loaded(task, "new")  # without a target
    assert data.tgt is None and texts(task, data) == LINES
    assert data.size(0) == (len(LINES[0]) + 1, 0)


def test_noise_on_validation_and_test_is_fixed_and_can_be_another(folder):
    sides(folder, "noisy", test=LINES[:7])
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


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_training_noise_has_the_seed_of_the_training(folder, share):
    if share:
        sides(folder, "noisy", train=UPPER)
    made = []
    for seed in (1, 1, 2, None, 0):
        task = task_of(folder, noise="keyboard", seed=seed, noise_target_share=share)
        data = loaded(task)
        data.set_epoch(1)
        made.append(texts(task, data))
    assert made[0] == made[1] != made[2] and made[3] == made[4]


def test_folders_of_training_data_take_turns(folder):
    put(folder / "second" / "train.clean", ["another text"])
    task = task_of(f"{folder}:{folder / 'second'}", noise="delete")
    assert [len(loaded(task, epoch=epoch)) for epoch in (1, 2, 3)] == [12, 1, 12]
    assert len(loaded(task, "valid", epoch=2)) == 5


def binarised(folder, split):
    for lang in ("noisy", "clean"):
        rows = map(torch.tensor, ([4, 5, 2], [6, 2]))
        tiny.write_indexed(folder / f"{split}.noisy-clean.{lang}", rows)


def test_binarised_data_are_read_where_there_is_no_text_and_no_noise(folder):
    binarised(folder, "bin")
    data = loaded(task_of(folder), "bin")
    assert type(data) is LanguagePairDataset and data[0]["source"].tolist() == [4, 5, 2]
    binarised(folder, "train")
    assert len(loaded(task_of(folder, noise="all"))) == 12, "text goes first"


def test_a_table_of_confusions_is_read_with_the_data_only(folder):
    table = folder / "table.json"
    table.write_text('{"rates": {"h": {"b": 1.0}}}')
    task = task_of(folder, noise="ocr", noise_confusions=str(table))
    data = loaded(task, "valid")
    assert texts(task, data) == [line.replace("h", "b") for line in LINES[:5]]
    gone = task_of(folder, noise="ocr", noise_confusions=str(folder / "gone"))
    with refuses(f"{folder}/gone"):
        loaded(gone, "valid")


def test_a_data_set_says_the_same_in_a_process_that_is_sent_it(folder):
    data = loaded(task_of(folder, noise="random,swap"))
    sent = pickle.loads(pickle.dumps(data))
    assert all(torch.equal(data[i]["source"], sent[i]["source"]) for i in range(len(data)))


# batches -----------------------------------------------------------------------------------------


def batches(task, data, epoch):
    iterator = task.get_batch_iterator(
        data, max_tokens=200, max_positions=(100, 100), seed=3, epoch=epoch
    )
    return iterator, [list(map(int, batch)) for batch in iterator.frozen_batches]


def test_noise_stays_below_the_limits_of_model_and_batch(folder):
    rates = {"noise_char_rate": 1.0, "noise_word_rate": 1.0}
    task = task_of(folder, noise="random", **rates)
    data = loaded(task)
    longest = max(map(len, LINES)) + 1
    assert max(data.src_sizes) > longest
    flags = {"max_tokens": longest, "max_positions": (longest + 9, 100)}
    iterator = task.get_batch_iterator(data, epoch=1, **flags)
    assert sorted(i for batch in iterator.frozen_batches for i in batch) == list(range(12))
    assert max(len(data[i]["source"]) for i in range(12)) <= longest + 9


def test_long_sources_are_cut_where_that_is_asked_for(folder):
    task = task_of(folder, noise="keyboard", truncate_source=True, max_source_positions=20)
    data = loaded(task)
    _, found = batches(task, data, 1)
    assert sorted(i for batch in found for i in batch) == list(range(12))
    assert max(len(data[i]["source"]) for i in range(12)) == 20
    (typed, short), lengths = task.get_interactive_tokens_and_lengths(["a " * 20, "a"], " ".join)
    assert lengths == [20, 2] and typed[-1] == short[-1] == task.src_dict.eos()


# what is said ------------------------------------------------------------------------------------


def test_text_that_is_cut_otherwise_than_the_dictionary_is_warned_of(folder, caplog):
    caplog.set_level(logging.INFO)
    loaded(task_of(folder, noise="swap"), "valid")
    (said,) = caplog.messages[-1:]
    assert "valid: 5 lines" in said and "swap (fixed)" in said and len(caplog.messages) == 3
    loaded(task_of(folder, noise="swap", text_bpe=None), "valid")
    first, second = caplog.messages[-2:]
    assert "20 of 25 source" in first and "20 of 25 target" in second


def test_validation_reads_pieces_as_text(folder):
    task = task_of(folder, noise="all")
    loaded(task, "valid")
    tokens = task.tgt_dict.encode_line("h a n d ▁ t o", add_if_not_exist=False)
    assert task.decoded_text(tokens, "?") == "hand to"
    task.cfg.eval_bleu_remove_bpe = "@@ "
    assert task.decoded_text(tokens, "?") == "h a n d ▁ t o"


# what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("split", "options", "said"),
    [
        ("train", {}, ["DATA/train.clean", "train.noisy", "--noise all"]),
        ("valid", {"noise": "all", "noise_valid": "none"}, ["--noise-valid all"]),
        ("bin", {"noise": "all"}, ["DATA has no text bin.clean", "--noise-test none"]),
        ("short", {}, ["DATA/short.noisy has 4", "DATA/short.clean has 12"]),
        ("train", {"source_lang": "xx"}, ["DATA/dict.xx.txt"]),
        ("train", {"data": "nowhere"}, ["nowhere"]),
        ("train", {"data": ""}, ["dict.noisy.txt"]),
        ("train", {"noise": "all", "noise_target_share": 0.5}, ["--noise-target-share 0.5"]),
        ("train", {"noise": "none", "noise_target_share": 0.5}, ["--noise-target-share 0.5"]),
        ("train", {"noise": "all", "noise_target_share": 1.5}, ["--noise-target-share 1.5"]),
        ("train", {"noise": "keybord"}, ["--noise keybord"]),
        ("train", {"noise_valid": "x"}, ["--noise-valid x"]),
        ("train", {"noise_test": "x"}, ["--noise-test x"]),
        ("train", {"noise_word_rate": 1.2}, ["--noise-word-rate 1.2"]),
        ("train", {"noise_confusions": "t.json"}, ["--noise-confusions t.json"]),
        ("train", {"num_batch_buckets": 2}, ["--num-batch-buckets"]),
        ("train", {"eval_metrics": "blue"}, ["--eval-metrics blue"]),
    ],
)
def test_what_cannot_be_is_named(folder, split, options, said):
    binarised(folder, "bin")
    sides(folder, "noisy", short=LINES[:4])
    sides(folder, "clean", short=LINES)
    with refuses(*(one.replace("DATA", str(folder)) for one in said)):
        loaded(task_of(folder, **options), split)
