"""Weights of a log-linear model: they are the most likely ones."""

import numpy as np
import pytest

from lev_runtime.logistic import logistic, most_likely


def choices(weights, seed, count=2000):
    """Units of three candidates, the best drawn by the weights' probabilities."""
    rng, units = np.random.default_rng(seed), []
    for _ in range(count):
        rows = rng.normal(size=(3, len(weights)))
        shares = np.exp(rows @ weights)
        best = rng.choice(3, p=shares / shares.sum())
        units.append((rows, [number == best for number in range(3)]))
    return units


def test_weights_are_those_that_the_choices_were_drawn_by():
    weights = np.array([1.0, -0.5, 0.0])
    found = most_likely(choices(weights, 1), np.zeros(3))
    assert found == pytest.approx(weights, abs=0.1)
    assert most_likely(choices(weights, 1), np.ones(3)) == pytest.approx(found, abs=1e-4)


def test_a_constant_has_the_odds_of_what_it_counts():
    table, labels, counts = np.ones((3, 1)), [True, False, True], [1.0, 2.0, 5.0]
    assert logistic(table, labels, counts)[0] == pytest.approx(np.log(3.0), abs=1e-5)


def test_a_weight_that_is_not_free_stays_and_a_ridge_holds_to_the_start():
    units = choices(np.array([1.0, -0.5]), 3)
    assert most_likely(units, np.array([0.0, 0.7]), free=[True, False])[1] == 0.7
    start = np.array([0.3, 0.3])
    assert most_likely(units, start, ridge=1e9) == pytest.approx(start, abs=1e-4)


def test_what_can_be_told_apart_entirely_has_weights_that_are_no_infinities():
    table = np.array([[1.0, -1.0], [1.0, 1.0]])
    assert np.isfinite(logistic(table, [False, True], ridge=0.1)).all()
    assert np.isfinite(logistic(table * 1e3, [False, True])).all()


def test_nothing_to_learn_from_leaves_the_start():
    assert most_likely([], np.array([0.5])) == [0.5]
    assert logistic(np.zeros((0, 2)), []).tolist() == [0.0, 0.0]


def test_of_several_best_candidates_one_is_enough():
    rows = np.array([[1.0], [-1.0], [0.0]])
    (weight,) = most_likely([(rows, (True, True, False))] * 5, np.array([0.1]), ridge=1e-3)
    assert abs(weight) > 1
