"""Where the variational EM begins: loadings, and the start of the slab rate, which decides the optimum."""

from __future__ import annotations

import math

import numpy as np

from gsppca._typing import FloatArray
from gsppca.core.state import RelaxedState, Spectrum

# Multiples of `reference_rate`. Beyond 2 the runs begin to end in poor optima, below 1/2 nothing is gained.
GRID = (0.5, 1.0, 2.0)
SHORT_RUN = 5  # iterations of a run on the grid, as in the paper


def reference_rate(total_squares: float, n_samples: int, n_features: int, n_components: int) -> float:
    """Slab rate at which the prior gives a variable the mean variance of the data.

    The paper's grid {0.1, 1, 10} is relative to nothing: multiplying the data by a constant would change the
    selection. Multiples of this rate follow the scale of the data.
    """
    return math.sqrt(n_components * n_samples * n_features / total_squares)


def spectral_loadings(spectrum: Spectrum, noise_variance: float) -> FloatArray:
    """Loadings of probabilistic PCA (eq. 2 of the paper), shape (n_components, n_features).

    An axis that noise alone could explain gets a little length: at zero length it could never grow.
    """
    excess = np.maximum(spectrum.eigenvalues - noise_variance, 1e-3 * noise_variance)
    return spectrum.axes * np.sqrt(excess)[:, None]


def random_loadings(rng: np.random.RandomState, n_components: int, n_features: int, rate: float) -> FloatArray:
    """Gaussian loadings with the variance of the prior at the reference rate: a start without any SVD."""
    return rng.standard_normal((n_components, n_features)) / rate


def start_state(loadings: FloatArray, slab_rate: float, noise_variance: float) -> RelaxedState:
    """All variables relevant, loadings with the prior's covariance around `loadings` (section 2.7 of the paper)."""
    d, p = loadings.shape
    return RelaxedState(
        relevance=np.ones(p),
        slab_rate=slab_rate,
        noise_variance=noise_variance,
        loading_mean=loadings,
        weighted_loading_cov=np.eye(d) * (p / slab_rate**2),
        explained=np.zeros(p),
    )
