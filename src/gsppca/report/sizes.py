"""The model at the sizes of the page's buttons: loadings and scores of PCA on the first variables of the order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.components.axes import principal_axes
from gsppca.frame import Frame
from gsppca.overview import Overview
from gsppca.report.scores import MAX_COMPONENTS

ROUND = (10, 20, 50, 100)
MOST_LOADINGS = 2**18  # of one size other than the selected one; larger ones are left out


@dataclass(frozen=True)
class Preset:
    """A button: a size of the nested order, and its name."""

    size: int
    name: str


@dataclass(frozen=True)
class Sized:
    """PCA on some variables.

    Attributes
    ----------
    size : int
        Their number.
    loadings : ndarray of shape (n_components, size)
        In the order of the ranking.
    ratios : ndarray of shape (n_components,)
        Explained variance ratio of each component.
    scores : ndarray of shape (n_drawn, n_axes)
        Of the samples that are drawn, on the first components.
    """

    size: int
    loadings: FloatArray
    ratios: FloatArray
    scores: FloatArray


def presets(view: Overview) -> list[Preset]:
    """Return the buttons of the page, by size: round numbers, the core and all relevant variables."""
    p = int(view.varying.sum())
    found = {size: str(size) for size in ROUND if size < p}
    for name, members in (("relevant", view.relevant), ("core", view.role == "core")):
        size = int(members.sum())
        if size and view.rank[members].max() == size:  # a cut of the order
            found[size] = f"{name} ({size:,})"
    return [Preset(size, name) for size, name in sorted(found.items())]


def model_at(frame: Frame, order: IntArray, size: int, n_components: int, rows: IntArray) -> Sized | None:
    """Return PCA on the first variables of the order; None if there would be too many loadings."""
    first = order[:size]
    if min(size, n_components) * size > MOST_LOADINGS:
        return None
    support: BoolArray = np.zeros(frame.data.n_features, dtype=bool)
    support[first] = True
    axes = principal_axes(frame.data, support, n_components)
    scores = frame.data.columns(support).product(np.ascontiguousarray(axes.components[:MAX_COMPONENTS, support]))
    ratios = axes.eigenvalues * frame.data.n_samples / frame.data.total_squares
    return Sized(size, axes.components[:, first], ratios, scores[rows])
