"""How often variables are selected under resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gsppca.plots._axes import MARK, OTHER, SELECTED, Display, current_axes, literal, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.comparison.stability import StabilityResult


class StabilityDisplay(Display):
    """Selection frequencies, the highest first.

    Parameters
    ----------
    frequencies : StabilityResult or array-like of shape (n_features,)
        What `gsppca.stability` returns, or the share of the resamples in which each variable is selected.
    selected : array-like of bool, shape (n_features,), optional
        Which variables the model of all samples selects; all those that reach `threshold` by default.
    feature_names : sequence of n_features names, optional
        Names of the variables.
    threshold : float, optional
        A frequency to mark.
    max_features : int, default=30
        Most variables to draw: the most frequent ones.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    order_ : ndarray of shape (n_features,)
        The variables as they are drawn.
    """

    def __init__(
        self,
        frequencies: StabilityResult | ArrayLike,
        selected: ArrayLike | None = None,
        feature_names: Sequence[Any] | None = None,
        threshold: float | None = None,
        max_features: int = 30,
    ):
        self.index: float | None = getattr(frequencies, "index", None) if hasattr(frequencies, "frequencies") else None
        self.frequencies = np.asarray(getattr(frequencies, "frequencies", frequencies), dtype=float)
        self.max_features = max_features
        if self.frequencies.ndim != 1 or not ((self.frequencies >= 0) & (self.frequencies <= 1)).all():
            raise ValueError(
                "frequencies must be one number between 0 and 1 for each variable, got shape "
                f"{self.frequencies.shape} with values from {self.frequencies.min():g} to {self.frequencies.max():g}. "
                "Divide counts by the number of resamples."
            )
        p = len(self.frequencies)
        for name, values in (("selected", selected), ("feature_names", feature_names)):
            if values is not None and len(values) != p:  # type: ignore[arg-type]
                raise ValueError(f"{name} must have one entry per variable, {p}, got {len(values)}.")  # type: ignore[arg-type]
        least = 0.0 if threshold is None else threshold
        self.selected = self.frequencies >= least if selected is None else np.asarray(selected, dtype=bool)
        self.feature_names = [f"x{k}" for k in range(p)] if feature_names is None else [str(n) for n in feature_names]
        self.threshold = threshold
        self.order_ = np.argsort(-self.frequencies, kind="stable")

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        shown = self.order_[: self.max_features]
        values, chosen = self.frequencies[shown], self.selected[shown]
        rows = np.arange(len(values))
        ax.barh(rows, values, color=np.where(chosen, SELECTED, OTHER), height=0.75)
        names = [literal(self.feature_names[k]) for k in shown]
        ax.set_yticks(rows, names, fontsize=9 if len(rows) <= 24 else 7)
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.set(xlabel="selection frequency", xlim=(0, 1.02))
        if self.threshold is not None:
            count = int((self.frequencies >= self.threshold).sum())
            ax.axvline(self.threshold, color=MARK, lw=1.2, ls="--", label=f"{count} reach {self.threshold:g}")
            ax.legend(edgecolor="none", framealpha=0.9, loc="lower right")
        p = len(self.frequencies)
        part = "" if len(shown) == p else f", the first {len(shown)} of {p:,} variables"
        index = "" if self.index is None or np.isnan(self.index) else f" {self.index:.2f}"
        ax.set_title(f"Stability{index}{part}", fontsize="medium")
        tidy(ax)
        return self


def plot_stability(
    frequencies: StabilityResult | ArrayLike,
    ax: Axes | None = None,
    *,
    selected: ArrayLike | None = None,
    feature_names: Sequence[Any] | None = None,
    threshold: float | None = None,
    max_features: int = 30,
) -> Axes:
    """Draw how often each variable is selected under resampling, the highest frequency first.

    Parameters
    ----------
    frequencies : StabilityResult or array-like of shape (n_features,)
        What `gsppca.stability` returns, or the share of the resamples in which each variable is selected. The title of
        the former has its index: 1 if all selections are the same, about 0 if they agree as random ones do.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    selected : array-like of bool, shape (n_features,), optional
        Which variables to draw in colour; those that reach `threshold` by default.
    feature_names : sequence of n_features names, optional
        By default x0, x1, ...
    threshold : float, optional
        A frequency to mark.
    max_features : int, default=30
        Most variables to draw: the most frequent ones.
    """
    return StabilityDisplay(frequencies, selected, feature_names, threshold, max_features).plot(current_axes(ax)).ax_
