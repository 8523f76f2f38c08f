"""Spectra of supports and projections on their leading scores, from a Gram matrix of whichever side is smaller.

Three ways, of which the shape of the data decides:

* few variables: one matrix X'X of the whole, in one pass over the data; supports are corners of it;
* few samples: X_S X_S' for supports of more variables than samples, from that of the whole or of the support before
  where few variables differ; X_S'X_S for the others;
* many of both: products of some variables with all, and with blocks of axes (`by_products`).

The numbers are those of `linalg.nested`: a small spectrum in full, of others the leading part and the moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from gsppca._threads import one_blas_thread
from gsppca._typing import BoolArray, FloatArray
from gsppca.data.base import Matrix
from gsppca.evidence.by_products import ByProducts
from gsppca.linalg.nested import LARGEST_GRAM, SupportSpectrum

SMALL_GRAM = 512  # variables for which X'X is formed whatever the number of samples
NONE = 1e-10  # of the largest eigenvalue: one below it is rounding, and its eigenvector means nothing
LEAST_SHARE = 1e-3  # of all squares: a support with less would lose digits as a difference of two Gram matrices

SMALL = 128  # order up to which all eigenvectors cost no more than some
LANCZOS = 20  # times as large an order as there are eigenvectors wanted: from here on they cost less one by one

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


class Decomposer:
    """Decompositions of the supports of one matrix.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    n_leading : int
        How many eigenvalues are wanted one by one; the others may be summed up.
    """

    def __init__(self, matrix: Matrix, n_leading: int):
        self.matrix, self.n_leading = matrix, n_leading
        n, p = matrix.n_samples, matrix.n_features
        self._gram: FloatArray | None = None
        self._outer: FloatArray | None = None
        self._last: tuple[BoolArray, FloatArray] | None = None
        if p <= max(min(2 * n, LARGEST_GRAM), SMALL_GRAM):
            self._gram = matrix.gram
        if n < p and n <= LARGEST_GRAM:
            self._outer = matrix.outer_gram()
        few = self._gram is not None or self._outer is not None
        self.by_products = None if few else ByProducts(matrix, n_leading, self._summed_up)

    def of(self, support: BoolArray) -> Decomposition:
        """Decompose a support of at least two variables."""
        n, size = self.matrix.n_samples, int(np.count_nonzero(support))
        if self._outer is not None and size > n:
            return self._by_samples(self._outer_gram(support), size)
        if self._gram is not None:
            return self._by_corner(support)
        if self.by_products is not None:
            return Decomposition(*self.by_products.of(support))
        return self._by_variables(support)

    def _by_corner(self, support: BoolArray) -> Decomposition:
        assert self._gram is not None
        whole, n = self._gram, self.matrix.n_samples
        members = np.flatnonzero(support)
        gram = whole[np.ix_(members, members)] / n
        spectrum, pairs = self._summed_up(gram, min(len(members), n - 1))

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            return (vectors.T @ whole[members]) / np.sqrt(n * values)[:, None]

        return Decomposition(spectrum, projections)

    def _by_variables(self, support: BoolArray) -> Decomposition:
        n = self.matrix.n_samples
        active = self.matrix.columns(support)
        spectrum, pairs = self._summed_up(active.gram / n, min(active.n_features, n - 1))
        del active.gram  # the support is remembered, its Gram matrix need not be

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            scores = active.product(vectors.T) / np.sqrt(n * values)
            return self.matrix.transposed_product(scores)

        return Decomposition(spectrum, projections)

    def _by_samples(self, gram: FloatArray, size: int) -> Decomposition:
        n = self.matrix.n_samples
        spectrum, pairs = self._summed_up(gram / n, min(size, n - 1))
        return Decomposition(
            spectrum, lambda count: self.matrix.transposed_product(np.ascontiguousarray(pairs(count)[1]))
        )

    def _outer_gram(self, support: BoolArray) -> FloatArray:
        """Return ``X_S X_S'``: from that of all variables or of the last support, where fewer variables differ.

        Differences keep the digits as long as what is left is not a small part of what was there.
        """
        assert self._outer is not None
        squares = self.matrix.column_squares
        known = [(np.ones_like(support), self._outer), *([self._last] if self._last is not None else [])]
        members, gram = min(known, key=lambda one: np.count_nonzero(one[0] != support))
        far = 2 * np.count_nonzero(members != support) > np.count_nonzero(support)
        if far or squares[support].sum() <= LEAST_SHARE * squares[members].sum():
            gram = self.matrix.columns(support).outer_gram()
        else:
            added, removed = support & ~members, members & ~support
            if removed.any():
                gram = gram - self.matrix.columns(removed).outer_gram()
            if added.any():
                gram = gram + self.matrix.columns(added).outer_gram()
        self._last = support, gram
        return gram

    def _summed_up(
        self, gram: FloatArray, rank: int
    ) -> tuple[SupportSpectrum, Callable[[int], tuple[FloatArray, FloatArray]]]:
        """Return the spectrum of a Gram matrix, and what finds its leading eigenpairs."""
        order = len(gram)
        with one_blas_thread():
            if order <= SMALL or 4 * self.n_leading > order:
                values, vectors = eigh(gram, driver="evd")
                # Supports are remembered: a copy of what is wanted lets the rest go.
                values, vectors = values[::-1][:rank], vectors[:, : -self.n_leading - 1 : -1].copy()
                values = values[values > NONE * values[0]]
                return SupportSpectrum(values, len(values)), lambda count: (values[:count], vectors[:, :count])
            if order < LANCZOS * self.n_leading:
                leading, vectors = eigh(gram, driver="evr", subset_by_index=[order - self.n_leading, order - 1])
            else:
                leading, vectors = eigsh(gram, self.n_leading, v0=gram.diagonal() + gram.trace() / order)
        leading, vectors = leading[::-1], vectors[:, ::-1]
        if leading[-1] <= NONE * leading[0]:  # there are no others
            leading = leading[leading > NONE * leading[0]]
            return SupportSpectrum(leading, len(leading)), lambda count: (leading[:count], vectors[:, :count])
        rest = max(float(np.trace(gram)) - float(leading.sum()), 0.0)
        squares = max(float(np.einsum("ij,ij->", gram, gram)) - float((leading**2).sum()), 0.0)
        spectrum = SupportSpectrum(leading, rank, rest, squares)
        return spectrum, lambda count: (leading[:count], vectors[:, :count])
