"""Principal axes of parts of the rows where columns are held by their values on all rows.

Axes of a part come from one outer product ``Z Z'`` of all rows, of which each part is a submatrix; or, if neither side
of the data is small, they are the best axes in the span of a start, the axes that the search has ended with, of its
products with the second moments of the part, and of the products of these. That takes three passes over the data,
whatever the number of parts. If nothing is known to start with, it is sums of rows, and there are five, after two for
the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, pairwise

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.base import Matrix
from gsppca.data.chosen_columns import column_values
from gsppca.data.fold_products import fold_products
from gsppca.data.folds import (
    first_moments,
    fold_squares,
    rank_sums,
    weighted_moments,
)
from gsppca.linalg.krylov import block_width, next_block
from gsppca.rules.parts import Moments, Part, Targets
from gsppca.rules.pool_products import GramProducts, PoolProducts, RowProducts
from gsppca.rules.shares import FoldMoments
from gsppca.rules.training import NONE, Decomposition, Longer, known_pairs

N_BLOCKS, FEWER_BLOCKS = 4, 2  # of products, beside the start: sums of rows, or axes of a search
# Columns that one pass over data in blocks brings, where fewer were asked for; more if their values are few.
MOST_HELD, HELD_BYTES = 1024, 2**28
PORTION, LEAST_NUMBERS = 8, 2**19  # axes that are made at once take an eighth of the memory of the data, or 4 MB

Made = tuple[FloatArray, Moments]


class ByRows(Decomposition):
    """Columns are held by their values on all rows."""

    fold: IntArray
    left_scores: FloatArray  # of every row, on the axes of the part without its fold
    _held: tuple[IntArray, PoolProducts] | None = None  # columns that a pass has brought, and their products

    def among(self, variables: IntArray, longer: Longer | None = None) -> PoolProducts:
        """Products of columns and scores: in one pass over the data, or from those that a pass before has brought."""
        if self.standard.rows_come_together:
            return self._products(variables)
        if self._held is None or not np.isin(variables, self._held[0]).all():
            most = max(MOST_HELD, HELD_BYTES // (8 * self.standard.n_samples))
            columns = variables if longer is None or not self.standard.passes_are_dear else longer(most)
            self._held = None  # so that only one is held
            self._held = columns, self._products(columns)
            if len(columns) == self.standard.n_features <= MOST_HELD and isinstance(self.standard, ColumnView):
                self.standard.remember_gram(self._held[1].gram)
        columns, products = self._held
        return products.among(np.searchsorted(columns, variables))

    def moments(self, chosen: IntArray, others: IntArray, fold: IntArray) -> FoldMoments:
        """Products with all of the standardised data; chosen columns that a pass has brought are not read again."""
        values, places = None, np.searchsorted(self.targets.places, np.concatenate([chosen, others]))
        columns, products = self._held or (places[:0], None)
        if isinstance(products, RowProducts) and np.isin(places, columns).all():
            values = products.columns[:, np.searchsorted(columns, places)]
        return FoldMoments.of(self.targets.everything, chosen, self.scores, fold, others, values)

    def _products(self, variables: IntArray) -> PoolProducts:
        if values_are_fewer(self.standard.n_samples, len(variables)):
            return RowProducts(column_values(self.standard, variables), self.fold, self.left_scores)
        kept = np.zeros(self.standard.n_features, dtype=bool)
        kept[variables] = True
        every = np.arange(len(variables))
        sums, _ = fold_products(self.standard.columns(kept), every, self.fold, self.left_scores)
        folds = self.fold == np.arange(len(sums))[:, None]
        grams = sums[:, :, : len(every)]
        return GramProducts(grams, grams.sum(axis=0), sums[:, :, len(every) :], folds @ self.left_scores**2)

    def _parts(
        self,
        fold: IntArray | None,
        made: Iterable[Made],
        scores: Sequence[FloatArray],
        values: FloatArray,
        variances: FloatArray,
        traces: FloatArray,
        again: Sequence[Callable[[], Made] | None] | None = None,
    ) -> Iterator[Part]:
        """Yield the parts from what is known of each.

        Parameters
        ----------
        fold : ndarray of shape (n_samples,), optional
            The fold of every row.
        made : iterable of (ndarray of shape (n_components, n_features), callable)
            Weights of the standardised variables, and moments, as in `Part`.
        scores : sequence of ndarray of shape (n_samples, n_components)
            Of all rows, on the axes of each part.
        values : ndarray of shape (n_parts, n_components)
            Mean squares of the scores, over the rows of each part.
        variances : ndarray of shape (n_parts, n_features)
            As in `Part`.
        traces : ndarray of shape (n_parts, 2)
            Of the second moments of the relevant variables, in their units, and of their square.
        again : sequence of callable or None
            As in `Part`; none by default.
        """
        rows = self._rows(fold)
        self.fold = np.zeros(self.matrix.n_samples, dtype=np.intp) if fold is None else fold
        self.left_scores = np.zeros_like(scores[0])
        for kept, own in zip(rows[1:], scores[1:], strict=True):
            self.left_scores[~kept] = own[~kept]
        made = iter(made)
        for i, kept in enumerate(rows):
            axes, moments = next(made)
            yield Part(
                n_rows=int(kept.sum()),
                axes=axes,
                score_variances=values[i],
                moments=moments,
                variances=variances[i],
                units=self.targets.units,
                trace_of_square=float(traces[i, 1]),
                shrinkage=self._shrinkage(kept, *traces[i].tolist()),
                again=None if again is None else again[i],
            )
            del axes, moments  # before the next are made


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
        """Yield the parts, with one product with the data for the axes of all, or of some."""
        rows, n, d = self._rows(fold), self.matrix.n_samples, self.n_components
        vectors, values, traces = np.zeros((len(rows), d, n)), np.zeros((len(rows), d)), np.zeros((len(rows), 2))
        for i, kept in enumerate(rows):
            inside = np.flatnonzero(kept)
            own = self.outer.take(inside, axis=0).take(inside, axis=1) if i else self.outer  # faster than both at once
            top, basis = known_pairs(own, d) if i else self.whole
            values[i, : len(top)] = top
            vectors[i, : len(top), kept] = basis
            traces[i] = own.trace(), np.vdot(own, own)
        # u'Z of some parts in one product: the axes are u'Z / sqrt(values), and the scores Z Z'u / sqrt(values).
        scores = np.split(self.outer @ vectors.reshape(-1, n).T, len(rows), axis=1)
        heights, roots = rows.sum(axis=1), np.sqrt(np.where(values > 0, values, 1.0))
        scores = [own / root for own, root in zip(scores, roots, strict=True)]
        values, units = values / heights[:, None], _inverse(self.targets.units) ** 2

        def made(which: slice) -> list[Made]:
            axes = self.matrix.transposed_product(vectors[which].reshape(-1, n).T)
            axes = axes.reshape(-1, d, axes.shape[1])
            axes /= roots[which][:, :, None]
            wide = [self.targets.axes(own) for own in axes]
            if self.targets.relevant.all():
                # Axes are eigenvectors: their moments with the variables are their multiples, and take no memory.
                return [(own, partial(_scaled, own, one, units)) for own, one in zip(wide, values[which], strict=True)]
            # What must be in, and is not relevant, predicts but is not to be predicted.
            each = zip(rows[which], heights[which], scores[which], strict=True)
            weighted = [t * (kept / height)[:, None] for kept, height, t in each]
            products = self.standard.transposed_product(np.hstack(weighted)).reshape(len(wide), d, -1)
            return [(own, partial(_some, one)) for own, one in zip(wide, products, strict=True)]

        count, few = len(rows), self._n_together(len(rows))
        ends = [0, *range(1, count, few), count] if few < count else [0, count]  # all rows keep theirs: by themselves
        return self._parts(
            fold,
            made=chain.from_iterable(made(slice(*both)) for both in pairwise(ends)),
            scores=scores,
            values=values,
            variances=mean_squares(self.standard, rows, fold),
            traces=traces / np.column_stack([heights, heights**2]),
            again=[partial(_only, made, i) if few < count and i else None for i in range(count)],
        )

    def _n_together(self, count: int) -> int:
        """Of how many parts, at least one, axes are made at once: of all, unless they would take much memory."""
        n, p = self.matrix.n_samples, self.matrix.n_features
        few = max(n * p // PORTION, LEAST_NUMBERS) // (self.n_components * p)
        return count if self.matrix.passes_are_dear else min(max(few, 1), count)


class Iterated(ByRows):
    """By block Krylov iterations, which begin with what the search has found, or with sums of rows."""

    _known_rows: tuple[FloatArray, FloatArray]

    def __init__(self, targets: Targets, n_components: int):
        super().__init__(targets, n_components)
        width, start = block_width(n_components), self.matrix.leading_sums
        known = start is not None and len(start) >= width
        start = start[:width] if start is not None and known else rank_sums(self.matrix, width)
        self.start = next_block(start, start[:0], self.matrix.n_features)
        self.n_blocks = FEWER_BLOCKS if known else N_BLOCKS

    @property
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Scores and squares of all rows, which `parts` has found."""
        return self._known_rows

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield the parts, after the same passes over the data for all."""
        rows, width, p = self._rows(fold), len(self.start), self.matrix.n_features
        weights = rows.T / rows.sum(axis=1)
        relevant, units = self.targets.relevant, np.where(self.targets.relevant, self.targets.units, 0.0)
        first = first_moments(self.standard, self.targets.axes(self.start), weights, units)
        bases, moments, scores = [self.start] * len(rows), list(first.moments), [first.scores] * len(rows)
        for _ in range(self.n_blocks):
            images = [(own[-width:] * units)[:, relevant] for own in moments]
            more = min(width, p - len(bases[0]))
            blocks = [next_block(own, basis, more) for own, basis in zip(images, bases, strict=True)]
            wide = np.array([self.targets.axes(own) for own in blocks])
            more_scores, more_moments = weighted_moments(self.standard, wide, weights)
            bases = [np.vstack(both) for both in zip(bases, blocks, strict=True)]
            moments = [np.vstack(both) for both in zip(moments, more_moments, strict=True)]
            scores = [np.hstack([own, more_scores[:, i]]) for i, own in enumerate(scores)]
        traces, values = np.zeros((len(rows), 2)), np.zeros((len(rows), self.n_components))
        traces[:, 0] = first.row_squares @ weights
        for i, height in enumerate(rows.sum(axis=1)):
            left = np.maximum(first.row_squares - np.einsum("ij,ij->i", scores[i], scores[i]), 0.0)[rows[i]]
            own = bases[i] @ (moments[i] * units)[:, relevant].T
            within, vectors = np.linalg.eigh((own + own.T) / 2)
            within, turn = within[::-1], vectors[:, ::-1].T
            if not i:
                self.n_components = int(np.count_nonzero(within[: self.n_components] > NONE * within[0]))
                values = values[:, : self.n_components]
            d = self.n_components
            values[i], turn = within[:d], turn[:d]
            bases[i], moments[i], scores[i] = turn @ bases[i], turn @ moments[i], scores[i] @ turn.T
            # The rest of the trace of the square: products of the rest of each row with itself, and with others, as if
            # all directions that are left were alike.
            rest = max(traces[i, 0] - within.sum(), 0.0)
            traces[i, 1] = within @ within + left @ left / height**2 + rest**2 / max(p - len(within), 1)
        self._known_rows = scores[0], first.row_squares
        return self._parts(
            fold,
            made=[(self.targets.axes(own), partial(_some, one)) for own, one in zip(bases, moments, strict=True)],
            scores=scores,
            values=values,
            variances=first.variances,
            traces=traces,
        )


def _only(made: Callable[[slice], list[Made]], number: int) -> Made:
    (one,) = made(slice(number, number + 1))
    return one


def _some(values: FloatArray, some: slice | IntArray) -> FloatArray:
    return values[:, some]


def _scaled(values: FloatArray, rows: FloatArray, columns: FloatArray, some: slice | IntArray) -> FloatArray:
    return values[:, some] * rows[:, None] * columns[some]


def values_are_fewer(n_samples: int, n_variables: int) -> bool:
    """Whether a pool takes the values of its variables, rather than their products by fold: a matrix for each fold.

    Products of more than `MOST_HELD` take more memory than values of not too many rows; of a million rows they do not.
    """
    few = 8 * n_samples * n_variables <= HELD_BYTES
    return n_samples < n_variables or (n_variables > MOST_HELD and few)


def _inverse(units: FloatArray) -> FloatArray:
    return 1 / np.where(units > 0, units, np.inf)


def mean_squares(matrix: Matrix, rows: BoolArray, fold: IntArray | None) -> FloatArray:
    """Mean squares of the columns over the rows of all parts, shape (n_parts, n_features), in one pass."""
    totals = matrix.column_squares[None]
    if fold is not None:
        totals = np.vstack([totals, totals - fold_squares(matrix, fold)])
    return totals / rows.sum(axis=1)[:, None]
