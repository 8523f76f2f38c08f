"""Few columns: all that a core needs comes from products of columns over the rows of each fold, in one pass.

Nothing of single rows is held. What the other ways take from scores and rows is had like this:

1. The sum over the folds is the Gram matrix of all rows; less that of a fold, of the rows without it.
2. Products with scores are products with columns, times the axes.
3. The pass also sums up the fourth powers of the lengths of the rows on the relevant variables, which their shrinkage
   needs. On the chosen variables, which are known only afterwards, these sums are taken, of many rows, to be as much
   larger than those of Gaussian rows, ``n (trace(S)^2 + 2 trace(S^2))``, as they are on the relevant ones: this is so
   if all rows share a distribution with elliptical contours. The shrinkage of the description, some thousandths for so
   many rows, is the only number that it enters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.chosen_columns import column_values
from gsppca.data.fold_products import fold_products
from gsppca.data.folds import MANY_ROWS, scores_and_squares
from gsppca.rules.parts import Part
from gsppca.rules.pool_products import GramProducts, PoolProducts
from gsppca.rules.shares import FoldMoments
from gsppca.rules.shrinkage import ledoit_wolf
from gsppca.rules.training import Decomposition, Longer, known_pairs

MOSTLY = 1.5  # times as many variables as are in question: of many rows, products of all then take not much more memory
MOST_DESCRIBED = 1024  # variables whose products are all held, so that those chosen can be described by them


class FromGrams(Decomposition):
    """From ``Z'Z`` of the folds: parts are sums, and so are all products of columns."""

    whole: tuple[FloatArray, FloatArray]  # leading eigenpairs of all rows
    grams: FloatArray  # of the variables in question, by fold
    total: FloatArray  # their sum
    sums: FloatArray | None = None  # the same of these with all variables, where they are known
    counts: IntArray  # numbers of rows, by fold
    fourths: FloatArray  # sums of squared squared lengths on the relevant variables, by fold
    fold_axes: list[FloatArray]  # of the parts without each fold

    @cached_property
    def scores_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """Scores and squares of all rows, in one pass over the data."""
        both = scores_and_squares(self.matrix, self.whole[1].T)
        return both[:, :-1], both[:, -1]

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Return the parts, in the one pass over the data."""
        n = self.matrix.n_samples
        self._read(np.zeros(n, dtype=np.int8) if fold is None else fold.astype(np.int8))
        self.total, fourths = self.grams.sum(axis=0), float(self.fourths.sum())
        assert isinstance(self.standard, ColumnView)
        self.standard.remember_gram(self.total)
        self.whole = known_pairs(self.targets.gram(self.total), self.n_components)
        self.n_components = self.whole[1].shape[1]
        left_out = range(0 if fold is None else len(self.counts))
        n_rows = [n, *(n - int(self.counts[i]) for i in left_out)]
        return self._parts(n_rows, [fourths, *(fourths - self.fourths[i] for i in left_out)])

    def _read(self, fold: IntArray) -> None:
        """Sum up products over the rows of each fold: with all variables, if they are few or the rows are many."""
        everything, places = self.targets.everything, self.targets.places
        p, squared = everything.n_features, np.where(self.targets.relevant, self.targets.units, 0.0) ** 2
        self.counts, each = np.bincount(fold), np.arange(len(places))
        many = self.matrix.n_samples > MANY_ROWS
        # Squares take half the time of other products.
        if p <= min(2 * len(places), MOST_DESCRIBED) or (many and p <= MOSTLY * len(places)):
            weights = np.zeros(p)
            weights[places] = squared
            self.sums, self.fourths = fold_products(everything, np.arange(p), fold, weights=weights)
            self.sums = self.sums if len(places) == p else self.sums.take(places, axis=1)
        elif many:
            self.sums, self.fourths = fold_products(everything, places, fold, weights=squared)
        else:
            self.grams, self.fourths = fold_products(self.standard, each, fold, weights=squared)
        if self.sums is not None:
            self.grams = self.sums if len(places) == p else self.sums.take(places, axis=2)

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
        """Sums of squared squared lengths on the chosen variables, by fold; of many rows from their Gram matrices."""
        if self.matrix.n_samples <= MANY_ROWS:
            values = column_values(self.targets.everything, chosen)
            return (fold == np.arange(len(grams))[:, None]) @ np.einsum("ij,ij->i", values, values) ** 2
        relevant = [_gaussian(self.targets.gram(gram) / n) for gram, n in zip(self.grams, self.counts, strict=True)]
        own = [_gaussian(gram / n) for gram, n in zip(grams, self.counts, strict=True)]
        return self.fourths * np.array(own) / np.array(relevant)

    def _parts(self, n_rows: Sequence[int], fourths: Sequence[float]) -> Iterator[Part]:
        """Yield the parts from their numbers of rows and the sums of the squared sums of squares of these."""
        self.fold_axes, inside = [], np.empty_like(self.total)
        yield self._part(self.total, self.whole, n_rows[0], fourths[0])
        for gram, height, own_fourths in zip(self.grams, n_rows[1:], fourths[1:], strict=bool(n_rows[1:])):
            np.subtract(self.total, gram, out=inside)
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
            return GramProducts(self.grams, self.total, with_scores, squares)
        grams, total = (some[..., variables[:, None], variables] for some in (self.grams, self.total))
        return GramProducts(grams, total, with_scores[:, variables], squares)

    @cached_property
    def _with_scores(self) -> tuple[FloatArray, FloatArray]:
        """Products of columns with the scores of each fold, on the axes without it, and squares of these scores."""
        each = list(zip(self.grams, self.fold_axes, strict=bool(self.fold_axes)))
        products = np.array([gram @ axes.T for gram, axes in each])
        return products, np.array(
            [np.einsum("pk,kp->k", own, axes) for own, (_, axes) in zip(products, each, strict=True)]
        )


def _gaussian(moments: FloatArray) -> float:
    """Mean squared squared length of Gaussian rows with these second moments."""
    entries = moments.ravel("K")
    return float(moments.trace() ** 2 + 2 * (entries @ entries))
