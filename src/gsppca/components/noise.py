"""Noise variance of probabilistic PCA: no more of the spectrum than its head and its trace."""

from __future__ import annotations

import math

import numpy as np

from gsppca._typing import FloatArray
from gsppca.results import Spectrum

METHODS = ("median", "ml", "bias_corrected")


def noise_variance(
    column_squares: FloatArray,
    n_samples: int,
    n_components: int,
    method: str,
    spectrum: Spectrum | None = None,
) -> float:
    """Estimate the variance of the noise.

    Parameters
    ----------
    column_squares : ndarray of shape (n_features,)
        Sums of squares of the centred columns.
    n_samples : int
        Number of rows.
    n_components : int
        Dimension of the latent space.
    method : {"median", "ml", "bias_corrected"}
        The median of the column variances (Johnstone & Lu 2009), which needs no spectrum; maximum likelihood
        (Tipping & Bishop 1999), the mean of the eigenvalues beyond the first `n_components`; or this with the
        bias correction of Passemier, Li & Yao (2015) for a number of variables comparable with the samples.
    spectrum : Spectrum, optional
        At least `n_components` leading eigenpairs; not needed for the median.
    """
    if method == "median":
        return float(np.median(column_squares)) / n_samples
    assert spectrum is not None
    p, d = len(column_squares), n_components
    head = spectrum.eigenvalues[:d]
    ml = max(float(column_squares.sum()) / n_samples - float(head.sum()), 0.0) / (p - d)
    if method == "ml" or ml == 0.0:
        return ml
    # ml + b ml sqrt(2c) / (p - d),  b = sqrt(c/2) (d + ml sum_i 1/a_i),  c = p/n,  a_i: population spikes.
    ratio = p / n_samples
    bias = math.sqrt(ratio / 2) * (d + float(np.sum(1.0 / _population_spikes(head / ml, ratio))))
    return ml + bias * ml * math.sqrt(2 * ratio) / (p - d)


def _population_spikes(eigenvalues: FloatArray, ratio: float) -> FloatArray:
    """Undo the inflation of sample eigenvalues by noise of unit variance.

    A spike a over the noise shows, in the limit of many variables, as the eigenvalue ``y = (1 + a)(1 + ratio/a)``.
    An eigenvalue inside the bulk of the noise is moved to its edge, where ``a = sqrt(ratio)``: it tells no more.
    """
    y = np.maximum(eigenvalues, (1 + math.sqrt(ratio)) ** 2)
    t = y - 1 - ratio
    return np.asarray((t + np.sqrt(np.maximum(t * t - 4 * ratio, 0.0))) / 2)
