"""What a fitted model does with rows of new data: small functions of rows in memory, that can be sent to workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.components.likelihood import log_likelihood
from gsppca.data import as_matrix


@dataclass(frozen=True)
class Projection:
    """Scores of rows on components.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Means to remove.
    column_scale : ndarray of shape (n_features,) or None
        What the centred columns are multiplied by.
    support : ndarray of shape (n_features,)
        The columns that matter.
    components : ndarray of shape (n_components, n_selected)
        Axes on those columns.
    """

    mean: FloatArray
    column_scale: FloatArray | None
    support: BoolArray
    components: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Return the scores, shape (n_rows, n_components)."""
        return as_matrix(X, self.mean, self.column_scale).columns(self.support).product(self.components)


@dataclass(frozen=True)
class LogDensity:
    """Log likelihood of rows: PPCA on the support, independent noise on the rest.

    Attributes
    ----------
    projection : Projection
        The scores.
    variances : ndarray of shape (n_components,)
        Variances along the components.
    active_noise, inactive_noise : float
        Noise variances on and off the support.
    """

    projection: Projection
    variances: FloatArray
    active_noise: float
    inactive_noise: float

    def __call__(self, X: Any) -> FloatArray:
        """Return the log likelihoods, shape (n_rows,)."""
        known = self.projection
        data = as_matrix(X, known.mean, known.column_scale)
        active = data.columns(known.support)
        active_squares = active.row_squares()
        log_density = log_likelihood(
            active.product(known.components),
            active_squares,
            np.maximum(data.row_squares() - active_squares, 0.0),
            self.variances,
            active.n_features,
            self.active_noise,
            data.n_features - active.n_features,
            self.inactive_noise,
        )
        return log_density if known.column_scale is None else log_density + np.log(known.column_scale).sum()


@dataclass(frozen=True)
class Reconstruction:
    """Data that scores stand for.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Axes, zero off the support.
    mean : ndarray of shape (n_features,)
        Means to add.
    scale : ndarray of shape (n_features,) or None
        What the columns are multiplied by before.
    """

    components: FloatArray
    mean: FloatArray
    scale: FloatArray | None

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the data, shape (n_rows, n_features)."""
        data = scores @ self.components.astype(scores.dtype, copy=False)
        if self.scale is not None:
            data *= self.scale
        data += self.mean
        return data


@dataclass(frozen=True)
class Columns:
    """Some columns of rows.

    Attributes
    ----------
    index : ndarray of shape (n_selected,)
        Which ones.
    """

    index: IntArray

    def __call__(self, X: Any) -> Any:
        """Return the columns, dense or sparse as the rows are."""
        return X[:, self.index]


@dataclass(frozen=True)
class Placed:
    """Columns put back at their places among all; the others are zero.

    Attributes
    ----------
    index : ndarray of shape (n_selected,)
        Their places.
    n_features : int
        How many columns there are in all.
    """

    index: IntArray
    n_features: int

    def __call__(self, X: Any) -> FloatArray:
        """Return the wide rows."""
        wide = np.zeros((X.shape[0], self.n_features), dtype=X.dtype)
        wide[:, self.index] = X if isinstance(X, np.ndarray) else X.toarray()
        return wide
