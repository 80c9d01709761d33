"""Every system computes on a GPU what it computes on the CPU, and mixes no tensors of the two.

The GPU is that of ``fake_gpu.py``, so that any machine can tell.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import editors
import enct5_models
import pytest
import tiny
import torch
from closeness import assert_near
from fairseq import utils
from fairseq.sequence_generator import SequenceGenerator
from seq2seq_models import CONCAT, GATED, PBD, Seq2Seq
from torch import nn

from lev_correct import Corrector
from lev_plugins import LevenshteinEditor
from lev_plugins.systems.enct5.dataset import collate
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_runtime.markup import DROP, JOINED, KEEP
from tests.fake_gpu import DEVICE, module_to_gpu, present, to_gpu

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
SYSTEMS = {"pbd": PBD, "gated": GATED, "concat": CONCAT}
#: the first, which is searched with, and the last, which has the most options of its own
KINDS = [
    pytest.param(system, kind, id=f"{name}, {kind}")
    for name, system in SYSTEMS.items()
    for kind in dict.fromkeys([list(system.kinds)[0], list(system.kinds)[-1]])
]
Move = Callable[[Any], Any]


def both(models: Sequence[nn.Module], ask: Callable[[Move], Any]) -> tuple[Any, Any]:
    """What is answered on the CPU, and on the device; ``ask`` is given what moves its batches."""
    with torch.no_grad():
        host = ask(lambda value: value)
    for model in models:
        module_to_gpu(model)
    with present():
        return host, ask(lambda value: utils.apply_to_sample(to_gpu, value))


@pytest.mark.parametrize(("system", "kind"), KINDS)
def test_logits_and_beam_search_of_what_writes_from_left_to_right(system: Seq2Seq, kind):
    sample = system.sample(system.rows)
    for trains in (True, False):
        model = system.build(**system.kinds[kind]).train(trains)
        host, device = both(
            [model], lambda move, model=model: model(**move(sample["net_input"]))[0]
        )
        # what stands at padding has no meaning
        real = sample["net_input"]["prev_output_tokens"].ne(system.symbols.pad())
        assert_near(device.values[real], host[real])
    if kind != list(system.kinds)[0]:
        return
    model = system.build(4, 1.5, **system.kinds[kind]).float()
    generator = SequenceGenerator([model], system.symbols, beam_size=4, max_len_b=14)

    def search(move: Move) -> list[list[list[int]]]:
        groups = generator.generate([model], move(sample))
        return [[hypothesis["tokens"].tolist() for hypothesis in group] for group in groups]

    host, device = both([model], search)
    assert device == host


@pytest.mark.parametrize("kind", ProblemType, ids=lambda kind: kind.value)
def test_losses_of_labels(kind):
    model = enct5_models.opinionated(enct5_models.build(kind, decoder_layers=2)).float()
    texts = [enct5_models.example(kind, length) for length in (4, 2, 9)]
    batch = collate([texts[:2], texts[2:]], kind, 3)
    labels = [text.labels[: text.num_words] if text.num_words else text.labels for text in texts]
    targets = kind.targets(labels, 3)
    host, device = both([model], lambda move: kind.loss(model(**move(batch)), move(targets)))
    assert_near(device.values, host)


@pytest.mark.parametrize(
    ("options", "drafted"),
    [
        ({"weight_sharing": "none", "separate_output_embed": True}, False),
        ({"deletion_trace": True, "encoder_learned_pos": True, "decoder_learned_pos": True}, True),
    ],
    ids=str,
)
def test_losses_of_edits(options, drafted):
    task = tiny.task()
    model, batch = tiny.model(task, **options), tiny.batch(task, tiny.triples(6), drafted=drafted)
    criterion = EditPolicyLoss(task, EditPolicyLossConfig())
    host, device = both(
        [model], lambda move: criterion(model, task.with_states(move(batch), 1, (0.5, 0.5)))[0]
    )
    assert_near(device.values, host)


@pytest.mark.parametrize(
    ("members", "marked", "options"),
    [
        (1, False, {}),
        (2, False, {"empty_penalty": 1.0, "unk_penalty": 1.0, "delete_threshold": 0.7}),
        (1, False, {"candidates": 3, "nbest": 3, "delete_words": True}),
        (1, True, {}),
    ],
    ids=str,
)
def test_edits(members, marked, options):
    task, rows = tiny.task(), tiny.triples(6)
    models = [tiny.sharpen(tiny.model(task, seed)).eval() for seed in range(3, 3 + members)]
    batch = tiny.batch(task, rows)
    if marked:
        bits = torch.tensor([0, KEEP, DROP, DROP | JOINED])
        inner = batch["draft"].gt(task.target_dictionary.eos())
        batch["marks"] = bits[torch.arange(inner.size(1)) % 4] * inner
    refinement = RefinementOptions(max_iter=4, max_len_b=20, retain_history=True, **options)
    generator = RefinementGenerator(task.target_dictionary, task.placeholder, refinement)

    def answers(move: Move) -> list[Any]:
        hypotheses = sum(generator.generate(models, move(batch)), [])
        return [
            (hypothesis["tokens"].tolist(), hypothesis["terminated"], len(hypothesis["history"]))
            for hypothesis in hypotheses
        ]

    host, device = both(models, answers)
    assert device == host


def editor_on(editor: LevenshteinEditor, move: bool) -> list[str]:
    for model in editor.models if move else []:
        module_to_gpu(model)
    drafts = ["ab", "hge", "a", "abdcefhg"]
    return [trace.text for trace in editor.edit(["abc", "hg fe", "", "abcdefgh"], drafts)]


def corrector_on(corrector: Corrector, move: bool) -> Any:
    backend: Any = corrector.backend
    if move:
        for model in [backend.model] if hasattr(backend, "model") else backend.editor.models:
            module_to_gpu(model)
        backend.device = torch.device(DEVICE)
    texts = [
        correction.text for correction in corrector.correct(["abc hg", "feda", "aaabb", "xyz"])
    ]
    if not hasattr(backend, "nbest"):  # an edit model
        return texts
    backend.words, units = ["abc", "fade", "bed"], [tuple("abd"), tuple("fed")]
    pairs = [(unit, tuple(word)) for unit in units for word in ("abc", "fade", "bed")]
    scores = [round(score, 3) for score in backend.score(pairs, 4)]
    return texts, scores, list(map(list, backend.nbest(units, 2)))


def labels_on(model: Any, move: bool) -> str:
    if move:
        module_to_gpu(model.model)
    predict = model.predict_tags if model.task.cfg.kind == "tagging" else model.predict
    return str([getattr(prediction, "tags", prediction) for prediction in predict(["a b c", "de"])])


INTERFACES: dict[str, tuple[Callable[[], Any], Callable[[Any, bool], Any]]] = {
    "ensemble of editors": (lambda: editors.editor(2), editor_on),
    "edit corrector": (editors.edit_corrector, corrector_on),
    "corrector": (editors.writing_corrector, corrector_on),
    "concat corrector": (lambda: editors.writing_corrector("concat"), corrector_on),
    **{
        kind.value: (functools.partial(editors.enct5, kind.value), labels_on)
        for kind in ProblemType
    },
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_python_interface(interface):
    make, ask = INTERFACES[interface]
    host, product = ask(make(), False), make()
    with present():
        assert ask(product, True) == host


def test_tensors_of_two_devices_do_not_go_together():
    with present(), pytest.raises(AssertionError, match="tensors of two devices"):
        to_gpu(torch.ones(2)) + torch.ones(2)


def test_operations_on_the_device_and_waits_for_it_are_counted():
    with present() as count:
        x = to_gpu(torch.eye(3)).requires_grad_()
        y = nn.functional.dropout(x.view(9) * 2, 0.5, True)
        assert count.operations == {"mul": 1, "native_dropout": 1} and not count.waits
        y.sum().backward()
        assert count.operations["native_dropout_backward"] == 1
        count.clear()
        attended = nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3)
        attended.sum().backward()
        assert count.operations["attention"] == count.operations["attention_backward"] == 1
        assert torch.equal(x.grad.values.isfinite(), torch.ones(3, 3).bool()) and not count.waits
        for wait in (
            lambda: x[x > 0],
            lambda: x.sum().item(),
            lambda: bool(x.any()),
            lambda: x.tolist(),
            lambda: x.cpu(),
            lambda: x.nonzero(),
            lambda: torch.zeros(3).to(DEVICE),
            lambda: x.new_tensor([1.0]),
            lambda: x[[0, 1]],
        ):
            count.clear()
            wait()
            assert sum(count.waits.values()) == 1
        count.clear()
        torch.zeros(3).to(DEVICE, non_blocking=True)
        x.masked_fill(x > 0, 0.0).index_select(0, to_gpu(torch.ones(1).long()))
        assert not count.waits
