"""The weight of the identity in a shrunken covariance matrix, after Ledoit & Wolf (2004)."""

from __future__ import annotations

import numpy as np

LEAST_SHRINKAGE = 1e-3  # keeps residual variances of exact copies above zero, and their moments invertible


def ledoit_wolf(trace: float, trace_of_square: float, fourths: float, n: int, p: int) -> float:
    """Return the weight of the identity, from 0 to 1.

    Parameters
    ----------
    trace, trace_of_square : float
        Of the second moments ``S = Z'Z / n``, and of ``S^2``.
    fourths : float
        Sum of the squared sums of squares of the rows of Z.
    n, p : int
        Numbers of rows and columns of Z.
    """
    spread = trace_of_square - trace**2 / p  # of the eigenvalues around their mean, times p
    error = fourths / n**2 - trace_of_square / n  # of S, expected, times p
    return float(np.clip(error / spread, 0.0, 1.0)) if spread > 0 else 0.0
