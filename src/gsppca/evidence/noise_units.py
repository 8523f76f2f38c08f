"""Noise units: every variable measured by the noise that the factors leave of it.

Standardised variables have equal variances, but shares of noise psi_k that differ, while PPCA has one noise variance.
In large samples it then takes unlike noise for further factors, and does without members that are explained less than
others. Dividing the variables by sqrt(psi_k) mends both: this is factor analysis, at given psi.

psi_k is 1 - share_k, the share that the factors of the other members explain. Its logarithm is known up to an error of
variance e = 2/n. The members have log psi_k ~ N(m, t^2), m their mean and t^2 what they spread by beyond the error. So

    log psi_k = m + (log(1 - share_k) - m) t^2 / (t^2 + e)                           (the posterior mean),
    charge_k  = (log psi_k - m)^2 / (2 t^2) + log(1 + t^2 / e) / 2                   (psi_k integrated, by Laplace)

and a member costs charge_k. If members spread no more than the error makes them, t = 0: all units are as they were,
and nothing is charged. A variable of noise has a share near zero, far from those of the members if these are alike: it
pays for that, so that nothing is lost where all members are explained alike.
"""

from __future__ import annotations

import math

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.results import NoiseUnits

LEAST = 0.01  # share of noise: a copy of another variable would have none


def noise_units(explained: FloatArray, members: BoolArray, n_samples: int) -> NoiseUnits | None:
    """Estimate the noise of all variables; None if that of the members does not differ.

    Parameters
    ----------
    explained : ndarray of shape (n_features,)
        Share of each variable that the factors of the (other) members explain.
    members : ndarray of shape (n_features,)
        The support, of at least two variables.
    n_samples : int
    """
    logs = np.log(np.maximum(1 - explained, LEAST))
    middle, error = float(logs[members].mean()), 2 / n_samples
    spread = float(logs[members].var(ddof=1)) - error
    if spread <= 0:
        return None
    apart = (logs - middle) * spread / (spread + error)
    return NoiseUnits(np.exp(apart), apart**2 / (2 * spread) + math.log1p(spread / error) / 2)
