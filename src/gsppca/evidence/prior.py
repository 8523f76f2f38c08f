"""Priors on the number of variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv

from gsppca._typing import FloatArray, IntArray
from gsppca.evidence.joint import log_choices

SizePrior = str | Callable[[int], float]


def log_size_prior(prior: SizePrior, sizes: IntArray, n_samples: int, n_features: int) -> FloatArray:
    """Log prior of each size, up to a constant.

    Parameters
    ----------
    prior : {"uniform", "search", "sparse"} or callable
        "uniform" prefers no size. "search" charges log C(p, k), for having looked for the support among all of its
        size. "sparse" makes every variable active with a probability rho such that more than `n_samples` are active
        with probability 5 %, as the authors describe it; it is uniform where this would leave rho above one half, or
        p <= n. A callable gets a size and returns its log prior.
    sizes : ndarray of shape (n_sizes,)
    n_samples, n_features : int
    """
    if callable(prior):
        try:
            values = np.array([float(prior(int(size))) for size in sizes])
        except (TypeError, ValueError) as error:
            raise ValueError(f"size_prior must return one number for each size, and failed on one: {error}") from error
        if np.isnan(values).any() or np.isposinf(values).any() or np.isneginf(values).all():
            raise ValueError(
                "size_prior must return the logarithm of a prior, finite or -inf and not -inf for all sizes, "
                f"got {values[:5]} for sizes {sizes[:5]}. Check the function on these sizes."
            )
        return values
    if prior == "search":
        return -log_choices(n_features, sizes)
    if prior == "uniform" or n_features <= n_samples:
        return np.zeros(len(sizes))
    # P(Binomial(p, rho) > n) is a regularised incomplete beta function of rho.
    rho = min(float(betaincinv(n_samples + 1, n_features - n_samples, 0.05)), 0.5)
    return sizes * (np.log(rho) - np.log1p(-rho))
