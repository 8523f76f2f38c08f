"""How many components: the eigenvalues that noise alone would not reach."""

from __future__ import annotations

import math

from gsppca._typing import FloatArray

MAX_DIMENSION = 50  # spectra of real data decay without end; more components than this are for the user to ask for
TRACY_WIDOM = 3.27  # 99.9 % quantile of the Tracy-Widom law of order 1


def count_components(eigenvalues: FloatArray, n_samples: int, n_features: int, noise_variance: float) -> int:
    """Number of components by Johnstone's test of the largest eigenvalue, applied one after the other.

    Under pure noise the largest eigenvalue of ``X'X`` has the mean and spread of Johnstone (2001, Annals of
    Statistics 29) and a Tracy-Widom law. Eigenvalues are tested in turn, the number of variables reduced by those
    already found, until one could be noise. The noise variance is given: with the median of the column variances, the
    answer is that of Kritchman & Nadler (2008) when most columns are noise, and stays moderate when columns differ in
    noise, where theirs grows towards ``min(n, p)``.

    Returns
    -------
    n_components : int
        At least 1, at most the number of eigenvalues given.
    """
    count = 0
    for eigenvalue in eigenvalues.tolist():
        if eigenvalue <= largest_of_noise(n_samples, n_features - count, noise_variance):
            break
        count += 1
    return max(count, 1)


def largest_of_noise(n_samples: int, n_features: int, noise_variance: float) -> float:
    """Eigenvalue of ``X'X / n`` that noise alone exceeds once in a thousand times."""
    root_n, root_p = math.sqrt(n_samples - 1.5), math.sqrt(n_features - 0.5)  # centring takes one of the n rows
    spread = (root_n + root_p) * (1 / root_n + 1 / root_p) ** (1 / 3)
    return noise_variance * ((root_n + root_p) ** 2 + TRACY_WIDOM * spread) / n_samples
