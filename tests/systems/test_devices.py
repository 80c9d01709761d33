"""Every system computes on a GPU what it computes on the CPU, and seldom waits for it.

The GPU is that of ``fake_gpu.py``: no tensors of two devices go together there, and waits are
counted. What it cannot be asked is how long it takes.
"""

from collections.abc import Callable
from typing import Any

import editors
import enct5_models
import pytest
import tiny
import torch
from closeness import assert_near
from fairseq import options, utils
from fairseq.optim.adam import Adam
from seq2seq_models import CONCAT, GATED, PBD, Seq2Seq
from torch import Tensor, nn

from lev_correct import Corrector
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from tests.fake_gpu import DEVICE, module_to_gpu, present, to_gpu

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
Move = Callable[[Any], Any]
#: a model, and what makes the loss of its batch, which it is given a way to move
Training = tuple[nn.Module, Callable[[Move], Tensor]]


def here(value: Any) -> Any:
    return value


def there(value: Any) -> Any:
    return utils.apply_to_sample(to_gpu, value)


# updates --------------------------------------------------------------------------------------


def edits(drafted: bool = True, roll_in: dict[str, Any] | None = None, **options: Any) -> Training:
    """LevT's; expert and policy are mixed half and half."""
    task = tiny.task(joined=options.get("share_all_embeddings", False), **(roll_in or {}))
    model, batch = tiny.model(task, **options), tiny.batch(task, tiny.triples(12), drafted=drafted)
    criterion = EditPolicyLoss(task, EditPolicyLossConfig())
    return model, lambda move: criterion(model, task.with_states(move(batch), 1, (0.5, 0.5)))[0]


def writes(system: Seq2Seq, kind: int) -> Training:
    """Of a system that writes from left to right."""
    options = list(system.kinds.values())[kind]
    model, batch = system.new(**options), system.sample(system.rows)

    def loss(move: Move) -> Tensor:
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
    return model, lambda move: enct5_models.loss(model, [texts[:2], texts[2:]], kind, move)


LEARNED = {"encoder_learned_pos": True, "decoder_learned_pos": True}
APART = {"weight_sharing": "none", "separate_output_embed": True}
POINTER = {"source_pointer": True, "share_all_embeddings": True, "deletion_trace": True}
SAMPLED = {"token_masking": "uniform", "roll_in_tokens": "policy"}
#: what is trained, and how often a GPU is waited for, its gradients' norm once
UPDATES = {
    "LevT": (lambda: edits(drafted=False), 2),
    "LevT, own parameters": (lambda: edits(**APART), 2),
    "LevT with a trace": (lambda: edits(deletion_trace=True, **LEARNED), 2),
    "LevT that points": (lambda: edits(**POINTER), 2),
    "LevT, masked and sampled": (lambda: edits(roll_in=SAMPLED), 2),
    "LevT, random words": (lambda: edits(False, {"roll_in_tokens": "random"}), 2),
    "PBD": (lambda: writes(PBD, 0), 1),
    "PBD, no future": (lambda: writes(PBD, -1), 1),
    "gated, paper": (lambda: writes(GATED, 0), 1),
    "gated, pointer": (lambda: writes(GATED, 1), 1),
    "concat": (lambda: writes(CONCAT, -1), 4),
    **{f"EncT5, {kind.value}": (lambda kind=kind: labels(kind), 2) for kind in ProblemType},
}


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_has_the_cpus_loss_and_few_waits(name):
    options.get_training_parser()  # only then are trainings patched
    make, most = UPDATES[name]
    model, loss = make()
    host = loss(here).detach()
    module_to_gpu(model)
    optimizer = Adam(model.parameters(), lr=1e-3)
    with present() as waits:
        for step in range(2):
            waits.clear()
            device = loss(there)
            device.backward()
            utils.clip_grad_norm_(list(model.parameters()), 1.0)
            if step == 0:
                assert_near(device.detach().values, host)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    # the expert aligns on the host only where there is no Triton, as here
    assert sum(waits[line] for line in waits if "ops/alignment" not in line) == most, waits


# decoding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [PBD, GATED, CONCAT], ids=["pbd", "gated", "concat"])
def test_beam_search(system: Seq2Seq):
    model = system.build(4, 1.5, **next(iter(system.kinds.values()))).float()
    host = system.searched([model], system.rows)
    module_to_gpu(model)
    with present():
        device = system.searched([model], system.rows, move=there)
        for hypothesis, other in zip(sum(host, []), sum(device, []), strict=True):
            assert hypothesis["tokens"].tolist() == other["tokens"].tolist()


# the Python interface -------------------------------------------------------------------------


def corrector_on(corrector: Corrector, move: bool) -> Any:
    backend = corrector.backend
    if move:
        for model in [backend.model] if hasattr(backend, "model") else backend.editor.models:
            module_to_gpu(model)
        backend.device = torch.device(DEVICE)
    texts = [each.text for each in corrector.correct(["abc hg", "feda", "aaabb", "xyz"])]
    if not hasattr(backend, "nbest"):  # an edit model
        return texts
    units = [tuple("abd"), tuple("fed")]
    scores = [round(score, 3) for score in backend.score([units, units[::-1]], 4)]
    return texts, scores, list(map(list, backend.nbest(units, 2)))


def labels_on(model: Any, move: bool) -> str:
    if move:
        module_to_gpu(model.model)
    return str([prediction.tags for prediction in model.predict_tags(["a b c", "de"])])


INTERFACES = {
    "edit corrector": (editors.edit_corrector, corrector_on),
    "corrector": (editors.writing_corrector, corrector_on),
    "tagger": (lambda: editors.enct5(ProblemType.TAGGING.value), labels_on),
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_python_interface(interface):
    make, ask = INTERFACES[interface]
    host, product = ask(make(), False), make()
    with present():
        assert ask(product, True) == host
