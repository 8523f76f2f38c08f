"""A second ranking, for many more variables than samples: orthogonal iteration with a rising group threshold.

Where noise fills the leading axes, the noise path starts from axes that are mostly noise. Thresholding finds its way
out: each step multiplies the axes by the Gram matrix, shortens every row (the loadings of one variable) by a
threshold, sets those that are shorter to zero, and makes the axes orthonormal again. The threshold is a share of the
longest row, and rises until as many variables are left as there are axes. The score of a variable is the share at
which it dies. It is poor when there are too many axes: it is offered beside the noise path, and the evidence chooses.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray
from gsppca.core.spectrum import leading_spectrum
from gsppca.data.base import Matrix

STEP = 0.02  # of the threshold, a share of the longest row


def soft_path(matrix: Matrix, n_components: int, step: float = STEP) -> tuple[FloatArray, int]:
    """Score of each variable, from 0 to 1: the threshold at which it dies; and the number of passes over the data.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    n_components : int
        Number of axes.
    step : float
        Of the threshold, one pass over the data each.
    """
    axes = leading_spectrum(matrix, n_components).axes
    score = np.zeros(matrix.n_features)
    n_iter = 0
    for n_iter, threshold in enumerate(np.arange(step, 1, step), start=1):
        product = matrix.gram_product(axes)
        norms = np.sqrt(np.einsum("jk,jk->k", product, product))
        share = norms / norms.max()
        alive = share > threshold
        if n_iter == 1:
            score = step * share
        # Those that die at one threshold are told apart by how long they were the step before.
        score = np.where(alive, threshold + step * share, score)
        if np.count_nonzero(alive) <= n_components:
            break
        axes = np.zeros_like(product)
        axes[:, alive] = np.linalg.qr((product[:, alive] * (1 - threshold / share[alive])).T)[0].T
    return score, n_iter
