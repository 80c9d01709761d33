"""What every edit model has to keep to, whatever its architecture.

A system takes part by a test class with a fixture that returns a :class:`System`::

    class TestMyModel(ModelContract):
        @pytest.fixture(params=[...])
        def system(self, request) -> System: ...

A training pass returns, for each policy head, the logits of the positions that are trained
(P × classes) and their labels (P), in the order of the batch. Everything below follows from
that: what one sentence contributes can be cut out and compared.
"""

import io
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import tiny
import torch
import torch.nn.functional as F
from closeness import assert_near
from tiny import Triple
from torch import Tensor, nn

ROWS = [
    Triple("abcd", "abcdefgh", "abdgh"),
    Triple("hg", "cafe", "cafebabe"),
    Triple("abcdefgh", "b", "b"),
    Triple("e", "ddd", ""),
    Triple("", "", "gaga"),
    Triple("cab", "", ""),
    Triple("face", "head", "head"),
]
# What must not change is compared in double precision: whatever differs there is no rounding.
EXACT = {"rtol": 1e-9, "atol": 1e-9}
Answers = dict[str, tuple[Tensor, Tensor]]


@dataclass
class System:
    """One system in one configuration.

    task: its task. build: makes the model anew; the same seed gives the same parameters.
    sample: makes a training batch of triples, with the options of :func:`tiny.batch`.
    answers: head → logits and labels of a batch. classes: head → number of classes.
    """

    task: Any
    build: Callable[[int], nn.Module]
    sample: Callable[..., dict[str, Any]]
    answers: Callable[[nn.Module, dict[str, Any]], Answers]
    classes: dict[str, int]

    def model(self, seed: int = 1) -> nn.Module:
        """A model in evaluation mode, with parameters large enough to have opinions."""
        return tiny.sharpen(self.build(seed)).eval()

    def generator(self, model: nn.Module, **options: Any) -> Any:
        flags = {"max_len_a": 0, "max_len_b": 9, "iter_decode_max_iter": 5, **options}
        return self.task.build_generator([model], Namespace(**flags))


def loss_of(answers: Answers) -> Tensor:
    """The summed cross-entropy of all heads, in the precision of the logits."""
    parts = [F.cross_entropy(*answer, reduction="sum") for answer in answers.values()]
    return torch.stack(parts).sum()


def assert_same(first: Answers, second: Answers) -> None:
    assert first.keys() == second.keys()
    for head in first:
        assert torch.equal(first[head][1], second[head][1]), f"labels of the {head} head"
        assert torch.allclose(first[head][0], second[head][0], **EXACT), f"{head} head"


def joined(parts: Sequence[Answers]) -> Answers:
    """Answers of several batches as if they had been one."""
    return {
        head: tuple(torch.cat([part[head][i] for part in parts]) for i in (0, 1))
        for head in parts[0]
    }


