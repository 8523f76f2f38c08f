"""Orders of variables: sorting tuples as the oracle; what rounding cannot tell apart ties, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.rankings.order import rank_by_score, rank_variables, without_zeros


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_tuples(seed):
    rng = np.random.default_rng(seed)
    relevance, explained, squares = (rng.integers(0, 3, 40) / 2 for _ in range(3))
    keys = zip(-relevance, -explained, -squares, range(40), strict=True)
    assert rank_variables(relevance, explained, squares).tolist() == [key[-1] for key in sorted(keys)]
    keys = zip(-relevance, -np.log(squares + 1), range(40), strict=True)
    assert rank_by_score(relevance, squares + 1).tolist() == [key[-1] for key in sorted(keys)]


def test_rounding_ties_and_differences_do_not():
    less, more = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    for gap, order in ((2e-10, [1, 0]), (2e-9, [0, 1])):  # a tie is broken for the second, a difference for the first
        score = np.array([0.5 + gap, 0.5])
        assert rank_variables(score, less, more).tolist() == order
        assert rank_by_score(score, less).tolist() == order
    # Of sums of squares too, when the scores tie: they are then in the order of their places.
    assert rank_by_score(np.zeros(2), np.array([1.0, 1.0 + 2e-10])).tolist() == [0, 1]
    assert rank_by_score(np.zeros(2), np.array([1.0, 1.0 + 2e-9])).tolist() == [1, 0]


def test_a_column_without_squares_comes_last_among_equals():
    assert rank_by_score(np.zeros(3), np.array([0.0, 1.0, 2.0])).tolist() == [2, 1, 0]


def test_zeros_are_left_out_but_for_the_first():
    order = np.array([2, 0, 3, 1])
    for relevance, wanted in (
        ([0.3, 0.0, 0.9, 0.1], [2, 0, 3]),
        ([0.0, 0.0, 0.9, 0.0], [2]),
        ([0.0, 0.0, 0.0, 0.0], [2]),
        ([1e-12, 1e-12, 1.0, 1e-12], [2]),  # zero, to nine decimals
        ([1e-8, 1e-8, 1.0, 1e-8], [2, 0, 3, 1]),
    ):
        assert without_zeros(order, np.array(relevance)).tolist() == wanted
