"""The two ingredients of section 3.3: block-correlated rows, and the loadings that PPCA finds in them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gsppca.checks import check_number

N_BLOCKS = 4  # diagonal blocks of the covariance matrix

FloatArray = NDArray[np.float64]


def ppca_loadings(z: FloatArray, n_components: int) -> FloatArray:
    """Return the maximum likelihood loadings of PPCA (Tipping & Bishop 1999), p x d, up to a rotation."""
    n, p = z.shape
    _, singular, axes = np.linalg.svd(z - z.mean(axis=0), full_matrices=False)
    eigenvalues = singular**2 / n  # the p - min(n, p) others are zero
    noise = eigenvalues[n_components:].sum() / (p - n_components)
    scale = np.sqrt(np.maximum(eigenvalues[:n_components] - noise, 0.0))
    axes = axes[:n_components]
    # LAPACK builds differ in the signs of the axes, and one seed must give one data set.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1, keepdims=True), axis=1)
    return np.asarray((axes * np.sign(largest)).T * scale)


def block_correlated(
    n_samples: int, n_features: int, rho: float, diagonal: float, rng: np.random.Generator
) -> FloatArray:
    """Draw rows of N(0, R), R with `N_BLOCKS` equicorrelated blocks."""
    diagonal = check_number("diagonal", diagonal, 0, open_low=True)
    largest_block = math.ceil(n_features / N_BLOCKS)
    lowest = -diagonal / (largest_block - 1) if largest_block > 1 else -diagonal
    rho = check_number("rho", rho, lowest, diagonal, advice="Otherwise R is not a covariance matrix.")
    z = rng.standard_normal((n_samples, n_features))
    for block in np.array_split(np.arange(n_features), N_BLOCKS):
        # The symmetric root of (diagonal - rho) I + rho 11' scales the mean of the block and the
        # deviations from it separately; no factorisation, and exact also where R is singular.
        mean = z[:, block].mean(axis=1, keepdims=True)
        along_mean = math.sqrt(max(diagonal + (block.size - 1) * rho, 0.0))
        z[:, block] = along_mean * mean + math.sqrt(diagonal - rho) * (z[:, block] - mean)
    return z
