"""Extrapolation of the variational EM: SQUAREM (Varadhan & Roland 2008)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gsppca._typing import FloatArray
from gsppca.linalg.squarem import extrapolated, extrapolation_length, root_mean_square
from gsppca.results import RelaxedState

BLOCK = 2**15  # entries of the loadings treated at a time: no large temporary arrays


def extrapolate(
    start: RelaxedState, first: RelaxedState, second: RelaxedState, out: FloatArray | None = None
) -> RelaxedState:
    """Extrapolate two EM iterations.

    The loadings, written to `out` if it is given, are kept in one basis of the latent space throughout, or differences
    would mean nothing. The rates move on a log scale. An extrapolation never removes a variable: EM alone may do that,
    for good.
    """
    states = (start, first, second)
    loadings = [state.loading_mean.reshape(-1) for state in states]
    blocks = [slice(first, first + BLOCK) for first in range(0, loadings[0].size, BLOCK)]
    relevances = [state.relevance for state in states]
    covs = [state.weighted_loading_cov for state in states]
    log_rates = [np.log([state.slab_rate, state.noise_variance]) for state in states]
    # Each group is measured in its own unit: a relevance and a log rate are of order one already.
    units = [root_mean_square(loadings[0])] * len(blocks) + [1.0, float(np.trace(covs[0])), 1.0]
    groups = [[x[block] for x in loadings] for block in blocks] + [relevances, covs, log_rates]
    length = extrapolation_length(zip(groups, units, strict=True))
    loading_mean = np.empty_like(start.loading_mean) if out is None else out
    for block in blocks:
        loading_mean.reshape(-1)[block] = extrapolated([x[block] for x in loadings], length)
    loading_cov = extrapolated(covs, length)
    positive = np.linalg.eigvalsh(loading_cov)[0] > 0
    rates = np.exp(np.clip(extrapolated(log_rates, length), log_rates[2] - 5.0, log_rates[2] + 5.0))
    return replace(
        second,
        relevance=np.clip(extrapolated(relevances, length), 0.01 * second.relevance, 1.0),
        loading_mean=loading_mean,
        weighted_loading_cov=loading_cov if positive else second.weighted_loading_cov,
        slab_rate=float(rates[0]),
        noise_variance=float(rates[1]),
    )
