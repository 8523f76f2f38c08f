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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import (
    MANY_ROWS,
    column_values,
    fold_grams,
    fold_products,
    fold_squares,
    products_by_fold,
    scores_and_squares,
)
from gsppca.linalg.spectrum import leading_spectrum, top_pairs
from gsppca.rules.parts import Part, Targets
from gsppca.rules.pool_products import GramProducts, PoolProducts, RowProducts
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
    def among(self, variables: IntArray) -> PoolProducts:
        """Products of some standardised columns, in one pass over the data; after `parts`."""

    @abstractmethod
    def with_all(self, chosen: IntArray) -> Callable[[slice], FloatArray]:
        """Return a function of some features: products of chosen standardised columns with them, over all rows."""

    def _rows(self, fold: IntArray | None) -> BoolArray:
        """Masks of the rows of all parts, shape (n_parts, n_samples)."""
        everything = np.ones((1, self.matrix.n_samples), dtype=bool)
        return everything if fold is None else np.vstack([everything, np.arange(fold.max() + 1)[:, None] != fold])

    def _shrinkage(self, rows: BoolArray, trace: float, trace_of_square: float) -> float:
        fourths = float(np.sum(self.row_squares[rows] ** 2))
        return ledoit_wolf(trace, trace_of_square, fourths, int(rows.sum()), self.matrix.n_features)


class FromGrams(Decomposition):
    """From ``Z'Z`` of the folds: parts are sums, and so are all products of columns."""

    grams: FloatArray  # of the variables in question, by fold
    fold_axes: list[FloatArray]  # of the parts without each fold

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
        self.grams = total[None] if fold is None else fold_grams(self.standard, fold)
        fourths = [float(np.sum(self.row_squares[rows] ** 2)) for rows in self._rows(fold)]
        return self._parts(total, [int(rows.sum()) for rows in self._rows(fold)], fourths)

    def _parts(self, total: FloatArray, n_rows: Sequence[int], fourths: Sequence[float]) -> Iterator[Part]:
        """Yield the parts from their numbers of rows and the sums of the squared sums of squares of these."""
        self.fold_axes = []
        yield self._part(total, self.whole[1], n_rows[0], fourths[0])
        for gram, height, own_fourths in zip(self.grams, n_rows[1:], fourths[1:], strict=bool(n_rows[1:])):
            inside = total - gram
            part = self._part(inside, known_pairs(self.targets.gram(inside), self.n_components)[1], height, own_fourths)
            self.fold_axes.append(part.axes)
            yield part

    def _part(self, inside: FloatArray, vectors: FloatArray, n_rows: int, fourths: float) -> Part:
        own = self.targets.gram(inside)
        axes = np.zeros((self.n_components, len(self.targets.relevant)))
        axes[: vectors.shape[1]] = self.targets.axes(vectors.T)
        trace, trace_of_square = own.trace() / n_rows, float(np.vdot(own, own)) / n_rows**2
        moments = axes @ inside / n_rows
        return Part(
            n_rows=n_rows,
            axes=axes,
            moments=lambda some: moments[:, some],
            variances=inside.diagonal() / n_rows,
            units=self.targets.units,
            trace_of_square=trace_of_square,
            shrinkage=ledoit_wolf(trace, trace_of_square, fourths, n_rows, self.matrix.n_features),
        )

    def among(self, variables: IntArray) -> PoolProducts:
        """Products that the Gram matrices hold already."""
        everything = len(variables) == len(self.targets.relevant)
        rows = self.grams if everything else self.grams[:, variables]
        scores = list(zip(self.grams, self.fold_axes, strict=bool(self.fold_axes)))
        return GramProducts(
            grams=rows if everything else rows[:, :, variables],
            with_scores=np.array([own @ axes.T for own, axes in zip(rows, self.fold_axes, strict=False)]),
            score_squares=np.array([np.einsum("kp,kp->k", axes @ gram, axes) for gram, axes in scores]),
        )

    def with_all(self, chosen: IntArray) -> Callable[[slice], FloatArray]:
        """Products that the Gram matrices hold already."""
        return lambda some: self.grams[:, chosen, some].sum(axis=0)


