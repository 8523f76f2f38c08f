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

from gsppca._typing import BoolArray, FloatArray
from gsppca.data.array import LEAST_SHARE, ColumnView
from gsppca.data.base import Matrix, OuterProducts
from gsppca.evidence.by_products import ByProducts
from gsppca.evidence.gram_spectra import Enough, GramSpectra
from gsppca.linalg.gram_pool import GramPool
from gsppca.linalg.nested import LARGEST_GRAM, SupportSpectrum

SMALL_GRAM = 512  # variables for which X'X is formed whatever the number of samples
WIDE = 1.5  # times as many variables as samples: Gram matrices of the samples are then smaller by enough

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
    whole : bool
        Whether that is known of as many factors as may be wanted, rather than of those that are enough.
    """

    spectrum: SupportSpectrum
    projections: Projections
    whole: bool


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
        self.spectra = GramSpectra(matrix.n_samples, n_leading)
        self._pool, self.scale = GramPool(matrix), np.ones(matrix.n_features)
        few = _has_few_variables(matrix) or _has_few_samples(matrix)
        self.by_products = None if few else ByProducts(matrix, self.spectra)
        # Supports of data in blocks would take two passes each, but the products of many columns with all take one for
        # several of them.
        self._corners = None
        if _has_few_samples(matrix) and matrix.passes_are_dear:
            self._corners = ByProducts(matrix, self.spectra)

    def scaled(self, matrix: Matrix, scale: FloatArray) -> Decomposer:
        """The same for the matrix with its columns multiplied by `scale`: products of columns are not made again."""
        other = Decomposer(matrix, self.n_leading)
        other._pool, other.scale = self._pool, self.scale * scale
        other.spectra.go_on_from(self.spectra)
        return other

    def of(self, support: BoolArray, enough: Enough | None = None) -> Decomposition:
        """Decompose a support of at least two variables.

        Parameters
        ----------
        support : ndarray of shape (n_features,)
        enough : callable, optional
            Tells, from a spectrum, how many factors there are, or None as long as more leading eigenvalues have to be
            known. Where each takes iterations, those of noise, which take the most, need not be found.
        """
        n, size = self.matrix.n_samples, int(np.count_nonzero(support))
        if self._corners is not None and size <= self._corners.largest:
            return Decomposition(*self._corners.of(support, enough))
        if self.by_products is None:
            products = self.matrix.columns(support).outer_products() if self.spectra.iterates(min(size, n)) else None
            if products is not None or (_has_few_samples(self.matrix) and size > n):
                return self._by_samples(support, size, products, enough)
        if self._gram is not None:
            return self._by_corner(support, enough)
        if self.by_products is not None:
            return Decomposition(*self.by_products.of(support, enough))
        return self._by_variables(support, enough)

    def _by_corner(self, support: BoolArray, enough: Enough | None) -> Decomposition:
        assert self._gram is not None
        everything, n = self._gram, self.matrix.n_samples
        members = np.flatnonzero(support)
        # Rows first, then columns: some times as fast as both at once.
        gram = everything
        if len(members) < len(everything):
            gram = everything.take(members, axis=0).take(members, axis=1)
        spectrum, pairs, whole = self.spectra.of_gram(gram, min(len(members), n - 1), enough)

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            return (vectors.T @ everything[members]) / np.sqrt(n * values)[:, None]

        return Decomposition(spectrum, projections, whole)

    def _by_variables(self, support: BoolArray, enough: Enough | None) -> Decomposition:
        n = self.matrix.n_samples
        active = self.matrix.columns(support)
        gram = self._pool.gram(support, self.scale)
        spectrum, pairs, whole = self.spectra.of_gram(gram, min(active.n_features, n - 1), enough)

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            scores = active.product(vectors.T) / np.sqrt(n * values)
            return self.matrix.transposed_product(scores)

        return Decomposition(spectrum, projections, whole)

    def _by_samples(
        self, support: BoolArray, size: int, products: OuterProducts | None, enough: Enough | None
    ) -> Decomposition:
        rank = min(size, self.matrix.n_samples - 1)
        if products is None:
            spectrum, pairs, whole = self.spectra.of_gram(self._outer_gram(support), rank, enough)
        else:
            spectrum, pairs, whole = self.spectra.of_products(products, rank, enough)

        def projections(count: int) -> FloatArray:
            found = self.matrix.transposed_product(np.ascontiguousarray(pairs(count)[1]))
            return found if self._corners is None else self._corners.scored(found)

        return Decomposition(spectrum, projections, whole)

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
