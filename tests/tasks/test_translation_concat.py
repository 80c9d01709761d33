"""The task of autoregressive post-editing: source and draft side by side, joined for the model."""

from argparse import Namespace

import numpy as np
import pytest
import tiny
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import ListDataset
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


@pytest.fixture
def task():
    symbols = tiny.dictionary()
    values = {"required_seq_len_multiple": 1, "max_source_positions": 16}
    return TranslationConcatTask(PostEditingConfig(**values), symbols, symbols)


@pytest.fixture
def model(task):
    sizes = {name: size for name, size in tiny.SIZES.items() if name.startswith("encoder_")}
    sizes |= {"decoder_layers": 1, "max_source_positions": 16, "max_target_positions": 16}
    cfg = TransformerConcatConfig(**sizes, dropout=0.0)
    return tiny.sharpen(TransformerConcatModel.build_model(cfg, task)).eval()


def sample_of(task, rows=ROWS, drafted=True):
    """A batch of sentences as they are binarised, without <s>."""
    sides = []
    for texts in zip(*rows, strict=True):
        tokens = [tiny.sentence(text, task.src_dict)[1:] for text in texts]
        sides.append(ListDataset(tokens, np.array([len(one) for one in tokens])))
    data = task.make_dataset(*sides[:2], sides[2] if drafted else None, shuffle=False)
    return data.collater([data[i] for i in range(len(rows))])


def test_without_drafts_every_draft_is_empty(task):
    empty = [row._replace(draft="") for row in ROWS]
    sides = sample_of(task, drafted=False), sample_of(task, empty)
    found, expected = (one["net_input"]["src_tokens"] for one in sides)
    assert torch.equal(found, expected)


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


def written(task, model, sample):
    generator = task.build_generator([model], Namespace(beam=4, max_len_b=9))
    found = task.inference_step(generator, [model], sample)
    return [[one["tokens"].tolist() for one in answers] for answers in found]


def test_interactive_data_give_what_the_data_set_gives(task, model):
    lines = [f"{' '.join(row.source)}\t{' '.join(row.draft)}" for row in ROWS]
    lines.append("a b c d")  # no draft at all
    data = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths(lines, str))
    typed = data.collater([data[i] for i in range(len(lines))])
    sample = sample_of(task, [*ROWS, tiny.Triple("abcd", "", "")])
    assert typed["id"].tolist() == sample["id"].tolist()
    # what fairseq-interactive passes on of a batch
    assert written(task, model, {"net_input": typed["net_input"]}) == written(task, model, sample)


def test_two_dictionaries_and_lexical_constraints_are_refused(task):
    cfg = PostEditingConfig(data="bin", source_lang="src", target_lang="pe")
    with refuses("bin: dict.src.txt", "dict.pe.txt", "--joined-dictionary"):
        TranslationConcatTask(cfg, tiny.dictionary(), tiny.dictionary("xyz"))
    with refuses("--constraints"):
        tokens = [tiny.sentence("a", task.src_dict)]
        task.build_dataset_for_inference(tokens, [2], constraints=torch.zeros(1, 1))
