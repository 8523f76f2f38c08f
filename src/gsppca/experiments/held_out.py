"""The held-out share: how much of the components of all variables some of them predict on rows not seen before.

No labels, and nothing to tune. Columns are standardised on all rows; on one part of the rows the principal axes of all
variables are found and the variables are chosen; the scores of the other rows are predicted from their chosen columns:

    B = ((1 - l) C_SS + l I)^-1 (1 - l) C_ST,        l = max(0.1, Ledoit & Wolf on the chosen columns),

with the second moments C of the first part, and

    share = 1 - sum of squared errors / sum of squared scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray, IntArray

MOST_COMPONENTS = 10
ROWS_PER_COMPONENT = 5
LEAST_SHRINKAGE = 0.1


@dataclass(frozen=True)
class HeldOutShare:
    """Shares predicted on held-out rows.

    Attributes
    ----------
    weighted : float
        Squared errors and squared scores summed over components: each counts by its variance.
    equal : float
        Mean over components of their shares.
    """

    weighted: float
    equal: float


def standardised(X: FloatArray) -> FloatArray:
    """Centre the columns of X and divide them by their standard deviations; constant columns are left out."""
    Z = np.asarray(X, dtype=np.float64) - np.mean(X, axis=0, dtype=np.float64)
    deviations = np.sqrt(np.mean(Z**2, axis=0))
    varying = deviations > 1e-10 * np.abs(np.mean(X, axis=0, dtype=np.float64)).clip(min=1e-10)
    return Z[:, varying] / deviations[varying]


def halves(n_samples: int, seed: int) -> tuple[IntArray, IntArray]:
    """Split the rows at random in two halves, the first one not smaller; indices ascend."""
    shuffled = np.random.default_rng(seed).permutation(n_samples)
    half = (n_samples + 1) // 2
    return np.sort(shuffled[:half]), np.sort(shuffled[half:])


def n_held_out_components(n_train: int) -> int:
    """How many components the measure takes: ten, with at least five training rows for each."""
    return max(1, min(MOST_COMPONENTS, n_train // ROWS_PER_COMPONENT))


class HeldOut:
    """The measure on one split of the rows; many selections may be measured.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Standardised on all rows: see `standardised`.
    train, test : ndarray of int
        The rows on which variables are chosen, and those on which they are judged.
    n_components : int, optional
        How many principal axes; ``min(10, n_train // 5)`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = standardised(rng.normal(size=(60, 1)) + 0.1 * rng.normal(size=(60, 8)))
    >>> judge = HeldOut(Z, *halves(60, seed=0), n_components=1)
    >>> bool(judge.share([0]).weighted > 0.95)
    True
    """

    def __init__(self, Z: FloatArray, train: IntArray, test: IntArray, n_components: int | None = None):
        self.n_components = n_held_out_components(len(train)) if n_components is None else n_components
        # Axes are centred on the training rows, scores around the same origin.
        self.origin = Z[train].mean(axis=0)
        self.train = Z[train] - self.origin
        self.test = Z[test] - self.origin
        axes = np.linalg.svd(self.train, full_matrices=False)[2][: self.n_components]
        self.train_scores = self.train @ axes.T
        self.test_scores = self.test @ axes.T

    def share(self, chosen: Sequence[int] | IntArray, shrinkage: float | None = None) -> HeldOutShare:
        """Return what some variables, indices of columns of Z, predict of the scores of the test rows.

        A fixed `shrinkage` shows whether a low share is due to that of Ledoit & Wolf, which may be 1 (and the share 0)
        where chosen columns are nearly uncorrelated and have heavy tails.
        """
        chosen = np.asarray(chosen, dtype=np.intp)
        if not len(chosen):
            return HeldOutShare(0.0, 0.0)
        X = self.train[:, chosen]
        n, size = X.shape
        if size <= n:
            used = max(LEAST_SHRINKAGE, _ledoit_wolf(X)) if shrinkage is None else shrinkage
            shrunken = (1 - used) * (X.T @ X) / n + used * np.eye(size)
            coefficients = np.linalg.solve(shrunken, (1 - used) * (X.T @ self.train_scores) / n)
        else:
            # ((1 - l) X'X / n + l I)^-1 X' = X' ((1 - l) XX' / n + l I)^-1: a system among the rows.
            gram = X @ X.T / n
            used = max(LEAST_SHRINKAGE, _ledoit_wolf_of_gram(gram, size)) if shrinkage is None else shrinkage
            shrunken = (1 - used) * gram + used * np.eye(n)
            coefficients = X.T @ np.linalg.solve(shrunken, (1 - used) * self.train_scores / n)
        errors = np.sum((self.test_scores - self.test[:, chosen] @ coefficients) ** 2, axis=0)
        squares = np.sum(self.test_scores**2, axis=0)
        return HeldOutShare(float(1 - errors.sum() / squares.sum()), float(1 - np.mean(errors / squares)))


def _ledoit_wolf(X: FloatArray) -> float:
    from sklearn.covariance import ledoit_wolf_shrinkage

    return float(ledoit_wolf_shrinkage(X, assume_centered=True)) if X.shape[1] > 1 else 0.0


def _ledoit_wolf_of_gram(gram: FloatArray, p: int) -> float:
    """Shrinkage of Ledoit & Wolf from G = XX'/n, which has the non-zero eigenvalues of X'X/n."""
    n = len(gram)
    square, trace = float(np.vdot(gram, gram)), float(gram.trace())
    error = float(np.sum(gram.diagonal() ** 2)) - square / n
    spread = square - trace**2 / p
    return min(error / spread, 1.0) if spread > 0 else 0.0