class ByRows(Decomposition):
    """Columns are held by their values on all rows."""

    fold: IntArray
    left_scores: FloatArray  # of every row, on the axes of the part without its fold

    def among(self, variables: IntArray) -> PoolProducts:
        """Products of columns and scores, in one pass over the data."""
        if self.standard.n_samples <= MANY_ROWS:
            return RowProducts(column_values(self.standard, variables), self.fold, self.left_scores)
        kept = np.zeros(self.standard.n_features, dtype=bool)
        kept[variables] = True
        every = np.arange(len(variables))
        sums = fold_products(self.standard.columns(kept), every, self.fold, self.left_scores)[:, :-1]
        folds = self.fold == np.arange(len(sums))[:, None]
        return GramProducts(sums[:, :, : len(every)], sums[:, :, len(every) : -1], folds @ self.left_scores**2)

    def with_all(self, chosen: IntArray) -> Callable[[slice], FloatArray]:
        """Products with the columns, one pass over the data for these and one for the products."""
        columns = column_values(self.standard, chosen)
        products = products_by_fold(self.standard, columns, np.zeros(len(columns), dtype=np.intp))
        return lambda some: products(some)[0]

    def _parts(
        self,
        fold: IntArray | None,
        axes: Sequence[FloatArray],
        scores: Sequence[FloatArray],
        moments: Sequence[Callable[[slice | IntArray], FloatArray]],
        traces: FloatArray,
    ) -> Iterator[Part]:
        """Yield the parts from what is known of each.

        Parameters
        ----------
        fold : ndarray of shape (n_samples,), optional
            The fold of every row.
        axes : sequence of ndarray of shape (n_components, n_features)
            Weights of the standardised variables.
        scores : sequence of ndarray of shape (n_samples, n_components)
            Of all rows, on the axes of each part.
        moments : sequence of callable
            As in `Part`; those of variables that are not relevant are found here.
        traces : ndarray of shape (n_parts, 2)
            Of the second moments of the relevant variables, in their units, and of their square.
        """
        rows = self._rows(fold)
        self.fold = np.zeros(self.matrix.n_samples, dtype=np.intp) if fold is None else fold
        self.left_scores = np.zeros_like(scores[0])
        for kept, own in zip(rows[1:], scores[1:], strict=True):
            self.left_scores[~kept] = own[~kept]
        variances = mean_squares(self.standard, rows, fold)
        if not self.targets.relevant.all():  # what must be in, and is not relevant, predicts but is not to be predicted
            weighted = [t * (kept / kept.sum())[:, None] for kept, t in zip(rows, scores, strict=True)]
            products = self.standard.transposed_product(np.hstack(weighted)).reshape(len(rows), -1, len(variances[0]))
            moments = [partial(_some, own) for own in products]
        for i, kept in enumerate(rows):
            yield Part(
                n_rows=int(kept.sum()),
                axes=axes[i],
                moments=moments[i],
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
        axes = self.matrix.transposed_product(vectors.reshape(-1, n).T).reshape(len(rows), d, -1)
        scores = np.split(self.outer @ vectors.reshape(-1, n).T, len(rows), axis=1)
        heights, roots = rows.sum(axis=1), np.sqrt(values)
        axes /= roots[:, :, None]
        # Axes are eigenvectors: their moments with the variables are their multiples, and take no memory.
        wide, squares = [self.targets.axes(own) for own in axes], _inverse(self.targets.units) ** 2
        return self._parts(
            fold,
            axes=wide,
            scores=[own / root for own, root in zip(scores, roots, strict=True)],
            moments=[partial(_scaled, *one, squares) for one in zip(wide, values / heights[:, None], strict=True)],
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
        units = _inverse(self.targets.units[self.targets.relevant])
        own_moments = [partial(_some, own * units) for own in turns @ moments]
        return self._parts(fold, [self.targets.axes(own) for own in turns @ axes], turned, own_moments, traces)


def _some(values: FloatArray, some: slice | IntArray) -> FloatArray:
    return values[:, some]


def _scaled(values: FloatArray, rows: FloatArray, columns: FloatArray, some: slice | IntArray) -> FloatArray:
    return values[:, some] * rows[:, None] * columns[some]


def _inverse(units: FloatArray) -> FloatArray:
    return 1 / np.where(units > 0, units, np.inf)


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
