"""Gram matrices of sparse data by its entries against the centred array; and when dense blocks take their place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.data import sparse as sparse_module
from gsppca.data import sparse_products as module
from gsppca.data.fold_products import fold_products
from gsppca.evidence.decompose import Decomposer
from gsppca.evidence.gram_spectra import GramSpectra
from gsppca.evidence.search import find_support

FORMATS = (sparse.csr_array, sparse.csc_matrix)


def words(n, p, density=0.02, seed=0):
    """Counts of words, with factors."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)))
    return rng.poisson(density * rates / rates.mean()).astype(float)


def views(X, form):
    """Matrices of all columns, of some and of scaled ones, and the centred arrays they stand for."""
    Z, rng = X - X.mean(axis=0), np.random.default_rng(1)
    kept, scale = rng.random(X.shape[1]) < 0.6, rng.uniform(0.5, 2, X.shape[1])
    matrix = as_matrix(form(X))
    yield matrix, Z
    yield matrix.columns(kept), Z[:, kept]
    yield matrix.scaled(scale).columns(kept), (Z * scale)[:, kept]


def close(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.fixture
def only_entries(monkeypatch):
    """Several blocks of products, none of them dense."""
    monkeypatch.setattr(module, "BLOCK_BYTES", 8000)
    monkeypatch.setattr(sparse_module.SparseMatrix, "_centred", lambda *_: pytest.fail("a dense block"))


@pytest.mark.parametrize("form", FORMATS)
def test_grams_by_entries(form, only_entries, monkeypatch):
    for matrix, Z in views(words(90, 130), form):
        close(matrix._gram(), Z.T @ Z)
        close(matrix.outer_gram(), Z @ Z.T)
        with monkeypatch.context() as few:  # some rows at a time
            few.setattr(sparse_module, "ENTRY_BLOCK", 50)
            close(matrix._gram(), Z.T @ Z)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("some", [slice(None, None, -1), [5, 100, 17, 3]], ids=["all", "four"])
def test_products_by_fold(form, some, only_entries, monkeypatch):
    """As dense blocks have them: of all columns in any order, or of some, with others, over the rows of each fold."""
    monkeypatch.setattr(sparse_module, "ENTRY_BLOCK", 50)
    rng = np.random.default_rng(5)
    fold, others = rng.integers(0, 3, 90), rng.standard_normal((90, 2))
    for matrix, Z in views(words(90, 130), form):
        chosen = np.arange(Z.shape[1])[some if isinstance(some, slice) else np.array(some) % Z.shape[1]]
        weights = rng.uniform(size=len(chosen))
        found = fold_products(matrix, chosen, fold, others, weights)
        for number in range(3):
            own = Z[fold == number]
            close(found.products[number], own[:, chosen].T @ np.hstack([own, others[fold == number]]))
            assert found.fourths[number] == pytest.approx(np.sum((own[:, chosen] ** 2 @ weights) ** 2))


def test_products_with_rare_columns_are_few():
    X = words(90, 130, 0.5)
    X[2:, :4] = 0.0
    entries = as_matrix(sparse.csr_array(X))._entries()
    assert entries.products_are_few(np.arange(4))
    assert not entries.products_are_few(np.arange(130))


def test_some_rows_around_the_means_of_all(only_entries):
    """Blocks of rows are summed: their means are those of the whole."""
    X = words(90, 130)
    Z = (X - X.mean(axis=0))[:40]
    part = as_matrix(sparse.csr_array(X)).rows(np.arange(90) < 40)
    close(part._gram(), Z.T @ Z)
    close(part.outer_gram(), Z @ Z.T)


@pytest.mark.parametrize("form", FORMATS)
def test_outer_products(form):
    """Columns and scales share what was found of all columns."""
    vector = np.random.default_rng(2).standard_normal(300)
    for matrix, Z in views(words(300, 400), form):
        products = matrix.outer_products()
        close(products.product(vector), Z @ (Z.T @ vector))
        close(products.diagonal, (Z**2).sum(axis=1))
        assert products.total_squares() == pytest.approx(((Z @ Z.T) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("held", [0, 150 * 40, 150 * 150])
def test_squares_of_products_with_common_and_rare_columns(held, monkeypatch):
    """Columns with entries in many rows are multiplied as dense ones, as many as there is room for."""
    monkeypatch.setattr(module, "HELD_NUMBERS", held)
    X, rng = words(200, 150), np.random.default_rng(5)
    X[:, 3] = 1.0 + rng.random(200)
    weights = rng.uniform(0, 2, 150)
    squares = module.SquaredProducts.of(sparse.csr_array(X))
    assert len(squares.common) == min(held // 150, np.count_nonzero(32 * (X > 0).sum(axis=0) > 200))
    assert squares.total(weights) == pytest.approx(((X * weights) @ X.T * (X @ (X * weights).T)).sum(), rel=1e-12)


def test_a_fit_keeps_no_products():
    """They may be many times as large as the data."""
    X = words(300, 400)
    matrix = as_matrix(sparse.csr_array(X[:, X.any(axis=0)]))
    matrix.outer_products().total_squares()
    assert "_squared_products" in matrix.__dict__
    find_support(matrix, 5, own_noise=True)
    assert "_squared_products" not in matrix.__dict__


def test_a_mean_that_dwarfs_its_deviation_is_removed_first():
    X = words(90, 130)
    X[:, 0] = 1e6 + np.arange(90) % 7
    Z = X - X.mean(axis=0)
    matrix = as_matrix(sparse.csr_array(X))
    assert matrix.outer_products() is None
    close(matrix._gram(), Z.T @ Z)
    close(matrix.outer_gram(), Z @ Z.T)


def test_products_are_for_few_entries_and_small_means(monkeypatch):
    assert as_matrix(sparse.csr_array(words(300, 400, 0.5))).outer_products() is None
    assert as_matrix(np.asarray(words(300, 400))).outer_products() is None
    common = words(300, 400)
    common[:, :8] += 2.0
    assert as_matrix(sparse.csr_array(common)).outer_products() is None
    monkeypatch.setattr(sparse_module, "MOST_PRODUCTS", 100)
    assert as_matrix(sparse.csr_array(words(300, 400))).outer_products() is None


@pytest.mark.parametrize("n", [300, 450, 700])
def test_spectra_by_products_against_singular_values(n, monkeypatch):
    """More and fewer variables than samples, all and some, in other units."""
    X, rng = words(n, 500), np.random.default_rng(3)
    matrix, scale = as_matrix(sparse.csr_array(X)), rng.uniform(0.5, 2, 500)
    plain = Decomposer(matrix, 6)
    other = plain.scaled(matrix.scaled(scale), scale)
    monkeypatch.setattr(GramSpectra, "of_gram", lambda *_: pytest.fail("a Gram matrix"))
    for support in (np.ones(500, dtype=bool), rng.random(500) < 0.8, np.arange(500) < 290):
        for one, Z in ((plain, X - X.mean(axis=0)), (other, (X - X.mean(axis=0)) * scale)):
            found = one.of(support)
            left, singular, _ = np.linalg.svd(Z[:, support], full_matrices=False)
            values = singular**2 / n
            np.testing.assert_allclose(found.spectrum.leading, values[:6], rtol=1e-10)
            np.testing.assert_allclose(found.spectrum.rest_sum, values[6:].sum(), rtol=1e-10)
            squares = (found.spectrum.leading**2).sum() + found.spectrum.rest_squares
            np.testing.assert_allclose(squares, (values**2).sum(), rtol=1e-10)
            assert found.spectrum.rank == min(support.sum(), n - 1)
            np.testing.assert_allclose(np.abs(found.projections(2)), np.abs(left[:, :2].T @ Z), atol=1e-8)
