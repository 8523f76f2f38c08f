"""The density of a row of a noisy support, Theorem 1 of the paper, as a mixture of Gaussians over their scale.

A row of k active variables is ``x = W y + noise``. Given y it is Gaussian with variance ``|y|^2 / alpha^2 + sigma^2``
in every direction, and ``s = |y|^2`` has the chi-square law with d degrees of freedom:

    p(x) = int N(x; 0, (s/alpha^2 + sigma^2) I_k) chi2_d(s) ds,

a positive and smooth integral instead of the oscillating one of the paper; at sigma = 0 it is the Bessel density. In
units of 1/alpha, with ``rho = alpha^2 |x|^2``, ``tau = alpha^2 sigma^2`` and ``s = e^x``, the integrand is exp(phi),

    phi(x) = -(k/2) log v - rho/(2 v) + (d/2) x - s/2,        v = s + tau.

1. It has one peak: ``v^2 phi' = 0`` is a cubic in s with exactly one positive root, by Descartes' rule of signs.
2. The trapezoidal rule on the whole line converges geometrically, since phi is analytic for ``|Im x| < pi``: its
   error is of order ``exp(-2 pi^2 (width/step)^2)`` for a narrow peak and ``exp(-pi^2/step)`` for a wide one. The
   step is chosen for both to be below 1e-15, the range so that the integrand falls to 1e-17 of its peak.
3. Derivatives are moments under the same integrand. By parts, ``E[w (k - rho/v)] = d - E[s]`` with ``w = s/v``, so that

       d log p / d log alpha = d - E[s],      d^2 log p / d (log alpha)^2 = -Cov(s, w (k - rho/v)).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from gsppca._typing import FloatArray

DROP = 39.0  # of phi at the ends of the range: 1e-17 of the peak
WIDEST_STEP = 0.2
STEPS_PER_WIDTH = 1.6
COUNTS = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # nodes
BLOCK = 2**15  # values of the integrand held at a time
MAX_ROUNDS = 100


def log_density(
    size: FloatArray, d: int, squared: FloatArray, log_rate: FloatArray, noise_variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log density of rows by their squared norm, and its two derivatives in the logarithm of the slab rate.

    Parameters
    ----------
    size : ndarray
        k, at least 1.
    d : int
        Dimension of the latent space.
    squared : ndarray
        Squared norms of the rows on their supports, at least 0.
    log_rate : ndarray
        log(alpha).
    noise_variance : ndarray
        sigma^2, positive.

    Returns
    -------
    log_density, slope, curvature : ndarray
        Of the broadcast shape.

    Notes
    -----
    From 32 values of the integrand an element, when d and k are large, to 800 for d = 1 and a row in which signal and
    noise are alike; and as much as some 40 values for the peak and the range.
    """
    arrays = np.broadcast_arrays(size, squared, log_rate, noise_variance)
    shape = arrays[0].shape
    k, squares, logs, variances = (np.asarray(array, dtype=np.float64).ravel() for array in arrays)
    scale = np.exp(2 * logs)
    integral = _moments(k, float(d), scale * squares, scale * variances)
    constants = k * (logs - 0.5 * np.log(2 * np.pi)) - d / 2 * np.log(2) - gammaln(d / 2)
    return (
        (constants + integral[0]).reshape(shape),
        (d - integral[1]).reshape(shape),
        (-integral[2]).reshape(shape),
    )


