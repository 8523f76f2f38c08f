"""Many rows: all that a core needs comes from products of columns over the rows of each fold, in one pass.

Nothing of single rows is held. What the other ways take from scores and rows is had like this:

1. Rows are dealt out to folds along their squared lengths, which are known before any Gram matrix is.
2. Products with scores are products with columns, times the axes.
3. The pass also sums up the fourth powers of the lengths of the rows on the relevant variables, which their shrinkage
   needs. On the chosen variables, which are known only afterwards, these sums are taken to be as much larger than
   those of Gaussian rows, ``n (trace(S)^2 + 2 trace(S^2))``, as they are on the relevant ones: this is so if all rows
   share a distribution with elliptical contours. The shrinkage of the description, some thousandths for so many
   rows, is the only number that it enters.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.fold_products import fold_products
from gsppca.rules.parts import Part, Targets
from gsppca.rules.training import Decomposition, FromGrams, known_pairs


class FromFoldGrams(FromGrams):
    """From products of the variables in question with all, over the rows of each fold."""

    has_scores = False
    fourths: FloatArray  # sums of squared squared lengths on the relevant variables, by fold

    def __init__(self, targets: Targets, n_components: int):
        Decomposition.__init__(self, targets, n_components)

    def parts(self, fold: IntArray | None) -> Iterator[Part]:
        """Return the parts, in the one pass over the data."""
        everything, places, n = self.targets.everything, self.targets.places, self.matrix.n_samples
        folds = np.zeros(n, dtype=np.int8) if fold is None else fold.astype(np.int8)
        weights = np.where(self.targets.relevant, self.targets.units, 0.0) ** 2
        self.sums, self.fourths = fold_products(everything, places, folds, weights=weights)
        self.counts = np.bincount(folds)
        self.grams = self.sums if len(places) == everything.n_features else self.sums.take(places, axis=2)
        total, fourths = self.grams.sum(axis=0), float(self.fourths.sum())
        assert isinstance(self.standard, ColumnView)
        self.standard.remember_gram(total)
        self.whole = known_pairs(self.targets.gram(total), self.n_components)
        self.n_components = self.whole[1].shape[1]
        left_out = range(0 if fold is None else len(self.counts))
        n_rows = [n, *(n - int(self.counts[i]) for i in left_out)]
        return self._parts(total, n_rows, [fourths, *(fourths - self.fourths[i] for i in left_out)])

    def _fourths(self, chosen: IntArray, grams: FloatArray, fold: IntArray) -> FloatArray:
        """Sums of squared squared lengths on the chosen variables, by fold, from their Gram matrices alone."""
        relevant = [_gaussian(self.targets.gram(gram) / n) for gram, n in zip(self.grams, self.counts, strict=True)]
        own = [_gaussian(gram / n) for gram, n in zip(grams, self.counts, strict=True)]
        return self.fourths * np.array(own) / np.array(relevant)


def _gaussian(moments: FloatArray) -> float:
    """Mean squared squared length of Gaussian rows with these second moments."""
    entries = moments.ravel("K")
    return float(moments.trace() ** 2 + 2 * (entries @ entries))
