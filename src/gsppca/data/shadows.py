"""A permuted copy of every column, hidden among the columns: what a search of false discoveries is measured by.

The rows of each copy are permuted independently of all others: it keeps the column's values and loses what the column
shares with the rest. Originals and copies are shuffled, so that whatever a method does with the order of columns, such
as breaking ties by it, treats both alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import FloatArray, IntArray
from gsppca.data import as_blocks
from gsppca.data.blocks import Blocks, Combine, Task


@dataclass(frozen=True)
class Shadowed:
    """Data with a shadow of each column.

    Attributes
    ----------
    X : array or Blocks of shape (n_samples, 2 * n_features)
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
    X : ndarray, CSR or CSC matrix, or data in blocks, of shape (n_samples, n_features)
        The data; not changed. What it costs: an array takes its memory twice more, a sparse matrix twice its non-zeros
        more. Of data in blocks (dask, zarr, HDF5) the rows are permuted within their blocks when these are read, since
        a permutation across blocks would shuffle the whole data between the workers. That is as valid, for rows that
        are exchangeable, but what varies between blocks only is left in the shadows and is not found: blocks should
        hold some hundred rows each, in no special order.
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
    blocks = as_blocks(X)
    if blocks is not None:
        return Shadowed(ShadowedBlocks(blocks, places, int(rng.integers(2**63))), places)
    return Shadowed(_doubled(X, places, rng), places)


class ShadowedBlocks(Blocks):
    """Data in blocks with a permuted copy of each column: every block permutes its own rows when it is read.

    Parameters
    ----------
    blocks : Blocks
        The data.
    places : ndarray of shape (2 * n_features,)
        Where columns and copies stand.
    seed : int
        With the number of its first row it decides how a block is permuted: always in the same way.
    """

    def __init__(self, blocks: Blocks, places: IntArray, seed: int):
        super().__init__(blocks.edges, len(places), blocks.dtype)
        self.blocks, self.double = blocks, _Doubling(places, seed)

    def _fold(self, task: Task, combine: Combine) -> Any:
        return self.blocks.fold(_OnDoubled(task, self.double), combine)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        raise TypeError("Permuted copies are made by the number of their block: use fold.")

    def block(self, number: int) -> Any:
        return self.double(self.blocks.block(number), int(self.edges[number]))


@dataclass(frozen=True)
class _Doubling:
    places: IntArray
    seed: int

    def __call__(self, block: Any, first: int) -> Any:
        return _doubled(block, self.places, np.random.default_rng([self.seed, first]))


@dataclass(frozen=True)
class _OnDoubled:
    """A task on a block, done on the block with its permuted copies; can be sent to workers."""

    task: Task
    double: _Doubling

    def __call__(self, block: Any, first: int) -> Any:
        return self.task(self.double(block, first), first)


def _doubled(X: Any, places: IntArray, rng: np.random.Generator) -> Any:
    return _double_sparse(X, places, rng) if sparse.issparse(X) else _double_dense(np.asarray(X), places, rng)


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
