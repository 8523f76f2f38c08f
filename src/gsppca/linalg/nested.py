"""Spectra of the nested supports of a ranking, from the Gram matrix of whichever side is smaller.

The Gram matrices of the supports that have fewer variables than samples are corners of one; those of the larger
supports, taken over the samples, grow by the columns that join. So all of them cost one product with the data, and
each spectrum a decomposition of the smaller side: in full while it is small, else the leading eigenvalues and the
moments of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.linalg.spectrum import leading_spectrum

FULL = 512  # order up to which a spectrum is computed in full
LARGEST_GRAM = 4096  # order up to which a Gram matrix is formed
ROUNDING = 1e-12  # of the largest eigenvalue: what is below is none


@dataclass(frozen=True)
class SupportSpectrum:
    """Eigenvalues of ``Z_v'Z_v / n`` for one support.

    Attributes
    ----------
    leading : ndarray of shape (n_leading,)
        The largest eigenvalues, descending; all of them if `n_rest` is zero.
    rank : int
        Number of non-zero eigenvalues, leading ones included.
    rest_sum, rest_squares : float
        Sum of the other non-zero eigenvalues, and of their squares.
    """

    leading: FloatArray
    rank: int
    rest_sum: float = 0.0
    rest_squares: float = 0.0

    @property
    def n_rest(self) -> int:
        """How many non-zero eigenvalues are not among the leading ones."""
        return self.rank - len(self.leading)


class NestedSpectra:
    """Spectra of the supports made of the first variables of a ranking.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    order : ndarray of shape (n_features,)
        The variables, the most relevant first.
    n_leading : int
        How many eigenvalues are wanted one by one; the others may be summed up.
    """

    def __init__(self, matrix: Matrix, order: IntArray, n_leading: int):
        self.matrix, self.order, self.n_leading = matrix, order, n_leading
        self._corner: FloatArray | None = None
        self._outer: tuple[int, FloatArray] | None = None

    def at(self, size: int) -> SupportSpectrum:
        """Return the spectrum of the first `size` variables; cheapest when sizes ascend."""
        n = self.matrix.n_samples
        if size <= min(n, LARGEST_GRAM) or (size <= LARGEST_GRAM and self.matrix.prefers_gram):
            return self._summed_up(self._inner_gram(size), min(size, n - 1))
        if n <= LARGEST_GRAM:
            return self._summed_up(self._outer_gram(size), n - 1)
        return self._operator_spectrum(size)

    def _inner_gram(self, size: int) -> FloatArray:
        if self._corner is None or len(self._corner) < size:
            n, p = self.matrix.n_samples, self.matrix.n_features
            if self.matrix.prefers_gram:
                self._corner = self.matrix.gram[np.ix_(self.order, self.order)] / n
            else:
                # Room to grow: doubling keeps the work within twice that of the largest.
                wide = min(p, n, LARGEST_GRAM, max(2 * size, 256))
                chosen = self.order[:wide]
                sub, place = _sub_matrix(self.matrix, chosen)
                self._corner = sub.gram[np.ix_(place, place)] / n
        return self._corner[:size, :size]

    def _outer_gram(self, size: int) -> FloatArray:
        known, gram = self._outer or (0, np.zeros((self.matrix.n_samples, self.matrix.n_samples)))
        if known > size:
            known, gram = 0, np.zeros_like(gram)
        if known < size:
            sub, _ = _sub_matrix(self.matrix, self.order[known:size])
            gram = gram + sub.outer_gram() / self.matrix.n_samples
        self._outer = (size, gram)
        return gram

    def _summed_up(self, gram: FloatArray, rank: int) -> SupportSpectrum:
        order = len(gram)
        with one_blas_thread():
            if order <= FULL or 4 * self.n_leading > order:
                values = eigh(gram, eigvals_only=True)[::-1][:rank]
                values = values[values > ROUNDING * values[0]]
                return SupportSpectrum(values, len(values))
            start = gram.diagonal() + gram.trace() / order
            leading = eigsh(gram, self.n_leading, v0=start, return_eigenvectors=False)
        leading = np.sort(leading)[::-1]
        rest = max(float(np.trace(gram)) - float(leading.sum()), 0.0)
        squares = max(float(np.einsum("ij,ij->", gram, gram)) - float((leading**2).sum()), 0.0)
        return SupportSpectrum(leading, rank, rest, squares)

    def _operator_spectrum(self, size: int) -> SupportSpectrum:
        """Both sides large: leading eigenvalues through products, and the spread that noise of this shape has."""
        sub, _ = _sub_matrix(self.matrix, self.order[:size])
        n, rank = self.matrix.n_samples, min(size, self.matrix.n_samples - 1)
        leading = leading_spectrum(sub, self.n_leading).eigenvalues
        rest = max(sub.total_squares / n - float(leading.sum()), 0.0)
        # Eigenvalues of noise of variance s: mean s k/r over r of them, variance as in the law of Marchenko & Pastur.
        n_rest = rank - len(leading)
        mean = rest / n_rest
        ratio = min(size, n) / max(size, n)
        return SupportSpectrum(leading, rank, rest, n_rest * mean**2 * (1 + ratio))


def _sub_matrix(matrix: Matrix, chosen: IntArray) -> tuple[Matrix, IntArray]:
    """Return the matrix of the chosen columns, in their natural order, and where each chosen one stands in it."""
    kept = np.zeros(matrix.n_features, dtype=bool)
    kept[chosen] = True
    if kept.all():
        return matrix, chosen
    return matrix.columns(kept), np.searchsorted(np.flatnonzero(kept), chosen)
