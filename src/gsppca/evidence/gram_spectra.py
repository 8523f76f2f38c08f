"""Spectrum and leading eigenpairs of a Gram matrix: in full while it is small, else by iterations.

Iterations find what stands out first, and take most of their steps for eigenvalues inside the bulk of the noise. They
end as soon as enough is known: when the evidence has passed its peak (`joint.has_passed_its_peak`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray
from gsppca.data.base import OuterProducts
from gsppca.evidence.joint import SPARE
from gsppca.linalg import lanczos
from gsppca.linalg.nested import SupportSpectrum

NONE = 1e-10  # of the largest eigenvalue: one below it is rounding, and its eigenvector means nothing
SMALL = 128  # order up to which all eigenvectors cost no more than some
LANCZOS = 6  # times as large an order as there are eigenvectors wanted: iterations cost less
SOONER, AS_SOON = 0.85, 0.97  # of the steps of the last iterations, if these were enough when first looked at, or not
MORE = 4  # eigenvalues beyond those of factors, that tell that there are enough
WORTH = 0.75  # of the pairs: where more of them are wanted, all are found at once
FEW = 16  # pairs: to look whether fewer are enough takes as long as to find them

Enough = Callable[[SupportSpectrum], int | None]
Iterate = Callable[[int, int, lanczos.Enough | None, int], lanczos.Pairs]


class GramSpectrum(NamedTuple):
    """What is known of a Gram matrix.

    Attributes
    ----------
    spectrum : SupportSpectrum
        Its eigenvalues, divided by the number of samples.
    pairs : callable
        From a number to as many of these, and the eigenvectors as columns.
    whole : bool
        Whether that is known of as many pairs as may be wanted, rather than of those that were enough.
    """

    spectrum: SupportSpectrum
    pairs: Callable[[int], tuple[FloatArray, FloatArray]]
    whole: bool


class GramSpectra:
    """Spectra of Gram matrices of similar supports, one after the other.

    Parameters
    ----------
    n_samples : int
        What eigenvalues are divided by.
    n_leading : int
        How many eigenvalues are wanted one by one, `SPARE` more than factors; the others may be summed up.
    """

    def __init__(self, n_samples: int, n_leading: int):
        self.n_samples, self.n_leading = n_samples, n_leading
        # Of the last iterations: when to see whether they are enough, and whether hardly fewer than all pairs were.
        self.look, self.all_wanted = 0, False

    def go_on_from(self, other: GramSpectra) -> None:
        """Expect supports like those that another has seen."""
        self.look, self.all_wanted = other.look, other.all_wanted

    def iterates(self, order: int) -> bool:
        """Whether iterations find the leading pairs, rather than a full decomposition."""
        return order > SMALL and LANCZOS * self.n_leading <= order

    def of_gram(self, gram: FloatArray, rank: int, enough: Enough | None = None) -> GramSpectrum:
        """Decompose a matrix in memory.

        Parameters
        ----------
        gram : ndarray of shape (order, order)
        rank : int
            How many of its eigenvalues are not zero, at most.
        enough : callable, optional
            Tells, from a spectrum, how many pairs are wanted, or None as long as more eigenvalues have to be known.
        """
        order, entries = len(gram), gram.ravel("K")
        if self.iterates(order):
            sums = float(np.trace(gram)), float(entries @ entries)
            return self._iterated(partial(lanczos.lanczos_pairs, gram), sums, rank, enough)
        with one_blas_thread():
            values, vectors = np.linalg.eigh(gram)
            # Supports are remembered: a copy of what is wanted lets the rest go.
            values, vectors = values[::-1] / self.n_samples, vectors[:, -self.n_leading :].copy()[:, ::-1]
            if order <= SMALL or 4 * self.n_leading > order:
                spectrum = _cut(values[:rank])
            else:
                sums = float(np.trace(gram)), float(entries @ entries)
                spectrum = self._with_rest(values[: self.n_leading], sums, rank)
        return GramSpectrum(spectrum, partial(_leading, spectrum, vectors), True)

    def of_products(self, products: OuterProducts, rank: int, enough: Enough | None = None) -> GramSpectrum:
        """Decompose a matrix that is known by its products with vectors."""
        sums = float(products.diagonal.sum()), products.total_squares()
        iterate = partial(lanczos.operator_pairs, products.product, products.diagonal)
        return self._iterated(iterate, sums, rank, enough)

    def _iterated(self, iterate: Iterate, sums: tuple[float, float], rank: int, enough: Enough | None) -> GramSpectrum:
        """By iterations, given the sums of all eigenvalues and of their squares, before a division by n."""

        def enough_values(values: FloatArray) -> int | None:
            assert enough is not None
            return enough(self._with_rest(values / self.n_samples, sums, rank))

        # This support is much like the last one.
        enough = enough if self.n_leading > FEW else None
        all_wanted = enough is None or self.all_wanted
        with one_blas_thread():
            values, vectors, n_steps = iterate(self.n_leading, SPARE, None if all_wanted else enough_values, self.look)
        self.look = int(n_steps * (SOONER if n_steps <= self.look else AS_SOON))
        spectrum = self._with_rest(values[::-1] / self.n_samples, sums, rank)
        whole = vectors.shape[1] >= self.n_leading - SPARE
        if enough is not None:
            wanted = enough(spectrum) if whole else vectors.shape[1]
            self.all_wanted = wanted is None or wanted + MORE > WORTH * self.n_leading
        return GramSpectrum(spectrum, partial(_leading, spectrum, vectors[:, ::-1]), whole)

    def _with_rest(self, leading: FloatArray, sums: tuple[float, float], rank: int) -> SupportSpectrum:
        """A spectrum from its leading values and these sums."""
        total, total_squares = sums
        if leading[-1] <= NONE * leading[0]:  # there are no others
            return _cut(leading)
        rest = max(total / self.n_samples - float(leading.sum()), 0.0)
        squares = max(total_squares / self.n_samples**2 - float((leading**2).sum()), 0.0)
        return SupportSpectrum(leading, rank, rest, squares)


def _cut(values: FloatArray) -> SupportSpectrum:
    """A spectrum of which nothing is summed up, without what is rounding."""
    values = values[values > NONE * values[0]]
    return SupportSpectrum(values, len(values))


def _leading(spectrum: SupportSpectrum, vectors: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    return spectrum.leading[:count], vectors[:, :count]
