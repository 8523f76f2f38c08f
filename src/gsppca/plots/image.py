"""Selected pixels of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.plots._axes import MARK, OTHER, Display, current_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SelectedImageDisplay(Display):
    """Relevance of pixels in grey, the selected ones framed.

    Parameters
    ----------
    relevance : array-like of shape (height, width)
        Relevance of each pixel.
    selected : array-like of bool, shape (height, width)
        Which pixels are selected.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    image_ : matplotlib AxesImage
        The relevances.
    """

    def __init__(self, relevance: ArrayLike, selected: ArrayLike):
        self.relevance = np.asarray(relevance, dtype=float)
        self.selected = np.asarray(selected, dtype=bool)

    @classmethod
    def from_estimator(cls, model: Any, shape: tuple[int, int], *, ax: Axes | None = None) -> Self:
        """Draw the pixels of a model that was fitted to images of `shape`, one pixel a column, row by row."""
        check_is_fitted(model)
        if shape[0] * shape[1] != len(model.support_):
            raise ValueError(
                f"shape must have as many pixels as the model has variables, {len(model.support_)}, got {shape}."
            )
        return cls(model.relevance_.reshape(shape), model.support_.reshape(shape)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        # Not up to black, so that the frames stand out of the darkest pixels.
        most = max(1.4 * float(self.relevance.max()), np.finfo(float).tiny)
        self.image_ = ax.imshow(self.relevance, cmap="Greys", vmin=0, vmax=most)
        for xs, ys in frames(self.selected):
            ax.plot(xs, ys, color=MARK, lw=2, solid_capstyle="projecting", clip_on=False)
        ax.set(xticks=[], yticks=[], title=f"{int(self.selected.sum())} selected pixels")
        for spine in ax.spines.values():
            spine.set_color(OTHER)
        return self


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
    return SelectedImageDisplay.from_estimator(model, shape, ax=current_axes(ax)).ax_
