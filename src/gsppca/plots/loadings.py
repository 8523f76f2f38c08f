"""The loadings as a heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.plots._axes import DIVERGING, Display, check_components, current_axes, literal, names_of, ranked, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection


class LoadingsDisplay(Display):
    """Loadings of the selected variables, one row per variable and one column per component.

    Parameters
    ----------
    loadings : array-like of shape (n_rows, n_components)
        What to draw.
    names : sequence of n_rows names
        Names of the rows.
    n_selected : int, optional
        How many variables are selected, if not all of them are drawn; for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    image_ : matplotlib AxesImage
        The heatmap.
    """

    def __init__(self, loadings: ArrayLike, names: Sequence[str], n_selected: int | None = None):
        self.loadings = np.asarray(loadings, dtype=float)
        self.names = list(names)
        self.n_selected = len(self.names) if n_selected is None else n_selected

    @classmethod
    def from_estimator(
        cls,
        model: VariableSelection,
        *,
        feature_names: Sequence[Any] | None = None,
        max_features: int = 40,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the loadings of a fitted GSPPCA.

        Parameters
        ----------
        model : GSPPCA
            A fitted model.
        feature_names : sequence of n_features names, optional
            By default those seen in fit, or x0, x1, ...
        max_features : int, default=40
            Most variables to draw: those with the largest loadings, in the order of the ranking.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        check_is_fitted(model)
        check_components(model)
        names = names_of(model, feature_names)
        order = ranked(model)
        selected = order[model.support_[order]]
        strength = np.linalg.norm(model.components_[:, selected], axis=0)
        kept = selected[np.sort(np.argsort(-strength, kind="stable")[:max_features])]
        return cls(model.components_[:, kept].T, [names[k] for k in kept], len(selected)).plot(ax)

    def plot(self, ax: Axes | None = None, *, colorbar: bool = True) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        rows, columns = self.loadings.shape
        most = float(np.abs(self.loadings).max()) if self.loadings.size else 1.0
        self.image_ = ax.imshow(self.loadings, cmap=DIVERGING, vmin=-most, vmax=most, aspect="auto")
        step = 1 if columns <= 15 else 5
        shown = range(0, columns) if step == 1 else range(step - 1, columns, step)
        ax.set_xticks(shown, [f"PC{j + 1}" for j in shown])
        ax.set_yticks(range(rows), [literal(name) for name in self.names], fontsize=9 if rows <= 24 else 7)
        # White lines between the cells.
        ax.set_xticks(np.arange(0.5, columns - 1), minor=True)
        ax.set_yticks(np.arange(0.5, rows - 1), minor=True)
        ax.grid(which="minor", color="white", lw=1)
        ax.tick_params(which="both", length=0)
        part = "" if rows == self.n_selected else f", {rows} of {self.n_selected} variables"
        ax.set(title=f"Loadings{part}")
        if colorbar:
            bar = self.figure_.colorbar(self.image_, ax=ax, fraction=0.05, pad=0.03)
            bar.outline.set_visible(False)
        tidy(ax)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.margins(0)
        return self


def plot_loadings(
    model: VariableSelection,
    ax: Axes | None = None,
    *,
    feature_names: Sequence[Any] | None = None,
    max_features: int = 40,
) -> Axes:
    """Draw the loadings of the selected variables as a heatmap.

    Parameters
    ----------
    model : GSPPCA
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    feature_names : sequence of n_features names, optional
        By default those seen in fit, or x0, x1, ...
    max_features : int, default=40
        Most variables to draw: those with the largest loadings, in the order of the ranking.
    """
    check_is_fitted(model)
    return LoadingsDisplay.from_estimator(
        model, feature_names=feature_names, max_features=max_features, ax=current_axes(ax)
    ).ax_
