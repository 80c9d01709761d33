"""An update on a GPU: how often it is waited for, in how few operations, with which gradients.

The GPU is that of ``fake_gpu.py``. What it cannot be asked is how long it takes.
"""

from collections.abc import Callable
from typing import Any

import enct5_models
import pytest
import tiny
import torch
from fairseq import options, utils
from fairseq.optim.adam import Adam
from seq2seq_models import GATED, PBD, Seq2Seq
from torch import Tensor, nn

from lev_plugins.systems.enct5.dataset import collate
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from tests.fake_gpu import module_to_gpu, present, to_gpu

#: makes the loss of a batch that was moved
Loss = Callable[[Callable[[Any], Any]], Tensor]
Training = tuple[nn.Module, Loss]
BASE = {"encoder_layers": 6, "decoder_layers": 6}
TRACE = {"deletion_trace": True}
POINTER = {"source_pointer": True, "share_all_embeddings": True, **TRACE}


def edits(drafted: bool, roll_in: dict[str, Any], **options: Any) -> Training:
    """LevT's; expert and policy are mixed half and half."""
    task = tiny.task(joined=options.get("share_all_embeddings", False), **roll_in)
    model, batch = tiny.model(task, **options), tiny.batch(task, tiny.triples(12), drafted=drafted)
    criterion = EditPolicyLoss(task, EditPolicyLossConfig())
    return model, lambda move: criterion(model, task.with_states(move(batch), 1, (0.5, 0.5)))[0]


def writes(system: Seq2Seq, **options: Any) -> Training:
    """Of a system that writes from left to right."""
    model, batch = system.new(**options), system.sample(system.rows)

    def loss(move: Callable[[Any], Any]) -> Tensor:
        moved = move(batch)
        logits = model(**moved["net_input"])[0].log_softmax(2)
        return nn.functional.nll_loss(
            logits.flatten(0, 1), moved["target"].flatten(), ignore_index=1, reduction="sum"
        )

    return model, loss


def labels(kind: ProblemType) -> Training:
    """EncT5's."""
    torch.manual_seed(2)
    model = enct5_models.build(kind, decoder_layers=2)
    texts = [enct5_models.example(kind, length) for length in (4, 2, 9)]
    batch = collate([texts[:2], texts[2:]], kind, 3)
    targets = kind.targets(
        [text.labels[: text.num_words] if text.num_words else text.labels for text in texts], 3
    )
    return model, lambda move: kind.loss(model(**move(batch)), move(targets))


#: what is trained, how often a GPU is waited for (its gradients' norm once), and the operations
UPDATES: dict[str, tuple[Callable[[], Training], int, int]] = {
    "LevT": (lambda: edits(False, {}, dropout=0.3, **BASE), 3, 1400),
    "LevT with drafts": (lambda: edits(True, {}, dropout=0.3, **BASE), 4, 1400),
    "LevT with a trace": (lambda: edits(True, {}, dropout=0.3, **BASE, **TRACE), 4, 1500),
    "LevT that points": (lambda: edits(True, {}, dropout=0.3, **BASE, **POINTER), 4, 1520),
    "LevT, masked and sampled": (
        lambda: edits(
            True, {"token_masking": "uniform", "roll_in_tokens": "policy"}, dropout=0.3, **BASE
        ),
        4,
        1450,
    ),
    "LevT, words at random": (
        lambda: edits(False, {"roll_in_tokens": "random"}, dropout=0.3, **BASE),
        3,
        1400,
    ),
    "PBD": (lambda: writes(PBD, dropout=0.3, **BASE), 1, 900),
    "gated": (lambda: writes(GATED, dropout=0.3, **BASE), 1, 900),
    **{f"EncT5, {kind.value}": (lambda kind=kind: labels(kind), 2, 700) for kind in ProblemType},
}


@pytest.fixture(scope="module", autouse=True)
def training() -> None:
    """What is worked around in trainings is so once a command asks for its options."""
    options.get_training_parser()


def update(model: nn.Module, loss: Loss, optimizer: Adam) -> None:
    for parameter in model.parameters():
        parameter.grad = None
    loss(lambda batch: utils.apply_to_sample(to_gpu, batch)).backward()
    norm = utils.clip_grad_norm_(list(model.parameters()), 1.0)
    assert torch.isfinite(norm)
    optimizer.step()


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_waits_no_more_often_and_takes_no_more_operations(name):
    make, waits, operations = UPDATES[name]
    model, loss = make()
    module_to_gpu(model.train())
    optimizer = Adam(model.parameters(), lr=1e-3)
    with present() as count:
        update(model, loss, optimizer)
        count.clear()
        update(model, loss, optimizer)
    assert sum(count.waits.values()) == waits, count.waits
    assert sum(count.operations.values()) <= operations, count.operations.most_common(20)
