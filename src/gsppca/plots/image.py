"""Selected pixels of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca._optional import optional_import
from gsppca.overview import known_core
from gsppca.plots._axes import MARK, OTHER, ROLE_COLOURS, Display, current_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection


TONES = ("noise", "related", "core")  # from light to dark


class SelectedImageDisplay(Display):
    """Pixels in three tones, by their roles; the selected ones framed.

    Parameters
    ----------
    relevance : array-like of shape (height, width)
        Relevance of each pixel: drawn in grey where the roles are not given.
    selected : array-like of bool, shape (height, width)
        Which pixels are selected.
    role : array-like of str, shape (height, width), optional
        "core", "related" or "noise".

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    image_ : matplotlib AxesImage
        The tones, 0 for noise, 1 for related and 2 for core; or the relevances.
    """

    def __init__(self, relevance: ArrayLike, selected: ArrayLike, role: ArrayLike | None = None):
        self.relevance = np.asarray(relevance, dtype=float)
        self.selected = np.asarray(selected, dtype=bool)
        self.role = None if role is None else np.asarray(role)

    @classmethod
    def from_estimator(cls, model: VariableSelection, shape: tuple[int, int], *, ax: Axes | None = None) -> Self:
        """Draw the pixels of a model that was fitted to images of `shape`, one pixel a column, row by row."""
        check_is_fitted(model)
        if shape[0] * shape[1] != len(model.support_):
            raise ValueError(
                f"shape must have as many pixels as the model has variables, {len(model.support_)}, got {shape}."
            )
        role = model.role_.reshape(shape) if known_core(model) is not None else None
        return cls(model.relevance_.reshape(shape), model.support_.reshape(shape), role).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        if self.role is None:
            # Not up to black, so that the frames stand out of the darkest pixels.
            most = max(1.4 * float(self.relevance.max()), np.finfo(float).tiny)
            self.image_ = ax.imshow(self.relevance, cmap="Greys", vmin=0, vmax=most)
            ax.set_title(f"{int(self.selected.sum())} selected pixels")
        else:
            self._draw_roles(ax)
        for xs, ys in frames(self.selected):
            ax.plot(xs, ys, color=MARK, lw=1.6, solid_capstyle="projecting", clip_on=False)
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_color(OTHER)
        return self

    def _draw_roles(self, ax: Axes) -> None:
        colors = optional_import("matplotlib.colors", "drawing", "plot", "matplotlib")
        patches = optional_import("matplotlib.patches", "drawing", "plot", "matplotlib")
        palette = ("#F0F1F3", ROLE_COLOURS["related"], ROLE_COLOURS["core"])
        tones = np.array([TONES.index(role) for role in self.role.ravel()]).reshape(self.role.shape)  # type: ignore[union-attr]
        self.image_ = ax.imshow(tones, cmap=colors.ListedColormap(palette), vmin=-0.5, vmax=2.5)
        handles = [
            patches.Patch(facecolor=colour, edgecolor=OTHER, label=f"{int((tones == tone).sum())} {role}")
            for tone, (role, colour) in reversed(list(enumerate(zip(TONES, palette, strict=True))))
        ]
        handles.append(patches.Patch(facecolor="none", edgecolor=MARK, label=f"{int(self.selected.sum())} selected"))
        ax.legend(handles=handles, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=2, fontsize=8)
        ax.set_title("Roles of the pixels")


def frames(selected: Any) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the edges between selected pixels and others, one line each, so that neighbours share one frame."""
    height, width = selected.shape
    lines = []
    for row, column in zip(*np.nonzero(selected), strict=True):
        left, right, top, bottom = column - 0.5, column + 0.5, row - 0.5, row + 0.5
        for neighbour, xs, ys in (
            ((row - 1, column), (left, right), (top, top)),
            ((row + 1, column), (left, right), (bottom, bottom)),
            ((row, column - 1), (left, left), (top, bottom)),
            ((row, column + 1), (right, right), (top, bottom)),
        ):
            inside = 0 <= neighbour[0] < height and 0 <= neighbour[1] < width
            if not inside or not selected[neighbour]:
                lines.append((xs, ys))
    return lines


def plot_image(model: VariableSelection, shape: tuple[int, int], ax: Axes | None = None) -> Axes:
    """Draw the roles of the variables of image data in three tones, the selected pixels framed.

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
    return SelectedImageDisplay.from_estimator(model, shape, ax=current_axes(ax)).ax_
