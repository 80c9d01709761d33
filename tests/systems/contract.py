"""What every model has to keep to, whatever its architecture: one that edits, one that writes.

A system takes part by a test class with a fixture that returns a :class:`System`::

    class TestMyModel(ModelContract):
        @pytest.fixture(params=[...])
        def system(self, request) -> System: ...

One law is that the plain form, which has nothing that is there for speed alone, does the same.

A training pass returns, for each head, the logits of the positions that are trained (P × classes)
and their labels (P), in the order of the batch. Everything below follows from that: what one
sentence contributes can be cut out and compared.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from tiny import Triple
from torch import Tensor, nn

from lev_plugins.nn.kernels import TORCH
from lev_plugins.systems.levenshtein.generator import RefinementGenerator

ROWS = [
    Triple("abcd", "abcdefgh", "abdgh"),
    Triple("hg", "cafe", "cafebabe"),
    Triple("abcdefgh", "b", "b"),
    Triple("e", "ddd", ""),
    Triple("", "", "gaga"),
    Triple("cab", "", ""),
    Triple("face", "head", "head"),
]
EXTREME = {
    "nothing": [Triple("", "", "")],
    "an empty source": [Triple("", "abc", "")],
    "nothing to write": [Triple("a", "", "b"), Triple("b", "", "")],
    "one token": [Triple("a", "a", ""), Triple("b", "b", "c")],
    "the draft is right": [Triple("ab", "abab", "abab")],
    "all is wrong": [Triple("ab", "abab", "cdcd")],
    "lengths far apart": [
        Triple("a", "abcdefghabcdefgh", "a"),
        Triple("abcdefghabcdefgh", "a", "abcdefghabcdefgh"),
    ],
}
# What must not change is compared in double precision: whatever differs there is no rounding.
EXACT = {"rtol": 1e-9, "atol": 1e-9}
Answers = dict[str, tuple[Tensor, Tensor]]
Hypotheses = list[list[dict[str, Any]]]


@dataclass
class System:
    """One system in one configuration; what is here is that of the models that edit.

    task: its task. build: makes the model anew; the same seed gives the same parameters.
    sample: makes a training batch of triples, with the options of :func:`tiny.batch`.
    answers: head → logits and labels of a batch. exact: nothing is computed in less than double
    precision.
    """

    task: Any
    build: Callable[[int], nn.Module]
    sample: Callable[..., dict[str, Any]]
    answers: Callable[[nn.Module, dict[str, Any]], Answers]
    exact: bool = True
    rows: Sequence[Triple] = tuple(ROWS)
    #: without what is there for speed alone
    plain: ClassVar[bool] = False
    #: where padding stands, and how many columns of it there are on every side
    layouts: Sequence[dict[str, Any]] = ({"left": True}, {"extra": 4})

    def model(self, seed: int = 1) -> nn.Module:
        """A model in double precision, with parameters large enough to have opinions."""
        return self.in_form(tiny.sharpen(self.build(seed)).double().eval())

    def in_form(self, model: nn.Module) -> nn.Module:
        """The model, in the plain form with torch's own functions."""
        for module in model.modules() if self.plain else ():
            if hasattr(module, "kernels"):
                module.kernels = TORCH
        return model

    def decoded(self, model: nn.Module, rows: Sequence[Triple], **layout: Any) -> Hypotheses:
        """For every sentence its hypotheses, the best first."""
        return self.generator(model).generate([model], tiny.batch(self.task, rows, **layout))

    def generator(self, model: nn.Module, **options: Any) -> Any:
        flags = {"max_len_a": 0.5, "max_len_b": 9, "iter_decode_max_iter": 5, **options}
        return self.task.build_generator([model], Namespace(**flags))

    def same(self, first: Sequence[Tensor], second: Sequence[Tensor]) -> None:
        """Equal but for what the last digits of this system's precision are."""
        for first_answer, other in zip(first, second, strict=True):
            if self.exact:
                torch.testing.assert_close(first_answer, other, **EXACT)
            else:
                assert_near(first_answer, other)

    def loss(self, model: nn.Module, sample: dict[str, Any]) -> Tensor:
        """The summed cross-entropy of all heads, in the precision of the logits."""
        parts = [
            F.cross_entropy(*answer, reduction="sum")
            for answer in self.answers(model, sample).values()
        ]
        return torch.stack(parts).sum()

    def gradients(self, model: nn.Module, sample: dict[str, Any]) -> dict[str, Tensor]:
        """Those of training; no gradient at all would stop one on several processes."""
        model.zero_grad()
        self.loss(model.train(), sample).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def flat(answers: Answers) -> list[Tensor]:
    return [part for answer in answers.values() for part in answer]


