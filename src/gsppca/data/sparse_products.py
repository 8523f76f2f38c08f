"""Products of sparse columns with each other, by their entries alone; centring is a correction of the result.

With the scaled entries A, of shape (n, k), and the scaled means c, ``Z = A - 1 c'``:

    Z Z'   = A A' - (A c - c'c/2) 1' - 1 (A c - c'c/2)',
    Z'Z    = A'A - s c' - c s',                   s = the sums of the columns of A, less n c/2,
    |Z'Z|^2 = |A'A|^2 - 2 n |A c|^2 + n^2 (c'c)^2       where c are the means of these rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from gsppca._typing import FloatArray, IntArray

BLOCK_BYTES = 2**21  # a block of products
DENSE_SPEED = 128  # products of numbers that dense blocks make in the time of one of entries
COMMON = 32  # a column with entries in more than one of so many rows is multiplied as a dense one
HELD_NUMBERS = 2**22  # of products with such columns: 32 MB
MATRIX_SPEED = 12  # entries of half a matrix that a product with a vector reads in the time of one of these


@dataclass(frozen=True)
class Entries:
    """Entries of some columns.

    Attributes
    ----------
    rows : CSR matrix of shape (n_samples, n_features)
        The entries, multiplied by the scales of their columns.
    centre : ndarray of shape (n_features,)
        The means, multiplied by them too.
    """

    rows: Any
    centre: FloatArray

    @classmethod
    def of(cls, X: Any, mean: FloatArray, scale: FloatArray) -> Self:
        """Scale the entries of a CSR or CSC matrix."""
        entries = sparse.csr_matrix(X, dtype=np.float64)
        values = entries.data * scale[entries.indices]
        return cls(sparse.csr_matrix((values, entries.indices, entries.indptr), entries.shape), mean * scale)

    @property
    def gram_is_cheap(self) -> bool:
        """Whether dense blocks would take longer for ``Z'Z``."""
        return _are_few(np.diff(self.rows.indptr), self.rows.shape[1])

    @property
    def outer_gram_is_cheap(self) -> bool:
        """Whether dense blocks would take longer for ``Z Z'``."""
        return _are_few(np.bincount(self.rows.indices, minlength=self.rows.shape[1]), self.rows.shape[0])

    @property
    def products_are_cheap(self) -> bool:
        """Whether a product with a vector takes longer with ``Z Z'`` or ``Z'Z``, and `centred_squares` keeps digits."""
        total, means = float(self.rows.data @ self.rows.data), self.rows.shape[0] * float(self.centre @ self.centre)
        return bool(MATRIX_SPEED * self.rows.nnz < min(self.rows.shape) ** 2 and 2 * means < total)

    def products_are_few(self, chosen: IntArray) -> bool:
        """Whether dense blocks would take longer for products of some columns with all."""
        (n, p), counts = self.rows.shape, np.diff(self.rows.indptr)
        own = np.bincount(self.rows.indices, minlength=p)[chosen].sum()
        # As if the entries of these columns were spread over the rows like those of all.
        share = float(own) / max(self.rows.nnz, 1)
        return bool(DENSE_SPEED * share * np.square(counts, dtype=float).sum() < float(n) * p * len(chosen))

    def add_products(self, chosen: IntArray | slice, total: FloatArray) -> None:
        """Add products of some columns of Z with all to an array of shape (n_chosen, n_features)."""
        shifts = np.asarray(self.rows.sum(axis=0)).ravel() - self.rows.shape[0] / 2 * self.centre
        turned = self.rows.T.tocsr()
        both = np.vstack([shifts, self.centre])
        _add_products(total, turned[chosen], self.rows, both[:, chosen], both[::-1])

    def transposed_product(self, others: FloatArray) -> FloatArray:
        """``Z'`` times other columns, shape (n_features, n_others)."""
        return np.asarray(self.rows.T @ others) - np.multiply.outer(self.centre, others.sum(axis=0))

    def outer_gram(self) -> FloatArray:
        """``Z Z'``."""
        shifts = self._shifts()
        both = np.vstack([shifts, np.ones_like(shifts)])
        total = np.zeros((len(shifts), len(shifts)))
        _add_products(total, self.rows, self.rows.T.tocsr(), both, both[::-1])
        return total

    def outer_product(self, vector: FloatArray) -> FloatArray:
        """``Z Z'`` times a vector."""
        inner = self._turned @ vector
        inner -= self.centre * vector.sum()
        outer: FloatArray = self.rows @ inner
        outer -= self.centre @ inner
        return outer

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Sums of squares of the rows of Z, those of each column multiplied by a weight."""
        weights = np.ones(len(self.centre)) if weights is None else weights
        squares = np.asarray(self.rows.multiply(self.rows) @ weights)
        means = weights * self.centre
        return np.maximum(squares - 2 * np.asarray(self.rows @ means) + float(means @ self.centre), 0.0)

    def centred_squares(self, squares: float) -> float:
        """Sum of squares of ``Z'Z``, and of ``Z Z'``, given that of ``A'A``."""
        n, products = self.rows.shape[0], self.rows @ self.centre
        return float(squares - 2 * n * (products @ products) + (n * (self.centre @ self.centre)) ** 2)

    @cached_property
    def _turned(self) -> Any:
        return self.rows.T

    def _shifts(self) -> FloatArray:
        return np.asarray(self.rows @ self.centre) - float(self.centre @ self.centre) / 2


