"""How often each variable is selected when the samples change: stability under subsampling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from gsppca._masked import unmasked
from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.checks import check_count, check_number
from gsppca.progress import tell


@dataclass(frozen=True)
class StabilityResult:
    """Selections on subsamples.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features,)
        Share of the subsamples on which each variable is selected.
    sizes : ndarray of shape (n_splits,)
        Number of variables selected on each.
    supports : ndarray of bool, shape (n_splits, n_features)
        The variables selected on each.
    n_rows : int
        Number of samples of each.
    """

    frequencies: FloatArray
    sizes: IntArray
    supports: BoolArray
    n_rows: int

    @property
    def index(self) -> float:
        """How alike the selections are: 1 if all are the same, about 0 if they agree as random ones of their sizes do.

        The measure of Nogueira, Sechidis & Brown (2018); nan when all or no variables are always selected.
        """
        n_splits, p = self.supports.shape
        share = self.sizes.mean() / p
        if not 0 < share < 1:
            return float("nan")
        variance = np.mean(self.frequencies * (1 - self.frequencies)) * n_splits / (n_splits - 1)
        return float(1 - variance / (share * (1 - share)))

    def stable(self, threshold: float = 0.5) -> BoolArray:
        """Which variables are selected on at least this share of the subsamples."""
        return np.asarray(self.frequencies >= threshold)


def stability(
    model: Any,
    X: Any,
    n_splits: int = 50,
    *,
    fraction: float = 0.5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> StabilityResult:
    """Fit a model on many random subsamples, and count how often each variable is selected.

    Parameters
    ----------
    model : estimator
        `GSPPCA`, `GSPPCASelector`, one of `gsppca.baselines` or any other estimator with `support_` or
        `get_support` after `fit(X)`. It is cloned, not changed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, as the model takes it.
    n_splits : int, default=50
        Number of subsamples, at least 2.
    fraction : float, default=0.5
        Share of the samples in each. Up to one half, subsamples are drawn in pairs without a sample in common
        (Shah & Samworth 2013), so that agreement within a pair is not due to the same samples.
    random_state : int, RandomState instance or None, default=None
        Draws the subsamples.
    n_jobs : int, optional
        Fits at a time, as in scikit-learn.

    Returns
    -------
    result : StabilityResult

    Notes
    -----
    Frequencies are those of a model that sees `fraction` of the samples, which selects less surely than one that sees
    all. They are no probabilities that a variable is relevant: a method that always errs alike is stable.
    Warnings of the fits are gathered into one.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import GSPPCA
    >>> from gsppca.comparison.stability import stability
    >>> rng = np.random.default_rng(1)
    >>> X = 0.3 * rng.normal(size=(80, 12))
    >>> X[:, [3, 8, 11]] += rng.normal(size=(80, 1)) @ np.ones((1, 3))
    >>> result = stability(GSPPCA(n_components=1), X, n_splits=10, random_state=0)
    >>> np.flatnonzero(result.stable(0.9))
    array([ 3,  8, 11])
    """
    check_count("n_splits", n_splits, 2, advice="Fifty are usual.")
    fraction = check_number("fraction", fraction, 0, 1, open_low=True)
    X = unmasked(X if hasattr(X, "shape") else np.asarray(X))
    n = _num_samples(X)
    size = max(2, int(fraction * n))
    if size >= n:
        raise ValueError(
            f"fraction must leave out at least one of the {n} samples, got {fraction}: all subsamples would be equal. "
            "One half is usual."
        )
    subsamples = _draw(n, size, n_splits, check_random_state(random_state))
    supports: list[BoolArray] = []
    messages: list[str] = []
    width = effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as parallel:
        for start in range(0, n_splits, width):
            part = subsamples[start : start + width]
            for support, warned in parallel(delayed(_fit_on)(model, X, rows) for rows in part):
                supports.append(support)
                messages += warned
            tell("stability", len(supports), n_splits, f"{supports[-1].sum()} variables selected on the last subsample")
    if messages:
        warnings.warn(
            f"{len(messages)} warning(s) in {n_splits} fits on {size} of {n} samples. The first one: {messages[0]}",
            UserWarning,
            stacklevel=2,
        )
    selected = np.array(supports)
    return StabilityResult(selected.mean(axis=0), selected.sum(axis=1), selected, size)


def _draw(n: int, size: int, n_splits: int, random_state: np.random.RandomState) -> Sequence[IntArray]:
    """Rows of each subsample, ascending; in disjoint pairs if they are small enough."""
    subsamples: list[IntArray] = []
    while len(subsamples) < n_splits:
        rows = random_state.permutation(n)
        subsamples.append(np.sort(rows[:size]))
        if 2 * size <= n:
            subsamples.append(np.sort(rows[size : 2 * size]))
    return subsamples[:n_splits]


def _fit_on(model: Any, X: Any, rows: IntArray) -> tuple[BoolArray, list[str]]:
    """Fit a clone on some rows: which variables it selects, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(model).fit(_safe_indexing(X, rows))
    support = fitted.support_ if hasattr(fitted, "support_") else fitted.get_support()
    return np.asarray(support, dtype=bool), [f"{w.category.__name__}: {w.message}" for w in caught]
