"""The common interface of the competitors: `fit` is validate, centre, select, keep."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gsppca._masked import unmasked
from gsppca.baselines.linalg import (
    BoolArray,
    FloatArray,
    IntArray,
    adjusted_variances,
    principal_axes,
    unit_axes,
)
from gsppca.baselines.path import Centred, M, PathPoint, SelectionPath, entry_order, record
from gsppca.checks import check_choice, check_count, is_integer

FeatureCount = int | float | Literal["auto"] | None
Axes = Literal["own", "pca"]


@dataclass(frozen=True)
class Selection:
    """What a competitor hands back to `fit`.

    Parameters
    ----------
    support : ndarray of shape (n_features,)
        Selected variables.
    order : ndarray of shape (n_features,)
        Columns, most relevant first; the selected ones lead.
    components : ndarray of shape (n_components, n_features)
        Axes, zero outside the support.
    path : SelectionPath
        Record of the search.
    n_iter : int
        Iterations of the model that was kept.
    converged : bool
        Whether that model met its tolerance.
    extra : mapping of str to object
        Further fitted attributes of the method.
    """

    support: BoolArray
    order: IntArray
    components: FloatArray
    path: SelectionPath
    n_iter: int = 1
    converged: bool = True
    extra: Mapping[str, object] = field(default_factory=dict)


class Baseline(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the competitors: one support of variables, and axes that vanish outside it.

    A subclass stores `n_components`, `n_features_to_select` and `random_state`, and writes `_select`.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Selected variables.
    ranking_ : ndarray of shape (n_features,)
        1 is the most relevant; `support_` is `ranking_ <= n_selected_`. Ties are broken by the sums of
        squares of the columns, and between equal columns by a draw from `random_state`.
    n_selected_ : int
        Number of selected variables.
    components_ : ndarray of shape (n_components, n_features)
        Axes of unit length, zero outside the support, not always orthogonal. An axis of zeros stands for one
        that the support cannot hold.
    explained_variance_ : ndarray of shape (n_components,)
        Variance that each axis adds to those before it (Shen & Huang's adjusted variance, divisor n - 1).
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as a share of the total variance of X.
    mean_ : ndarray of shape (n_features,)
        Column means.
    path_ : SelectionPath
        Penalties, sizes, supports, order of entry and criterion along the search.
    n_iter_ : int
        Iterations of the model that was kept.
    converged_ : bool
        Whether that model met its tolerance.
    """

    n_components: int
    n_features_to_select: FeatureCount
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _select(self, data: Centred, size: int | None) -> Selection:
        """Select exactly `size` variables, or as many as the method's own rule says if None."""

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Select variables and axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data; centred here, never scaled.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted competitor.
        """
        values: FloatArray = validate_data(self, unmasked(X), dtype=np.float64, ensure_min_samples=2)
        n_samples, n_features = values.shape
        most = f"It is at most n_samples = {n_samples} and n_features = {n_features}. Choose fewer or give more data."
        check_count("n_components", self.n_components, 1, min(n_samples, n_features), most)
        size = selected_size(self.n_features_to_select, n_features)
        data = shuffle_and_centre(values, check_random_state(self.random_state))
        selection = self._select(data, size)
        return self._keep(values.mean(axis=0), data, selection)

    def _keep(self, mean: FloatArray, data: Centred, selection: Selection) -> Self:
        added = adjusted_variances(data.matrix, selection.components)
        selection = unshuffle(selection, data.columns)
        self.mean_ = mean
        self.support_ = selection.support
        self.n_selected_ = int(np.count_nonzero(selection.support))
        self.ranking_ = np.empty(data.n_features, dtype=np.intp)
        self.ranking_[selection.order] = np.arange(1, data.n_features + 1)
        self.components_ = selection.components
        self.explained_variance_ = added / (data.n_samples - 1)
        self.explained_variance_ratio_ = added / data.squares.sum()
        self.path_ = selection.path
        self.n_iter_ = selection.n_iter
        self.converged_ = selection.converged
        for name, value in selection.extra.items():
            setattr(self, name, value)
        if not selection.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={selection.n_iter} iterations before reaching "
                "tol; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Project on the axes: (X - mean_) components_'.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            Scores.
        """
        check_is_fitted(self)
        values: FloatArray = validate_data(self, unmasked(X), dtype=np.float64, reset=False)
        scores: FloatArray = (values - self.mean_) @ self.components_.T
        return scores

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return to the variables, so that the round trip is the orthogonal projection on the axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as `transform` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            mean_ + scores (V V')^+ V, with V = components_.
        """
        check_is_fitted(self)
        scores = np.asarray(unmasked(X), dtype=np.float64)
        original: FloatArray = self.mean_ + scores @ np.linalg.pinv(self.components_).T
        return original

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the selected variables.

        Parameters
        ----------
        indices : bool, default=False
            Column numbers instead of booleans.

        Returns
        -------
        support : ndarray
            Booleans of length n_features, or n_selected_ column numbers.
        """
        check_is_fitted(self)
        support: BoolArray = self.support_
        return np.flatnonzero(support) if indices else support

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def selected_size(n_features_to_select: Any, n_features: int) -> int | None:
    """Translate `n_features_to_select` into a number of variables; None means the method's own rule."""
    wanted = n_features_to_select
    if wanted is None or (isinstance(wanted, str) and wanted == "auto"):
        return None
    if is_integer(wanted) and 1 <= wanted <= n_features:
        return int(wanted)
    is_fraction = isinstance(wanted, Real) and not isinstance(wanted, Integral)
    if is_fraction and 0 < wanted <= 1:
        return max(1, round(float(wanted) * n_features))
    raise ValueError(
        f"n_features_to_select must be an integer from 1 to n_features = {n_features}, a fraction in (0, 1], "
        f"or 'auto' for the rule of the method, got {wanted!r}. Set n_features_to_select to such a value."
    )


def shuffle_and_centre(X: FloatArray, random_state: np.random.RandomState) -> Centred:
    """Put the columns in a random order and subtract their means; X itself is left alone."""
    columns = random_state.permutation(X.shape[1])
    matrix = X[:, columns]
    constant = np.ptp(matrix, axis=0) == 0
    matrix -= matrix.mean(axis=0)
    # A constant column leaves rounding of the size of its mean: it must not look like a small signal.
    matrix[:, constant] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", matrix, matrix)
    if not 0 < squares.sum() < np.inf:
        problem = "every column is constant" if constant.all() else "the squares leave the range of float64"
        raise ValueError(f"X: {problem}, so nothing can be selected; check the data, or rescale them.")
    return Centred(matrix, squares, columns)


def unshuffle(selection: Selection, columns: IntArray) -> Selection:
    """Return to the columns as they were given."""
    place = np.argsort(columns)
    order = columns[selection.order]
    path = replace(selection.path, supports=selection.path.supports[:, place], entry_order=order)
    support, components = selection.support[place], selection.components[:, place]
    return replace(selection, support=support, components=components, order=order, path=path)


def own_or_principal(axes: Axes, loadings: FloatArray, data: Centred, support: BoolArray) -> FloatArray:
    """Make unit axes of the method's own loadings, or of the PCA of the selected columns.

    The latter is what the paper calls variational renormalisation.
    """
    check_choice("axes", axes, ("own", "pca"))
    if axes == "own":
        return unit_axes(np.where(support[:, np.newaxis], loadings, 0.0))
    return principal_axes(data.matrix, support, loadings.shape[1])


def selection_on_path(
    data: Centred,
    points: Sequence[PathPoint[M]],
    chosen: PathPoint[M],
    support: BoolArray,
    criterion: FloatArray,
    criterion_name: str,
    components: FloatArray,
) -> Selection:
    """Gather what a method with a path of penalties has found; `chosen` is one of the points."""
    order = entry_order(data, points, support)
    place = next(i for i, point in enumerate(points) if point is chosen)
    return Selection(
        support=support,
        order=order,
        components=components,
        path=record(points, order, criterion, criterion_name, place),
        n_iter=chosen.model.n_iter,
        converged=chosen.model.converged,
        extra={"penalty_": chosen.penalty},
    )
