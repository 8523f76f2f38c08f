"""The lower bound of the log evidence that the variational EM raises, constants kept."""

from __future__ import annotations

import math


def lower_bound(
    n: int,
    p: int,
    d: int,
    *,
    residual: float,
    noise_variance: float,
    slab_rate: float,
    loading_squares: float,
    loading_log_det: float,
    score_squares: float,
    score_log_det: float,
) -> float:
    """Negative variational free energy of the relaxed model (Proposition 6 of the paper).

    Parameters
    ----------
    n, p, d : int
        Numbers of samples, variables and components.
    residual : float
        ``E ||X - Y (U W)'||^2`` under the posterior.
    noise_variance, slab_rate : float
        sigma^2 and alpha.
    loading_squares : float
        ``E ||W||^2``.
    loading_log_det : float
        ``sum_k log |S_k|``.
    score_squares : float
        ``E ||Y||^2``.
    score_log_det : float
        ``n log |Sigma|``.
    """
    log_two_pi = math.log(2 * math.pi)
    likelihood = -0.5 * n * p * (log_two_pi + math.log(noise_variance)) - 0.5 * residual / noise_variance
    loading_prior = p * d * (math.log(slab_rate) - 0.5 * log_two_pi) - 0.5 * slab_rate**2 * loading_squares
    loading_entropy = 0.5 * loading_log_det + 0.5 * p * d * (1 + log_two_pi)
    score_prior = -0.5 * n * d * log_two_pi - 0.5 * score_squares
    score_entropy = 0.5 * score_log_det + 0.5 * n * d * (1 + log_two_pi)
    return likelihood + loading_prior + loading_entropy + score_prior + score_entropy
