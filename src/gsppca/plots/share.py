"""What the first variables carry: the share of the structure against their number, and the first ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gsppca.checks import check_count
from gsppca.overview import Overview, overview
from gsppca.plots._axes import MARK, OTHER, ROLE_COLOURS, SELECTED, Display, current_axes, literal, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsppca.variable_selection import VariableSelection


class ShareDisplay(Display):
    """Share of the components of all relevant variables that the first variables predict on rows left out.

    Parameters
    ----------
    share : array-like of shape (n_sizes,)
        Cross-validated share of the first 1, 2, ... variables.
    promised : array-like of shape (n_sizes,), optional
        The share that the model fitted to all rows promises.
    n_core : int, optional
        Size of the core, to be marked.
    n_selected : int, optional
        Number of selected variables, to be marked where it is not the core.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_ : matplotlib Line2D
        The curve.
    """

    def __init__(
        self,
        share: ArrayLike,
        promised: ArrayLike | None = None,
        n_core: int | None = None,
        n_selected: int | None = None,
    ):
        self.share = np.asarray(share, dtype=float)
        self.promised = None if promised is None else np.asarray(promised, dtype=float)
        self.n_core = n_core
        self.n_selected = n_selected

    @classmethod
    def from_estimator(cls, model: VariableSelection, *, ax: Axes | None = None) -> Self:
        """Draw the shares of a fitted model."""
        check_is_fitted(model)
        view = overview(model)
        if view.core is None:
            raise ValueError(
                "model has no core: there are too few samples, or it was loaded without its core. Fit it again."
            )
        path = view.core.share_path  # along the order of the core, which the paper's ranking is not
        selected = view.n_selected if view.share_path is not None and view.is_cut else None
        return cls(path.share, path.promised, view.core.size, selected).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        sizes = np.arange(1, len(self.share) + 1)
        if self.promised is not None:
            ax.plot(sizes, self.promised, color=OTHER, lw=1.2, ls=":", label="promised by the fit")
        few = len(sizes) <= 60
        (self.line_,) = ax.plot(
            sizes, self.share, color=SELECTED, lw=1.8, marker="o" if few else None, ms=3.5, label="on rows left out"
        )
        if self.n_core is not None and self.n_core <= len(sizes):
            value = float(self.share[self.n_core - 1])
            ax.plot(self.n_core, value, "o", ms=10, mfc="white", mec=SELECTED, mew=2.5, clip_on=False)
            ax.annotate(
                f"core: {self.n_core} carry {value:.0%}",
                (self.n_core, value),
                xytext=(6, 10),  # a rising curve leaves room above it
                textcoords="offset points",
                ha="right" if self.n_core > len(sizes) / 3 else "left",
                color=SELECTED,
            )
        if self.n_selected is not None and self.n_selected != self.n_core and self.n_selected <= len(sizes):
            ax.axvline(self.n_selected, color=MARK, lw=1.2, ls="--", label=f"{self.n_selected} selected")
        ax.set(xlabel="number of variables", ylabel="share of the structure", title="What the first variables carry")
        ax.set_ylim(min(0.0, float(self.share.min())), 1.12)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False, loc="lower right")
        tidy(ax)
        return self


class TopDisplay(Display):
    """The first variables by name: the share carried so far, what each adds to it in full colour.

    Parameters
    ----------
    names : sequence of n_rows names
        The variables, the first one first.
    values : array-like of shape (n_rows,)
        Share of the first 1, 2, ... variables, or where it is not known their relevances.
    roles : sequence of n_rows roles
        They decide the colours.
    cumulative : bool, default=True
        Whether the values are shares so far; otherwise each belongs to one variable.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    """

    def __init__(self, names: Sequence[str], values: ArrayLike, roles: Sequence[str], cumulative: bool = True):
        self.names = list(names)
        self.values = np.asarray(values, dtype=float)
        self.roles = list(roles)
        self.cumulative = cumulative

    @classmethod
    def from_estimator(
        cls,
        model: VariableSelection,
        n: int = 20,
        *,
        feature_names: Sequence[Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the first `n` selected variables of a fitted model; names as in `plot_top`."""
        check_is_fitted(model)
        check_count("n", n, 1, advice="It is the number of variables to draw.")
        view = overview(model, feature_names)
        shown = view.order[: min(int(n), view.n_selected)].tolist()
        shares = [view.share_at(int(view.rank[k])) for k in shown]
        cumulative = view.is_cut and all(share is not None for share in shares)
        values = shares if cumulative else [float(view.relevance[k]) for k in shown]
        return cls([view.names[k] for k in shown], values, _roles(view, shown), cumulative).plot(ax)  # type: ignore[arg-type]

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes."""
        ax = self._begin(ax)
        rows = np.arange(len(self.names))
        before = np.concatenate([[0.0], self.values[:-1]]) if self.cumulative else np.zeros(len(rows))
        colours = [ROLE_COLOURS[role] for role in self.roles]
        if self.cumulative:
            ax.barh(rows, np.minimum(before, self.values), color="#E3E6EA", height=0.75)
        ax.barh(rows, self.values - before, left=before, color=colours, height=0.75)
        for row, value in zip(rows, self.values, strict=True):
            shown = f"{value:.0%}" if self.cumulative else f"{value:.2f}"
            ax.annotate(shown, (value, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        ax.set_yticks(rows, [literal(name) for name in self.names], fontsize=9 if len(rows) <= 24 else 7)
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        label = "share of the structure so far, on rows left out" if self.cumulative else "relevance"
        ax.set(xlabel=label, title=f"The first {len(rows)} variables")
        if self.cumulative:
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        present = [role for role in ROLE_COLOURS if role in self.roles]
        if len(present) > 1:
            handles = [ax.barh([0], [0], color=ROLE_COLOURS[role], label=role) for role in present]
            ax.legend(handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        ax.set_xlim(0, 1.12 * max(float(self.values.max()), 1e-9))
        tidy(ax)
        return self


def _roles(view: Overview, columns: Sequence[int]) -> list[str]:
    return [str(view.role[k]) for k in columns]


def plot_share(model: VariableSelection, ax: Axes | None = None) -> Axes:
    """Draw the share of the structure that the first variables carry on rows left out, with the core marked.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    """
    check_is_fitted(model)
    return ShareDisplay.from_estimator(model, ax=current_axes(ax)).ax_


def plot_top(
    model: VariableSelection,
    n: int = 20,
    ax: Axes | None = None,
    *,
    feature_names: Sequence[Any] | None = None,
) -> Axes:
    """Draw the first selected variables by name, with the share of the structure that they carry so far.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    n : int, default=20
        How many variables, at most.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.
    feature_names : sequence of n_features names, optional
        By default those seen in fit, or x0, x1, ...
    """
    check_is_fitted(model)
    return TopDisplay.from_estimator(model, n, feature_names=feature_names, ax=current_axes(ax)).ax_
