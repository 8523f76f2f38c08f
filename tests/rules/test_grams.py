"""The core from Gram matrices of the folds is the core from the rows: choices, shares and description."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

from gsppca.data import as_matrix
from gsppca.data.fold_products import fold_products
from gsppca.rules import task
from gsppca.rules.by_rows import FromOuterGram
from gsppca.rules.core import core_order, find_core
from gsppca.rules.fold_grams import FromGrams
from gsppca.rules.pool_products import GramProducts, RowProducts
from tests.needs import optional
from tests.rules.test_core import factor_data, sparse_truth

X = factor_data(400, 90, noise=2.0)
UNITS = np.linspace(0.1, 5, 90)
INCLUDED = {"relevant": ~np.isin(np.arange(90), [3, 60]), "include": np.array([3, 8])}
CONSTANT = np.where(np.isin(np.arange(90), [5, 40]), 3.0, X)
THIN = np.where(np.abs(X) < 1, 0.0, X)
TRUTH, FOUND = sparse_truth(n=500)
CASES = {
    "plain": (X, {}),
    "wide": (factor_data(60, 150), {}),
    "unreachable": (np.random.default_rng(0).standard_normal((300, 200)), {}),
    "included": (X, {"include": np.array([7, 50])}),
    "excluded": (X, {"exclude": np.array([0, 3, 9])}),
    "included, not relevant": (X, INCLUDED),
    "own units": (X * UNITS, {"standardise": False}),
    "own units, included": (X * UNITS, {"standardise": False, **INCLUDED}),
    "own units, constant": (CONSTANT * UNITS, {"standardise": False}),
    "copies": (np.hstack([X, -3 * X + 1, X[:, :5]]), {}),
    "constant": (CONSTANT, {}),
    "everything": (X[:, :30], {"share": 1 - 1e-9}),
    "sparse truth": (TRUTH, {"relevant": FOUND}),
    "sparse truth, relevance": (TRUTH, {"relevant": FOUND, "relevance": np.linspace(1, 0, 200)}),
    "CSR": (sparse.csr_array(THIN), {}),
    "CSC": (sparse.csc_array(THIN), {}),
    "digits": (load_digits().data, {}),
    "breast cancer": (load_breast_cancer().data, {"share": 0.99}),
}


def found_by(way, monkeypatch, data, d=5, **options):
    monkeypatch.setattr(task, "decompose", way)
    relevant = options.pop("relevant", np.ones(data.shape[1], dtype=bool))
    return find_core(as_matrix(data), relevant, d, **options)


def agree(one, other):
    np.testing.assert_array_equal(one.fold, other.fold)
    np.testing.assert_array_equal(one.order, other.order)
    assert (one.size, one.reached) == (other.size, other.reached)
    for name in ("share", "equal_share", "promised"):
        np.testing.assert_allclose(getattr(one.share_path, name), getattr(other.share_path, name), atol=1e-11)
    assert one.shrinkage == pytest.approx(other.shrinkage, abs=1e-11)
    first, second = vars(one.description), vars(other.description)
    for name in ("predicted", "represented_by", "correlation", "variance_share", "component_shares"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-11, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_both_ways_agree(case, monkeypatch):
    data, options = CASES[case]
    agree(*(found_by(way, monkeypatch, data, **options) for way in (FromGrams, FromOuterGram)))


def test_both_ways_agree_on_blocks(monkeypatch):
    blocks = optional("dask.array").from_array(X, chunks=(130, 90))
    by_rows = found_by(FromOuterGram, monkeypatch, X, **INCLUDED)
    agree(found_by(FromGrams, monkeypatch, blocks, **INCLUDED), by_rows)


def test_orders_without_folds_agree(monkeypatch):
    orders = []
    for way in (FromGrams, FromOuterGram):
        monkeypatch.setattr(task, "decompose", way)
        orders.append(core_order(as_matrix(X), np.ones(90, dtype=bool), 5, n_steps=20))
    np.testing.assert_array_equal(orders[0].order, orders[1].order)
    np.testing.assert_allclose(orders[0].promised, orders[1].promised, atol=1e-12)


def test_products_of_a_pool_are_sums_over_rows():
    rng = np.random.default_rng(0)
    Z, fold, scores = X[:, :20] - X[:, :20].mean(axis=0), rng.integers(0, 3, 400), rng.standard_normal((400, 2))
    folds = [fold == number for number in range(3)]
    grams, _ = fold_products(as_matrix(Z), np.arange(20), fold)
    with_scores = np.array([Z[own].T @ scores[own] for own in folds])
    squares = np.array([np.sum(scores[own] ** 2, axis=0) for own in folds])
    by_grams = GramProducts(grams, grams.sum(axis=0), with_scores, squares)
    places, some = np.array([3, 0, 19, 3]), np.array([7, 2])
    for way in (by_grams, RowProducts(Z, fold, scores)):
        np.testing.assert_allclose(way.score_squares, squares)
        for which in (slice(0, 4), slice(0, 1), slice(1, 4)):
            inside = [np.ones(400, dtype=bool), *(~own for own in folds)][which]
            expected = [Z[own][:, k] @ Z[own] for own, k in zip(inside, places[which], strict=True)]
            np.testing.assert_allclose(way.of_one(which, places[which]), expected)
        for number, own in enumerate(folds):
            others = np.array([4, 4, 11])
            expected = Z[~own][:, some].T @ Z[~own][:, others]
            np.testing.assert_allclose(way.of_some(number + 1, some, others), expected)
            part = way.among(np.array([2, 4, 7, 11]))
            np.testing.assert_allclose(part.of_some(number + 1, np.array([2, 0]), np.array([1, 1, 3])), expected)
            gram, with_scores = way.left_out(number, some)
            np.testing.assert_allclose(gram, Z[own][:, some].T @ Z[own][:, some])
            np.testing.assert_allclose(with_scores, Z[own][:, some].T @ scores[own])


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_shares_near_one_keep_their_digits(noise, monkeypatch):
    """Where next to nothing is left to predict, a quadratic form in Gram matrices loses digits: not many."""
    data = factor_data(300, 40, noise=noise)
    found = [found_by(way, monkeypatch, data, d=4, share=1 - 1e-13) for way in (FromGrams, FromOuterGram)]
    shares = [one.share_path.share for one in found]
    n_sizes = min(map(len, shares))
    np.testing.assert_allclose(shares[0][:n_sizes], shares[1][:n_sizes], atol=1e-12)
    assert shares[0].max() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("options", [{}, INCLUDED, {"standardise": False}], ids=["plain", "included", "own units"])
def test_data_in_blocks_is_read_three_times(options):
    """Lengths of the rows, which a fit knows already, the Gram matrices of the folds, and the chosen columns."""
    da = optional("dask.array")
    options = dict(options)
    relevant = options.pop("relevant", np.ones(90, dtype=bool))
    matrix = as_matrix(da.from_array(X, chunks=(100, 90)))
    before = matrix.X.n_passes
    find_core(matrix, relevant, 4, share=0.95, **options)
    assert matrix.X.n_passes - before == 3


@pytest.mark.parametrize("container", ["C", "F", "float32"])
def test_nothing_as_large_as_the_data_is_held(container):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((20_000, 150))
    data[:, ::10] += rng.standard_normal((20_000, 5)) @ rng.standard_normal((5, 15))
    data = data.astype(np.float32) if container == "float32" else np.array(data, order=container)
    matrix = as_matrix(data)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        find_core(matrix, np.ones(150, dtype=bool), 5)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * data.nbytes
