"""The joint evidence: one set of loadings for all rows, integrated by Laplace's method.

The paper integrates the loadings anew for every row, so that its evidence sees row norms only. Here they are shared:
x_i,v = W y_i + noise, y_i ~ N(0, I), the scores integrated exactly, w_kj ~ N(0, 1/alpha^2), and the active variables
have a noise variance of their own. The likelihood of W depends on the eigenvalues lambda_i of ``X_v'X_v/n`` alone;
its maximum is PPCA: W = U diag(l)^(1/2) R with l_i = lambda_i - s, s the mean of the other eigenvalues, any rotation
R.

In the coordinates (U, sigma, R) of the singular value decomposition, sigma_i^2 = l_i, the volume element is

    dW = 2^-d prod_i sigma_i^(k-d) prod_{i<j} (sigma_i^2 - sigma_j^2) dU dsigma dR,

R contributes the volume of the orthogonal group, 2^d prod_i pi^(i/2)/Gamma(i/2), the 2^d sign flips of (U, R) cancel
the 2^-d, and Gaussian integrals remain over the tangent space of U (Hessian of Minka, 2001) and over sigma, where the
second derivative of the log likelihood is -2 n l_i / lambda_i^2. alpha is at its best given W, alpha^2 = k d / sum
l_i.

The support that a search over C(p, k) of them found pays log C(p, k): then a positive difference to the empty model,
all of whose variables are noise, means that there is structure. Derivation and checks: docs/beyond.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from gsppca._typing import FloatArray, IntArray
from gsppca.linalg.nested import SupportSpectrum

SPARE = 2  # eigenvalues that belong to no component, and are yet known one by one where others are summed up
SAME_EIGENVALUE = 1e-9  # relative to the largest: a gap below it is none, and components do not end there
CLEAR_FALL = 200.0  # nats, of the evidence from its largest value, before it is asked whether it can rise again
TINY = float(np.finfo(float).tiny)


def log_joint_evidence(spectrum: SupportSpectrum, size: int, n_samples: int, most_components: int) -> FloatArray:
    """Log evidence of PPCA with 1, 2, ... components on a support, given its spectrum.

    Parameters
    ----------
    spectrum : SupportSpectrum
        Eigenvalues of ``X_v'X_v / n``: all, or those that may belong to components and the moments of the rest.
    size : int
        Number of active variables k.
    n_samples : int
    most_components : int
        Largest number of components.

    Returns
    -------
    log_evidence : ndarray of shape (n_counts,)
        For 1 to min(most_components, rank - 1) components; -inf where they end between equal eigenvalues.
    """
    lam, k, n, r = spectrum.leading, size, n_samples, spectrum.rank
    most = min(most_components, r - 1, k - 1, len(lam))
    if most < 1:
        return np.empty(0)
    d = np.arange(1, most + 1)
    top = lam[:most]
    # Noise variance with d components: mean over the k - d other directions, of which k - r are empty.
    noise = (lam.sum() + spectrum.rest_sum - np.cumsum(top)) / (k - d)
    with np.errstate(divide="ignore", invalid="ignore"):
        later = d[:, None] <= np.arange(len(lam))  # i < j
        # A gap between two components is in both sums below and cancels, whatever rounding has left of it.
        gaps = np.log(np.maximum(top[:, None] - lam, TINY), where=later, out=np.zeros(later.shape))
        log_top = np.cumsum(np.log(top))
        inner = np.cumsum(gaps[:, :most].sum(axis=0))  # sum_{i<j<=d} log(lam_i - lam_j)
        tails = np.cumsum(gaps.sum(axis=1) + _gaps_to_rest(top, spectrum)) - inner  # i<=d<j<=r
        factor = ~later[:, :most]  # i <= d
        excess = (top - noise[:, None]) * factor  # l_i at each d
        log_excess = np.log(excess, where=factor, out=np.zeros(excess.shape)).sum(axis=1)
        total_excess = excess.sum(axis=1)
        log_noise = np.log(noise)
        likelihood = -n / 2 * (k * np.log(2 * np.pi) + log_top + (k - d) * log_noise + k)
        prior = k * d / 2 * (np.log(k * d / total_excess) - np.log(2 * np.pi) - 1)
        rotations = d * np.log(2) + d * (d + 1) / 4 * np.log(np.pi) - np.cumsum(gammaln(d / 2))
        volume = (k - d) / 2 * log_excess + inner + rotations
        # 1/s - 1/lam_i = l_i / (s lam_i)
        stiefel = (k - d) * (d * np.log(n) + log_excess - d * log_noise - log_top) + tails + (k - r) * log_top
        stiefel += 2 * inner + d * (d - 1) / 2 * np.log(n) - (d - 1) * log_top
        scales = d * np.log(2 * n) + log_excess - 2 * log_top
        n_angles = k * d - d * (d + 1) / 2
        laplace = (n_angles + d) / 2 * np.log(2 * np.pi) - (stiefel + scales) / 2
        value = likelihood + prior + volume + laplace
    return np.where(np.isfinite(value) & (top > np.append(lam, 0.0)[1 : most + 1]), value, -np.inf)


def _gaps_to_rest(top: FloatArray, spectrum: SupportSpectrum) -> FloatArray:
    """``sum_j log(lam_i - lam_j)`` over eigenvalues known by their moments only, to second order."""
    if not spectrum.n_rest:
        return np.zeros(len(top))
    mean = spectrum.rest_sum / spectrum.n_rest
    spread = max(spectrum.rest_squares - spectrum.n_rest * mean**2, 0.0)
    return spectrum.n_rest * np.log(top - mean) - spread / (2 * (top - mean) ** 2)


def components_evidence(
    spectrum: SupportSpectrum, size: int, n_samples: int, most_components: int, fixed: bool = False
) -> FloatArray:
    """Log evidence of a support with 1, 2, ... components; -inf where the components would end among equal eigenvalues.

    Parameters
    ----------
    spectrum, size, n_samples, most_components
        As in `log_joint_evidence`.
    fixed : bool
        Whether only the largest possible number of components counts.
    """
    values = log_joint_evidence(spectrum, size, n_samples, most_components)
    if not len(values):
        return values
    following = np.append(spectrum.leading, 0.0)[1 : len(values) + 1]
    gaps = spectrum.leading[: len(values)] - following
    values = np.where(gaps > SAME_EIGENVALUE * spectrum.leading[0], values, -np.inf)
    if fixed and np.isfinite(values).any():
        values[: np.flatnonzero(np.isfinite(values))[-1]] = -np.inf
    return values


def has_passed_its_peak(values: FloatArray, spectrum: SupportSpectrum, size: int, n_samples: int, most: int) -> bool:
    """Whether more components than these cannot have a larger evidence, as far as sums of the other eigenvalues tell.

    Many factors that are nearly equal pay together where a few of them do not: a fall alone says little. The evidence
    of more components is largest if they take up all the spread that is left, as some equal eigenvalues, no larger than
    the last that is known. Where even that is too little, for any number of them, the peak is behind.

    Parameters
    ----------
    values : ndarray of shape (n_counts,)
        Of 1, 2, ... components.
    spectrum, size, n_samples
        As in `log_joint_evidence`.
    most : int
        Largest number of components.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or not spectrum.n_rest or finite[-1] > finite.max() - CLEAR_FALL:
        return False
    lam, count = spectrum.leading, spectrum.n_rest
    mean = spectrum.rest_sum / count
    spread = max(spectrum.rest_squares - count * mean**2, 0.0)
    further = max(min(most - len(lam), count - 1), 0)
    for more in {0, *(3**i for i in range(8) if 3**i < further), further}:
        level = min(lam[-1], mean + _reach(spread, more, count), spectrum.rest_sum / max(more, 1))
        rest = spectrum.rest_sum - more * level, max(spectrum.rest_squares - more * level**2, 0.0)
        supposed = SupportSpectrum(np.append(lam, np.full(more, level)), spectrum.rank, *rest)
        beyond = log_joint_evidence(supposed, size, n_samples, min(most, len(supposed.leading)))[len(values) :]
        if not (beyond < finite.max()).all():
            return False
    return True


def _reach(spread: float, some: int, count: int) -> float:
    """How far above their mean some of the numbers can lie, all at one place, given the spread of all."""
    return math.sqrt(spread * (count - some) / (some * count)) if some else math.inf


def log_choices(n_features: int, sizes: IntArray) -> FloatArray:
    """Log C(p, min(k, p/2)): what a support pays for having been searched among all of its size."""
    k = np.minimum(sizes, n_features / 2)
    return gammaln(n_features + 1) - gammaln(k + 1) - gammaln(n_features - k + 1)
