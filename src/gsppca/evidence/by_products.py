"""Many variables and many samples: supports decomposed with few passes over the data, none for most of them.

1. Supports of at most `MOST_HELD` variables are corners of one matrix: the products of the variables that the last
   factors explain best with all variables, found in one pass. Another pass brings in what a support has beyond them.
   Spectra and projections are exact.
2. Those of larger supports come from block Krylov iterations on products with all variables, which begin from the axes
   of the large support before, and whose images are the projections. They end when all residuals are below
   `TOLERANCE` of the largest eigenvalue, so that the eigenvalues of factors that stand out have errors of its square,
   or, after `FEWEST_PASSES`, when all others lie inside the bulk of the noise, and after `MOST_PASSES` in any case. A
   value in the bulk is too small, by some per cent, and so never makes noise a factor.
3. The first iterations begin from sums of rows, weighted by smooth functions of the rank of their lengths: a start that
   does not depend on the order of rows and follows that of the columns. In other units, or with fewer columns, they
   begin from products with the axes before: sums of rows, too, in which the factors stand out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.base import Matrix
from gsppca.data.chosen_columns import column_products
from gsppca.data.folds import rank_sums
from gsppca.linalg.krylov import block_width
from gsppca.linalg.nested import SupportSpectrum

MOST_HELD = 2048  # variables whose products with all are kept
HELD_NUMBERS = 2**27  # of such products: 1 GB
KEPT_NUMBERS = 2**26  # with those of supports before
TOLERANCE = 1e-7
FEWEST_PASSES, MOST_PASSES = 5, 8
FEWEST_AGAIN = 3  # passes from axes of another support, or in other units
BEYOND, GRID = (0.01, 100.0), 200  # the largest of some noise variances: where a minimum is looked for
LEAST_DIRECTION = 1e-6  # of the largest in its block
NONE = 1e-10  # of the largest eigenvalue: what is below is rounding

Pairs = Callable[[int], tuple[FloatArray, FloatArray]]
SummedUp = Callable[[FloatArray, int], tuple[SupportSpectrum, Pairs]]
Found = tuple[SupportSpectrum, Callable[[int], FloatArray]]


class ByProducts:
    """Spectra of supports of one matrix, and projections on their scores.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    n_leading : int
        How many eigenvalues are wanted one by one.
    summed_up : callable
        From a Gram matrix and its rank to its spectrum and leading eigenpairs.

    Attributes
    ----------
    largest : int
        Variables of a support from which on it takes passes of its own.
    """

    def __init__(self, matrix: Matrix, n_leading: int, summed_up: SummedUp):
        self.matrix, self.n_leading, self.summed_up = matrix, n_leading, summed_up
        self.largest = min(MOST_HELD, HELD_NUMBERS // matrix.n_features)
        self._axes: FloatArray | None = None
        self._score = np.zeros(matrix.n_features)
        self._held, self._products = _known_products(matrix)

    def of(self, support: BoolArray) -> Found:
        """Return the spectrum of a support, and what projects all variables on its leading scores."""
        return self._corner(support) if np.count_nonzero(support) <= self.largest else self._iterated(support)

    def _corner(self, support: BoolArray) -> Found:
        n, members = self.matrix.n_samples, np.flatnonzero(support)
        places = self._places(members)
        spectrum, pairs = self.summed_up(self._products[np.ix_(places, members)], min(len(members), n - 1))

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            places = self._places(members)
            axes = np.zeros((len(values), len(self._held)))  # products are many: better zeros here than a copy of some
            axes[:, places] = vectors.T
            return self._scored((axes @ self._products) / np.sqrt(n * values)[:, None])

        return spectrum, projections

    def _places(self, members: IntArray) -> IntArray:
        """Where products of some variables are held; if one is not yet, the best of the last factors come with it."""
        if not np.isin(members, self._held).all():
            score = self._score.copy()
            score[members] = np.inf
            room = max(self.largest, KEPT_NUMBERS // self.matrix.n_features)
            # Who lacks some will lack others: a pass over data in blocks brings as many as there is room for.
            more = len(self._held) > 0 and self.matrix.passes_are_dear
            wanted: IntArray = np.sort(np.argsort(-score, kind="stable")[: room if more else self.largest])
            together = np.union1d(wanted, self._held)
            wanted = together if len(together) <= room else wanted
            kept, new = np.isin(self._held, wanted), np.setdiff1d(wanted, self._held)
            products = np.empty((len(wanted), self.matrix.n_features))
            products[np.searchsorted(wanted, self._held[kept])] = self._products[kept]
            products[np.searchsorted(wanted, new)] = column_products(self.matrix, new)
            self._held, self._products = wanted, products
            self.matrix.known_products = wanted, products
        return np.searchsorted(self._held, members)

    def _iterated(self, support: BoolArray) -> Found:
        n, size = self.matrix.n_samples, int(np.count_nonzero(support))
        values, self._axes, images = self._ritz(support)
        kept = values > NONE * values[0]
        values, images = values[kept] / n, images[: len(kept)][kept]
        rank = min(size, n - 1) if len(values) == self.n_leading else len(values)
        total = float(self.matrix.column_squares[support].sum()) / n
        rest = max(total - float(values.sum()), 0.0)
        squares = rest**2 / max(rank - len(values), 1) * (1 + min(size, n) / max(size, n))  # Marchenko & Pastur
        spectrum = SupportSpectrum(values, rank, rest, squares)
        return spectrum, lambda count: self._scored(images[:count] / np.sqrt(n * values[:count])[:, None])

    def _scored(self, projections: FloatArray) -> FloatArray:
        """Note which variables the last factors explain best: the next support will be made of these."""
        self._score = np.einsum("kp,kp->p", projections, projections) / self.matrix.column_squares
        return projections

    def _ritz(self, support: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Leading eigenvalues of ``Z_S'Z_S``, a block of axes, zero outside S, and their products with all."""
        width, size = max(block_width(self.n_leading), self.n_leading), int(np.count_nonzero(support))
        start, fewest = self._axes, FEWEST_AGAIN
        if start is None:
            start = self.matrix.leading_sums
        if start is None:
            start, fewest = rank_sums(self.matrix, width), FEWEST_PASSES
        block = _orthonormal(start * support)
        basis, images = np.empty((0, len(support))), np.empty((0, len(support)))
        for number in range(1, MOST_PASSES + 1):
            image = self.matrix.gram_product(block)
            with one_blas_thread():
                basis, images = np.concatenate([basis, block]), np.concatenate([images, image])
                inner = images @ basis.T
                values, vectors = np.linalg.eigh((inner + inner.T) / 2)
                values, turn = values[::-1], vectors[:, ::-1].T
                axes, turned = turn[:width] @ basis, turn[:width] @ images
                leading = values[: self.n_leading]
                residuals = turned[: len(leading)] * support - leading[:, None] * axes[: len(leading)]
                settled = np.linalg.norm(residuals, axis=1) <= TOLERANCE * leading[0]
                if (
                    number == MOST_PASSES
                    or len(basis) + width > size
                    or settled.all()
                    or (number >= fewest and self._are_noise(support, leading, axes, settled))
                ):
                    break
                # What is left of settled axes is rounding, and must not decide what the others turn to.
                block = image * support / values[0]
                block = _orthonormal(np.vstack([block - (block @ basis.T) @ basis, 0 * block[:1]]))
                block = _orthonormal(block - (block @ basis.T) @ basis)
        self.matrix.leading_sums = turned
        return leading, axes, turned

    def _are_noise(self, support: BoolArray, values: FloatArray, axes: FloatArray, settled: BoolArray) -> bool:
        """Whether noise, of the variances that settled factors leave, would reach all values that have not settled."""
        explained = values[settled] @ axes[: len(values)][settled] ** 2
        left = np.maximum(self.matrix.column_squares - explained, 0.0)[support]
        return bool(values[~settled][0] <= end_of_bulk(left, self.matrix.n_samples))


