"""Shadows of columns: the same values, at random rows, in every container."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from gsppca.data import Blocks
from gsppca.data.shadows import add_shadows
from tests.needs import optional


def counts(n=30, p=12, dtype=np.float64):
    return np.random.default_rng(0).poisson(0.7, (n, p)).astype(dtype)


def dense(X):
    if isinstance(X, Blocks):
        return np.concatenate([dense(X.block(number)) for number in range(X.n_blocks)])
    X = X.compute() if hasattr(X, "compute") else X
    return X.toarray() if sparse.issparse(X) else np.asarray(X)  # noqa: TID251


def as_dask(X):
    da = optional("dask.array")
    return da.from_array(X, chunks=(10, X.shape[1]))


def as_sparse_dask(X):
    return as_dask(X).map_blocks(sparse.csr_matrix)


CONTAINERS = [
    np.asarray,
    np.asfortranarray,
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.csr_array,
    sparse.csc_array,
    as_dask,
    as_sparse_dask,
]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_originals_stay_and_shadows_hold_the_same_values(container, dtype):
    X = counts(dtype=dtype)
    data = container(X)
    doubled = add_shadows(data, np.random.default_rng(1))
    assert isinstance(doubled.X, Blocks) == hasattr(data, "dask")
    assert hasattr(data, "dask") or type(doubled.X) is type(data)
    assert doubled.X.dtype == dtype
    values = dense(doubled.X)
    assert values.shape == (30, 24)
    np.testing.assert_array_equal(values[:, doubled.places[:12]], X)
    shadows = values[:, doubled.places[12:]]
    np.testing.assert_array_equal(np.sort(shadows, axis=0), np.sort(X, axis=0))
    assert (shadows != X).any(axis=0).all()
    np.testing.assert_array_equal(np.sort(doubled.places), np.arange(24))
    np.testing.assert_array_equal(dense(data), X)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_data_stays_sparse(container):
    X = container(counts())
    doubled = add_shadows(X, np.random.default_rng(0)).X
    assert doubled.format == X.format
    assert doubled.nnz == 2 * X.nnz
    assert doubled.has_canonical_format


@pytest.mark.parametrize("container", CONTAINERS[:4])
def test_every_arrangement_of_a_column_is_as_likely_and_columns_are_permuted_apart(container):
    """Two columns of (1, 2, 0): 36 pairs of arrangements, 1,800 draws."""
    X, rng = container(np.array([[1.0, 1], [2, 2], [0, 0]])), np.random.default_rng(0)
    seen = {}
    for _ in range(1800):
        doubled = add_shadows(X, rng)
        key = tuple(dense(doubled.X)[:, doubled.places[2:]].ravel())
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 36
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_chunks_permute_their_own_rows_differently_and_reproducibly():
    X = np.arange(300.0).reshape(30, 10)
    doubled = add_shadows(as_dask(X), np.random.default_rng(0))
    values = dense(doubled.X)[:, doubled.places[10:]]
    np.testing.assert_array_equal(values, dense(doubled.X)[:, doubled.places[10:]])
    moves = []
    for first in (0, 10, 20):
        np.testing.assert_array_equal(np.sort(values[first : first + 10], axis=0), X[first : first + 10])
        moves += np.argsort(values[first : first + 10], axis=0).T.tolist()
    assert len({tuple(move) for move in moves}) == 30


def test_a_dask_array_must_know_its_shape():
    X = as_dask(counts())
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        add_shadows(X[X[:, 0] > 0], np.random.default_rng(0))
