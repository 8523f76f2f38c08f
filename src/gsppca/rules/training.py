"""Principal axes and shrinkage of parts of the rows: all of them, and all but one fold.

The columns keep the means and scales of all rows. Second moments of a part are then sums over its rows, and parts
share what is computed once: one outer product ``Z Z'``, of which each part is a submatrix, or one Gram matrix for
each fold, of which each part is a sum.

Axes of a part come from whichever side is small. If neither is, they come from two rounds of subspace iteration that
start from the axes of all rows: with thousands of rows they are close to them already. That takes six passes over the
data, whatever the number of parts.

From Gram matrices, the forward selections need no more of the data: three passes are all, for the sum of the Gram
matrices, the scores along which rows are dealt out to folds, and the matrix of each fold. With many rows, the last of
them is enough: `fold_grams`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import column_values, fold_grams, fold_squares, scores_and_squares
from gsppca.linalg.spectrum import leading_spectrum, top_pairs
from gsppca.rules.columns import GramColumns, RowColumns
from gsppca.rules.parts import Part, Targets
from gsppca.rules.shares import CoreDescription, describe_core
from gsppca.rules.shrinkage import ledoit_wolf

DIRECT_ORDER = 1024  # smaller side of the data up to which its Gram matrix is formed in any case
LARGEST_ORDER = 2048
SQUARE = 1.5  # rows for each column up to which one outer product takes less memory than six Gram matrices
N_ROUNDS = 2
NONE = 1e-10  # of the largest eigenvalue: one below it is rounding


def decompose(targets: Targets, n_components: int) -> Decomposition:
    """Choose how axes of all rows, and of parts of them, are found: by the shape of the data alone.

    Parameters
    ----------
    targets : Targets
        The data.
    n_components : int
        How many axes; at most the smaller side of the smallest part.
    """
    n, p = targets.standard.n_samples, int(targets.relevant.sum())
    if min(n, p) > DIRECT_ORDER and min(n, p) > min(max(n, p) // 4, LARGEST_ORDER):
        return Iterated(targets, n_components)
    return FromOuterGram(targets, n_components) if n <= SQUARE * p else FromGrams(targets, n_components)


class Decomposition(ABC):
    """Principal axes of all rows, and of all rows but one fold.

    Parameters
    ----------
    targets : Targets
        The data.
    n_components : int
        How many axes; fewer where the rows have fewer.
    """

    def __init__(self, targets: Targets, n_components: int):
        self.targets, self.n_components = targets, n_components
        self.standard, self.matrix = targets.standard, targets.matrix

    @cached_property
    @abstractmethod
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Principal scores of all rows, and sums of squares of the relevant variables, by row."""

    @property
    def scores(self) -> FloatArray:
        """Principal scores of all rows, shape (n_samples, n_components)."""
        return self.scores_and_squares[0]

    @property
    def row_squares(self) -> FloatArray:
        """Sums of squares of the relevant variables, by row, shape (n_samples,)."""
        return self.scores_and_squares[1]

    def describe(self, matrix: Matrix, chosen: IntArray, fold: IntArray, standardise: bool) -> CoreDescription:
        """Describe what chosen variables say of all variables; after `parts`, with the same folds."""
        return describe_core(matrix, chosen, self.scores, fold, standardise=standardise)

    @abstractmethod
    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield all rows as a part, and then, for each fold, the rows outside of it: arrays of all need memory.

        `fold` holds the fold of every row, from 0; None stands for no folds.
        """

    @abstractmethod
    def columns(self, wanted: IntArray) -> FloatArray:
        """Return some standardised columns as vectors of `Part.columns`, shape (length, n_wanted)."""

    @abstractmethod
    def products(self, inside: list[FloatArray]) -> list[FloatArray]:
        """Return the products of vectors with all standardised columns, from what `Columns.inside` returns of them."""

    def _rows(self, fold: IntArray | None) -> BoolArray:
        """Masks of the rows of all parts, shape (n_parts, n_samples)."""
        everything = np.ones((1, self.matrix.n_samples), dtype=bool)
        return everything if fold is None else np.vstack([everything, np.arange(fold.max() + 1)[:, None] != fold])

    def _shrinkage(self, rows: BoolArray, trace: float, trace_of_square: float) -> float:
        fourths = float(np.sum(self.row_squares[rows] ** 2))
        return ledoit_wolf(trace, trace_of_square, fourths, int(rows.sum()), self.matrix.n_features)


class FromGrams(Decomposition):
    """From ``Z'Z`` of the folds: parts are sums, and so are all products of columns."""

    def __init__(self, targets: Targets, n_components: int):
        super().__init__(targets, n_components)
        self.whole = known_pairs(targets.gram(self.standard.gram), n_components)
        self.n_components = self.whole[1].shape[1]

    @cached_property
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Scores and squares of all rows, in one pass over the data."""
        both = scores_and_squares(self.matrix, self.whole[1].T)
        return both[:, :-1], both[:, -1]

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield the parts, from one Gram matrix for each fold."""
        total = self.standard.gram
        grams = np.empty((0, *total.shape)) if fold is None else fold_grams(self.standard, fold)
        for i, rows in enumerate(self._rows(fold)):
            fourths = float(np.sum(self.row_squares[rows] ** 2))
            yield self._part(total, grams[max(i - 1, 0) : i], int(rows.sum()), fourths)

    def _part(self, total: FloatArray, left_out: FloatArray, n_rows: int, fourths: float) -> Part:
        """Return a part from Gram matrices of all rows and of those left out, if any.

        `fourths` is the sum of the squared sums of squares of its rows.
        """
        inside = total - left_out[0] if len(left_out) else total
        own = self.targets.gram(inside)
        _, vectors = known_pairs(own, self.n_components) if len(left_out) else self.whole
        axes = np.zeros((self.n_components, len(self.targets.relevant)))
        axes[: vectors.shape[1]] = self.targets.axes(vectors.T)
        trace, trace_of_square = own.trace() / n_rows, float(np.vdot(own, own)) / n_rows**2
        shrinkage = ledoit_wolf(trace, trace_of_square, fourths, n_rows, self.matrix.n_features)
        return Part(
            n_rows=n_rows,
            columns=GramColumns(total, left_out, axes),
            axes=axes,
            moments=axes @ inside / n_rows,
            variances=inside.diagonal() / n_rows,
            units=self.targets.units,
            trace_of_square=trace_of_square,
            shrinkage=shrinkage,
        )

    def columns(self, wanted: IntArray) -> FloatArray:
        """Return columns by their coefficients: ones."""
        units = np.zeros((self.standard.n_features, len(wanted)))
        units[wanted, np.arange(len(wanted))] = 1.0
        return units

    def products(self, inside: list[FloatArray]) -> list[FloatArray]:
        """Return the products, which Gram matrices hold already."""
        return [own.T for own in inside]