def end_of_bulk(squares: FloatArray, n_samples: int) -> float:
    """Where the eigenvalues of ``Z'Z`` end if the columns are independent noise, with these sums of squares.

    It is the least of ``s (1 + sum_j v_j / (s - v_j) / n)`` beyond the largest v (Silverstein & Choi 1995): for equal
    v, ``v (1 + sqrt(p / n))^2``. The least on a grid is larger by less than a thousandth.
    """
    beyond = squares.max() * (1 + np.geomspace(*BEYOND, GRID)[:, None])
    return float(np.min(beyond[:, 0] * (1 + (squares / (beyond - squares)).mean(axis=1) * len(squares) / n_samples)))


def _known_products(matrix: Matrix) -> tuple[IntArray, FloatArray]:
    """Products of some columns with all that were found before, for this matrix or one that it is made from."""
    if matrix.known_products is not None:
        return matrix.known_products
    if not isinstance(matrix, ColumnView) or matrix.origin is None:
        return np.empty(0, dtype=np.intp), np.empty((0, matrix.n_features))
    parent, kept, scale = matrix.origin
    held, products = _known_products(parent)
    if kept is not None:
        inside = kept[held]
        return (np.cumsum(kept) - 1)[held[inside]], products[inside][:, kept]
    return held, products if scale is None else products * scale[held][:, None] * scale


def _orthonormal(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of some rows, without directions that are little more than rounding."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(directions[sizes > LEAST_DIRECTION * sizes[0]])
