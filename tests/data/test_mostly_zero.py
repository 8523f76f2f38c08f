"""Dense arrays that are nearly all zero: treated as sparse, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.data import as_matrix, memory
from gsppca.data.dense import DenseMatrix
from gsppca.data.sparse import SparseMatrix


@pytest.fixture
def counts(monkeypatch):
    """Words of which some occur together, 2 % of the counts not zero, and no array too small to be looked at."""
    monkeypatch.setattr(memory, "LARGE", 1)
    rates = np.full((200, 450), 0.01)
    rates[:40, :8] = 3.0
    return np.random.default_rng(0).poisson(rates)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_only_the_zeros_are_left_out(counts, order, dtype):
    X = np.asarray(counts, dtype=dtype, order=order)
    found = memory.without_zeros(X)
    assert found.format == {"C": "csr", "F": "csc"}[order]
    assert found.dtype == X.dtype
    assert found.has_canonical_format
    assert found.nnz == np.count_nonzero(X)
    np.testing.assert_array_equal(found.toarray(), X)


def test_other_data_stays_as_it_is(counts, tmp_path, monkeypatch):
    X = counts.astype(float)
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    dense_below = X.copy()
    dense_below[1::3] = 1.0  # no row that is looked at first
    # A file, a part, one with a small Gram matrix, another type, other numbers.
    others = [
        mapped,
        np.asarray(mapped),
        mapped[:],
        X[:, ::2],
        X[:, :300].copy(),
        np.ma.masked_array(X),
        X.tolist(),
        X + 1,
        dense_below,
    ]
    for other in others:
        assert memory.without_zeros(other) is other
    monkeypatch.setattr(memory, "LARGE", X.size + 1)
    assert memory.without_zeros(X) is X


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_the_array(counts, order):
    X = np.asarray(counts, dtype=float, order=order)
    axes = np.random.default_rng(1).standard_normal((3, X.shape[1]))
    matrix, dense = as_matrix(X), DenseMatrix(X)
    assert isinstance(matrix, SparseMatrix)
    np.testing.assert_allclose(matrix.column_squares, dense.column_squares, rtol=1e-12)
    np.testing.assert_allclose(matrix.gram_product(axes), dense.gram_product(axes), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("method", ["paper", "joint"])
def test_a_fit_finds_the_same(counts, method, monkeypatch):
    X = counts[:, counts.any(axis=0)].astype(float)
    fits = []
    for large in (1, X.size + 1):
        monkeypatch.setattr(memory, "LARGE", large)
        fits.append(GSPPCA(2, method=method).fit(X))
    np.testing.assert_array_equal(fits[0].support_, fits[1].support_)
    np.testing.assert_array_equal(fits[0].ranking_, fits[1].ranking_)
    np.testing.assert_allclose(fits[0].transform(X), fits[1].transform(X), atol=1e-8)
