"""What a report says, as plain values: everything that the page shows is computed here, and nothing is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.core.axes import principal_axes
from gsppca.core.state import EvidencePath
from gsppca.data import Matrix
from gsppca.report.explained import explained_along
from gsppca.report.scores import Scores, scores_to_draw
from gsppca.selection import Frame
from gsppca.validation import check_data

CONSTANT_SHOWN = 200  # names of constant columns on the page; all of them are counted


@dataclass(frozen=True)
class Content:
    """A fitted model in the order of its ranking, constant columns left out.

    Attributes
    ----------
    names : list of str
        Of all ranked variables, the most relevant first.
    columns : ndarray of shape (n_ranked,)
        Their positions among the columns of X.
    relevance : ndarray of shape (n_ranked,)
        Their relevances.
    inclusion : ndarray of shape (n_ranked,) or None
        Their posterior probabilities of being relevant, when the model has them.
    path : EvidencePath
        Evidence over the size; not all sizes need be on it.
    n_selected : int
        The chosen size.
    n_samples : int or None
        None when neither the model nor the caller holds the data.
    n_features : int
        Columns of X, constant ones included.
    n_components : int
        Components on the support.
    constant : list of str
        Names of the constant columns, the first `CONSTANT_SHOWN`.
    n_constant : int
        How many there are.
    loadings : ndarray of shape (n_components, n_selected) or None
        Of the selected variables, along the ranking.
    component_ratios : ndarray of shape (n_components,) or None
        Explained variance ratio of each component.
    explained_sizes, explained : ndarray or None
        Sizes at which the explained variance ratio is known, and its values.
    scores : Scores or None
        Samples to draw.
    """

    names: list[str]
    columns: IntArray
    relevance: FloatArray
    inclusion: FloatArray | None
    path: EvidencePath
    n_selected: int
    n_samples: int | None
    n_features: int
    n_components: int
    constant: list[str]
    n_constant: int
    loadings: FloatArray | None
    component_ratios: FloatArray | None
    explained_sizes: IntArray | None
    explained: FloatArray | None
    scores: Scores | None

    @property
    def n_ranked(self) -> int:
        """Number of variables that vary."""
        return len(self.columns)

    def evidence_at(self, size: int) -> float:
        """Log evidence at a size, relative to the largest; NaN where it was not evaluated."""
        position = int(np.searchsorted(self.path.sizes, size))
        if position == len(self.path.sizes) or self.path.sizes[position] != size:
            return float("nan")
        return float(self.path.log_evidence[position] - self.path.log_evidence.max())

    def explained_at(self, size: int) -> float | None:
        """Explained variance ratio at one of the sizes where it is known, None otherwise."""
        if self.explained_sizes is None or self.explained is None:
            return None
        found = self.explained[self.explained_sizes == size]
        return float(found[0]) if len(found) else None


def collect(
    model: Any,
    X: Any = None,
    feature_names: Sequence[Any] | None = None,
    sample_names: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
) -> Content:
    """Gather what the page shows of a fitted model; the parameters are those of `write_report`."""
    check_is_fitted(model)
    frame = _frame(model, X)
    names = _names("feature_names", feature_names, model.n_features_in_, "one name per column of X")
    if names is None:
        names = [str(name) for name in getattr(model, "feature_names_in_", ())] or [
            f"x{k}" for k in range(model.n_features_in_)
        ]
    # Constant columns stand at the end of the ranking; the path counts the others.
    n_ranked = int(model._selection.order.size)
    ranked = np.argsort(model.ranking_)
    columns, constant = ranked[:n_ranked], np.sort(ranked[n_ranked:])
    size = int(model.n_selected_)
    components, ratios = _components(model, frame)
    loadings = None if components is None else components[:, columns[:size]]
    sizes = explained = scores = None
    if frame is not None:
        check_aligned("sample_names", sample_names, frame.data.n_samples)
        check_aligned("labels", labels, frame.data.n_samples)
        sizes, explained = explained_along(frame.data, model._selection.order, model.n_latent_, size or None)
        if components is not None and len(components):
            scores = scores_to_draw(_project(frame, components, model.support_), sample_names, labels)
    inclusion = getattr(model, "inclusion_probability_", None)
    return Content(
        names=[names[k] for k in columns],
        columns=columns,
        relevance=np.asarray(model.relevance_, dtype=float)[columns],
        inclusion=None if inclusion is None else np.asarray(inclusion, dtype=float)[columns],
        path=model.evidence_path_,
        n_selected=size,
        n_samples=getattr(model, "n_samples_", None) if frame is None else frame.data.n_samples,
        n_features=int(model.n_features_in_),
        n_components=int(model.n_latent_) if components is None else len(components),
        constant=[names[k] for k in constant[:CONSTANT_SHOWN]],
        n_constant=len(constant),
        loadings=loadings,
        component_ratios=ratios,
        explained_sizes=sizes,
        explained=explained,
        scores=scores,
    )


def check_aligned(argument: str, values: Sequence[Any] | None, n_samples: int) -> None:
    """Refuse values that are not one per sample."""
    if values is not None and len(values) != n_samples:
        raise ValueError(f"{argument} must have one entry per row of X, {n_samples}, got {len(values)}.")


def _names(argument: str, values: Sequence[Any] | None, count: int, what: str) -> list[str] | None:
    if values is None:
        return None
    if len(values) != count:
        raise ValueError(f"{argument} must have {what}, {count}, got {len(values)}.")
    return [str(value) for value in values]


def _frame(model: Any, X: Any) -> Frame | None:
    """The training data: that given, else that which the model still refers to."""
    known: Frame | None = model._selection.frame
    if known is not None:
        if X is not None and tuple(X.shape) != tuple(known.source.shape):
            raise ValueError(f"X must be the data of fit, of shape {known.source.shape}, got shape {X.shape}.")
        return known
    if X is None:
        return None
    with warnings.catch_warnings():
        # The names of the columns are not used here: the values are compared below.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        X = check_data(model, X, reset=False)
    frame = Frame.of(X, model._scale())
    if not _is_data_of_fit(model, frame):
        raise ValueError(
            "X is not the data of fit: its columns have other means or variances. Give the X of fit, or leave X out; "
            "the report then lacks the parts that need the data."
        )
    return frame


def _is_data_of_fit(model: Any, frame: Frame) -> bool:
    squares, stored = frame.data.column_squares, model._selection.column_squares
    if squares.shape != stored.shape or not np.allclose(squares, stored, atol=0):
        return False
    # Standardised columns all have one sum of squares: their means and scales know them, where the model keeps them.
    for found, kept in ((frame.mean, getattr(model, "mean_", None)), (frame.scale, getattr(model, "scale_", None))):
        if found is not None and kept is not None and not np.allclose(found, kept, rtol=1e-5, atol=1e-5 * np.ptp(kept)):
            return False
    return True


def _components(model: Any, frame: Frame | None) -> tuple[FloatArray | None, FloatArray | None]:
    """Axes over all columns and their explained variance ratios; for a selector those of PCA on its support."""
    if hasattr(model, "components_"):
        return np.asarray(model.components_, dtype=float), np.asarray(model.explained_variance_ratio_, dtype=float)
    if frame is None or not model.support_.any():
        return None, None
    axes = principal_axes(frame.data, model.support_[frame.varying], model.n_latent_)
    return frame.widen(axes.components), axes.eigenvalues * frame.data.n_samples / frame.data.total_squares


def _project(frame: Frame, components: FloatArray, support: BoolArray) -> FloatArray:
    kept = support[frame.varying]
    part: Matrix = frame.data.columns(kept) if kept.any() else frame.data
    return part.product(np.ascontiguousarray(components[:, support] if kept.any() else components[:, frame.varying]))
