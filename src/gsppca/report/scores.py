"""Which samples the score plot draws, and how their labels become colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._typing import FloatArray, IntArray

MAX_SAMPLES = 3000  # drawn; more are too slow for a phone
MAX_COMPONENTS = 10
MAX_GROUPS = 24  # eight colours, three shapes; further labels share one grey
MANY_NUMBERS = 12  # numeric labels with more values than this are shown on a colour scale


@dataclass(frozen=True)
class Scores:
    """Samples to draw.

    Attributes
    ----------
    values : ndarray of shape (n_drawn, n_axes)
        Their scores on the first components.
    rows : ndarray of shape (n_drawn,)
        Which rows of X they are.
    n_samples : int
        How many rows there are.
    sample_names : list of str or None
        Names of the samples drawn.
    groups : list of str
        Names of the groups, in their order; empty without labels, or with numbers for labels.
    group : ndarray of shape (n_drawn,) or None
        Position of each sample's group.
    numbers : ndarray of shape (n_drawn,) or None
        Labels that are numbers.
    """

    values: FloatArray
    rows: IntArray
    n_samples: int
    sample_names: list[str] | None
    groups: list[str]
    group: IntArray | None
    numbers: FloatArray | None


def scores_to_draw(scores: FloatArray, sample_names: Sequence[Any] | None, labels: Sequence[Any] | None) -> Scores:
    """Choose the samples to draw and prepare their labels.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_components)
    sample_names, labels : sequence of length n_samples, optional
        Labels that are numbers with many values give a colour scale; all others give groups.
    """
    rows = drawn_rows(scores[:, :MAX_COMPONENTS])
    groups: list[str] = []
    group = numbers = None
    if labels is not None:
        values = np.asarray(labels)
        if values.dtype.kind in "iuf" and len(np.unique(values)) > MANY_NUMBERS:
            numbers = values.astype(float)[rows]
        else:
            groups, positions = grouped(values)
            group = positions[rows]
    everyone = None if sample_names is None else list(sample_names)
    names = None if everyone is None else [str(everyone[i]) for i in rows]
    return Scores(scores[rows, :MAX_COMPONENTS], rows, len(scores), names, groups, group, numbers)


def drawn_rows(scores: FloatArray, most: int = MAX_SAMPLES) -> IntArray:
    """Return all rows, or about `most` of them: the extremes of every component, and others at equal steps."""
    n = len(scores)
    if n <= most:
        return np.arange(n)
    each = max(1, most // (10 * scores.shape[1]))
    order = np.argsort(scores, axis=0, kind="stable")
    extremes = np.concatenate([order[:each].ravel(), order[-each:].ravel()])
    steps = np.linspace(0, n - 1, most - 2 * each * scores.shape[1]).round().astype(int)
    return np.union1d(extremes, steps)


def grouped(labels: Any) -> tuple[list[str], IntArray]:
    """Return group names in their order, and the position of every label's group.

    Beyond `MAX_GROUPS` groups the smallest ones become one, named by how many they are.
    """
    values, inverse, counts = np.unique(_sortable(labels), return_inverse=True, return_counts=True)
    names = [str(value) for value in values]
    if len(names) <= MAX_GROUPS:
        return names, inverse
    largest = np.sort(np.argsort(-counts, kind="stable")[: MAX_GROUPS - 1])
    position = np.full(len(names), len(largest))
    position[largest] = np.arange(len(largest))
    return [*(names[i] for i in largest), f"{len(names) - len(largest)} other labels"], position[inverse]


def _sortable(labels: Any) -> Any:
    """Labels that sort as people expect: numbers by value, all else as text."""
    values = np.asarray(labels)
    return values if values.dtype.kind in "biufU" else np.array([str(label) for label in labels])
