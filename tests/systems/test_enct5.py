"""EncT5's model: its answers from the equations, rows of several examples, and gradients."""

import dataclasses
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import enct5_models
import pytest
import torch
from enct5_models import EXACT, NUMBER, Slow, answers, exact, labelled, loss
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lev_plugins.nn.t5 import t5
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.directory import sizes as sizes_of
from lev_plugins.systems.enct5.model import cross_attention_mask
from lev_plugins.systems.enct5.problem_types import ProblemType

pytestmark = pytest.mark.kernels

TAGGING = ProblemType.TAGGING
each_kind = pytest.mark.parametrize("kind", list(ProblemType), ids=lambda kind: kind.value)
LAYERS = [1, 2, 3]  # of the decoder
# answers are from 1 to some thousands with such parameters
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def examples(kind: ProblemType, *lengths: int) -> list[Example]:
    return [enct5_models.example(kind, length) for length in lengths]


@st.composite
def groupings(draw: Any) -> tuple[int, list[int], list[list[int]]]:
    """A seed, lengths of examples, and the examples of each row, in any order."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=7))
    order = draw(st.permutations(range(len(lengths))))
    rows: list[list[int]] = []
    for one in order:
        if not rows or draw(st.booleans()):
            rows.append([])
        rows[-1].append(one)
    return draw(st.integers(0, 2**16)), lengths, rows


@each_kind
@pytest.mark.parametrize("layers, feed_forward", [(1, "gated-gelu"), (2, "relu")])
def test_the_answers_are_those_of_the_equations(kind, layers, feed_forward):
    model = exact(kind, layers, feed_forward)
    texts = examples(kind, 1, 12, 2, 7, 4)
    found = answers(model, [[one] for one in texts], kind)
    torch.testing.assert_close(found, Slow(model, kind).answers(texts), **CLOSE)


@each_kind
@settings(max_examples=25)
@given(grouping=groupings(), layers=st.sampled_from(LAYERS), wide=st.integers(0, 3))
def test_packed_rows_answer_as_rows_of_their_own(kind, grouping, layers, wide):
    seed, lengths, rows = grouping
    torch.manual_seed(seed)
    model, texts = exact(kind, layers), examples(kind, *lengths)
    alone = [answers(model, [[one]], kind) for one in texts]
    packed = collate([[texts[i] for i in row] for row in rows], kind, NUMBER)
    found = model(**enct5_models.widened(packed, wide, wide))
    expected = torch.cat([alone[i] for row in rows for i in row])
    torch.testing.assert_close(found, expected, **EXACT)


@each_kind
def test_a_row_that_asks_for_nothing_changes_nothing(kind):
    model, texts = exact(kind, 2), examples(kind, 7, 2)
    batch = collate([[one] for one in texts], kind, NUMBER)
    for name in ("latent_segments", "latent_spans"):
        batch[name][1] = 0
    torch.testing.assert_close(model(**batch), answers(model, [texts[:1]], kind), **EXACT)


def test_the_masks_are_those_of_segments_and_spans():
    segments = torch.tensor([[1, 1, 1, 2, 2, 0]])
    spans = torch.tensor([[1, 0, 2, 3, 0, 0]])
    asking = torch.tensor([[1, 1, 1, 2, 2, 0]])
    words = torch.tensor([[1, 2, 0, 3, 9, 0]])
    found = cross_attention_mask(segments, spans, asking, words)[0].int().tolist()
    assert found == [
        [1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],  # no word: the text
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 1, 1, 0],  # a word without pieces: the text
        [0, 0, 0, 0, 0, 1],
    ]
    full = cross_attention_mask(segments[:, :5], spans[:, :5], asking, words)
    assert bool(full.any(2).all())  # padding without padding to look at


def test_a_word_without_pieces_is_tagged_from_its_text_packed_or_not():
    model = exact(TAGGING, 2)
    text = Example(torch.tensor([5, 4, 7, 1]), torch.tensor([1, 3, 3, 0]), torch.zeros(3))
    alone = answers(model, [[text]], TAGGING)
    packed = answers(model, [[enct5_models.example(TAGGING, 6), text]], TAGGING)
    assert alone.shape == (3, NUMBER) and bool(alone.isfinite().all())
    torch.testing.assert_close(packed[-3:], alone, **EXACT)


@each_kind
@pytest.mark.parametrize("layers", [1, 3])
def test_gradients_of_packed_rows_are_those_of_the_equations(kind, layers):
    model = enct5_models.opinionated(enct5_models.build(kind, decoder_layers=layers)).train()
    texts = examples(kind, 4, 9, 2, 5)
    loss(model, [texts[:3], texts[3:]], kind).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    targets = kind.targets([one.labels for one in texts], NUMBER)
    model.zero_grad()
    kind.loss(Slow(model, kind).answers(texts), targets).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-6, atol=1e-6, msg=name)


def batches(kind: ProblemType) -> Iterator[list[list[Example]]]:
    """Rows that are short of something."""
    empty = enct5_models.example(kind, 1)  # nothing but </s>, or a word that is <unk>
    long, short = examples(kind, 40, 2)
    yield [[empty], [long]]  # much padding
    yield [[short] * 12, [long]]  # more decoder positions in the row with fewer subwords
    if kind is TAGGING:
        yield [[long._replace(labels=torch.cat([long.labels, long.labels]))]]  # words cut off
        yield [[short], [Example(torch.tensor([3, 1]), torch.tensor([0, 0]), torch.zeros(0))]]
    if kind.many:
        yield [[long._replace(labels=torch.zeros(0))], [long._replace(labels=torch.arange(NUMBER))]]


@each_kind
def test_rows_that_are_short_of_something_train_every_parameter(kind):
    for rows in batches(kind):
        model = enct5_models.build(kind, decoder_layers=2, dropout=0.1).train()
        found = kind.loss(answers(model, rows, kind), labelled(kind, rows))
        found.backward()
        assert bool(found.isfinite())
        for name, parameter in model.named_parameters():
            # none at all would stop a training on several processes
            assert parameter.grad is not None, name
            assert bool(parameter.grad.isfinite().all()), name


def test_dropout_falls_on_each_position_by_itself_and_evaluation_draws_nothing():
    model = enct5_models.build(ProblemType.CLASSIFICATION, dropout=0.5)
    text = enct5_models.example(ProblemType.CLASSIFICATION, 5)
    state = torch.random.get_rng_state()
    for different in (1, 6):
        found = answers(model.train(different > 1), [[text]] * 6, ProblemType.CLASSIFICATION)
        assert len({tuple(one) for one in found.round(decimals=4).tolist()}) == different
        assert torch.equal(state, torch.random.get_rng_state()) is (different == 1)


PUBLISHED = {  # of T5 1.1 with 32,128 rows: EncT5 with 2 classes, and the whole T5
    "enct5_small": (38_482_306, 76_961_152),
    "enct5_base": (119_071_490, 247_577_856),
    "enct5_large": (358_278_146, 783_150_080),
}


def config(arch: str) -> EncT5Config:
    """A named size."""
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return dataclasses.replace(EncT5Config(), **vars(args))


@pytest.mark.parametrize("arch", PUBLISHED)
def test_published_sizes_have_their_numbers_of_parameters(arch):
    cfg, (ours, whole) = config(arch), PUBLISHED[arch]
    size, _ = sizes_of(cfg)
    full = dataclasses.replace(size, decoder_layers=size.encoder_layers)
    with torch.device("meta"):
        model = EncT5Model.build_model(cfg, published(ProblemType.CLASSIFICATION, 2))
        symbols = Dictionary()
        symbols.symbols *= 8032  # 32,128 of them
        there = t5(full, symbols, symbols)
    parts = [there.source, there.encoder, *there.blocks, there.norm, there.bias, there.output]
    assert count(model) == ours
    assert count(*parts) == whole
    assert arch != "enct5_base" or size == sizes_of(EncT5Config())[0]


def published(kind: ProblemType, number: int) -> Namespace:
    """A task with as many subwords as T5's table has rows."""
    return enct5_models.task(kind, number, ["x"] * 32128)


def count(*modules: nn.Module) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


@each_kind
def test_half_precision_holds_states_that_outgrow_it(kind):
    model = enct5_models.build(kind, decoder_layers=2).eval()
    for module in model.modules():
        if hasattr(module, "fc2"):
            module.fc2.weight.data.mul_(3e4)
    found = answers(model.half(), [examples(kind, 9, 4), examples(kind, 7)], kind)
    assert found.dtype == torch.float16 and bool(found.isfinite().all())
