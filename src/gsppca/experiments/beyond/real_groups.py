"""How well known groups show in variables that were chosen on halves of the rows: for the experiment `real-data`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.experiments.selection_measures import clustering_scores, neighbour_accuracy, redundancy
from gsppca.experiments.spec import Row

N_STARTS = 5  # of k-means in a run
# Runs of k-means for each half. Goals are set for the own size: a difference of means over 16 sets has a standard error
# of 0.39 points with four runs on one half of three splits, of 0.24 with ten on both, and of 0.22 with many on both.
N_RUNS, FEWER_RUNS = 10, 2
MOST_PAIRED = 1000


def groups(Z: FloatArray, labels: Any, masks: Sequence[BoolArray], seed: int, n_runs: int) -> Row:
    """Redundancy, and how well known groups show, of the variables chosen on each half; means over halves.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Standardised columns, of all rows.
    labels : array-like of shape (n_samples,), or None
        Known groups.
    masks : sequence of ndarray of shape (n_features,), bool
        The variables chosen on each half; a half that chose none has nothing to be measured.
    seed : int
        Of the split.
    n_runs : int
        Runs of k-means for each half.
    """
    found = [_of_half(Z[:, mask], labels, 2 * seed + half, n_runs) for half, mask in enumerate(masks) if mask.any()]
    return {name: float(np.mean([row[name] for row in found])) for name in found[0]} if found else {}


def _of_half(Z: FloatArray, labels: Any, seed: int, n_runs: int) -> Row:
    some = np.random.default_rng(0).permutation(Z.shape[1])[:MOST_PAIRED]
    found: Row = {"redundancy": redundancy(Z[:, some] if Z.shape[1] > MOST_PAIRED else Z)}
    return found if labels is None else found | known_groups(Z, labels, seed, n_runs)


def known_groups(Z: FloatArray, labels: Any, seed: int, n_runs: int = N_RUNS) -> Row:
    """How well known groups show in some standardised columns."""
    clustering, nmi = clustering_scores(Z, labels, seed, N_STARTS, n_runs)
    return {"accuracy": neighbour_accuracy(Z, labels, seed), "clustering": clustering, "nmi": nmi}
