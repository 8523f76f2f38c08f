"""What all pictures share: colours, axes, names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.overview import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from gsppca.variable_selection import VariableSelection

__all__ = [
    "DIVERGING",
    "MARK",
    "MARKERS",
    "OTHER",
    "PALETTE",
    "ROLE_COLOURS",
    "SELECTED",
    "Display",
    "check_components",
    "component_label",
    "current_axes",
    "literal",
    "names_of",
    "new_axes",
    "ranked",
    "spread",
    "tidy",
]

SELECTED = "#0072B2"  # blue
OTHER = "#B8B8B8"  # grey
MARK = "#D55E00"  # vermilion
ROLE_COLOURS = {"core": SELECTED, "relevant": SELECTED, "related": "#7CC2EA", "noise": OTHER}
# Okabe & Ito; grey comes last, for what has no group of its own.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#A6761D")
MARKERS = ("o", "D", "P")
DIVERGING = "PuOr"  # orange for negative, purple for positive


class Display:
    """A picture that is drawn by `plot`, which sets `ax_` and `figure_`."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _begin(self, ax: Axes | None) -> Axes:
        """Draw on `ax`, or on new axes as scikit-learn's displays do."""
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def new_axes() -> Axes:
    """Return the axes of a new figure."""
    plt = optional_import("matplotlib.pyplot", "drawing", "plot", "matplotlib")
    return plt.subplots(layout="constrained")[1]


def current_axes(ax: Axes | None) -> Axes:
    """Return `ax`, or the current axes."""
    plt = optional_import("matplotlib.pyplot", "drawing", "plot", "matplotlib")
    return plt.gca() if ax is None else ax


def tidy(ax: Axes) -> Axes:
    """Leave out the frame that carries nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.02)
    return ax


def literal(name: str, longest: int = 24) -> str:
    """Return a name as matplotlib shows it unchanged, shortened: a dollar would start a formula."""
    shown = name if len(name) <= longest else name[: longest - 1] + "…"
    return shown.replace("\n", " ").replace("$", r"\$")


def component_label(j: int, ratios: Any = None) -> str:
    """Name of component `j`, a row of `components_`: the first one is PC1; with its share of the variance."""
    return f"PC{j + 1}" + ("" if ratios is None else f" ({ratios[j]:.1%})")


def check_components(model: VariableSelection) -> None:
    """Refuse a model without components."""
    if not hasattr(model, "components_"):
        raise ValueError(
            f"model must have components, got {type(model).__name__}, which selects only. Fit GSPPCA with the same "
            "parameters instead."
        )


def ranked(model: VariableSelection) -> Any:
    """Return the variables in the nested order."""
    return np.argsort(model.ranking_)


def spread(heights: Any, gap: float) -> Any:
    """Move heights apart, as little as may be and in their order, until neighbours are about `gap` from each other."""
    order = np.argsort(heights, kind="stable")
    moved = np.asarray(heights, dtype=float)[order]
    for _ in range(200):
        overlaps = np.maximum(gap - np.diff(moved), 0.0)
        if not (overlaps > 0.01 * gap).any():
            break
        moved[:-1] -= overlaps / 2
        moved[1:] += overlaps / 2
    result = np.empty_like(moved)
    result[order] = moved
    return result