@dataclass(frozen=True)
class SquaredProducts:
    """Squares of the entries of ``A'A``, of columns A that are weighted only afterwards.

    Attributes
    ----------
    common : ndarray of shape (n_common,)
        The columns with entries in many rows: most products are with these, and dense ones take less time.
    with_common : ndarray of shape (n_features, n_common)
        Squared products of all columns with them.
    others : CSR matrix of shape (n_features, n_features)
        Those of the other columns.
    """

    common: IntArray
    with_common: FloatArray
    others: Any

    @classmethod
    def of(cls, columns: Any) -> Self:
        """Multiply the columns of a CSR matrix with each other."""
        n, p = columns.shape
        counts = np.bincount(columns.indices, minlength=p)
        common = np.argsort(-counts, kind="stable")[: HELD_NUMBERS // p]
        common = np.sort(common[COMMON * counts[common] > n])
        with_common = np.asarray(columns.T @ columns[:, common].toarray())
        others = columns.copy()
        others.data[np.isin(others.indices, common)] = 0.0
        others.eliminate_zeros()
        products = others.T.tocsr() @ others
        for values in (with_common, products.data):
            np.square(values, out=values)
        return cls(common, with_common, products)

    def total(self, weights: FloatArray) -> float:
        """Sum of the squares of the entries of ``A'A``, each times the weights of its two columns."""
        own, found = weights[self.common], weights @ self.with_common
        twice = own @ (own @ self.with_common[self.common])
        return float(2 * (found @ own) - twice + weights @ (self.others @ weights))


def _are_few(counts: IntArray, order: int) -> bool:
    """Whether a Gram matrix of this order takes few products; `counts` are the numbers of entries that all meet."""
    return DENSE_SPEED * float(np.square(counts, dtype=float).sum()) < float(order) ** 2 * len(counts)


def _add_products(total: FloatArray, left: Any, right: Any, rows: FloatArray, columns: FloatArray) -> None:
    """Add the product of two CSR matrices, less ``rows' columns``; some rows at a time: sparse, it takes more room."""
    height = max(1, BLOCK_BYTES // (8 * right.shape[1]))
    for start in range(0, left.shape[0], height):
        some = slice(start, start + height)
        product: FloatArray = (left[some] @ right).toarray()
        product -= rows[:, some].T @ columns
        total[some] += product
