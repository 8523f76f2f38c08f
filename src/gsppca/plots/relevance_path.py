"""Relevances along the noise path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca._optional import optional_import
from gsppca.plots._axes import OTHER, SELECTED, Display, current_axes, literal, names_of, ranked, spread, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES = 1000  # of variables that are not selected: the best-ranked are drawn
FEW = 12  # selected variables that are named


class RelevancePathDisplay(Display):
    """Relevance of every variable as the noise rises: the later a variable dies, the better it is ranked.

    Parameters
    ----------
    levels : array-like of shape (n_steps,)
        Noise levels, ascending and positive.
    relevance : array-like of shape (n_steps, n_features)
        Relevance of each variable at each level.
    selected : array-like of bool, shape (n_features,), optional
        Which variables are drawn in colour; all of them by default.
    names : sequence of n_features names, optional
        Named are the selected variables, if they are few.
    order : array-like of shape (n_features,), optional
        Variables, the most relevant first: of very many, only the first are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    selected_lines_, other_lines_ : matplotlib LineCollection
        Curves of the variables, in their order.
    """

    def __init__(
        self,
        levels: ArrayLike,
        relevance: ArrayLike,
        selected: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        order: ArrayLike | None = None,
    ):
        self.levels = np.asarray(levels, dtype=float)
        self.relevance = np.asarray(relevance, dtype=float)
        if self.relevance.ndim != 2 or len(self.relevance) != len(self.levels):
            raise ValueError(
                f"relevance must have one row per level, {len(self.levels)}, and one column per variable, "
                f"got shape {self.relevance.shape}."
            )
        p = self.relevance.shape[1]
        self.selected = np.ones(p, dtype=bool) if selected is None else np.asarray(selected, dtype=bool)
        self.names = None if names is None else list(names)
        self.order = np.arange(p) if order is None else np.asarray(order)

    @classmethod
    def from_estimator(cls, model: Any, *, feature_names: Sequence[Any] | None = None, ax: Axes | None = None) -> Self:
        """Draw the path of a model that was fitted with ``ranking="noise-path"``."""
        check_is_fitted(model)
        path = getattr(model, "relevance_path_", None)
        if path is None:
            raise ValueError(
                f"model must have a relevance_path_, got one fitted with ranking={model.ranking!r}. "
                "Fit it with ranking='noise-path'."
            )
        names = names_of(model, feature_names)
        return cls(path.levels, path.relevance, model.support_, names, ranked(model)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        collections = optional_import("matplotlib.collections", "drawing", "plot", "matplotlib")
        ax = self._begin(ax)
        others = self.order[~self.selected[self.order]][:MAX_LINES]
        chosen = self.order[self.selected[self.order]]

        def lines(members: Any, **look: Any) -> Any:
            curves = [np.column_stack([self.levels, self.relevance[:, k]]) for k in members]
            return ax.add_collection(collections.LineCollection(curves, **look))

        self.other_lines_ = lines(others, colors=OTHER, lw=0.8, zorder=1)
        self.selected_lines_ = lines(chosen, colors=SELECTED, lw=1.2, alpha=0.8, zorder=2)
        ax.set_xscale("log")
        ax.autoscale_view()
        ax.set_ylim(bottom=0)
        if self.names is not None and 0 < len(chosen) <= FEW:
            self._name(ax, chosen)
        ax.plot([], [], color=SELECTED, label=f"{len(chosen)} selected")
        if len(others):
            unshown = int((~self.selected).sum()) - len(others)
            rest = f" ({unshown} more not drawn)" if unshown else ""
            ax.plot([], [], color=OTHER, label=f"{len(others)} others{rest}")
        ax.legend(frameon=False, loc="best")
        ax.set(xlabel="noise level", ylabel="relevance", title="Relevance along the noise path")
        tidy(ax)
        return self

    def _name(self, ax: Axes, chosen: Any) -> None:
        """Name each curve at its left end, moved apart where they would overlap."""
        assert self.names is not None
        placed = spread(self.relevance[0, chosen], 0.055 * float(self.relevance.max()))
        for k, height in zip(chosen, placed, strict=True):
            ax.annotate(
                literal(self.names[k], 14),
                (self.levels[0], height),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
                color=SELECTED,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
            )
        # Room for the names.
        ax.set_xlim(left=self.levels[0] / (self.levels[-1] / self.levels[0]) ** 0.12)


def plot_relevance_path(model: Any, ax: Axes | None = None, *, feature_names: Sequence[Any] | None = None) -> Axes:
    """Draw the relevance of every variable along the noise path, selected ones in colour.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A model fitted with ``ranking="noise-path"``.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    feature_names : sequence of n_features names, optional
        By default those seen in fit, or x0, x1, ...
    """
    check_is_fitted(model)
    return RelevancePathDisplay.from_estimator(model, feature_names=feature_names, ax=current_axes(ax)).ax_
