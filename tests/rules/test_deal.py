"""Folds are a function of the data: neither the order of rows nor a sign matters."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.rules.deal import deal_rows, n_folds
from gsppca.rules.ties import largest_first, places_of_largest, tolerant_ranks


def partition(fold, rows=None):
    rows = np.arange(len(fold)) if rows is None else rows
    return {frozenset(rows[fold == number].tolist()) for number in range(fold.max() + 1)}


@pytest.mark.parametrize("n", [5, 23, 60])
def test_folds_do_not_depend_on_sign_or_order(n):
    rng = np.random.default_rng(n)
    scores, squares = rng.standard_normal(n), rng.random(n)
    expected = partition(deal_rows(scores, squares, 5))
    assert partition(deal_rows(-scores, squares, 5)) == expected
    np.testing.assert_array_equal(deal_rows(-scores, squares, 5), deal_rows(scores, squares, 5))  # numbers, too
    for unit in (1e-3, 1e3):
        np.testing.assert_array_equal(deal_rows(unit * scores, squares, 5), deal_rows(scores, squares, 5))
        np.testing.assert_array_equal(deal_rows(-unit * scores, squares, 5), deal_rows(scores, squares, 5))
    assert deal_rows(scores, squares, n)[np.argmin(scores * np.sign(np.sum(scores**3)))] == 0
    rows = rng.permutation(n)
    assert partition(deal_rows(scores[rows], squares[rows], 5), rows) == expected


def test_equal_scores_are_separated_by_the_size_of_the_rows():
    scores = np.repeat([-2.0, 0.0, 1.0], 10)
    squares = np.random.default_rng(0).random(30)
    expected = partition(deal_rows(scores, squares, 5))
    rows = np.random.default_rng(1).permutation(30)
    for sign in (1, -1):
        jitter = 1 + 1e-13 * np.random.default_rng(2).standard_normal(30)
        assert partition(deal_rows(sign * (scores * jitter)[rows], squares[rows], 5), rows) == expected


def test_folds_are_balanced_along_the_scores():
    scores = np.random.default_rng(3).standard_normal(52)
    fold = deal_rows(scores, np.ones(52), 5)
    assert set(np.bincount(fold)) == {10, 11}
    order = np.argsort(scores)
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
