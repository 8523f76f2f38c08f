"""Rows dealt out to the folds of a cross-validation, as a function of the data alone.

Rows are sorted along their first principal score and dealt out one after the other, as cards are, so that every fold
spans the main structure. (Many rows are sorted along their squared lengths, which are known earlier; thousands of rows
span the structure however they are dealt out.) Nothing is random, and nothing depends on the order of the rows or on
the sign of an eigenvector:

1. Reversing the sorted rows sends residue classes modulo the number of folds to residue classes: the folds have other
   numbers, but the same rows.
2. Rows with equal scores are sorted by their sums of squares, which have no sign. Rows that agree in both are taken as
   they come; exact copies of a row are interchangeable.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.ties import tolerant_ranks

FEWEST_SAMPLES = 5  # for a core
N_FOLDS, MORE_FOLDS = 5, 20
FEW_ROWS = 40  # fewer are worth more folds: without a fifth of them, a core predicts noticeably less than with all


def n_folds(n_samples: int) -> int:
    """Return how many folds there are; at most one for each row."""
    return min(N_FOLDS if n_samples >= FEW_ROWS else MORE_FOLDS, n_samples)


def deal_rows(scores: FloatArray, row_squares: FloatArray, n_folds: int) -> IntArray:
    """Return the number of the fold of every row.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        First principal score of every row, of either sign; or its squared length.
    row_squares : ndarray of shape (n_samples,)
        Sums of squares of the rows, which separate equal scores; or sums, which separate equal lengths.
    n_folds : int
        At most the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> deal_rows(np.array([0.3, -1.0, 2.0, 0.1]), np.ones(4), 2).tolist()
    [0, 0, 1, 1]
    """
    scores = scores * (-1.0 if np.sum(scores**3) < 0 else 1.0)
    order = np.lexsort((tolerant_ranks(row_squares), tolerant_ranks(scores)))
    fold = np.empty(len(scores), dtype=np.intp)
    fold[order] = np.arange(len(scores)) % n_folds
    return fold
