"""Samples and variables in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.plots._axes import (
    MARK,
    MARKERS,
    OTHER,
    PALETTE,
    SELECTED,
    Display,
    check_components,
    component_label,
    current_axes,
    literal,
    names_of,
    spread,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection

MANY_NUMBERS = 12  # numeric labels with more values than this get a colour scale
FAR = 0.95  # share of the samples that the longest arrow reaches beyond
NAME_SIZE = 9  # points


class BiplotDisplay(Display):
    """Scores of the samples on two components, and the variables as arrows of their loadings.

    The arrows are all multiplied by one number, so that the longest reaches as far as nearly all samples: their
    directions and relative lengths mean something, their absolute lengths do not.

    Parameters
    ----------
    scores : array-like of shape (n_samples, 2)
        Of the samples.
    loadings : array-like of shape (n_arrows, 2)
        Of the variables to draw.
    names : sequence of n_arrows names
        Of these variables.
    axis_labels : (str, str)
        Names of the two components.
    labels : array-like of shape (n_samples,), optional
        Colours of the samples.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    scale_ : float
        What the loadings were multiplied by.
    """

    def __init__(
        self,
        scores: ArrayLike,
        loadings: ArrayLike,
        names: Sequence[str],
        axis_labels: tuple[str, str] = ("PC1", "PC2"),
        labels: ArrayLike | None = None,
    ):
        self.scores = np.asarray(scores, dtype=float)
        self.loadings = np.asarray(loadings, dtype=float)
        self.names = list(names)
        self.axis_labels = axis_labels
        self.labels = None if labels is None else np.asarray(labels)

    @classmethod
    def from_estimator(
        cls,
        model: VariableSelection,
        X: Any,
        *,
        components: tuple[int, int] = (0, 1),
        labels: ArrayLike | None = None,
        feature_names: Sequence[Any] | None = None,
        max_arrows: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw samples and variables of a fitted GSPPCA.

        Parameters
        ----------
        model : GSPPCA
            A fitted model with at least two components.
        X : array-like of shape (n_samples, n_features)
            Samples to draw.
        components : (int, int), default=(0, 1)
            Which rows of `components_`, counted from zero: (0, 1) are PC1 and PC2.
        labels : array-like of shape (n_samples,), optional
            Colours of the samples: a scale for numbers with many values, groups otherwise.
        feature_names : sequence of n_features names, optional
            By default those seen in fit, or x0, x1, ...
        max_arrows : int, default=10
            Most variables to draw: those with the longest arrows.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        check_is_fitted(model)
        check_components(model)
        if not all(0 <= j < model.n_components_ for j in components) or len(components) != 2:
            raise ValueError(
                f"components must be two of the {model.n_components_} components of the model, counted from zero, "
                f"got {components!r}."
            )
        names = names_of(model, feature_names)
        pair = list(components)
        loadings = model.components_[pair].T
        lengths = np.where(model.support_, np.linalg.norm(loadings, axis=1), -1.0)
        kept = np.argsort(-lengths, kind="stable")[: min(max_arrows, model.n_selected_)]
        titles = tuple(component_label(j, model.explained_variance_ratio_) for j in pair)
        scores = np.asarray(model.transform(X))[:, pair]
        return cls(scores, loadings[kept], [names[k] for k in kept], (titles[0], titles[1]), labels).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        self._draw_samples(ax)
        longest = float(np.linalg.norm(self.loadings, axis=1).max()) if len(self.loadings) else 0.0
        far = float(np.quantile(np.linalg.norm(self.scores, axis=1), FAR))
        self.scale_ = far / longest if longest and far else 1.0
        for line in (ax.axhline, ax.axvline):
            line(0, color=OTHER, lw=0.8, zorder=0)
        ax.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1], title="Samples and variables")
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax)
        ax.margins(0.08)
        self._draw_arrows(ax)
        return self

    def _draw_samples(self, ax: Axes) -> None:
        size = 18 if len(self.scores) <= 500 else 7
        look: dict[str, Any] = {"s": size, "alpha": 0.6, "lw": 0}
        if self.labels is None:
            ax.scatter(*self.scores.T, color=OTHER if len(self.loadings) else SELECTED, **look)
        elif self.labels.dtype.kind in "iuf" and len(np.unique(self.labels)) > MANY_NUMBERS:
            points = ax.scatter(self.scores[:, 0], self.scores[:, 1], c=self.labels, cmap="cividis", **look)
            self.figure_.colorbar(points, ax=ax, fraction=0.05, pad=0.03).outline.set_visible(False)
        else:
            groups = np.unique(self.labels)
            for g, group in enumerate(groups):
                colour, marker = PALETTE[g % len(PALETTE)], MARKERS[(g // len(PALETTE)) % len(MARKERS)]
                members = self.scores[self.labels == group]
                ax.scatter(*members.T, color=colour, marker=marker, label=literal(str(group)), **look)
            ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.6, handletextpad=0.2)

    def _draw_arrows(self, ax: Axes) -> None:
        tips = self.scale_ * self.loadings
        for tip in tips:
            ax.annotate(
                "", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": MARK, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
            )
        # Text does not count for the limits of the axes: what is beyond the tips gets room here.
        ax.update_datalim(np.vstack([1.2 * tips, np.zeros((1, 2))]))
        ax.autoscale_view()
        ax.apply_aspect()
        low, high = ax.get_ylim()
        height = ax.get_window_extent().height / self.figure_.dpi * 72  # in points
        places = spread_labels(tips, 1.5 * NAME_SIZE * (high - low) / height)
        for tip, place, name in zip(tips, places, self.names, strict=True):
            right = tip[0] >= 0
            ax.annotate(
                literal(name, 18),
                place,
                xytext=(4 if right else -4, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=NAME_SIZE,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
            )


def spread_labels(tips: Any, gap: float) -> Any:
    """Return places for the labels of arrow tips: on either side of the origin, moved up or down until apart."""
    places = np.array(tips, dtype=float)
    for side in (tips[:, 0] >= 0, tips[:, 0] < 0):
        places[side, 1] = spread(tips[side, 1], gap)
    return places


def plot_biplot(
    model: VariableSelection,
    X: Any,
    ax: Axes | None = None,
    *,
    components: tuple[int, int] = (0, 1),
    labels: ArrayLike | None = None,
    feature_names: Sequence[Any] | None = None,
    max_arrows: int = 10,
) -> Axes:
    """Draw the samples on two components, and the variables as arrows; parameters as in `BiplotDisplay.from_estimator`.

    Parameters
    ----------
    model : GSPPCA
        A fitted model with at least two components.
    X : array-like of shape (n_samples, n_features)
        Samples to draw.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    components, labels, feature_names, max_arrows
        As in `BiplotDisplay.from_estimator`.
    """
    check_is_fitted(model)
    return BiplotDisplay.from_estimator(
        model,
        X,
        components=components,
        labels=labels,
        feature_names=feature_names,
        max_arrows=max_arrows,
        ax=current_axes(ax),
    ).ax_
