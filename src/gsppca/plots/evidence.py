"""The evidence over the number of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.plots._axes import MARK, SELECTED, Display, current_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection


class EvidencePathDisplay(Display):
    """Log evidence of nested supports, and the size that was chosen.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Numbers of variables, ascending; not all need be there.
    log_evidence : array-like of shape (n_sizes,)
        Their log evidence.
    n_selected : int, optional
        The chosen size, to be marked.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from gsppca import GSPPCA
    >>> from gsppca.datasets import make_introductory
    >>> from gsppca.plots import EvidencePathDisplay
    >>> model = GSPPCA(n_components=5).fit(make_introductory(random_state=0).X)
    >>> display = EvidencePathDisplay.from_estimator(model)
    >>> int(display.sizes[display.log_evidence.argmax()])
    10
    """

    def __init__(self, sizes: ArrayLike, log_evidence: ArrayLike, n_selected: int | None = None):
        self.sizes = np.asarray(sizes)
        self.log_evidence = np.asarray(log_evidence, dtype=float)
        self.n_selected = n_selected

    @classmethod
    def from_estimator(cls, model: VariableSelection, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the evidence of a fitted model; `options` are those of `plot`."""
        check_is_fitted(model)
        path = model.evidence_path_
        return cls(path.sizes, path.log_evidence, int(model.n_selected_)).plot(ax, **options)

    def plot(self, ax: Axes | None = None, *, relative: bool = True, xscale: str = "auto") -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        relative : bool, default=True
            Whether to subtract the maximum.
        xscale : {"auto", "linear", "log"}, default="auto"
            Scale of the sizes. "auto" is logarithmic where less than a twentieth of very many variables is chosen.
        """
        ax = self._begin(ax)
        values = np.where(np.isfinite(self.log_evidence), self.log_evidence, np.nan)
        values = values - np.nanmax(values) if relative else values
        few = len(self.sizes) <= 60
        (self.line_,) = ax.plot(self.sizes, values, color=SELECTED, lw=1.8, marker="o" if few else None, ms=3.5)
        largest = int(self.sizes[-1])
        chosen = largest if self.n_selected is None else self.n_selected
        log = xscale == "log" or (xscale == "auto" and largest > 500 and 0 < chosen < largest / 20)
        ax.set_xscale("log" if log else "linear")
        if self.n_selected is not None:
            self._mark(ax, self.n_selected, on_the_left=chosen > (np.sqrt(largest) if log else largest / 2))
        label = "log evidence − maximum" if relative else "log evidence"
        ax.set(xlabel="number of variables", ylabel=label, title="Evidence")
        tidy(ax)
        return self

    def _mark(self, ax: Axes, size: int, on_the_left: bool) -> None:
        ax.axvline(size, color=MARK, lw=1.2, ls="--")
        ax.annotate(
            f"{size} selected",
            (size, 0.06),
            xycoords=("data", "axes fraction"),
            xytext=(-6 if on_the_left else 6, 0),
            textcoords="offset points",
            ha="right" if on_the_left else "left",
            color=MARK,
        )


def plot_evidence(model: VariableSelection, ax: Axes | None = None) -> Axes:
    """Draw the log evidence over the number of variables, relative to its maximum, and the chosen size.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    """
    check_is_fitted(model)
    return EvidencePathDisplay.from_estimator(model, ax=current_axes(ax)).ax_
