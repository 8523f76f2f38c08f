"""The relevances along the ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.plots._axes import MARK, OTHER, SELECTED, Display, current_axes, ranked, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 200  # variables that are drawn one by one


class RelevanceDisplay(Display):
    """Relevances in the order of the ranking, selected variables in colour.

    Parameters
    ----------
    relevance : array-like of shape (n_features,)
        Relevances, the best-ranked variable first.
    selected : array-like of bool, shape (n_features,)
        Which of them are selected.
    truth : array-like of bool, shape (n_features,), optional
        Which of them are relevant in truth, for simulations.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    """

    def __init__(self, relevance: ArrayLike, selected: ArrayLike, truth: ArrayLike | None = None):
        self.relevance = np.asarray(relevance, dtype=float)
        self.selected = np.asarray(selected, dtype=bool)
        self.truth = None if truth is None else np.asarray(truth, dtype=float)

    @classmethod
    def from_estimator(cls, model: Any, *, truth: ArrayLike | None = None, ax: Axes | None = None) -> Self:
        """Draw the relevances of a fitted model; `truth` in the order of the columns of X."""
        check_is_fitted(model)
        order = ranked(model)
        true = None if truth is None else np.asarray(truth)[order]
        return cls(model.relevance_[order], model.support_[order], true).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        ranks = np.arange(1, len(self.relevance) + 1)
        if len(ranks) <= FEW:
            colours = np.where(self.selected, SELECTED, OTHER)
            ax.vlines(ranks, 0, self.relevance, color=colours, lw=1.5)
            ax.scatter(ranks, self.relevance, c=colours, s=18, zorder=3)
        else:
            ax.fill_between(ranks, 0, self.relevance, color=OTHER, lw=0)
            ax.fill_between(ranks, 0, self.relevance, where=self.selected, color=SELECTED, lw=0)
        if self.truth is not None:
            ax.scatter(ranks, self.truth, s=46, facecolors="none", edgecolors=MARK, label="truth")
            ax.legend(frameon=False, loc="upper right")
        ax.set(xlabel="rank of the variable", ylabel="relevance u", title="Relevance")
        if self.relevance.min() >= 0 and self.relevance.max() <= 1:
            ax.set_ylim(-0.03, 1.08)
        tidy(ax)
        return self


def plot_relevance(model: Any, ax: Axes | None = None, *, truth: Any = None) -> Axes:
    """Draw the relevances along the ranking, selected variables in colour.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    truth : array-like of bool, optional
        The relevant variables of a simulation, drawn as circles at one, the others at zero.
    """
    check_is_fitted(model)
    return RelevanceDisplay.from_estimator(model, truth=truth, ax=current_axes(ax)).ax_
