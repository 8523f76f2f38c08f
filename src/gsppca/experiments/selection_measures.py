"""Measures of a selection on data without a known support: groups, neighbours, redundancy, stability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gsppca._typing import FloatArray
from gsppca.comparison.stability import StabilityResult


def clustering_scores(
    Z: FloatArray, labels: ArrayLike, seed: int, n_starts: int = 10, n_runs: int = 1
) -> tuple[float, float]:
    """Accuracy and normalised mutual information of k-means against known groups, each from 0 to 1.

    Accuracy is the share of rows in the right group under the best one-to-one matching of clusters and groups. Starts
    of k-means move both by several points: means over a few runs are steadier.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_selected)
        The selected columns, in the units in which distances are to be measured.
    labels : array-like of shape (n_samples,)
        Known groups; there are as many clusters.
    seed : int
        Of the starts.
    n_starts : int, default=10
        The best of so many starts counts in a run.
    n_runs : int, default=1
        Runs, each with starts of its own, that the mean is taken over.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix

    truth = np.unique(np.asarray(labels), return_inverse=True)[1]
    if Z.shape[1] > Z.shape[0]:
        Z = np.asarray(np.linalg.qr(Z.T, mode="r")).T  # all distances between rows, in fewer columns
    scores = np.empty((n_runs, 2))
    for run in range(n_runs):
        start = seed if n_runs == 1 else seed * n_runs + run
        found = KMeans(int(truth.max()) + 1, n_init=n_starts, random_state=start).fit_predict(Z)
        table = np.asarray(contingency_matrix(truth, found))
        matched = table[linear_sum_assignment(-table)].sum()
        scores[run] = matched / len(truth), normalized_mutual_info_score(truth, found)
    accuracy, information = scores.mean(axis=0)
    return float(accuracy), float(information)


def neighbour_accuracy(Z: FloatArray, labels: ArrayLike, seed: int, n_neighbours: int = 5, n_folds: int = 5) -> float:
    """Cross-validated accuracy of the vote of the nearest neighbours, from 0 to 1.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_selected)
        The selected columns, in the units in which distances are to be measured.
    labels : array-like of shape (n_samples,)
        Known groups.
    seed : int
        Shuffles the rows before they are dealt out to the folds, which keep the shares of the groups.
    n_neighbours, n_folds : int, default=5
        How many vote; how many folds.
    """
    from sklearn.neighbors import KNeighborsClassifier

    y = np.unique(np.asarray(labels), return_inverse=True)[1]
    shuffled = np.random.default_rng(seed).permutation(len(y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[shuffled[np.argsort(y[shuffled], kind="stable")]] = np.arange(len(y)) % n_folds
    hits = 0
    for number in range(n_folds):
        train = fold != number
        model = KNeighborsClassifier(min(n_neighbours, int(train.sum()))).fit(Z[train], y[train])
        hits += int(np.sum(model.predict(Z[~train]) == y[~train]))
    return hits / len(y)


def redundancy(Z: FloatArray) -> float:
    """Mean absolute correlation of all pairs of columns; 0 for a single one.

    Examples
    --------
    >>> import numpy as np
    >>> redundancy(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]))
    1.0
    """
    p = Z.shape[1]
    if p < 2:
        return 0.0
    correlations: Any = np.abs(np.corrcoef(Z, rowvar=False))
    return float(round((correlations.sum() - p) / (p * (p - 1)), 12))


def nogueira_stability(supports: ArrayLike) -> float:
    """Agreement of several selections beyond chance (Nogueira, Sechidis & Brown 2018): 1 if all agree, 0 by chance.

    Parameters
    ----------
    supports : array-like of shape (n_selections, n_features), bool
        At least two selections. The result is not a number if all hold everything, or nothing.

    Examples
    --------
    >>> nogueira_stability([[True, False, False], [True, False, False]])
    1.0
    """
    masks = np.asarray(supports, dtype=bool)
    if len(masks) < 2:
        raise ValueError(f"supports holds {len(masks)} selection: expected at least 2 to compare")
    return StabilityResult(masks.mean(axis=0), masks.sum(axis=1), masks, n_rows=0).index
