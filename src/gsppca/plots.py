"""Pictures of a fitted model: axes in, axes out.

Each function draws on the matplotlib axes given, or on the current ones, and returns them. Colours are those of Okabe &
Ito, which colour-blind readers tell apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gsppca._optional import optional_import

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SELECTED = "#0072B2"  # blue
OTHER = "#B8B8B8"  # grey
MARK = "#D55E00"  # vermilion


def plot_evidence(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the log evidence over the number of variables, relative to its maximum, and the chosen size.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    path = model.evidence_path_
    ax.plot(path.sizes, path.log_evidence - path.log_evidence.max(), color=SELECTED, lw=1.8)
    ax.axvline(model.n_selected_, color=MARK, lw=1.2, ls="--")
    on_the_left = model.n_selected_ > path.sizes[-1] / 2
    ax.annotate(
        f"{model.n_selected_} selected",
        (model.n_selected_, 0.06),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if on_the_left else 6, 0),
        textcoords="offset points",
        ha="right" if on_the_left else "left",
        color=MARK,
    )
    ax.set(xlabel="number of variables", ylabel="log evidence − maximum", title="Evidence")
    return _tidy(ax)


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
    ax = _axes(ax)
    order = np.argsort(model.ranking_)
    ranks = np.arange(1, len(order) + 1)
    relevance, chosen = model.relevance_[order], model.support_[order]
    if len(order) <= 200:
        ax.vlines(ranks, 0, relevance, color=np.where(chosen, SELECTED, OTHER), lw=1.5)
        ax.scatter(ranks, relevance, c=np.where(chosen, SELECTED, OTHER), s=18, zorder=3)
    else:
        ax.fill_between(ranks, 0, relevance, color=OTHER, lw=0)
        ax.fill_between(ranks, 0, relevance, where=chosen, color=SELECTED, lw=0)
    if truth is not None:
        ax.scatter(
            ranks, np.asarray(truth, dtype=float)[order], s=46, facecolors="none", edgecolors=MARK, label="truth"
        )
        ax.legend(frameon=False, loc="upper right")
    ax.set(xlabel="rank of the variable", ylabel="relevance u", title="Relevance", ylim=(-0.03, 1.08))
    return _tidy(ax)


def plot_image(model: Any, shape: tuple[int, int], ax: Axes | None = None) -> Axes:
    """Draw the selected variables of image data: relevance in grey, the selected pixels framed.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A model fitted to images of `shape`, one pixel a column, row by row.
    shape : (int, int)
        Height and width of the images.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    """
    check_is_fitted(model)
    if shape[0] * shape[1] != len(model.support_):
        raise ValueError(
            f"shape must have as many pixels as the model has variables, {len(model.support_)}, got {shape}."
        )
    ax = _axes(ax)
    ax.imshow(model.relevance_.reshape(shape), cmap="Greys", vmin=0, vmax=1.4 * model.relevance_.max())
    support = model.support_.reshape(shape)
    for row, column in zip(*np.nonzero(support), strict=True):
        left, right, top, bottom = column - 0.5, column + 0.5, row - 0.5, row + 0.5
        # Only edges towards pixels that are not selected, so that neighbours share one frame.
        for neighbour, xs, ys in (
            ((row - 1, column), (left, right), (top, top)),
            ((row + 1, column), (left, right), (bottom, bottom)),
            ((row, column - 1), (left, left), (top, bottom)),
            ((row, column + 1), (right, right), (top, bottom)),
        ):
            inside = 0 <= neighbour[0] < shape[0] and 0 <= neighbour[1] < shape[1]
            if not inside or not support[neighbour]:
                ax.plot(xs, ys, color=MARK, lw=2, solid_capstyle="projecting", clip_on=False)
    ax.set(xticks=[], yticks=[], title=f"{model.n_selected_} selected pixels")
    for spine in ax.spines.values():
        spine.set_color(OTHER)
    return ax


def _axes(ax: Axes | None) -> Axes:
    plt = optional_import("matplotlib.pyplot", "drawing", "plot", "matplotlib")
    return plt.gca() if ax is None else ax


def _tidy(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.02)
    return ax
