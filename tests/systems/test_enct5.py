"""EncT5's model: who reads what, rows of several examples, and gradients."""

from argparse import Namespace

import enct5_models
import pytest
import tiny
import torch
import torch.nn.functional as F
from enct5_models import EXACT, NUMBER, answers, exact, loss, slow_answers
from fairseq.models import ARCH_CONFIG_REGISTRY
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_plugins.systems.enct5 import EncT5Config, EncT5Model
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import ProblemType

pytestmark = [pytest.mark.device, pytest.mark.kernels]

each_kind = pytest.mark.parametrize("kind", list(ProblemType), ids=lambda kind: kind.value)


def examples(kind: ProblemType, *lengths: int) -> list[Example]:
    return [enct5_models.example(kind, length) for length in lengths]


@each_kind
@pytest.mark.parametrize("layers", [1, 2])
def test_each_answer_reads_its_text_or_word_and_has_its_head(kind, layers):
    """What encoder and decoder compute: ``test_enct5_directories.py``."""
    model, texts = exact(kind, layers), examples(kind, 1, 12, 2, 7, 4)
    answers_together = answers(model, [[text] for text in texts], kind)
    torch.testing.assert_close(answers_together, slow_answers(model, kind, texts), **EXACT)


@each_kind
@settings(max_examples=25)
@given(
    lengths=st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=4), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
    layers=st.integers(1, 3),
    wide=st.integers(0, 3),
)
def test_packed_rows_answer_as_rows_of_their_own(kind, lengths, seed, layers, wide):
    torch.manual_seed(seed)
    model, rows = exact(kind, layers), [examples(kind, *row) for row in lengths]
    alone = [answers(model, [[text]], kind) for row in rows for text in row]
    # on padding anything may stand but segment and span 0
    padded = {
        name: F.pad(tensor, (0, wide), value=name == "tokens")
        for name, tensor in collate(rows, kind, NUMBER).items()
    }
    torch.testing.assert_close(model(**padded), torch.cat(alone), **EXACT)


@each_kind
def test_every_parameter_is_trained_by_any_batch(kind):
    """One without a gradient would stop a training on several processes."""
    model = enct5_models.build(kind, decoder_layers=2, dropout=0.1).train()
    loss(model, [examples(kind, 1), examples(kind, 40, 2)], kind).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), name


def test_the_loss_of_values_is_the_sum_of_their_squared_errors():
    predicted, values = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 5.0])
    assert float(ProblemType.REGRESSION.loss(predicted, values)) == 5


def test_dropout_falls_on_each_position_by_itself_and_evaluation_draws_nothing():
    kind = ProblemType.CLASSIFICATION
    model, text = enct5_models.build(kind, dropout=0.5), enct5_models.example(kind, 5)
    state = tiny.random_state()
    for different in (1, 6):
        logits = answers(model.train(different > 1), [[text]] * 6, kind)
        assert len(logits.round(decimals=4).unique(dim=0)) == different
        assert torch.equal(state, tiny.random_state()) is (different == 1)


#: sizes of T5 1.1 with its 32,128 rows → parameters of an EncT5 with two classes
PUBLISHED = {"enct5_small": 38_482_306, "enct5_base": 119_071_490, "enct5_large": 358_278_146}


@pytest.mark.parametrize("arch", PUBLISHED)
def test_published_sizes_have_their_numbers_of_parameters(arch):
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    cfg = EncT5Config(**vars(args))
    assert arch != "enct5_base" or cfg == EncT5Config()
    task = enct5_models.task(ProblemType.CLASSIFICATION, 2, ["x"] * 32128)
    with torch.device("meta"):
        model = EncT5Model.build_model(cfg, task)
    assert sum(parameter.numel() for parameter in model.parameters()) == PUBLISHED[arch]
