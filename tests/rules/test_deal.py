"""Folds are a function of the data: neither the order of rows nor a unit matters."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.rules.deal import deal_rows, n_folds
from gsppca.rules.ties import largest_first, places_of_largest, tolerant_ranks


def dealt(sums, squares, count):
    return deal_rows(np.column_stack([sums, squares]), count)


@pytest.mark.parametrize("n", [5, 23, 60])
def test_folds_do_not_depend_on_order_or_unit(n):
    rng = np.random.default_rng(n)
    sums, squares = rng.standard_normal(n), rng.random(n)
    fold = dealt(sums, squares, 5)
    for unit in (1e-3, 1e3):
        np.testing.assert_array_equal(dealt(unit * sums, unit**2 * squares, 5), fold)
    rows = rng.permutation(n)
    np.testing.assert_array_equal(dealt(sums[rows], squares[rows], 5), fold[rows])


def test_rows_of_one_length_are_separated_by_their_sums():
    squares = np.repeat([2.0, 0.0, 1.0], 10)
    sums = np.random.default_rng(0).random(30)
    fold = dealt(sums, squares, 5)
    rows = np.random.default_rng(1).permutation(30)
    jitter = 1 + 1e-13 * np.random.default_rng(2).standard_normal(30)
    np.testing.assert_array_equal(dealt(sums[rows], (squares * jitter)[rows], 5), fold[rows])


def test_folds_are_balanced_along_the_lengths():
    squares = np.random.default_rng(3).random(52)
    fold = dealt(np.ones(52), squares, 5)
    assert set(np.bincount(fold)) == {10, 11}
    order = np.argsort(squares)
    for start in range(0, 50, 5):
        assert len(set(fold[order[start : start + 5]])) == 5


def test_few_rows_have_more_folds_but_one_row_each_at_least():
    assert [n_folds(n) for n in (4, 10, 39, 40, 5000)] == [4, 10, 20, 5, 5]


def test_rounding_does_not_order():
    values = np.array([1.0, 3.0, 1.0 + 1e-14, 2.0])
    assert tolerant_ranks(values).tolist() == [0, 2, 0, 1]
    keys = np.array([values, [0.0, 0.0, 1.0, 0.0]])
    assert largest_first(keys).tolist() == [1, 3, 2, 0]
    assert places_of_largest(keys[:1], keys[1:, None]).tolist() == [1]
    # Several orders at once; what is -inf cannot be chosen.
    both = np.array([values, [1.0, -np.inf, 1.0 - 1e-14, -np.inf]])
    assert places_of_largest(both, np.array([[keys[1], keys[1]]])).tolist() == [1, 2]
