"""The regression step of SPCA: an elastic net whose response is X a, for any ridge.

With c = X'X a, the step for one axis is (Zou, Hastie & Tibshirani 2006, section 3)

    min_b ||X a - X b||^2 + ridge ||b||^2 + penalty ||b||_1                                     (E1)
    <=>  (X'X + ridge I) b - c + (penalty / 2) s = 0,  s in the subdifferential of ||b||_1      (E2)

and, in the limit ridge -> infinity, after b is multiplied by 1 + ridge (their Theorem 5),

    min_b -2 c'b + ||b||^2 + penalty ||b||_1   <=>   b = sign(c) (|c| - penalty / 2)_+          (E3)

(E1) is solved by least angle regression on X'X + ridge I, as its authors did: exact, and the number of
non-zero loadings grows one by one along its path.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from gsppca.baselines.linalg import FloatArray

_DUST = 1e-13  # of the largest coefficient: what is smaller is the rounding of a zero


@dataclass(frozen=True)
class Sparsity:
    """How sparse one axis shall be: a number of non-zero loadings, or the penalty of (E1)."""

    nonzeros: int | None = None
    penalty: float = 0.0


def soft_threshold(c: FloatArray, sparsity: Sparsity) -> tuple[FloatArray, float]:
    """Solve (E3); return the loadings and their penalty.

    For k non-zero loadings the penalty is the smallest that leaves k: twice the (k+1)-th largest |c|.
    """
    size = np.abs(c)
    penalty = sparsity.penalty
    if sparsity.nonzeros is not None:
        below = c.size - sparsity.nonzeros
        penalty = 2 * float(np.partition(size, below - 1)[below - 1]) if below > 0 else 0.0
    return np.sign(c) * np.maximum(size - penalty / 2, 0.0), penalty


def elastic_net(c: FloatArray, ridged_gram: FloatArray, sparsity: Sparsity) -> tuple[FloatArray, float]:
    """Solve (E1) given c = X'X a and `ridged_gram` = X'X + ridge I; return the loadings and their penalty.

    For k non-zero loadings the penalty is the smallest on the first stretch of the path that has k of them.
    """
    # The LARS routine stops on absolute tolerances: give it a problem of unit scale.
    scale_gram, scale_c = float(np.max(np.diag(ridged_gram))), float(np.max(np.abs(c)))
    if scale_c == 0:
        return np.zeros_like(c), sparsity.penalty
    gram, target = ridged_gram / scale_gram, c / scale_c
    if sparsity.nonzeros is None:
        coefficients = _lars(target, gram, alpha_min=min(sparsity.penalty / (2 * scale_c), 1.0))[1][:, -1]
        return coefficients * (scale_c / scale_gram), sparsity.penalty
    alphas, path = _lars_until(target, gram, sparsity.nonzeros)
    counts = np.count_nonzero(path, axis=0)
    # With fewer than k on the whole path (X'X singular, no ridge) its end is as near as one gets.
    first = int(np.argmax(counts >= min(sparsity.nonzeros, counts.max())))
    return path[:, first] * (scale_c / scale_gram), 2 * scale_c * float(alphas[first])


def _lars_until(target: FloatArray, gram: FloatArray, nonzeros: int) -> tuple[FloatArray, FloatArray]:
    """Run the path until `nonzeros` are in; variables that leave on the way cost extra steps."""
    n_steps = nonzeros
    while True:
        alphas, path = _lars(target, gram, n_steps=n_steps)
        if np.count_nonzero(path, axis=0).max() >= nonzeros or path.shape[1] <= n_steps:
            return alphas, path
        n_steps *= 2


def _lars(
    target: FloatArray, gram: FloatArray, alpha_min: float = 0.0, n_steps: int | None = None
) -> tuple[FloatArray, FloatArray]:
    with warnings.catch_warnings():
        # Equal columns without a ridge: LARS drops one of them and says so. The solution stays optimal.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, _, path = lars_path_gram(
            Xy=target,
            Gram=gram,
            n_samples=1,
            method="lasso",
            alpha_min=alpha_min,
            max_iter=10 * target.size if n_steps is None else n_steps,
            copy_Gram=True,
        )
    # A variable that leaves reaches zero by interpolation, and on some processors misses it by a last digit.
    path[np.abs(path) <= _DUST * np.abs(path).max(axis=0)] = 0.0
    return alphas, path
