"""Spectra of supports and projections on their leading scores, from a Gram matrix of whichever side is smaller.

Three ways, of which the shape of the data decides:

* few variables: one matrix X'X of the whole, in one pass over the data; supports are corners of it;
* few samples: X_S X_S' for supports of more variables than samples, from that of a support before where few variables
  differ; X_S'X_S for the others, which share the products of columns that they have in common;
* many of both: products of some variables with all, and with blocks of axes (`by_products`).

Of sparse data with not too many of one, products of the entries with vectors take the place of both matrices where they
cost less.

The numbers are those of `linalg.nested`: a small spectrum in full, of others the leading part and the moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import BoolArray, FloatArray
from gsppca.data.array import LEAST_SHARE, ColumnView
from gsppca.data.base import Matrix, OuterProducts
from gsppca.evidence.by_products import ByProducts, Pairs
from gsppca.linalg.gram_pool import GramPool
from gsppca.linalg.lanczos import lanczos_pairs, operator_pairs
from gsppca.linalg.nested import LARGEST_GRAM, SupportSpectrum

SMALL_GRAM = 512  # variables for which X'X is formed whatever the number of samples
NONE = 1e-10  # of the largest eigenvalue: one below it is rounding, and its eigenvector means nothing

WIDE = 1.5  # times as many variables as samples: Gram matrices of the samples are then smaller by enough
SMALL = 128  # order up to which all eigenvectors cost no more than some
LANCZOS = 6  # times as large an order as there are eigenvectors wanted: iterations cost less
SPARE = 2  # eigenvalues wanted one by one that belong to no factor

Projections = Callable[[int], FloatArray]


@dataclass(frozen=True)
class Decomposition:
    """Spectrum of a support, and how to project all variables on its scores.

    Attributes
    ----------
    spectrum : SupportSpectrum
        Eigenvalues of ``X_S'X_S / n``.
    projections : callable
        From a number of factors to the products of their unit scores with all variables, (n_factors, n_features).
    """

    spectrum: SupportSpectrum
    projections: Projections


def form_gram(matrix: Matrix) -> None:
    """Form the Gram matrix of all variables that a `Decomposer` of this matrix begins with, if there is one.

    Its spectrum, which tells how many components there may be, then costs little.
    """
    if _has_few_variables(matrix) and not _has_few_samples(matrix):
        _ = matrix.gram
    elif _has_few_samples(matrix) and isinstance(matrix, ColumnView) and matrix.outer_products() is None:
        matrix.remember_outer_gram()


def _has_few_variables(matrix: Matrix) -> bool:
    n, p = matrix.n_samples, matrix.n_features
    return p <= max(min(WIDE * n, LARGEST_GRAM), SMALL_GRAM)


def _has_few_samples(matrix: Matrix) -> bool:
    n, p = matrix.n_samples, matrix.n_features
    return n < p and n <= LARGEST_GRAM and (WIDE * n < p or not _has_few_variables(matrix))


class Decomposer:
    """Decompositions of the supports of one matrix.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    n_leading : int
        How many eigenvalues are wanted one by one, `SPARE` more than factors; the others may be summed up.
    """

    def __init__(self, matrix: Matrix, n_leading: int):
        self.matrix, self.n_leading = matrix, n_leading
        self._gram = matrix.gram if _has_few_variables(matrix) else None
        self._outer: list[tuple[BoolArray, FloatArray]] = []  # of all variables, and of the last support
        self._pool, self.scale = GramPool(matrix), np.ones(matrix.n_features)
        few = _has_few_variables(matrix) or _has_few_samples(matrix)
        self.by_products = None if few else ByProducts(matrix, n_leading, self._summed_up)
        # Supports of data in blocks would take two passes each, but the products of many columns with all take one for
        # several of them.
        self._corners = None
        if _has_few_samples(matrix) and matrix.passes_are_dear:
            self._corners = ByProducts(matrix, n_leading, self._summed_up)

    def scaled(self, matrix: Matrix, scale: FloatArray) -> Decomposer:
        """The same for the matrix with its columns multiplied by `scale`: products of columns are not made again."""
        other = Decomposer(matrix, self.n_leading)
        other._pool, other.scale = self._pool, self.scale * scale
        return other

    def of(self, support: BoolArray) -> Decomposition:
        """Decompose a support of at least two variables."""
        n, size = self.matrix.n_samples, int(np.count_nonzero(support))
        if self._corners is not None and size <= self._corners.largest:
            return Decomposition(*self._corners.of(support))
        if self.by_products is None:
            products = self.matrix.columns(support).outer_products() if self._is_iterated(min(size, n)) else None
            if products is not None or (_has_few_samples(self.matrix) and size > n):
                return self._by_samples(support, size, products)
        if self._gram is not None:
            return self._by_corner(support)
        if self.by_products is not None:
            return Decomposition(*self.by_products.of(support))
        return self._by_variables(support)

    def _by_corner(self, support: BoolArray) -> Decomposition:
        assert self._gram is not None
        whole, n = self._gram, self.matrix.n_samples
        members = np.flatnonzero(support)
        # Rows first, then columns: some times as fast as both at once.
        gram = whole if len(members) == len(whole) else whole.take(members, axis=0).take(members, axis=1)
        spectrum, pairs = self._summed_up(gram, min(len(members), n - 1))

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            return (vectors.T @ whole[members]) / np.sqrt(n * values)[:, None]

        return Decomposition(spectrum, projections)

    def _by_variables(self, support: BoolArray) -> Decomposition:
        n = self.matrix.n_samples
        active = self.matrix.columns(support)
        gram = self._pool.gram(support, self.scale)
        spectrum, pairs = self._summed_up(gram, min(active.n_features, n - 1))

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            scores = active.product(vectors.T) / np.sqrt(n * values)
            return self.matrix.transposed_product(scores)

        return Decomposition(spectrum, projections)

    def _by_samples(self, support: BoolArray, size: int, products: OuterProducts | None) -> Decomposition:
        n = self.matrix.n_samples
        if products is None:
            spectrum, pairs = self._summed_up(self._outer_gram(support), min(size, n - 1))
        else:
            with one_blas_thread():
                leading, vectors = operator_pairs(products.product, products.diagonal, self.n_leading, SPARE)
            total = float(products.diagonal.sum())
            spectrum, pairs = self._with_rest(leading, vectors, total, products.total_squares(), min(size, n - 1))

        def projections(count: int) -> FloatArray:
            found = self.matrix.transposed_product(np.ascontiguousarray(pairs(count)[1]))
            return found if self._corners is None else self._corners.scored(found)

        return Decomposition(spectrum, projections)

    def _is_iterated(self, order: int) -> bool:
        """Whether iterations find the leading pairs of a Gram matrix, rather than a full decomposition."""
        return order > SMALL and LANCZOS * self.n_leading <= order

    def _outer_gram(self, support: BoolArray) -> FloatArray:
        """Return ``X_S X_S'``: from that of all variables or of the last support, where fewer variables differ.

        Differences keep the digits as long as what is left is not a small part of what was there.
        """
        squares = self.matrix.column_squares
        near = [one for one in self._outer if 2 * np.count_nonzero(one[0] != support) <= np.count_nonzero(support)]
        near = [one for one in near if squares[support].sum() > LEAST_SHARE * squares[one[0]].sum()]
        if near:
            members, gram = min(near, key=lambda one: np.count_nonzero(one[0] != support))
            added, removed = support & ~members, members & ~support
            if removed.any():
                gram = gram - self.matrix.columns(removed).outer_gram()
            if added.any():
                gram = gram + self.matrix.columns(added).outer_gram()
        else:
            if support.all() and isinstance(self.matrix, ColumnView) and self.matrix.known_rows.outer is None:
                self.matrix.remember_outer_gram()  # the core may ask for it, or for that of most variables
            gram = self.matrix.columns(support).outer_gram()
        whole = [one for one in self._outer if one[0].all()]
        self._outer = [*whole, (support, gram)] if not support.all() else [(support, gram)]
        return gram

    def _summed_up(self, gram: FloatArray, rank: int) -> tuple[SupportSpectrum, Pairs]:
        """Return the spectrum of a Gram matrix divided by the number of samples, and its leading eigenpairs."""
        order, n = len(gram), self.matrix.n_samples
        with one_blas_thread():
            if self._is_iterated(order):
                leading, vectors = lanczos_pairs(gram, self.n_leading, SPARE)
            else:
                values, vectors = np.linalg.eigh(gram)
                # Supports are remembered: a copy of what is wanted lets the rest go.
                leading, vectors = values[-self.n_leading :], vectors[:, -self.n_leading :].copy()
                if order <= SMALL or 4 * self.n_leading > order:
                    return _cut(values[::-1][:rank] / n, vectors[:, ::-1])
            entries = gram.ravel("K")
            return self._with_rest(leading, vectors, float(np.trace(gram)), float(entries @ entries), rank)

    def _with_rest(
        self, leading: FloatArray, vectors: FloatArray, total: float, total_squares: float, rank: int
    ) -> tuple[SupportSpectrum, Pairs]:
        """The same, given the leading pairs, the sum of all eigenvalues and that of their squares."""
        n = self.matrix.n_samples
        leading, vectors = leading[::-1] / n, vectors[:, ::-1]
        if leading[-1] <= NONE * leading[0]:  # there are no others
            return _cut(leading, vectors)
        rest = max(total / n - float(leading.sum()), 0.0)
        squares = max(total_squares / n**2 - float((leading**2).sum()), 0.0)
        return SupportSpectrum(leading, rank, rest, squares), lambda count: (leading[:count], vectors[:, :count])


def _cut(values: FloatArray, vectors: FloatArray) -> tuple[SupportSpectrum, Pairs]:
    """A spectrum of which nothing is summed up, without what is rounding."""
    values = values[values > NONE * values[0]]
    return SupportSpectrum(values, len(values)), lambda count: (values[:count], vectors[:, :count])
