"""Columns of the data, and combinations of them, as one forward selection sees them: by rows or by coefficients.

A selection learns from some rows and is judged on the others. All that it asks of columns are combinations of them,
and sums of their products over the rows inside or over those left out. There are two ways to hold a combination:

1. `RowColumns`: by its values on all rows. The sums are those of products of values.
2. `GramColumns`: by its coefficients, ``r = Z b``. The sums are ``a'Gb``, with ``G = Z'Z`` over the rows in question:
   nothing as long as the data is held.

The first suits few rows, the second few columns. A "vector" is one of the two, by what its class says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from gsppca._typing import BoolArray, FloatArray


class Columns(ABC):
    """Products of columns, and the scores that are predicted from them.

    Attributes
    ----------
    length : int
        Of a vector.
    errors : ndarray of shape (n_components,)
        Sums of squares, over the rows left out, of what is not predicted of the scores yet.
    """

    length: int
    errors: FloatArray

    @abstractmethod
    def inside(self, vectors: FloatArray) -> FloatArray:
        """Return V of the shape of `vectors`, such that ``u'V`` sums products with them over the rows inside."""

    @abstractmethod
    def predict(self, residuals: FloatArray, slopes: FloatArray) -> list[FloatArray]:
        """Predict more of the scores, by one vector after the other, and return the errors after each.

        Parameters
        ----------
        residuals : ndarray of shape (length, n_vectors)
            The vectors.
        slopes : ndarray of shape (n_components, n_vectors)
            What is added to the prediction, for one unit of each vector.
        """


class RowColumns(Columns):
    """A vector holds the values of a combination of columns on all rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples,), bool
        The rows inside.
    scores : ndarray of shape (n_samples, n_components)
        Of all rows.
    """

    def __init__(self, rows: BoolArray, scores: FloatArray):
        self.rows, self.length = rows, len(rows)
        self.left = scores[~rows]
        self.errors = np.sum(self.left**2, axis=0)

    def inside(self, vectors: FloatArray) -> FloatArray:
        """Set the values outside to zero."""
        return vectors * self.rows[:, None]

    def predict(self, residuals: FloatArray, slopes: FloatArray) -> list[FloatArray]:
        """Subtract the predictions row by row."""
        outside = residuals[~self.rows]
        errors = errors_after(np.sum(self.left**2, axis=0), outside.T @ self.left, outside.T @ outside, slopes)
        self.left -= outside @ slopes.T
        return errors


class GramColumns(Columns):
    """A vector holds the coefficients of a combination of columns.

    Parameters
    ----------
    total : ndarray of shape (n_features, n_features)
        ``Z'Z`` over all rows.
    left_out : ndarray of shape (n_parts, n_features, n_features)
        ``Z'Z`` over the rows left out, as a sum of parts, of which there may be none.
    axes : ndarray of shape (n_components, n_features)
        The scores are ``Z axes'``.
    """

    def __init__(self, total: FloatArray, left_out: FloatArray, axes: FloatArray):
        self.total, self.left_out, self.length = total, left_out, len(total)
        self.left = axes.T.copy()
        self.left_products = self._outside(self.left)
        self.errors = np.einsum("pk,pk->k", self.left, self.left_products)

    def inside(self, vectors: FloatArray) -> FloatArray:
        """Multiply by ``Z'Z`` over the rows inside: the result holds the products with all columns."""
        return _products(self.total[None], vectors) - self._outside(vectors)

    def _outside(self, vectors: FloatArray) -> FloatArray:
        return _products(self.left_out, vectors)

    def predict(self, residuals: FloatArray, slopes: FloatArray) -> list[FloatArray]:
        """Subtract the predictions from the coefficients of the scores."""
        if not len(self.left_out):
            return [self.errors] * residuals.shape[1]
        products = self._outside(residuals)
        # Both factors shrink as more is predicted: the rounding of the errors shrinks with the smaller one.
        start = np.einsum("pk,pk->k", self.left, self.left_products)
        errors = errors_after(start, residuals.T @ self.left_products, residuals.T @ products, slopes)
        self.left -= residuals @ slopes.T
        self.left_products -= products @ slopes.T
        return errors


def errors_after(start: FloatArray, with_left: FloatArray, between: FloatArray, slopes: FloatArray) -> list[FloatArray]:
    """Return the sums of squared errors after each of several predictions, one after the other.

    Parameters
    ----------
    start : ndarray of shape (n_components,)
        Sums of squares of what is left before the first.
    with_left : ndarray of shape (n_vectors, n_components)
        Products of the vectors with what is left then.
    between : ndarray of shape (n_vectors, n_vectors)
        Products of the vectors with each other.
    slopes : ndarray of shape (n_components, n_vectors)
        As in `Columns.predict`.
    """
    # What vector i finds left: less the predictions by those before it.
    found = with_left - np.tril(between, -1) @ slopes.T
    steps = slopes.T * (slopes.T * between.diagonal()[:, None] - 2 * found)
    return list(np.maximum(start + np.cumsum(steps, axis=0), 0.0))


def _products(grams: FloatArray, vectors: FloatArray) -> FloatArray:
    """Products of vectors with a sum of symmetric matrices; most entries of the vectors may be zero."""
    support = np.flatnonzero(vectors.any(axis=1))
    total = np.zeros_like(vectors)
    for gram in grams:
        total += gram[support].T @ vectors[support]
    return total
