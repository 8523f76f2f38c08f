"""Rows dealt out to the folds of a cross-validation, as a function of the data alone.

Rows are sorted along their lengths, in standard units, and dealt out one after the other, as cards are. Lengths are
known before any Gram matrix or axis is. Whether rows are sorted along them, along their first principal score or at
random makes no difference to what a core keeps of what it promises (docs/beyond.md), but this depends neither on chance
nor on the order of the rows. Rows of one length are sorted by their sums. Where columns have two values, in halves of
the rows, say, rows that differ agree in both: they are sorted by sums weighted by how relevant the columns are. Rows
that still agree are taken as they come; exact copies of a row are interchangeable.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.ties import tolerant_ranks

FEWEST_SAMPLES = 5  # for a core
N_FOLDS, MORE_FOLDS = 5, 20
FEW_ROWS = 40  # fewer are worth more folds: without a fifth of them, a core predicts noticeably less than with all


def n_folds(n_samples: int) -> int:
    """Return how many folds there are; at most one for each row."""
    return min(N_FOLDS if n_samples >= FEW_ROWS else MORE_FOLDS, n_samples)


def deal_rows(rows: FloatArray, n_folds: int, further: Callable[[], FloatArray] | None = None) -> IntArray:
    """Return the number of the fold of every row.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, 2)
        Sums of the rows, of standardised columns, and sums of squares.
    n_folds : int
        At most the number of rows.
    further : callable, optional
        Returns a number of each row that separates those that agree in both; asked only where rows do.

    Examples
    --------
    >>> import numpy as np
    >>> deal_rows(np.array([[0.3, 2.0], [-1.0, 1.0], [2.0, 4.0], [0.1, 1.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    sums, squares = rows.T
    keys = [tolerant_ranks(squares), tolerant_ranks(sums)]
    order = np.lexsort(keys[::-1])
    tie = np.all([key[order[1:]] == key[order[:-1]] for key in keys], axis=0)
    if further is not None and tie.any():
        order = np.lexsort([tolerant_ranks(further()), *keys[::-1]])
    fold = np.empty(len(rows), dtype=np.intp)
    fold[order] = np.arange(len(rows)) % n_folds
    return fold
