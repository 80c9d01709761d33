"""The task of autoregressive post-editing: source and draft side by side, joined for the model."""

from argparse import Namespace

import numpy as np
import pytest
import tiny
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from refusals import refuses

from lev_plugins.systems.transformer_concat import TransformerConcatConfig, TransformerConcatModel
from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig

ROWS = [
    tiny.Triple("abcd", "abcdefgh", "abdgh"),
    tiny.Triple("hg", "cafe", "cafebabe"),
    tiny.Triple("e", "ddd", ""),
    tiny.Triple("", "b", "gaga"),
]


def make_task(**values):
    symbols = tiny.dictionary()
    values = {"required_seq_len_multiple": 1, "max_source_positions": 16, **values}
    return TranslationConcatTask(PostEditingConfig(**values), symbols, symbols)


@pytest.fixture
def task():
    return make_task()


def make_model(task, seed=1):
    torch.manual_seed(seed)
    sizes = {name: size for name, size in tiny.SIZES.items() if name.startswith("encoder_")}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    limits = {"max_source_positions": 16, "max_target_positions": 16}
    cfg = TransformerConcatConfig(**sizes | layers | limits)
    return tiny.sharpen(TransformerConcatModel.build_model(cfg, task)).eval()


@pytest.fixture
def model(task):
    return make_model(task)


def plain(texts, symbols):
    """Sentences as they are binarised, without <s>."""
    return [tiny.sentence(text, symbols)[1:] for text in texts]


class Sides(list):
    """Sentences with their sizes, as an indexed data set has them."""

    @property
    def sizes(self):
        return np.array([len(one) for one in self])


def data_set(task, rows=ROWS, drafted=True):
    sides = [Sides(plain(texts, task.src_dict)) for texts in zip(*rows, strict=True)]
    source, target, draft = sides
    return task.make_dataset(source, target, draft if drafted else None, shuffle=False)


def sample_of(task, rows=ROWS, **options):
    data = data_set(task, rows, **options)
    return data.collater([data[i] for i in range(len(rows))])


def texts_of(tokens, task):
    """``source|draft`` of every joined row."""
    eos, pad = task.src_dict.eos(), task.src_dict.pad()
    found = []
    for row in tokens.tolist():
        row = [token for token in row if token != pad]
        end = row.index(eos)
        assert row[-1] == eos and row.count(eos) == 2
        parts = row[:end], row[end + 1 : -1]
        found.append("|".join("".join(task.src_dict[token] for token in part) for part in parts))
    return found


def test_a_model_reads_source_and_draft_joined(task):
    sample = sample_of(task)
    net_input = sample["net_input"]
    assert texts_of(net_input["src_tokens"], task) == [
        f"{ROWS[i].source}|{ROWS[i].draft}" for i in sample["id"].tolist()
    ]
    assert torch.equal(net_input["src_lengths"], net_input["src_tokens"].ne(1).sum(1))
    assert "draft" not in sample
    joined = sample_of(task, drafted=False)
    assert sorted(texts_of(joined["net_input"]["src_tokens"], task)) == ["abcd|", "e|", "hg|", "|"]


def test_training_and_validation_see_the_drafts(task, model):
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)

    def loss(rows, step):
        sample = sample_of(task, rows)
        if step == "valid":
            return task.valid_step(sample, model, criterion)[0].item()
        optimizer = Namespace(backward=lambda loss: loss.backward())
        return task.train_step(sample, model, criterion, optimizer, 0)[0].item()

    changed = [row._replace(draft=row.draft[::-1] + "a") for row in ROWS]
    for step in ("train", "valid"):
        assert loss(ROWS, step) == loss(ROWS, step) != loss(changed, step)
    language = model.encoder.embed_positions.language.weight.grad
    assert language.isfinite().all() and (language.abs().sum(1) > 0).all()


def hypotheses(task, models, sample, prefix=None, **flags):
    generator = task.build_generator(models, Namespace(**{"beam": 4, "max_len_b": 9, **flags}))
    return task.inference_step(generator, models, sample, prefix)


def tokens_of(found):
    return [[one["tokens"].tolist() for one in answers] for answers in found]


def test_interactive_data_give_what_the_data_set_gives(task, model):
    lines = [f"{' '.join(row.source)}\t{' '.join(row.draft)}" for row in ROWS]
    lines.append("a b c d")  # no draft at all
    pairs, lengths = task.get_interactive_tokens_and_lengths(lines, lambda text: text)
    data = task.build_dataset_for_inference(pairs, lengths)
    typed = data.collater([data[i] for i in range(len(lines))])
    rows = [*ROWS, tiny.Triple("abcd", "", "")]
    sample = sample_of(task, rows)
    assert typed["id"].tolist() == sample["id"].tolist()
    expected = tokens_of(hypotheses(task, [model], sample))
    # what fairseq-interactive passes on of a batch
    passed = {"net_input": typed["net_input"]}
    assert tokens_of(hypotheses(task, [model], passed)) == expected


def test_two_dictionaries_and_lexical_constraints_are_refused(task):
    cfg = PostEditingConfig(data="bin", source_lang="src", target_lang="pe")
    with refuses("bin: dict.src.txt", "dict.pe.txt", "--joined-dictionary"):
        TranslationConcatTask(cfg, tiny.dictionary(), tiny.dictionary("xyz"))
    with refuses("--constraints"):
        tokens = plain(["a"], task.src_dict)
        task.build_dataset_for_inference(tokens, [2], constraints=torch.zeros(1, 1))
