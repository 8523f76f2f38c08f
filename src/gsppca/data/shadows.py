"""A permuted copy of every column, hidden among the columns: what a search of false discoveries is measured by.

The rows of each copy are permuted independently of all others: it keeps the column's values and loses what the column
shares with the rest. Originals and copies are shuffled, so that whatever a method does with the order of columns, such
as breaking ties by it, treats both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Shadowed:
    """Data with a shadow of each column.

    Attributes
    ----------
    X : array of shape (n_samples, 2 * n_features)
        Columns and shadows in random order; of the kind, format and dtype of the data.
    places : ndarray of shape (2 * n_features,)
        Where the columns of the data stand in `X`, and then where their shadows do.
    """

    X: Any
    places: IntArray

    def split(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores of the columns and of their shadows, each of shape (n_features,), from those of all of `X`."""
        own, shadow = np.asarray(scores)[self.places].reshape(2, -1)
        return own, shadow


def add_shadows(X: Any, rng: np.random.Generator) -> Shadowed:
    """Append an independently permuted copy of every column, and shuffle the columns.

    Parameters
    ----------
    X : ndarray, CSR or CSC matrix, or dask array of shape (n_samples, n_features)
        The data; not changed. What it costs: an array takes its memory twice more, a sparse matrix twice its non-zeros
        more. A dask array stays lazy; it must know its shape, and its rows are permuted within their chunks, since a
        permutation across chunks would shuffle the whole data between the workers. That is as valid, for rows that are
        exchangeable, but what varies between chunks only is left in the shadows and is not found: chunks should hold
        some hundred rows each, in no special order.
    rng : Generator
        Draws the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> doubled = add_shadows(X, np.random.default_rng(0))
    >>> own, shadow = doubled.split(doubled.X.max(axis=0))
    >>> own, shadow
    (array([ 9., 10., 11.]), array([ 9., 10., 11.]))
    """
    places = rng.permutation(2 * X.shape[1])
    if sparse.issparse(X):
        doubled = _double_sparse(X, places, rng)
    elif hasattr(X, "map_blocks"):
        doubled = _double_chunked(X, places, rng)
    else:
        doubled = _double_dense(np.asarray(X), places, rng)
    return Shadowed(doubled, places)


def _double_dense(X: Any, places: IntArray, rng: np.random.Generator) -> Any:
    n, p = X.shape
    # Columns are written one by one, so they are stored one by one.
    doubled = np.empty((n, 2 * p), dtype=X.dtype, order="F")
    for column, (place, shadow) in enumerate(places.reshape(2, p).T):
        doubled[:, place] = X[:, column]
        doubled[:, shadow] = rng.permutation(X[:, column])
    return doubled


def _double_sparse(X: Any, places: IntArray, rng: np.random.Generator) -> Any:
    """Move the non-zeros of each column to random rows: the zeros need not be drawn."""
    by_column = X.tocsc()
    n, p = X.shape
    counts = np.diff(by_column.indptr)
    rows = np.empty(by_column.nnz, dtype=by_column.indices.dtype)
    for count, start in zip(counts.tolist(), by_column.indptr.tolist(), strict=False):
        rows[start : start + count] = rng.choice(n, count, replace=False)
    shadows = type(by_column)((by_column.data.copy(), rows, by_column.indptr.copy()), shape=(n, p))
    shadows.sort_indices()
    return sparse.hstack([by_column, shadows], format="csc")[:, np.argsort(places)].asformat(X.format)


def _double_chunked(X: Any, places: IntArray, rng: np.random.Generator) -> Any:
    """The same, lazily: each chunk permutes its own rows, by a seed that its place decides."""
    if not all(np.isfinite(size) for size in X.shape):
        raise ValueError(
            f"X must know its shape, got {X.shape}. Call X.compute_chunk_sizes() first, so that rows can be permuted."
        )
    seed = int(rng.integers(2**63))
    shadows = X.map_blocks(_permute_chunk, seed=seed, dtype=X.dtype, meta=X._meta)
    doubled = np.concatenate([X, shadows], axis=1)  # dask's, by numpy's protocol
    return doubled[:, np.argsort(places)]


def _permute_chunk(block: Any, seed: int, block_info: Any = None) -> Any:
    place = block_info[0]["chunk-location"] if block_info else (0, 0)
    rng = np.random.default_rng([seed, *place])
    if sparse.issparse(block):
        return _double_sparse(block, np.arange(2 * block.shape[1]), rng)[:, block.shape[1] :]
    return rng.permuted(block, axis=0)
