"""How many variables: the best size on the evidence path, under a prior on the size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv

from gsppca._typing import FloatArray, IntArray
from gsppca.core.joint import log_choices
from gsppca.core.state import EvidencePath

# Of log C(p, k), when every variable has a noise variance of its own. Measured on standardised data: the whole of it
# ends with too few variables at n = 40 and 66, and from n = 100 on it hardly matters.
OWN_NOISE_SHARE = 0.5

SizePrior = str | Callable[[int], float]


def log_size_prior(
    prior: SizePrior, sizes: IntArray, n_samples: int, n_features: int, own_noise: bool = False
) -> FloatArray:
    """Log prior of each size, up to a constant.

    Parameters
    ----------
    prior : {"uniform", "search", "sparse"} or callable
        "uniform" prefers no size. "search" charges log C(p, k), for having looked for the support among all of its
        size; half of it with noise of their own, where what is fitted to each variable pays besides. "sparse" makes
        every variable active with a probability rho such that more than `n_samples` are active with probability 5 %,
        as the authors describe it; it is uniform where this would leave rho above one half, or p <= n. A callable
        gets a size and returns its log prior.
    sizes : ndarray of shape (n_sizes,)
    n_samples, n_features : int
    own_noise : bool, default=False
        Whether every variable has a noise variance of its own.
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
        return -(OWN_NOISE_SHARE if own_noise else 1.0) * log_choices(n_features, sizes)
    if prior == "uniform" or n_features <= n_samples:
        return np.zeros(len(sizes))
    # P(Binomial(p, rho) > n) is a regularised incomplete beta function of rho.
    rho = min(float(betaincinv(n_samples + 1, n_features - n_samples, 0.05)), 0.5)
    return sizes * (np.log(rho) - np.log1p(-rho))


def best_size(path: EvidencePath, log_prior: FloatArray) -> int:
    """Size of largest evidence times prior; the smaller one in a tie."""
    return int(path.sizes[np.argmax(path.log_evidence + log_prior)])
