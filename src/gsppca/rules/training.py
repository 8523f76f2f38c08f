"""Principal axes and shrinkage of parts of the rows: all of them, and all but one fold.

The columns keep the means and scales of all rows. Second moments of a part are then sums over its rows, and parts
share what is computed once: one Gram matrix for each fold, of which each part is a sum, or, where columns are held by
their values, one outer product (`by_rows`).

From Gram matrices, the forward selections need no more of the data: three passes are all, for the sum of the Gram
matrices, the scores along which rows are dealt out to folds, and the matrix of each fold. With many rows, the last of
them is enough: `fold_grams`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.chosen_columns import column_values
from gsppca.data.fold_products import fold_grams
from gsppca.data.folds import scores_and_squares
from gsppca.linalg.spectrum import top_pairs
from gsppca.rules.parts import Part, Targets
from gsppca.rules.pool_products import GramProducts, PoolProducts
from gsppca.rules.shares import FoldMoments
from gsppca.rules.shrinkage import ledoit_wolf

NONE = 1e-10  # of the largest eigenvalue: one below it is rounding
MOST_DESCRIBED = 1024  # variables whose products are all held, so that those chosen can be described by them

Longer = Callable[[int], IntArray]


class Decomposition(ABC):
    """Principal axes of all rows, and of all rows but one fold.

    Parameters
    ----------
    targets : Targets
        The data.
    n_components : int
        How many axes; fewer where the rows have fewer.

    Attributes
    ----------
    has_scores : bool
        Whether the principal scores are known before `parts` are asked for.
    """

    has_scores = True

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

    def moments(self, chosen: IntArray, others: IntArray, fold: IntArray) -> FoldMoments:
        """Products of chosen columns, and of others, with all of the standardised data; after `parts`."""
        return FoldMoments.of(self.targets.everything, chosen, self.scores, fold, others)

    @abstractmethod
    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Yield all rows as a part, and then, for each fold, the rows outside of it: arrays of all need memory.

        `fold` holds the fold of every row, from 0; None stands for no folds.
        """

    @abstractmethod
    def among(self, variables: IntArray, longer: Longer | None = None) -> PoolProducts:
        """Products of some standardised columns, in one pass over the data at most; after `parts`.

        Where a pass is dear, it also brings others, that are likely to be asked for next, for calls to come:
        ``longer(most)`` returns these columns and others, at most as many, or these alone if they are more.
        """

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
    sums: FloatArray | None = None  # the same of these with all variables, where they are known
    counts: IntArray  # numbers of rows, by fold
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
        total, rows = self.standard.gram, self._rows(fold)
        if fold is None:
            self.grams = total[None]
        else:
            self._read(fold)
        fourths = [float(np.sum(self.row_squares[own] ** 2)) for own in rows]
        return self._parts(total, [int(own.sum()) for own in rows], fourths)

    def _read(self, fold: IntArray) -> None:
        """Sum up products over the rows of each fold; if most variables are in question, of all, to be described."""
        everything, places = self.targets.everything, self.targets.places
        self.counts = np.bincount(fold)
        if not everything.n_features <= min(2 * len(places), MOST_DESCRIBED):
            self.grams = fold_grams(self.standard, fold)
        elif len(places) == everything.n_features:
            self.grams = self.sums = fold_grams(everything, fold)
        else:
            self.sums = fold_grams(everything, fold).take(places, axis=1)
            self.grams = self.sums.take(places, axis=2)

    def moments(self, chosen: IntArray, others: IntArray, fold: IntArray) -> FoldMoments:
        """Products that are known, or from the data."""
        if self.sums is None:
            return super().moments(chosen, others, fold)
        places, axes = self.targets.places, self.targets.axes(self.whole[1].T)
        own, rest, sums = np.searchsorted(places, chosen), np.searchsorted(places, others), self.sums
        products = sums[:, own]
        return FoldMoments(
            chosen=chosen,
            counts=self.counts,
            products=lambda part: (products[:, :, part], sums[:, rest, part].sum(axis=0)),
            own=products[:, :, chosen],
            score_products=products[:, :, places] @ axes.T,
            fourths=self._fourths(chosen, products[:, :, chosen], fold),
            squares=self.targets.everything.column_squares,
            score_squares=self.whole[0],
        )

    def _fourths(self, chosen: IntArray, grams: FloatArray, fold: IntArray) -> FloatArray:
        """Sums of squared squared lengths on the chosen variables, by fold, given their Gram matrices."""
        values = column_values(self.targets.everything, chosen)
        return (fold == np.arange(len(grams))[:, None]) @ np.einsum("ij,ij->i", values, values) ** 2

    def _parts(self, total: FloatArray, n_rows: Sequence[int], fourths: Sequence[float]) -> Iterator[Part]:
        """Yield the parts from their numbers of rows and the sums of the squared sums of squares of these."""
        self.fold_axes = []
        yield self._part(total, self.whole, n_rows[0], fourths[0])
        for gram, height, own_fourths in zip(self.grams, n_rows[1:], fourths[1:], strict=bool(n_rows[1:])):
            inside = total - gram
            pairs = known_pairs(self.targets.gram(inside), self.n_components)
            part = self._part(inside, pairs, height, own_fourths)
            self.fold_axes.append(part.axes)
            yield part

    def _part(self, inside: FloatArray, pairs: tuple[FloatArray, FloatArray], n_rows: int, fourths: float) -> Part:
        own, (values, vectors) = self.targets.gram(inside), pairs
        axes, variances = np.zeros((self.n_components, len(self.targets.relevant))), np.zeros(self.n_components)
        axes[: len(values)], variances[: len(values)] = self.targets.axes(vectors.T), values / n_rows
        entries = own.ravel("K")
        trace, trace_of_square = own.trace() / n_rows, float(entries @ entries) / n_rows**2
        moments = axes @ inside / n_rows
        return Part(
            n_rows=n_rows,
            axes=axes,
            score_variances=variances,
            moments=lambda some: moments[:, some],
            variances=inside.diagonal() / n_rows,
            units=self.targets.units,
            trace_of_square=trace_of_square,
            shrinkage=ledoit_wolf(trace, trace_of_square, fourths, n_rows, self.matrix.n_features),
        )

    def among(self, variables: IntArray, longer: Longer | None = None) -> PoolProducts:
        """Products that the Gram matrices hold already."""
        with_scores, squares = self._with_scores
        if len(variables) == len(self.targets.relevant):
            return GramProducts(self.grams, with_scores, squares)
        return GramProducts(self.grams[:, variables[:, None], variables], with_scores[:, variables], squares)

    @cached_property
    def _with_scores(self) -> tuple[FloatArray, FloatArray]:
        """Products of columns with the scores of each fold, on the axes without it, and squares of these scores."""
        each = list(zip(self.grams, self.fold_axes, strict=bool(self.fold_axes)))
        products = np.array([gram @ axes.T for gram, axes in each])
        return products, np.array(
            [np.einsum("pk,kp->k", own, axes) for own, (_, axes) in zip(products, each, strict=True)]
        )


def known_pairs(gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenpairs of a Gram matrix; fewer where the others are rounding, and could be any."""
    values, vectors = top_pairs(gram, count)
    known = values > NONE * values[0]
    known[0] = True
    return np.maximum(values[known], np.finfo(float).tiny), vectors[:, known]
