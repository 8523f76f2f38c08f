"""The basis of the latent space that a variational bound favours.

Luttinen & Ilin (2010), Transformations in variational Bayesian factor analysis to speed up learning.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray

ROUNDING = 1e-12  # share of the largest eigenvalue below which others are rounding


def best_turn(score_moment: FloatArray, loading_moment: FloatArray, n_samples: int, n_features: int) -> FloatArray:
    """Return the symmetric L that raises the bound most if the loadings become ``W L'`` and the scores ``Y L^-1``.

    With P = L'L, T the moment of the scores and V that of the loadings, the bound with the best alpha is, up to a
    constant, ``-(tr(T P^-1) + (n - p) log|P| + p d log tr(V P)) / 2``. It is stationary where
    ``T = (n - p) P + a P V P`` and ``a tr(V P) = p d``. In the basis where V is the identity and T is diagonal, P is
    diagonal too, with roots of quadratics, and a is the root of an increasing concave function.

    Parameters
    ----------
    score_moment, loading_moment : ndarray of shape (n_components, n_components)
        ``E Y'Y`` and ``E W'W``.
    n_samples, n_features : int
        n and p.
    """
    wanted, excess = len(score_moment) * (n_samples + n_features), n_samples - n_features
    root, inverse = _roots(loading_moment)
    t, basis = np.linalg.eigh(root @ score_moment @ root)
    t = np.maximum(t, ROUNDING * t[-1])
    # Newton's method does not overshoot from a start that is too small; by Jensen's inequality this one is.
    a = n_samples * n_features / t.mean()
    for _ in range(50):
        roots = np.sqrt(excess * excess + 4 * a * t)
        missing = wanted - roots.sum()
        if missing <= ROUNDING * wanted:
            break
        a += missing / (2 * t / roots).sum()
    entries = (roots - excess) / (2 * a) if excess < 0 else 2 * t / (roots + excess)
    half = inverse @ basis * np.sqrt(entries)
    return _roots(half @ half.T)[0]


def _roots(moment: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The symmetric square root of a positive definite matrix, and its inverse."""
    values, axes = np.linalg.eigh(moment)
    values = np.sqrt(np.maximum(values, ROUNDING * values[-1]))
    return (axes * values) @ axes.T, (axes / values) @ axes.T
