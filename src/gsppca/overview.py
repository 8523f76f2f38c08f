"""What a fit says of every variable, gathered once for the terminal, notebooks, files, plots and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.chosen_columns import column_values
from gsppca.rules.deal import FEWEST_SAMPLES

if TYPE_CHECKING:
    from gsppca.data import Matrix
    from gsppca.rules.core import CoreFit, SharePath
    from gsppca.variable_selection import VariableSelection

BLOCK = 256  # selected variables whose correlations are held at a time
HEAVY = 0.9  # share of the total variance by which a few columns decide the components
FEW_HEAVY, LEAST_RATIO = 3, 4  # columns at most, and columns in all for each of them
MOST_STAND_INS = 2000  # selected variables that others are compared with


@dataclass(frozen=True)
class Overview:
    """What a fit says of every variable; arrays are in the order of the columns of X.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    selected : ndarray of bool
        Which are selected.
    relevant : ndarray of bool
        Which the method keeps.
    varying : ndarray of bool
        Which are not constant.
    role : ndarray of str
        "core", "related" or "noise"; "relevant" or "noise" where the core is not known.
    rank : ndarray of int
        Place in the nested order, 1 the first.
    relevance, inclusion : ndarray of float
        As `relevance_` and `inclusion_probability_`.
    represented_by : ndarray of int
        The selected variable that each other variable correlates with most; its own place for a selected one, -1 where
        this is not known.
    correlation : ndarray of float
        That correlation; NaN where it is not known.
    predicted : ndarray of float
        Share of each variable that the core predicts on rows left out; NaN where it is not known.
    core : CoreFit or None
        The core; None on very few samples, or for a loaded model of which it was never computed.
    share_path : SharePath or None
        Shares along the nested order; None where the nested order is not that of the core.
    selected_by : str
        The rule that chose.
    supported : bool
        Whether there is statistically supported structure.
    n_latent : int
        Dimension of the latent space.
    warnings : list of str
        What the fit warned of.
    method : str
        "joint", "paper" or the name of another method.
    heaviest : list of int
        The fewest columns that hold `HEAVY` of the total variance of X as the method saw it, if they are at most
        `FEW_HEAVY` of many; else empty.
    heaviest_share : float
        The share that they hold.
    """

    names: list[str]
    selected: BoolArray
    relevant: BoolArray
    varying: BoolArray
    role: npt.NDArray[Any]
    rank: IntArray
    relevance: FloatArray
    inclusion: FloatArray
    represented_by: IntArray
    correlation: FloatArray
    predicted: FloatArray
    core: CoreFit | None
    share_path: SharePath | None
    selected_by: str
    supported: bool
    n_latent: int
    warnings: list[str]
    method: str
    heaviest: list[int]
    heaviest_share: float

    @cached_property
    def order(self) -> IntArray:
        """All columns: the selected ones first, both parts by rank."""
        return np.lexsort([self.rank, ~self.selected])

    @property
    def n_selected(self) -> int:
        """Number of selected variables."""
        return int(self.selected.sum())

    @property
    def n_relevant(self) -> int:
        """Number of relevant variables."""
        return int(self.relevant.sum())

    @property
    def n_core(self) -> int | None:
        """Size of the core."""
        return None if self.core is None else self.core.size

    @property
    def is_cut(self) -> bool:
        """Whether the selection is the beginning of the nested order: rules such as "fdr" select a set instead."""
        return bool(self.rank[self.selected].max(initial=0) == self.n_selected)

    @property
    def share(self) -> float | None:
        """Share of the components of all relevant variables that the selected ones predict on rows left out."""
        if self.core is None or not self.supported:
            return None
        chosen = np.flatnonzero(self.varying)[self.core.order[: self.n_selected]]
        shares = self.core.share_path.share
        return float(shares[self.n_selected - 1]) if self._is_selection(chosen) and len(chosen) <= len(shares) else None

    def share_at(self, rank: int) -> float | None:
        """Share that the first variables of the nested order predict; None where it was not evaluated."""
        if self.share_path is None or not self.supported or not 0 < rank <= len(self.share_path.share):
            return None
        return float(self.share_path.share[rank - 1])

    def stands_for(self, column: int) -> list[int]:
        """Relevant variables that are not selected and that this one represents, the strongest correlation first."""
        return self._groups.get(column, [])

    @cached_property
    def _groups(self) -> dict[int, list[int]]:
        members = np.flatnonzero(self.relevant & ~self.selected & (self.represented_by >= 0))
        members = members[np.argsort(-np.abs(self.correlation[members]), kind="stable")]
        groups: dict[int, list[int]] = {}
        for member in members.tolist():
            groups.setdefault(int(self.represented_by[member]), []).append(member)
        return groups

    def _is_selection(self, chosen: IntArray) -> bool:
        return len(chosen) == self.n_selected and bool(self.selected[chosen].all())


def overview(model: VariableSelection, names: Sequence[Any] | None = None) -> Overview:
    """Gather what a fitted model says of its variables.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    names : sequence of n_features names, optional
        By default those seen in fit, or x0, x1, ...
    """
    check_is_fitted(model)
    fitted = model._fitted
    varying = fitted.varying
    core = known_core(model)
    nested = core is not None and np.array_equal(
        core.order[: len(core.share_path.sizes)], fitted.found.order[: len(core.share_path.sizes)]
    )
    if core is None:
        role = np.where(model.relevant_, "relevant", "noise")
        predicted = np.full(len(varying), np.nan)
    else:
        role, predicted = model.role_, np.where(varying, np.clip(model.predicted_share_, 0, 1), np.nan)
    by, correlation = _stand_ins(model, core)
    heaviest, heaviest_share = _heaviest(fitted.column_squares, np.flatnonzero(varying))
    return Overview(
        names=names_of(model, names),
        selected=model.support_,
        relevant=model.relevant_,
        varying=varying,
        role=role,
        rank=model.ranking_,
        relevance=model.relevance_,
        inclusion=model.inclusion_probability_,
        represented_by=by,
        correlation=correlation,
        predicted=predicted,
        core=core,
        share_path=core.share_path if core is not None and nested else None,
        selected_by=model.selected_by_,
        supported=bool(model.supported_),
        n_latent=int(model.n_latent_),
        warnings=[caution.message for caution in (*fitted.found.cautions, *fitted.chosen.cautions)],
        method=model.method if isinstance(model.method, str) else type(model.method).__name__.lower(),
        heaviest=heaviest,
        heaviest_share=heaviest_share,
    )


def _heaviest(squares: FloatArray, places: IntArray) -> tuple[list[int], float]:
    """Columns that outweigh all others together, and their share of the variance; none where many share it."""
    order = np.argsort(-squares, kind="stable")[:FEW_HEAVY]
    shares = np.cumsum(squares[order]) / squares.sum() if len(squares) else np.zeros(0)
    number = int(np.searchsorted(shares, HEAVY)) + 1
    if number > len(order) or len(squares) < LEAST_RATIO * number:
        return [], 0.0
    return places[order[:number]].tolist(), float(shares[number - 1])


def known_core(model: VariableSelection) -> CoreFit | None:
    """Return the core of a fitted model; None if there is none, or it would need data that is not there."""
    fitted = model._fitted
    core = fitted.chosen.core or fitted.found.core
    if core is not None:
        return core
    if fitted.frame is None or fitted.frame.data.n_samples < FEWEST_SAMPLES:
        return None
    return model._core()


def names_of(model: VariableSelection, given: Sequence[Any] | None = None) -> list[str]:
    """Return the names given, those seen in fit, or x0, x1, ...."""
    p = int(model.n_features_in_)
    names = given if given is not None else getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{k}" for k in range(p)]
    if len(names) != p:
        raise ValueError(f"feature_names must have one name per column of X, {p}, got {len(names)}.")
    return [str(name) for name in names]


def table_columns(view: Overview) -> dict[str, Any]:
    """Return the columns of the table of all variables, the selected ones first."""
    order = view.order
    named = [None if k < 0 else view.names[k] for k in np.where(view.selected, -1, view.represented_by)[order].tolist()]
    return {
        "name": [view.names[k] for k in order.tolist()],
        "selected": view.selected[order],
        "role": view.role[order].astype(object),
        "rank": view.rank[order],
        "represented_by": named,
        "correlation": np.where(view.selected, np.nan, view.correlation)[order],
        "predicted_share": view.predicted[order],
        "relevance": view.relevance[order].astype(float),
        "inclusion_probability": view.inclusion[order].astype(float),
    }


def _stand_ins(model: VariableSelection, core: CoreFit | None) -> tuple[IntArray, FloatArray]:
    """Return the selected variable that each variable correlates with most, and the correlation."""
    fitted = model._fitted
    places = np.flatnonzero(fitted.varying)
    by, correlation = np.full(len(fitted.varying), -1), np.full(len(fitted.varying), np.nan)
    order = fitted.found.order
    chosen = order[model.support_[places[order]]]
    if core is not None and np.array_equal(np.sort(chosen), np.sort(core.core)):
        known, values = core.description.represented_by, core.description.correlation
    elif fitted.frame is None or not len(chosen):
        return by, correlation
    else:
        known, values = _most_correlated(fitted.frame.described, chosen[:MOST_STAND_INS])
    by[places], correlation[places] = places[known], values
    own = np.flatnonzero(model.support_)
    by[own], correlation[own] = own, 1.0
    return by, correlation


def _most_correlated(matrix: Matrix, chosen: IntArray) -> tuple[IntArray, FloatArray]:
    """The chosen variable of the largest absolute correlation with each variable, and that correlation."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    standard = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
    best, value = np.full(matrix.n_features, chosen[0]), np.zeros(matrix.n_features)
    for start in range(0, len(chosen), BLOCK):
        part = chosen[start : start + BLOCK]
        products = standard.transposed_product(column_values(standard, part)) / matrix.n_samples
        largest = np.argmax(np.abs(products), axis=0)
        found = products[largest, np.arange(matrix.n_features)]
        better = np.abs(found) > np.abs(value)
        best[better], value[better] = part[largest[better]], found[better]
    return best, np.clip(value, -1.0, 1.0)
