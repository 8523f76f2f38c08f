"""Principal axes and shrinkage of parts of the rows: all of them, and all but one fold.

The columns keep the means and scales of all rows. Second moments of a part are then sums over its rows, and parts
share what is computed once: one Gram matrix for each fold, of which each part is a sum (`fold_grams`), or, where
columns are held by their values, one outer product (`by_rows`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.linalg.spectrum import top_pairs
from gsppca.rules.parts import Part, Targets
from gsppca.rules.pool_products import PoolProducts
from gsppca.rules.shares import FoldMoments
from gsppca.rules.shrinkage import ledoit_wolf

NONE = 1e-10  # of the largest eigenvalue: one below it is rounding

Longer = Callable[[int], IntArray]


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
        """Principal scores of all rows, and sums of squares of the relevant variables, by row; after `parts`."""

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


def known_pairs(gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenpairs of a Gram matrix; fewer where the others are rounding, and could be any."""
    values, vectors = top_pairs(gram, count)
    known = values > NONE * values[0]
    known[0] = True
    return np.maximum(values[known], np.finfo(float).tiny), vectors[:, known]