class ByRows(Decomposition):
    """Columns are held by their values on all rows; those for all parts are read together."""

    def columns(self, wanted: IntArray) -> FloatArray:
        """Return columns by their values, in one pass over the data."""
        return column_values(self.standard, wanted)

    def products(self, inside: list[FloatArray]) -> list[FloatArray]:
        """Return the products, in one pass over the data."""
        edges = np.cumsum([own.shape[1] for own in inside])[:-1]
        return np.split(self.standard.transposed_product(np.hstack(inside)), edges)

    def _parts(
        self,
        fold: IntArray | None,
        axes: Iterable[FloatArray],
        scores: Sequence[FloatArray],
        moments: Iterable[FloatArray],
        traces: FloatArray,
    ) -> Iterator[Part]:
        """Yield the parts from what is known of each, in the units of the relevant variables.

        Parameters
        ----------
        fold : ndarray of shape (n_samples,), optional
            The fold of every row.
        axes, moments : iterable of ndarray of shape (n_components, n_relevant)
            Axes, and mean products of the scores with the variables over the rows of the part.
        scores : sequence of ndarray of shape (n_samples, n_components)
            Of all rows, on the axes of each part.
        traces : ndarray of shape (n_parts, 2)
            Of the second moments, and of their square.
        """
        rows = self._rows(fold)
        variances = mean_squares(self.standard, rows, fold)
        if self.targets.relevant.all():
            units = self.targets.units
            if not (units == 1).all():
                moments = (own / np.where(units > 0, units, np.inf) for own in moments)
        else:  # what must be in, and is not relevant, predicts but is not to be predicted
            weighted = [t * (kept / kept.sum())[:, None] for kept, t in zip(rows, scores, strict=True)]
            moments = self.products(weighted)
        for i, (kept, own_axes, own_moments) in enumerate(zip(rows, axes, moments, strict=True)):
            yield Part(
                n_rows=int(kept.sum()),
                columns=RowColumns(kept, scores[i]),
                axes=self.targets.axes(own_axes),
                moments=own_moments,
                variances=variances[i],
                units=self.targets.units,
                trace_of_square=float(traces[i, 1]),
                shrinkage=self._shrinkage(kept, *traces[i].tolist()),
            )


