"""lev_memory: who proposes, by probabilities that other rows have told."""

import random

import pytest

from lev_memory import evaluate


def cases(seed):
    """An output and a repair of each row; the surer one is, the more often it saves edits."""
    rng = random.Random(seed)
    sides = [
        [
            evaluate.Case("text", {"sure": sure}, 1 if rng.random() < sure else -1, 9, True)
            for sure in (rng.random() for _ in range(200))
        ]
        for _ in range(2)
    ]
    return [*zip(*sides)]


def test_the_model_proposes_what_is_rather_better_else_the_more_probable_one_does():
    rows = cases(1)
    for pair, chosen in zip(rows, evaluate.judged(rows, evaluate.weights_of(rows)), strict=True):
        sure = [case.features["sure"] for case in pair]
        assert chosen.case is pair[0] or sure[0] < 0.7
        assert chosen.case is pair[0] or sure[1] > sure[0] - 0.3
    never = [(case._replace(is_possible=False), other) for case, other in rows]
    for (_, repair), chosen in zip(never, evaluate.judged(never, evaluate.weights_of(rows))):
        assert chosen.case is repair


def test_a_half_of_the_rows_does_not_tell_its_own_probabilities():
    rows = cases(2)
    opposite = [
        tuple(case._replace(saved=-case.saved) for case in pair) if place % 2 else pair
        for place, pair in enumerate(rows)
    ]
    before, after = (evaluate.crossed({(0.9, 1): each}) for each in (rows, opposite))
    half = len(rows) // 2
    stated = [[chance for chance, _ in outcomes] for outcomes in (before, after)]
    assert stated[0][half:] == stated[1][half:] and stated[0][:half] != stated[1][:half]
    better = sum(is_better for _, is_better in before) / len(before)
    assert sum(stated[0]) / len(before) == pytest.approx(better, abs=0.1)


def test_more_iterations_are_taken_where_they_save_more_than_noise():
    rows = cases(3)  # 200 of nine words: 5.4 edits are 0.3 TER

    def saving(edits):
        [(case, repair), *others] = rows
        return [(case._replace(features={"sure": 1.0}, saved=edits), repair), *others]

    for more, iterations in ((4, 1), (9, 10)):
        tried = {(0.7, 1): saving(1), (0.9, 10): saving(1 + more)}
        assert evaluate.best(tried, slice(None))[0][1] == iterations