def leave_out_what_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain form: torch's own functions, and no layer around a model that decodes."""
    monkeypatch.setattr(System, "plain", True)
    monkeypatch.setattr(RefinementGenerator, "layers", ())


class ModelContract:
    """To be inherited; see the module."""

    @pytest.fixture
    def system(self):
        raise NotImplementedError("a contract needs a system")

    def test_neither_the_batch_nor_its_padding_changes_a_hypothesis(self, system):
        model = system.model()
        alone = [system.decoded(model, [row])[0] for row in system.rows]
        for layout in ({"left": True}, {"extra": 3}):
            together = system.decoded(model, system.rows, **layout)
            for hypotheses, other in zip(alone, together, strict=True):
                for single, among in zip(hypotheses, other, strict=True):
                    assert torch.equal(single["tokens"], among["tokens"])
                    assert single.get("steps") == among.get("steps")
                    assert_near(single["positional_scores"], among["positional_scores"])
        outputs = [tuple(each["tokens"].tolist()) for hypotheses in alone for each in hypotheses]
        assert len(set(outputs)) > 3

    def test_decoding_draws_nothing_drops_nothing_and_leaves_the_model_alone(self, system):
        model = system.model()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        expected = system.decoded(model, system.rows)
        for module in model.modules():
            if hasattr(module, "dropout") and isinstance(module.dropout, float):
                module.dropout = 0.9
        state = tiny.random_state()
        decoded = system.decoded(model.train(), system.rows)
        assert torch.equal(tiny.random_state(), state)
        for hypotheses, other in zip(decoded, expected, strict=True):
            assert torch.equal(hypotheses[0]["positional_scores"], other[0]["positional_scores"])
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())
        assert all(parameter.grad is None for parameter in model.parameters())

    def test_the_plain_form_answers_learns_and_decodes_alike(self, system, monkeypatch):
        results = []
        for _ in range(2):
            model, sample = system.model(), system.sample(system.rows)
            answers = flat(system.answers(model.train(), sample))
            gradients = system.gradients(model, sample).values()
            decoded = [each for group in system.decoded(model, system.rows) for each in group]
            scores = [hypothesis["positional_scores"] for hypothesis in decoded]
            results.append([*answers, *gradients, *scores])
            leave_out_what_is_fast(monkeypatch)
        system.same(*results)

    # gradients --------------------------------------------------------------------------------

    def test_every_batch_trains_every_parameter_with_finite_gradients(self, system):
        model = system.model()
        for claim, rows in EXTREME.items():
            sample = system.sample(rows)
            assert system.gradients(model, sample) and system.loss(model, sample).isfinite(), claim
        for name, gradient in system.gradients(model, system.sample(system.rows)).items():
            assert gradient.abs().sum() > 0, name

    # padding and batches ----------------------------------------------------------------------

    def test_padding_changes_no_answer_and_no_gradient(self, system):
        """Also where a batch is mostly padding."""
        model = system.model()
        for rows in (system.rows, [*system.rows, *system.rows[-1:] * 6]):
            sample = system.sample(rows)
            expected = flat(system.answers(model.eval(), sample))
            slopes = system.gradients(model, sample)
            for layout in ({}, *system.layouts):
                sample = system.sample(rows, **layout)
                system.same(flat(system.answers(model.eval(), sample)), expected)
                system.same(flat(system.answers(model.train(), sample)), expected)
                gradients_ = system.gradients(model, sample)
                system.same([*gradients_.values()], [*slopes.values()])

    def test_a_sentence_alone_is_answered_as_in_a_batch_of_any_order(self, system):
        model, order = system.model().train(), list(range(len(system.rows)))
        alone = [system.answers(model, system.sample([system.rows[i]], ids=[i])) for i in order]
        for rows_ in (order, order[::-1]):
            together = system.sample([system.rows[i] for i in rows_], ids=rows_)
            parts = zip(*(flat(alone[i]) for i in rows_), strict=True)
            system.same(flat(system.answers(model, together)), [torch.cat(part) for part in parts])
