"""Extrapolation of the variational EM: SQUAREM (Varadhan & Roland 2008)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gsppca._typing import FloatArray
from gsppca.results import RelaxedState

BLOCK = 2**15  # entries of the loadings treated at a time: no large temporary arrays
LONGEST = 100.0  # extrapolation, in EM steps; longer ones are rarely accepted, and amplify rounding


def extrapolate(
    start: RelaxedState, first: RelaxedState, second: RelaxedState, out: FloatArray | None = None
) -> RelaxedState:
    """Extrapolate two EM iterations: ``x0 - 2 s r + s^2 v`` with r the first step, v the change of the step.

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
    units = [_root_mean_square(loadings[0])] * len(blocks) + [1.0, float(np.trace(covs[0])), 1.0]
    groups = [[x[block] for x in loadings] for block in blocks] + [relevances, covs, log_rates]
    step = bend = 0.0
    for (x0, x1, x2), unit in zip(groups, units, strict=True):
        change = (x1 - x0) / unit
        step += _sum_squares(change)
        bend += _sum_squares((x2 - x1) / unit - change)
    length = min(max(1.0, math.sqrt(step / bend)), LONGEST) if bend > 0 else 1.0
    weights = ((1 - length) ** 2, 2 * length * (1 - length), length**2)

    def landed(x0: FloatArray, x1: FloatArray, x2: FloatArray) -> FloatArray:
        return weights[0] * x0 + weights[1] * x1 + weights[2] * x2

    loading_mean = np.empty_like(start.loading_mean) if out is None else out
    for block in blocks:
        loading_mean.reshape(-1)[block] = landed(*(x[block] for x in loadings))
    loading_cov = landed(*covs)
    positive = np.linalg.eigvalsh(loading_cov)[0] > 0
    rates = np.exp(np.clip(landed(*log_rates), log_rates[2] - 5.0, log_rates[2] + 5.0))
    return replace(
        second,
        relevance=np.clip(landed(*relevances), 0.01 * second.relevance, 1.0),
        loading_mean=loading_mean,
        weighted_loading_cov=loading_cov if positive else second.weighted_loading_cov,
        slab_rate=float(rates[0]),
        noise_variance=float(rates[1]),
    )


def _sum_squares(x: FloatArray) -> float:
    return float(np.vdot(x, x))


def _root_mean_square(x: FloatArray) -> float:
    return math.sqrt(_sum_squares(x) / x.size) or 1.0