class ModelContract:
    """To be inherited; see the module."""

    @pytest.fixture
    def system(self) -> System:
        raise NotImplementedError("a contract needs a system")

    # shapes and gradients ---------------------------------------------------------------------

    def test_every_head_answers_as_many_positions_as_have_labels(self, system):
        answers = system.answers(system.model(), system.sample(ROWS))
        assert answers.keys() == system.classes.keys()
        for head, (logits, labels) in answers.items():
            assert logits.shape == (len(labels), system.classes[head]) and len(labels) > 0
            assert labels.dtype == torch.long
            assert labels.min() >= 0 and labels.max() < system.classes[head]
            assert logits.isfinite().all()

    @pytest.mark.parametrize(
        "rows",
        [
            [Triple("", "", "")],
            [Triple("a", "", "b"), Triple("b", "", "")],
            [Triple("a", "a", ""), Triple("b", "b", "c")],
            [Triple("ab", "abab", "abab")],
            [Triple("ab", "abab", "cdcd")],
            ROWS,
        ],
        ids=["nothing", "nothing to write", "one token", "draft is right", "all wrong", "all rows"],
    )
    def test_every_batch_trains_every_parameter_with_finite_gradients(self, system, rows):
        model = system.model().train()
        answers = system.answers(model, system.sample(rows))
        loss = loss_of(answers)
        loss.backward()
        assert loss.isfinite()
        for name, parameter in model.named_parameters():
            # no gradient at all would stop a training on several processes
            assert parameter.grad is not None and parameter.grad.isfinite().all(), name
            assert rows is not ROWS or parameter.grad.abs().sum() > 0, name

    def test_gradients_are_those_of_finite_differences(self, system):
        model = system.model().double()
        sample = system.sample(ROWS)
        loss_of(system.answers(model, sample)).backward()
        generator = torch.Generator().manual_seed(3)
        for name, parameter in model.named_parameters():
            shape, step = parameter.shape, 1e-6
            direction = torch.randn(shape, generator=generator, dtype=torch.double)
            losses = []
            with torch.no_grad():
                for move in (step, -2 * step, step):
                    parameter.add_(direction, alpha=move)
                    losses.append(loss_of(system.answers(model, sample)))
            slope = float(losses[0] - losses[1]) / (2 * step)
            expected = float((parameter.grad * direction).sum())
            assert slope == pytest.approx(expected, rel=1e-4, abs=1e-5), name

    # padding and batches ----------------------------------------------------------------------

    @pytest.mark.parametrize(("left", "extra"), [(True, 0), (False, 4)])
    def test_padding_changes_nothing(self, system, left, extra):
        model = system.model().double()
        plain = system.answers(model, system.sample(ROWS))
        assert_same(system.answers(model, system.sample(ROWS, left=left, extra=extra)), plain)

    def test_a_sentence_alone_is_answered_as_in_a_batch_of_any_order(self, system):
        model, order = system.model().double(), list(range(len(ROWS)))
        alone = [system.answers(model, system.sample([row], ids=[i])) for i, row in enumerate(ROWS)]
        for some in (order, order[::-1]):
            together = system.sample([ROWS[i] for i in some], ids=some)
            assert_same(system.answers(model, together), joined([alone[i] for i in some]))

    # randomness, states and checkpoints -------------------------------------------------------

    def test_a_seed_fixes_the_parameters(self, system):
        first, same, other = system.build(1), system.build(1), system.build(2)
        assert same_parameters(first, same) and not same_parameters(first, other)

    def test_evaluation_does_not_draw_random_numbers(self, system):
        model, sample = system.model(), system.sample(ROWS)
        before = torch.random.get_rng_state()
        first = system.answers(model, sample)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert_same(first, system.answers(model, sample))

    def test_a_checkpoint_brings_back_the_same_model(self, system):
        model, sample = system.model(seed=1), system.sample(ROWS)
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        other = system.model(seed=2)
        assert not same_parameters(model, other)
        other.load_state_dict(torch.load(file, weights_only=True), strict=True)
        assert same_parameters(model, other)
        expected, found = system.answers(model, sample), system.answers(other, sample)
        assert all(torch.equal(found[head][0], expected[head][0]) for head in expected)

    def test_parameters_named_as_in_version_0_5_are_loaded(self, system):
        assert_loads_names_of_0_5(system.model(seed=1), system.model(seed=2))

    # decoding ---------------------------------------------------------------------------------

    def test_decoding_one_by_one_gives_the_hypotheses_of_a_batch(self, system):
        model = system.model().double()
        rows = tiny.triples(32, seed=7)
        generator = system.generator(model)
        together = generator.generate([model], tiny.batch(system.task, rows))
        alone = [generator.generate([model], tiny.batch(system.task, [row]))[0] for row in rows]
        for (one,), (other,) in zip(alone, together, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
            assert one["steps"] == other["steps"]
            assert_near(one["positional_scores"], other["positional_scores"])
        assert len({tuple(one["tokens"].tolist()) for (one,) in together}) > 8

    @pytest.mark.parametrize(("left", "drafted"), [(True, True), (False, False)])
    def test_padding_changes_no_hypothesis(self, system, left, drafted):
        model = system.model().double()
        generator = system.generator(model)
        plain = generator.generate([model], tiny.batch(system.task, ROWS, drafted=drafted))
        sample = tiny.batch(system.task, ROWS, left=left, extra=3, drafted=drafted)
        for (one,), (other,) in zip(generator.generate([model], sample), plain, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])

    def test_decoding_turns_dropout_off_and_leaves_the_parameters_alone(self, system):
        model, sample = system.model(), tiny.batch(system.task, ROWS)
        before = [parameter.clone() for parameter in model.parameters()]
        generator = system.generator(model)
        expected = generator.generate([model], sample)
        for module in model.modules():
            if hasattr(module, "dropout") and isinstance(module.dropout, float):
                module.dropout = 0.9
        found = generator.generate([model.train()], sample)
        for (one,), (other,) in zip(found, expected, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
        after = model.parameters()
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
        assert all(parameter.grad is None for parameter in model.parameters())


def same_parameters(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def assert_loads_names_of_0_5(model: nn.Module, other: nn.Module) -> None:
    """The second takes the parameters of the first under the names of version 0.5."""
    old = {
        name.replace(".fc1.", ".expand.").replace(".fc2.", ".contract."): value
        for name, value in model.state_dict().items()
    }
    assert old.keys() != model.state_dict().keys()
    other.load_state_dict(old, strict=True)
    assert same_parameters(model, other)
