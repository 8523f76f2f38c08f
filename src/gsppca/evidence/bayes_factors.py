"""Is a variable explained by some factors, or is it noise? Bayes factors in closed form.

The factors are n values each, taken as known, centred and linearly independent; E is the sum of squares of the
variable x that a regression on the d of them explains, and Zellner's g-prior holds for its d coefficients: normal, with
covariance g s (Y'Y)^-1. Two models of the noise.

*Own noise.* The noise variance s of the variable is unknown, with the density 1/s, and so is its mean. With the share
R2 = E / |x|^2, both integrate out (Liang et al. 2008, Journal of the American Statistical Association 103):

    log BF = (n - 1 - d)/2 log(1 + g) - (n - 1)/2 log(1 + g (1 - R2)).

*Common units.* All variables have the same, known s:

    log BF = -d/2 log(1 + g) + g/(1 + g) E / (2 s).

One g serves all variables of a data set. It is chosen by empirical Bayes: with prior probability pi of being explained,
it maximises the likelihood of the mixture, sum_k log(1 - pi + pi BF_k). The prior probability comes from the support
that the factors were made of: pi = (|S| + 1)/(p + 2), the posterior mean under a uniform prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from gsppca._typing import FloatArray

GRID = np.geomspace(0.1, 3000.0, 13)
TIE = 1e-9  # of the mixture's log likelihood per variable: what is less is rounding


def log_bayes_factor_own_noise(share: FloatArray, n_samples: int, n_factors: int, g: float) -> FloatArray:
    """Log Bayes factor of "explained by the factors" against "noise", the noise variance being unknown.

    Parameters
    ----------
    share : ndarray of shape (n_features,)
        R2, between 0 and 1.
    n_samples : int
        Rows of the data, whose means have been removed.
    n_factors : int
        d, less than ``n_samples - 1``.
    g : float
        Prior variance of what the factors contribute, relative to the noise.
    """
    centred = n_samples - 1
    left = np.log(1 + g * (1 - share))  # faster than log1p, and accurate enough as a term of a sum
    return (centred - n_factors) / 2 * math.log1p(g) - centred / 2 * left


def log_bayes_factor_common_units(explained: FloatArray, noise: float, n_factors: int, g: float) -> FloatArray:
    """Log Bayes factor of "explained by the factors" against "noise" of a known variance.

    Parameters
    ----------
    explained : ndarray of shape (n_features,)
        E, the sum of squares that the factors explain.
    noise : float
        Noise variance s of all variables.
    n_factors : int
        d.
    g : float
        Prior variance of what the factors contribute, relative to the noise.
    """
    return g / (1 + g) * explained / (2 * noise) - n_factors / 2 * math.log1p(g)


def prior_log_odds(n_members: int, n_features: int) -> float:
    """Log odds pi / (1 - pi) of a variable before its data is seen, pi = (members + 1) / (features + 2)."""
    return math.log(n_members + 1) - math.log(n_features - n_members + 1)


def best_g(log_bayes_factor: Callable[[float], FloatArray], log_odds: float) -> float:
    """Return the g of a grid that maximises the likelihood of the mixture; the smallest one in a tie.

    Parameters
    ----------
    log_bayes_factor : callable
        From g to the log Bayes factors of all variables.
    log_odds : float
        Prior log odds of being explained.
    """
    # log(1 - pi + pi BF) = log(1 - pi) + log(1 + odds BF), the first term the same for all g. The second, as
    # log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), is known up to log 2 without its dear part.
    exponents = [log_odds + log_bayes_factor(g) for g in GRID.tolist()]
    least = np.array([np.maximum(x, 0.0).mean() for x in exponents])
    values = np.full(len(GRID), -np.inf)
    for place in np.flatnonzero(least + math.log(2) >= least.max()).tolist():
        values[place] = least[place] + np.log(1 + np.exp(-np.abs(exponents[place]))).mean()
    return float(GRID[np.argmax(values >= values.max() - TIE)])


def probability(log_odds: FloatArray) -> FloatArray:
    """Probabilities from log odds."""
    return np.asarray(expit(log_odds))
