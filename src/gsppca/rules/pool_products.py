"""Products of the variables of a pool, over the rows of a selection and over those that it leaves out.

By their values on all rows, if these are fewer than the variables, or by one Gram matrix for each fold. Selection 0 is
that on all rows, selection i + 1 the one without fold i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy

import numpy as np

from gsppca._typing import FloatArray, IntArray


class PoolProducts(ABC):
    """Products of the standardised columns of a pool.

    Attributes
    ----------
    score_squares : ndarray of shape (n_folds, n_components)
        Sums of squares of the scores of the rows of each fold, on the axes of the part without it.
    """

    score_squares: FloatArray

    @abstractmethod
    def of_one(self, which: slice, places: IntArray) -> FloatArray:
        """Sums of products of one column with all, over the rows of each of some selections, (n_selections, n_pool)."""

    @abstractmethod
    def of_some(self, selection: int, places: IntArray, others: IntArray) -> FloatArray:
        """Sums of products of some columns with others, over the rows of a selection, shape (n_some, n_others)."""

    @property
    @abstractmethod
    def gram(self) -> FloatArray:
        """Products of all columns over all rows."""

    @abstractmethod
    def among(self, places: IntArray) -> PoolProducts:
        """The products of some of the columns."""

    @abstractmethod
    def left_out(self, fold: int, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sums of products of some columns with each other, and with the scores, over the rows of a fold."""


class RowProducts(PoolProducts):
    """By values.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_pool)
        The standardised columns.
    fold : ndarray of shape (n_samples,)
        The fold of every row.
    scores : ndarray of shape (n_samples, n_components)
        Of every row, on the axes of the part without its fold.
    """

    def __init__(self, columns: FloatArray, fold: IntArray, scores: FloatArray):
        self.columns, self.scores = columns, scores
        self.folds = fold == np.arange(int(fold.max()) + 1)[:, None]
        self.inside = np.vstack([np.ones_like(fold, dtype=bool), ~self.folds])
        self.score_squares = self.folds @ scores**2

    def of_one(self, which: slice, places: IntArray) -> FloatArray:
        """One product for all of them."""
        return (self.columns.T[places] * self.inside[which]) @ self.columns

    def of_some(self, selection: int, places: IntArray, others: IntArray) -> FloatArray:
        """Values outside of the selection are zero."""
        return (self.columns.T[places] * self.inside[selection]) @ self.columns[:, others]

    @property
    def gram(self) -> FloatArray:
        """One product."""
        product: FloatArray = self.columns.T @ self.columns
        return product

    def among(self, places: IntArray) -> RowProducts:
        """Fewer columns."""
        some = copy(self)
        some.columns = self.columns if len(places) == self.columns.shape[1] else self.columns[:, places]
        return some

    def left_out(self, fold: int, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Products of the values of these rows."""
        own = self.columns[np.ix_(self.folds[fold], places)]
        return own.T @ own, own.T @ self.scores[self.folds[fold]]


class GramProducts(PoolProducts):
    """By Gram matrices.

    Parameters
    ----------
    grams : ndarray of shape (n_folds, n_pool, n_pool)
        Over the rows of each fold.
    total : ndarray of shape (n_pool, n_pool)
        Their sum.
    with_scores : ndarray of shape (n_folds, n_pool, n_components)
        Products with the scores of these rows, on the axes of the part without them.
    score_squares : ndarray of shape (n_folds, n_components)
        Sums of squares of these scores.
    """

    def __init__(self, grams: FloatArray, total: FloatArray, with_scores: FloatArray, score_squares: FloatArray):
        self.grams, self.total = grams, total
        self.with_scores, self.score_squares = with_scores, score_squares

    @property
    def gram(self) -> FloatArray:
        """The sum, which is known."""
        return self.total

    def of_one(self, which: slice, places: IntArray) -> FloatArray:
        """Rows of the matrices."""
        sums = self.total[places]
        left_out = np.arange(max(which.start, 1), which.stop)
        if len(left_out):
            sums[left_out - which.start] -= self.grams[left_out - 1, places[left_out - which.start]]
        return sums

    def of_some(self, selection: int, places: IntArray, others: IntArray) -> FloatArray:
        """Corners of the matrices."""
        both = np.ix_(places, others)
        return self.total[both] - self.grams[selection - 1][both] if selection else self.total[both]

    def among(self, places: IntArray) -> GramProducts:
        """Smaller matrices."""
        if len(places) == len(self.total):
            return self
        grams, total = (some[..., places[:, None], places] for some in (self.grams, self.total))
        return GramProducts(grams, total, self.with_scores[:, places], self.score_squares)

    def left_out(self, fold: int, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Corners of the matrices."""
        return self.grams[fold][np.ix_(places, places)], self.with_scores[fold, places]