def _moments(k: FloatArray, d: float, rho: FloatArray, tau: FloatArray) -> FloatArray:
    """Return log int exp(phi), E[s] and Cov(s, w (k - rho/v)), shape (3, n_elements)."""
    peak = _peak(k, d, rho, tau)
    height = _phi(peak, k, d, rho, tau)
    s = np.exp(peak)
    v = s + tau
    w = s / v
    # phi'' at the peak.
    bend = 0.5 * (w * (1 - w) * (rho / v - k) - w * w * rho / v - s)
    width = 1 / np.sqrt(np.maximum(-bend, 1e-300))
    low, high = (_fall(peak, height, sign, np.minimum(width, 1.0), k, d, rho, tau) for sign in (-1.0, 1.0))
    step = np.minimum(WIDEST_STEP, width / STEPS_PER_WIDTH)
    counts = np.searchsorted(COUNTS, (high - low) / step)
    result = np.empty((3, len(k)))
    for place in np.unique(counts).tolist():
        count = COUNTS[min(place, len(COUNTS) - 1)]
        chosen = np.flatnonzero(counts == place)
        for first in range(0, len(chosen), max(1, BLOCK // count)):
            at = chosen[first : first + max(1, BLOCK // count)]
            result[:, at] = _trapezoid(count, low[at], high[at], height[at], k[at], d, rho[at], tau[at])
    return result


def _phi(x: FloatArray, k: FloatArray, d: float, rho: FloatArray, tau: FloatArray) -> FloatArray:
    s = np.exp(x)
    v = s + tau
    return -0.5 * (k * np.log(v) + rho / v - d * x + s)


def _peak(k: FloatArray, d: float, rho: FloatArray, tau: FloatArray) -> FloatArray:
    """The one zero of ``2 phi' = w (rho/v - k) + d - s``, by Newton's method in log s inside a shrinking bracket."""
    # Below `low` all terms together are positive: w k < d - s there, or rho/v > k. Above `high`, rho/s < s - d.
    low = np.log(np.maximum(d / (1 + k / tau), np.minimum(d, rho / k - tau)))
    high = np.log(0.5 * (d + np.sqrt(d * d + 4 * rho)))
    x = 0.5 * (low + high)
    for _ in range(MAX_ROUNDS):
        s = np.exp(x)
        v = s + tau
        w = s / v
        slope = w * (rho / v - k) + d - s
        bend = w * (1 - w) * (rho / v - k) - w * w * rho / v - s
        low, high = np.where(slope > 0, x, low), np.where(slope > 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = x - slope / bend
        inside = (bend < 0) & (new > low) & (new < high)
        new = np.where(inside, new, 0.5 * (low + high))
        step, x = np.abs(new - x), new
        if (step <= 1e-9).all():  # the height is then exact to 1e-17
            break
    return x


def _fall(
    peak: FloatArray,
    height: FloatArray,
    sign: float,
    width: FloatArray,
    k: FloatArray,
    d: float,
    rho: FloatArray,
    tau: FloatArray,
) -> FloatArray:
    """Where phi has fallen by `DROP` on one side of its peak, to a twentieth of the distance, on the safe side."""
    near, far = np.zeros_like(peak), 8 * width
    for _ in range(MAX_ROUNDS):
        short = _phi(peak + sign * far, k, d, rho, tau) > height - DROP
        if not short.any():
            break
        near, far = np.where(short, far, near), np.where(short, 2 * far, far)
    for _ in range(5):
        middle = 0.5 * (near + far)
        short = _phi(peak + sign * middle, k, d, rho, tau) > height - DROP
        near, far = np.where(short, middle, near), np.where(short, far, middle)
    return peak + sign * far


def _trapezoid(
    count: int,
    low: FloatArray,
    high: FloatArray,
    height: FloatArray,
    k: FloatArray,
    d: float,
    rho: FloatArray,
    tau: FloatArray,
) -> FloatArray:
    step = (high - low) / count
    x = low[:, None] + step[:, None] * np.arange(count + 1)
    s = np.exp(x)
    v = s + tau[:, None]
    pull = rho[:, None] / v
    weights = np.exp(-0.5 * (k[:, None] * np.log(v) + pull - d * x + s) - height[:, None])
    total = weights.sum(axis=1)
    mean = np.einsum("ij,ij->i", weights, s) / total
    weights *= s - mean[:, None]
    covariance = np.einsum("ij,ij->i", weights, s / v * (k[:, None] - pull)) / total
    return np.array([height + np.log(step * total), mean, covariance])
