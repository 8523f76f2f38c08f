"""Many variables and many samples: supports decomposed with few passes over the data, none for most of them.

1. Supports of at most `MOST_HELD` variables are corners of one matrix: the products of the variables that the last
   factors explain best with all variables, found in one pass. Another pass brings in what a support has beyond them.
   Spectra and projections are exact.
2. Those of larger supports come from block Krylov iterations on products with all variables, whose images are the
   projections. They end when all residuals are below `TOLERANCE` of the largest eigenvalue, so that the eigenvalues of
   factors that stand out have errors of its square, or, after `FEWEST_PASSES`, when all others lie inside the bulk of
   the noise, and after `MOST_PASSES` in any case. A value in the bulk is too small, by some per cent, and so never
   makes noise a factor.
3. The first iterations begin from sums of rows, weighted by smooth functions of the rank of their lengths: a start that
   does not depend on the order of rows and follows that of the columns. Later ones go on from what is known: in other
   units, and after the components were counted, from all axes so far, whose products are known without a pass; for
   another support, from the axes before; with fewer columns, from products with these, sums of rows, too, in which the
   factors stand out. If all members are among the columns of 1., they take no pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.base import KnownImages, Matrix
from gsppca.data.chosen_columns import column_products
from gsppca.data.folds import rank_sums
from gsppca.evidence.gram_spectra import Enough, GramSpectra
from gsppca.linalg.krylov import block_width
from gsppca.linalg.nested import SupportSpectrum

MOST_HELD = 2048  # variables whose products with all are kept
HELD_NUMBERS = 2**27  # of such products: 1 GB
KEPT_NUMBERS = 2**26  # with those of supports before
TOLERANCE = 1e-7
FEWEST_PASSES, MOST_PASSES = 4, 6
N_KNOWN = 2  # passes less for another support, or in other units
BEYOND, GRID = (0.01, 100.0), 200  # the largest of some noise variances: where a minimum is looked for
LEAST_DIRECTION = 1e-6  # of the largest in its block
NONE = 1e-10  # of the largest eigenvalue: what is below is rounding

Found = tuple[SupportSpectrum, Callable[[int], FloatArray], bool]  # as in `Decomposition`


class ByProducts:
    """Spectra of supports of one matrix, and projections on their scores.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    spectra : GramSpectra
        What decomposes Gram matrices in memory, and knows how many eigenvalues are wanted one by one.

    Attributes
    ----------
    largest : int
        Variables of a support from which on it takes passes of its own.
    """

    def __init__(self, matrix: Matrix, spectra: GramSpectra):
        self.matrix, self.n_leading, self.spectra = matrix, spectra.n_leading, spectra
        self.largest = min(MOST_HELD, HELD_NUMBERS // matrix.n_features)
        self._axes: FloatArray | None = None
        self._score = np.zeros(matrix.n_features)
        self._held, self._products = _known_products(matrix)

    def of(self, support: BoolArray, enough: Enough | None) -> Found:
        """Return the spectrum of a support, and what projects all variables on its leading scores."""
        return self._corner(support, enough) if np.count_nonzero(support) <= self.largest else self._iterated(support)

    def _corner(self, support: BoolArray, enough: Enough | None) -> Found:
        n, members = self.matrix.n_samples, np.flatnonzero(support)
        places = self._places(members)
        gram = self._products[np.ix_(places, members)]
        spectrum, pairs, whole = self.spectra.of_gram(gram, min(len(members), n - 1), enough)

        def projections(count: int) -> FloatArray:
            values, vectors = pairs(count)
            places = self._places(members)
            axes = np.zeros((len(values), len(self._held)))  # products are many: better zeros here than a copy of some
            axes[:, places] = vectors.T
            return self.scored((axes @ self._products) / np.sqrt(n * values)[:, None])

        return spectrum, projections, whole

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
        return spectrum, lambda count: self.scored(images[:count] / np.sqrt(n * values[:count])[:, None]), True

    def scored(self, projections: FloatArray) -> FloatArray:
        """Note which variables the last factors explain best: the next support will be made of these."""
        self._score = np.einsum("kp,kp->p", projections, projections) / self.matrix.column_squares
        return projections

    def _ritz(self, support: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Leading eigenvalues of ``Z_S'Z_S``, some axes, zero outside S, and their products with all."""
        width, size = max(block_width(self.n_leading), self.n_leading), int(np.count_nonzero(support))
        basis, images, block, fewest, most = self._begin(support, width)
        number = 0 if len(basis) else 1
        while True:
            if number:
                basis, images = np.vstack([basis, block]), np.vstack([images, self._gram_product(block, support)])
            with one_blas_thread():
                inner = images @ basis.T
                values, vectors = np.linalg.eigh((inner + inner.T) / 2)
                values, turn = values[::-1], vectors[:, ::-1].T[: 2 * width]
                axes, turned = turn @ basis, turn @ images
                residuals = turned * support - values[: len(turn), None] * axes
                leading = values[: self.n_leading]
                small = np.linalg.norm(residuals[: len(leading)], axis=1) <= TOLERANCE * leading[0]
                settled = small.all() or (number >= fewest and self._are_noise(support, leading, axes, small))
                if settled or number >= most:
                    break
                # What is left of settled axes is rounding, and must not decide what the others turn to.
                block = _orthonormal(residuals - (residuals @ basis.T) @ basis)
                block = _orthonormal(block - (block @ basis.T) @ basis)[: size - len(basis)]
            number += 1
        self.matrix.leading_sums = turned
        self.matrix.known_images = KnownImages(basis, images, N_KNOWN, bool(settled))
        return leading, axes, turned

    def _begin(self, support: BoolArray, width: int) -> tuple[FloatArray, FloatArray, FloatArray, int, int]:
        """Axes and their products with all, where these are known; else axes to begin with; fewest and most passes."""
        none: FloatArray = np.empty((0, len(support)))
        known = _known_images(self.matrix)
        if known is not None and not known.axes[:, ~support].any():
            axes, images = _orthonormal_with(known.axes, known.images)
            return axes, images, none, FEWEST_PASSES - known.n_passes, MOST_PASSES - known.n_passes
        start = self.matrix.leading_sums if self._axes is None else self._axes
        if start is not None:
            return none, none, _orthonormal(start * support), FEWEST_PASSES - N_KNOWN, MOST_PASSES - N_KNOWN
        return none, none, _orthonormal(rank_sums(self.matrix, 2 * width) * support), FEWEST_PASSES, MOST_PASSES

    def _gram_product(self, axes: FloatArray, support: BoolArray) -> FloatArray:
        """Products of axes that are zero outside a support with all: from those of its members, if they are held.

        Where iterations did not settle before, they will not settle for other supports: one pass over data in blocks,
        for products of all variables, then takes the place of several.
        """
        members, known = np.flatnonzero(support), _known_images(self.matrix)
        slow = known is not None and not known.settled and len(support) ** 2 <= KEPT_NUMBERS
        if slow and self.matrix.passes_are_dear:
            self._places(members)
        if np.isin(members, self._held).all():
            return axes[:, self._held] @ self._products
        return self.matrix.gram_product(axes)

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


def _known_images(matrix: Matrix) -> KnownImages | None:
    """Products of axes with ``Z'Z`` that were found before, for this matrix or one that it is in other units of.

    With columns multiplied by s, axes divided by s have the products that they had before, multiplied by s.
    """
    if matrix.known_images is not None or not isinstance(matrix, ColumnView) or matrix.origin is None:
        return matrix.known_images
    parent, kept, scale = matrix.origin
    known = _known_images(parent)
    if known is None or kept is not None or scale is None:
        return None
    return KnownImages(known.axes / scale, known.images * scale, min(known.n_passes, N_KNOWN), known.settled)


def _orthonormal_with(rows: FloatArray, images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same for some rows, with what the same combinations make of their images."""
    left, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > LEAST_DIRECTION * sizes[0]
    return np.ascontiguousarray(directions[kept]), (left[:, kept] / sizes[kept]).T @ images


def _orthonormal(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of some rows, without directions that are little more than rounding."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(directions[sizes > LEAST_DIRECTION * sizes[0]])
