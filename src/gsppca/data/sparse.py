"""A scipy.sparse matrix, CSR or CSC: centred implicitly, never densified beyond small blocks.

1. The centred zeros are not zero. Products with the data are corrected for the means, which are of the size of the
   standard deviations or smaller when most entries are zero.
2. The squared radius of a row on a support is ``sum over its non-zeros of x (x - 2 m)`` plus ``sum over the support of
   m^2``: the second part is the same for all rows. A pass over all sizes costs O(nnz) for the entries, and O(n) per
   size for what is done with the radii.
3. Columns are selected and scaled in the small factor of a product, not in the data.
4. Gram matrices are sums of products of entries, corrected for the means: where the entries are few enough, that takes
   a small part of the time of dense blocks. Means that dwarf the deviations would cost digits: then blocks are centred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import RADII_ROWS, ArrayMatrix, Squares, without_rounding
from gsppca.data.base import OuterProducts
from gsppca.data.sparse_products import Entries, SquaredProducts

BLOCK_BYTES = 2**24  # a dense block of rows, for a Gram matrix
ENTRY_BLOCK = 2**21  # entries treated at a time where they need temporary arrays
LARGEST_MEAN = 30.0  # in standard deviations, that a Gram matrix may be corrected for: costs three digits
MOST_PRODUCTS = 2**24  # of two entries of a row, for ``X'X``: at most 200 MB


class SparseMatrix(ArrayMatrix):
    """Centred view of a CSR or CSC matrix or array without duplicate entries."""

    @property
    def single_products_are_cheap(self) -> bool:
        return True

    def _gram_product(self, axes: FloatArray) -> FloatArray:
        return self.transposed_product(self.product(axes))

    def product(self, axes: FloatArray) -> FloatArray:
        wide, shifts = self._outward(axes)
        return np.asarray(self.X @ wide.T) - shifts

    def transposed_product(self, scores: FloatArray) -> FloatArray:
        return self._inward(np.asarray(self.X.T @ scores).T, scores.sum(axis=0))

    def row_squares(self) -> FloatArray:
        blocks = [slice(start, start + RADII_ROWS) for start in range(0, self.n_samples, RADII_ROWS)]
        everything = np.arange(self.n_features)
        squares = []
        for rows in blocks:
            entries, zeros = self._entries_along(everything, rows)
            squares.append(np.asarray(entries.sum(axis=1)).ravel() + zeros.sum())
        return np.maximum(np.concatenate(squares), 0.0)

    def _gram(self) -> FloatArray:
        height = max(1, BLOCK_BYTES // (8 * self.n_features))
        total = np.zeros((self.n_features, self.n_features))
        for rows, entries in self.some_entries():
            if entries is not None and entries.gram_is_cheap:
                entries.add_products(slice(None), total)
                continue
            for start in range(rows.start, rows.stop, height):
                block = self._centred(slice(start, min(start + height, rows.stop)))
                total += block.T @ block
        return total

    def some_entries(self) -> Iterator[tuple[slice, Entries | None]]:
        """Yield the entries of some rows at a time, as products of them take a few copies; see `_entries`."""
        tall = max(1, self.n_samples * ENTRY_BLOCK // max(self.X.nnz, 1))
        for first in range(0, self.n_samples, tall):
            rows = slice(first, min(first + tall, self.n_samples))
            yield rows, self._entries(rows)

    def column_products(self, chosen: IntArray) -> FloatArray:
        """Return products of some columns of Z with all, shape (n_chosen, n_features), some of them at a time."""
        X = self.X.tocsr()
        X = X if self.index is None else X[:, self.index]
        width = max(1, BLOCK_BYTES // (8 * self.n_features))
        products = np.empty((len(chosen), self.n_features))
        for start in range(0, len(chosen), width):
            own = chosen[start : start + width]
            products[start : start + width] = (X[:, own].T.astype(np.float64) @ X).toarray()
        products -= self.n_samples * np.multiply.outer(self.mean[chosen], self.mean)
        return (
            products if self.column_scale is None else products * self.column_scale[chosen][:, None] * self.column_scale
        )

    def _outer_gram(self) -> FloatArray:
        entries = self._entries()
        if entries is not None and entries.outer_gram_is_cheap:
            return entries.outer_gram()
        width = max(1, BLOCK_BYTES // (8 * self.n_samples))
        total = np.zeros((self.n_samples, self.n_samples))
        for start in range(0, self.n_features, width):
            block = self._centred(slice(None), slice(start, start + width))
            total += block @ block.T
        return total

    def outer_products(self) -> OuterProducts | None:
        entries, root = self._entries(), self._root
        if entries is None or not entries.products_are_cheap or root._n_products > MOST_PRODUCTS:
            return None

        def total_squares() -> float:
            weights = np.zeros(self.X.shape[1])
            own = slice(None) if self.index is None else self.index
            weights[own] = 1.0 if self.column_scale is None else self.column_scale**2
            return entries.centred_squares(root._squared_products.total(weights))

        return OuterProducts(entries.outer_product, entries.row_squares(), total_squares)

    def forget(self) -> None:
        super().forget()
        self._root.__dict__.pop("_squared_products", None)

    @property
    def _root(self) -> SparseMatrix:
        """The matrix of all columns that this one was made from: what it has found serves all."""
        if self.origin is None:
            return self
        parent = self.origin[0]
        assert isinstance(parent, SparseMatrix)
        return parent._root

    @cached_property
    def _n_products(self) -> float:
        """Products of two entries of a row: at least as many as ``X'X`` has entries."""
        counts = np.diff(sparse.csr_matrix(self.X).indptr)
        return float(np.square(counts, dtype=float).sum())

    @cached_property
    def _squared_products(self) -> SquaredProducts:
        return SquaredProducts.of(sparse.csr_matrix(self.X, dtype=np.float64))

    def _entries(self, rows: slice = slice(None)) -> Entries | None:
        """The entries of the columns of this matrix, in some rows; None if centring would cost many digits."""
        scale = np.ones(self.n_features) if self.column_scale is None else self.column_scale
        if np.any(np.abs(self.mean * scale) > LARGEST_MEAN * np.sqrt(self.column_squares / self.n_samples)):
            return None
        X = self.X if rows == slice(None) else self.X[rows]
        return Entries.of(X if self.index is None else X[:, self.index], self.mean, scale)

    def _squares_along(self, ranked: IntArray, rows: slice) -> Squares:
        entries, zeros = self._entries_along(ranked, rows)
        by_column = entries.T  # CSR: dense blocks of it have the shape that is wanted

        def squares(first: int, last: int) -> FloatArray:
            block: FloatArray = by_column[first:last].toarray()
            block += zeros[first:last, None]
            return np.maximum(block, 0.0, out=block)

        return squares

    def _entries_along(self, ranked: IntArray, rows: slice) -> tuple[Any, FloatArray]:
        """What a zero adds to the squared radius, for every column; and what the entries add beyond, as CSC."""
        columns = ranked if self.index is None else self.index[ranked]
        means = self.mean[ranked]
        weights = np.ones(len(ranked)) if self.column_scale is None else self.column_scale[ranked] ** 2
        entries = sparse.csc_matrix(self.X[rows][:, columns]).astype(np.float64)
        counts = np.diff(entries.indptr)
        entries.data *= (entries.data - 2 * np.repeat(means, counts)) * np.repeat(weights, counts)
        return entries, means**2 * weights

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        n = self.n_samples
        mean = self._sum_entries(lambda values, _: values) / n
        squares = self._sum_entries(lambda values, columns: (values - mean[columns]) ** 2)
        absent = n - self._sum_entries(lambda values, _: np.ones(len(values)))
        return mean, without_rounding(squares + absent * mean**2, mean, n)

    def _sum_entries(self, function: Callable[[FloatArray, IntArray], FloatArray]) -> FloatArray:
        """Sum ``function(values, columns)`` of the stored entries by column, a part of them at a time."""
        X, total = self.X, np.zeros(self.X.shape[1])
        for start in range(0, X.nnz, ENTRY_BLOCK):
            part = slice(start, min(start + ENTRY_BLOCK, X.nnz))
            if X.format == "csr":
                columns = X.indices[part]
            else:
                columns = np.searchsorted(X.indptr, np.arange(part.start, part.stop), side="right") - 1
            values = function(X.data[part].astype(np.float64), columns)
            total += np.bincount(columns, weights=values, minlength=X.shape[1])
        return total

    def _centred(self, rows: slice, columns: slice = slice(None)) -> FloatArray:
        """A dense block of Z."""
        part = self.X[rows]
        part = part[:, columns] if self.index is None else part[:, self.index[columns]]
        block = part.toarray().astype(np.float64, copy=False)
        block -= self.mean[columns]
        if self.column_scale is not None:
            block *= self.column_scale[columns]
        return np.asarray(block)
