"""What a report says, as plain values: everything that the page shows is computed here, and nothing is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.components.axes import principal_axes
from gsppca.data import Matrix
from gsppca.frame import Frame
from gsppca.overview import Overview, overview
from gsppca.procedure import plan_of
from gsppca.report.copies import Copies, near_copies
from gsppca.report.explained import explained_along
from gsppca.report.scores import Scores, scores_to_draw
from gsppca.report.sizes import Preset, Sized, model_at, presets
from gsppca.results import EvidencePath
from gsppca.validation import check_data
from gsppca.variable_selection import VariableSelection

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
    selected : ndarray of bool, shape (n_ranked,)
        Which of them the model selects: the first ones, or for rules such as "fdr" any.
    view : Overview
        What the fit says of all columns of X, in their order.
    presets : list of Preset
        Sizes that have a button.
    sized : list of Sized
        The model at those of them that could be computed.
    path : EvidencePath or None
        Evidence over the size; not all sizes need be on it. None when it would need data that is not there.
    n_selected : int
        Number of selected variables.
    n_choosable : int
        Number of variables that vary and are not excluded.
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
    copies : Copies or None
        Groups of near-copies; None where no correlation is known.
    """

    names: list[str]
    columns: IntArray
    relevance: FloatArray
    inclusion: FloatArray | None
    selected: BoolArray
    view: Overview
    presets: list[Preset]
    sized: list[Sized]
    path: EvidencePath | None
    n_selected: int
    n_choosable: int
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
    copies: Copies | None

    @property
    def n_ranked(self) -> int:
        """Number of variables that vary."""
        return len(self.columns)

    def evidence_at(self, size: int) -> float:
        """Log evidence at a size, relative to the largest; NaN where it was not evaluated."""
        if self.path is None:
            return float("nan")
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
    model: VariableSelection,
    X: Any = None,
    feature_names: Sequence[Any] | None = None,
    sample_names: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
) -> Content:
    """Gather what the page shows of a fitted model; the parameters are those of `write_report`."""
    check_is_fitted(model)
    frame = _frame(model, X)
    view = overview(model, feature_names)
    # Constant columns stand at the end of the ranking; the path counts the others.
    order, components_at = model._fitted.found.order, model._fitted.found.components_at
    ranked = np.argsort(model.ranking_)
    columns, constant = ranked[: len(order)], np.sort(ranked[len(order) :])
    size = view.n_selected
    components, ratios = _components(model, frame)
    loadings = None if components is None else components[:, columns[view.selected[columns]]]
    buttons = presets(view)
    sizes = explained = scores = None
    sized: list[Sized] = []
    if frame is not None:
        check_aligned("sample_names", sample_names, frame.data.n_samples)
        check_aligned("labels", labels, frame.data.n_samples)
        chosen = [button.size for button in buttons]
        sizes, explained = explained_along(frame.data, order, components_at, sorted({*chosen, size} - {0}))
        if components is not None and len(components):
            scores = scores_to_draw(_project(frame, components, model.support_), sample_names, labels)
            others = [k for k in chosen if k != size or not view.is_cut]
            found = [model_at(frame, order, k, components_at(k), scores.rows) for k in others]
            sized = [one for one in found if one is not None]
    return Content(
        names=[view.names[k] for k in columns],
        columns=columns,
        relevance=np.asarray(model.relevance_, dtype=float)[columns],
        inclusion=np.asarray(view.inclusion, dtype=float)[columns],
        selected=view.selected[columns],
        view=view,
        presets=buttons,
        sized=sized,
        path=_path(model),
        n_selected=size,
        n_choosable=len(order) - len(model._fitted.found.wishes.exclude),
        n_samples=getattr(model, "n_samples_", None) if frame is None else frame.data.n_samples,
        n_features=int(model.n_features_in_),
        n_components=int(model.n_latent_) if components is None else len(components),
        constant=[view.names[k] for k in constant[:CONSTANT_SHOWN]],
        n_constant=len(constant),
        loadings=loadings,
        component_ratios=ratios,
        explained_sizes=sizes,
        explained=explained,
        scores=scores,
        copies=near_copies(view, None if frame is None else frame.described),
    )


def _path(model: VariableSelection) -> EvidencePath | None:
    """The evidence path; None for a loaded model that never evaluated it."""
    try:
        return model.evidence_path_
    except AttributeError:
        return None


def check_aligned(argument: str, values: Sequence[Any] | None, n_samples: int) -> None:
    """Refuse values that are not one per sample."""
    if values is not None and len(values) != n_samples:
        raise ValueError(f"{argument} must have one entry per row of X, {n_samples}, got {len(values)}.")


def _frame(model: VariableSelection, X: Any) -> Frame | None:
    """The training data: that given, else that which the model still refers to."""
    known = model._fitted.frame
    if known is not None:
        if X is not None and tuple(X.shape) != tuple(known.source.shape):
            raise ValueError(f"X must be the data of fit, of shape {known.source.shape}, got shape {X.shape}.")
        return known
    if X is None:
        return None
    with warnings.catch_warnings():
        # The names of the columns are not used here: the values are compared below.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        frame = plan_of(model).frame(check_data(model, X, reset=False))
    if not _is_data_of_fit(model, frame):
        raise ValueError(
            "X is not the data of fit: its columns have other means or variances. Give the X of fit, or leave X out; "
            "the report then lacks the parts that need the data."
        )
    return frame


def _is_data_of_fit(model: VariableSelection, frame: Frame) -> bool:
    squares, stored = frame.data.column_squares, model._fitted.column_squares
    if squares.shape != stored.shape or not np.allclose(squares, stored, atol=0):
        return False
    # Standardised columns all have one sum of squares: their means and scales know them, where the model keeps them.
    for found, kept in ((frame.mean, getattr(model, "mean_", None)), (frame.scale, getattr(model, "scale_", None))):
        if found is not None and kept is not None and not np.allclose(found, kept, rtol=1e-5, atol=1e-5 * np.ptp(kept)):
            return False
    return True


def _components(model: VariableSelection, frame: Frame | None) -> tuple[FloatArray | None, FloatArray | None]:
    """Axes over all columns and their explained variance ratios; for a selector those of PCA on its support."""
    if hasattr(model, "components_"):
        return np.asarray(model.components_, dtype=float), np.asarray(model.explained_variance_ratio_, dtype=float)
    if frame is None or not model.support_.any():
        return None, None
    n_axes = model._fitted.chosen.n_components or model.n_latent_
    axes = principal_axes(frame.data, model.support_[frame.varying], n_axes)
    return frame.widen(axes.components), axes.eigenvalues * frame.data.n_samples / frame.data.total_squares


def _project(frame: Frame, components: FloatArray, support: BoolArray) -> FloatArray:
    kept = support[frame.varying]
    part: Matrix = frame.data.columns(kept) if kept.any() else frame.data
    return part.product(np.ascontiguousarray(components[:, support] if kept.any() else components[:, frame.varying]))
