"""The relevances along the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.overview import overview
from gsppca.plots._axes import MARK, ROLE_COLOURS, Display, current_axes, literal, ranked, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection

FEW = 100  # variables that are drawn with a line each
MOST = 2000  # points of many variables
NAMED = 5  # variables that are named among many
APART = 9  # points between two names


class RelevanceDisplay(Display):
    """Relevances in the nested order, coloured by role; variables that are not selected are pale.

    Parameters
    ----------
    relevance : array-like of shape (n_features,)
        Relevances, in the nested order.
    selected : array-like of bool, shape (n_features,)
        Which of them are selected.
    truth : array-like of bool, shape (n_features,), optional
        Which of them are relevant in truth, for simulations.
    role : sequence of n_features roles, optional
        "core", "related" or "noise"; by default selected variables are coloured and the others grey.
    names : sequence of n_features names, optional
        The first of many variables are named.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    """

    def __init__(
        self,
        relevance: ArrayLike,
        selected: ArrayLike,
        truth: ArrayLike | None = None,
        role: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ):
        self.relevance = np.asarray(relevance, dtype=float)
        self.selected = np.asarray(selected, dtype=bool)
        self.truth = None if truth is None else np.asarray(truth, dtype=float)
        self.role = np.where(self.selected, "relevant", "noise") if role is None else np.asarray(role)
        self.names = None if names is None else list(names)

    @classmethod
    def from_estimator(
        cls,
        model: VariableSelection,
        *,
        truth: ArrayLike | None = None,
        feature_names: Sequence[Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the relevances of a fitted model; `truth` in the order of the columns of X."""
        check_is_fitted(model)
        view = overview(model, feature_names)
        order = ranked(model)
        true = None if truth is None else np.asarray(truth)[order]
        names = [view.names[k] for k in order]
        return cls(view.relevance[order], view.selected[order], true, view.role[order].tolist(), names).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        p = len(self.relevance)
        ranks, few = np.arange(1, p + 1), p <= FEW
        kept = np.arange(p) if p <= MOST else np.unique(np.geomspace(1, p, MOST).round().astype(int)) - 1
        for role, colour in ROLE_COLOURS.items():
            for chosen, alpha in ((True, 1.0), (False, 0.4)):
                own = kept[(self.role[kept] == role) & (self.selected[kept] == chosen)]
                if not len(own):
                    continue
                if few:
                    ax.vlines(ranks[own], 0, self.relevance[own], color=colour, lw=1.5, alpha=alpha)
                label = role if chosen or not (self.selected & (self.role == role)).any() else None
                ax.scatter(
                    ranks[own], self.relevance[own], color=colour, s=18 if few else 7, alpha=alpha, lw=0, label=label
                )
        if not few:
            ax.set_xscale("log")  # the first ranks are the ones to look at
            self._name_first(ax)
        if self.truth is not None:
            # Among many variables only the true ones, where they are drawn: circles at zero would be one thick line.
            at = np.arange(p) if few else np.flatnonzero(self.truth)
            heights = self.truth if few else self.relevance
            ax.scatter(ranks[at], heights[at], s=46, facecolors="none", edgecolors=MARK, label="truth")
        ax.set(xlabel="rank of the variable", ylabel="relevance", title="Relevance")
        if self.relevance.min() >= 0 and self.relevance.max() <= 1:
            ax.set_ylim(-0.03, 1.08 if few or self.names is None else 1.5)
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2, markerscale=1.5)
        tidy(ax)
        return self

    def _name_first(self, ax: Axes) -> None:
        width = ax.get_window_extent().width * 72 / self.figure_.dpi  # in points; ranks are on a logarithmic axis
        last = -np.inf
        for k, name in enumerate(self.names[:NAMED] if self.names else []):
            place = width * np.log(k + 1) / np.log(len(self.relevance))
            if place - last < APART:  # a name would cover the one before it
                continue
            last = place
            ax.annotate(
                literal(name, 14),
                (k + 1, self.relevance[k]),
                xytext=(0, 6),
                textcoords="offset points",
                rotation=60,
                ha="left",
                va="bottom",
                rotation_mode="anchor",
                fontsize=8,
            )


def plot_relevance(
    model: VariableSelection,
    ax: Axes | None = None,
    *,
    truth: Any = None,
    feature_names: Sequence[Any] | None = None,
) -> Axes:
    """Draw the relevances along the nested order, coloured by role.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    truth : array-like of bool, optional
        The relevant variables of a simulation, drawn as circles at one, the others at zero; of many variables only the
        relevant ones, at their relevances.
    feature_names : sequence of n_features names, optional
        The first of many variables are named; by default as seen in fit, or x0, x1, ...
    """
    check_is_fitted(model)
    return RelevanceDisplay.from_estimator(model, truth=truth, feature_names=feature_names, ax=current_axes(ax)).ax_