class FromOuterGram(ByRows):
    """From ``Z Z'``: parts are submatrices."""

    def __init__(self, targets: Targets, n_components: int):
        super().__init__(targets, n_components)
        self.outer = self.matrix.outer_gram()
        self.whole = known_pairs(self.outer, n_components)
        self.n_components = self.whole[1].shape[1]

    @cached_property
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Scores and squares of all rows, which the outer product holds already."""
        return self.whole[1] * np.sqrt(self.whole[0]), self.outer.diagonal()

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield the parts, with one product with the data for the axes of all."""
        rows, n, d = self._rows(fold), self.matrix.n_samples, self.n_components
        vectors, values, traces = np.zeros((len(rows), d, n)), np.ones((len(rows), d)), np.zeros((len(rows), 2))
        for i, kept in enumerate(rows):
            own = self.outer[np.ix_(kept, kept)] if i else self.outer
            top, basis = known_pairs(own, d) if i else self.whole
            values[i, : len(top)] = top
            vectors[i, : len(top), kept] = basis
            traces[i] = own.trace(), np.vdot(own, own)
        # u'Z for all parts in one product: the axes are u'Z / sqrt(values), and the scores Z Z'u / sqrt(values).
        products = self.matrix.transposed_product(vectors.reshape(-1, n).T).reshape(len(rows), d, -1)
        scores = np.split(self.outer @ vectors.reshape(-1, n).T, len(rows), axis=1)
        heights, roots = rows.sum(axis=1), np.sqrt(values)
        return self._parts(
            fold,
            axes=(own / root[:, None] for own, root in zip(products, roots, strict=True)),
            scores=[own / root for own, root in zip(scores, roots, strict=True)],
            moments=(own * weight[:, None] for own, weight in zip(products, roots / heights[:, None], strict=True)),
            traces=traces / np.column_stack([heights, heights**2]),
        )


class Iterated(ByRows):
    """By subspace iteration from the axes of all rows."""

    def __init__(self, targets: Targets, n_components: int):
        super().__init__(targets, n_components)
        spectrum = leading_spectrum(self.matrix, n_components)
        self.start = spectrum.axes[spectrum.eigenvalues > NONE * spectrum.eigenvalues[0]]
        self.n_components = len(self.start)

    @cached_property
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Scores and squares of all rows, in one pass over the data."""
        both = scores_and_squares(self.matrix, self.start)
        return both[:, :-1], both[:, -1]

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield the parts, after the same rounds of iteration for all."""
        matrix, rows, d = self.matrix, self._rows(fold), self.n_components
        n, p = matrix.n_samples, matrix.n_features
        weights = rows.T / rows.sum(axis=1)
        following = np.repeat(self.start[None], len(rows), axis=0)
        for _ in range(N_ROUNDS + 1):
            axes = following
            scores = matrix.product(axes.reshape(-1, p)).reshape(n, len(rows), d)
            moments = matrix.transposed_product((scores * weights[:, :, None]).reshape(n, -1)).reshape(axes.shape)
            following = np.array([np.linalg.qr(own.T)[0].T for own in moments])
        traces = np.zeros((len(rows), 2))
        traces[:, 0] = self.row_squares @ weights
        turns = np.zeros((len(rows), d, d))
        for i, height in enumerate(rows.sum(axis=1)):
            # Iterated axes span the right space: within it, the principal ones.
            own = axes[i] @ moments[i].T
            values, turn = np.linalg.eigh((own + own.T) / 2)
            turns[i] = turn[:, ::-1].T
            rest = max(traces[i, 0] - values.sum(), 0.0)
            # What noise adds to the trace of the square: its mean eigenvalue squared, and the Marchenko-Pastur spread.
            traces[i, 1] = float(values @ values) + rest**2 * (1 / p + 1 / height)
        turned = [scores[:, i] @ turn.T for i, turn in enumerate(turns)]
        return self._parts(fold, list(turns @ axes), turned, list(turns @ moments), traces)


def known_pairs(gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenpairs of a Gram matrix; fewer where the others are rounding, and could be any."""
    values, vectors = top_pairs(gram, count)
    known = values > NONE * values[0]
    known[0] = True
    return np.maximum(values[known], np.finfo(float).tiny), vectors[:, known]


def mean_squares(matrix: Matrix, rows: BoolArray, fold: IntArray | None) -> FloatArray:
    """Mean squares of the columns over the rows of all parts, shape (n_parts, n_features), in one pass."""
    totals = matrix.column_squares[None]
    if fold is not None:
        totals = np.vstack([totals, totals - fold_squares(matrix, fold)])
    return totals / rows.sum(axis=1)[:, None]
