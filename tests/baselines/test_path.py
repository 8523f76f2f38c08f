"""Walking, bisecting and cutting a path that leaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from gsppca.baselines.path import (
    Centred,
    PathPoint,
    cut,
    entry_order,
    nested_path,
    reach_size,
    rising_penalties,
    walk,
)


@dataclass(frozen=True)
class Toy:
    """Variable j leaves at penalty levels[j]; what is left shrinks."""

    strength: NDArray[np.float64]
    n_iter: int = 1
    converged: bool = True


LEVELS = np.array([5.0, 1.0, 3.0, 3.0, 3.0, 8.0, 3.0])  # a leap of four at 3
WEIGHTS = np.array([1.0, 1.0, 4.0, 2.0, 3.0, 1.0, 2.5])


def fit(penalty: float, warm: Toy) -> Toy:
    return Toy(np.where(penalty < LEVELS, WEIGHTS / (1 + penalty), 0.0))


@pytest.fixture
def data() -> Centred:
    matrix = np.random.default_rng(0).normal(size=(6, LEVELS.size))
    return Centred(matrix, np.sum(matrix**2, axis=0), np.arange(LEVELS.size))


def test_penalties_rise_over_the_levels_and_beyond():
    penalties = list(rising_penalties(LEVELS, 10))
    assert penalties[0] == pytest.approx(1)
    assert penalties[9] == pytest.approx(8)
    assert np.all(np.diff(penalties) > 0)
    assert penalties[-1] > 100 * LEVELS.max()


def test_walk_stops_when_too_few_are_left():
    points = walk(fit, fit(0, None), [0.5, 2, 4, 6, 9], min_size=3)
    assert [point.size for point in points] == [7, 7, 6, 2]


@pytest.mark.parametrize("size", range(1, 8))
def test_every_size_is_reached(data, size):
    points = walk(fit, fit(0, None), rising_penalties(LEVELS, 4), min_size=size)
    points, larger, survivors = reach_size(fit, points, size)
    kept = cut(data, larger.support, survivors, larger.strength, size)
    # 5 and 0 outlive the leap; inside it the heaviest come first; 1 leaves before all.
    assert set(np.flatnonzero(kept)) == set([5, 0, 2, 4, 6, 3, 1][:size])
    assert larger.size == {3: 6, 4: 6, 5: 6}.get(size, size)
    assert [point.penalty for point in points] == sorted(point.penalty for point in points)


def test_order_of_entry_follows_the_penalty_survived_then_the_strength(data):
    points = walk(fit, fit(0, None), rising_penalties(LEVELS, 30))
    nothing_first = entry_order(data, points, np.zeros(7, dtype=bool))
    np.testing.assert_array_equal(nothing_first, [5, 0, 2, 4, 6, 3, 1])
    selected = np.arange(7) == 1
    np.testing.assert_array_equal(entry_order(data, points, selected), [1, 5, 0, 2, 4, 6, 3])


def test_ties_are_broken_by_the_sums_of_squares(data):
    np.testing.assert_array_equal(data.order(np.zeros(7)), np.argsort(-data.squares))


def test_a_variable_that_comes_back_counts_with_its_last_stay(data):
    early = PathPoint(0.0, Toy(np.ones(7)))
    without = PathPoint(1.0, Toy(np.array([1.0, 0, 1, 0, 0, 0, 0])))
    back = PathPoint(2.0, Toy(np.array([0.0, 1, 0, 0, 0, 0, 0])))
    order = entry_order(data, [early, without, back], np.zeros(7, dtype=bool))
    assert order[0] == 1
    assert set(order[1:3]) == {0, 2}


@pytest.mark.parametrize("n_features", [5, 1000])
def test_nested_path_records_sizes(n_features):
    levels = np.random.default_rng(0).uniform(size=n_features)
    order = np.argsort(-levels)
    path = nested_path(order, levels, chosen_size=3, criterion_name="level")
    assert path.sizes[0] == 1
    assert path.sizes[-1] == n_features
    assert path.sizes.size <= 201
    assert path.sizes[path.chosen] == 3
    for size, level, support in zip(path.sizes, path.penalties, path.supports, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(support), np.sort(order[:size]))
        assert level == levels[order[size - 1]]


def test_nested_path_may_be_empty():
    path = nested_path(np.arange(4), np.ones(4), chosen_size=0, criterion_name="level")
    assert path.sizes[path.chosen] == 0
    assert not path.supports[path.chosen].any()
