"""What some chosen variables say of all the others: predicted shares, and which variable each one stands for.

All of it comes from one product with the data: the products of the chosen columns with all columns and with the scores,
over the rows of each fold. Regressions are fitted without a fold and judged on it; shares are pooled over the folds,

    share_j = 1 - (sum of squared errors of variable j on rows left out) / (its sum of squares),

and are negative where the prediction is worse than the mean. The choice of the variables is taken as given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import column_values, fold_products
from gsppca.rules.shrinkage import LEAST_SHRINKAGE, ledoit_wolf

BLOCK = 2048  # features whose predictions are judged at a time


@dataclass(frozen=True)
class CoreDescription:
    """What chosen variables, and the components of a PCA on them, say of all variables.

    Attributes
    ----------
    chosen : ndarray of shape (n_chosen,)
        Their indices, as given.
    predicted : ndarray of shape (n_features,)
        Cross-validated share of each variable that the chosen ones predict: by all of them under a shrunken
        covariance, or by the best single one, whichever is more. 1 for the chosen ones and for their copies.
    represented_by : ndarray of shape (n_features,)
        The chosen variable of the largest absolute correlation with each variable; a chosen one stands for itself.
    correlation : ndarray of shape (n_features,)
        That correlation.
    variance_share : float
        Cross-validated share of the variance of ALL variables that the components of the chosen ones predict.
    components_share : float
        Cross-validated share of the components of all relevant variables, weighted by their variance, that the
        components of the chosen ones predict: how near they are.
    component_shares : ndarray of shape (n_components,)
        The same for each component of all relevant variables.
    """

    chosen: IntArray
    predicted: FloatArray
    represented_by: IntArray
    correlation: FloatArray
    variance_share: float
    components_share: float
    component_shares: FloatArray


@dataclass(frozen=True)
class FoldMoments:
    """Products of chosen columns with all columns and with scores, by fold.

    Attributes
    ----------
    chosen : ndarray of shape (n_chosen,)
        Indices of the chosen columns.
    counts : ndarray of shape (n_folds,)
        Numbers of rows.
    products : ndarray of shape (n_folds, n_chosen, n_features)
        Sums of products over the rows of each fold.
    score_products : ndarray of shape (n_folds, n_chosen, n_components)
        The same with the scores.
    fourths : ndarray of shape (n_folds,)
        Sums, over the rows of each fold, of the squared sums of squares of the chosen columns.
    squares : ndarray of shape (n_features,)
        Sums of squares of all columns, over all rows.
    score_squares : ndarray of shape (n_components,)
        Sums of squares of the scores, over all rows.
    """

    chosen: IntArray
    counts: IntArray
    products: FloatArray
    score_products: FloatArray
    fourths: FloatArray
    squares: FloatArray
    score_squares: FloatArray

    @classmethod
    def of(cls, matrix: Matrix, chosen: IntArray, scores: FloatArray, fold: IntArray) -> FoldMoments:
        """Compute them, in one pass over the data, or two if the chosen columns are read before."""
        sums, p = fold_products(matrix, chosen, fold, scores), matrix.n_features
        return cls(
            chosen=chosen,
            counts=np.bincount(fold),
            products=sums[:, :-1, :p],
            score_products=sums[:, :-1, p:-1],
            fourths=sums[:, -1, -1],
            squares=matrix.column_squares,
            score_squares=np.einsum("ik,ik->k", scores, scores),
        )

    @cached_property
    def own(self) -> FloatArray:
        """Products of the chosen columns with each other, shape (n_folds, n_chosen, n_chosen)."""
        return np.ascontiguousarray(self.products[:, :, self.chosen])

    @property
    def blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Some features at a time, so that what is made of them stays in the caches: products by fold, and total."""
        p = self.products.shape[2]
        for start in range(0, p, BLOCK):
            part = slice(start, min(start + BLOCK, p))
            products = self.products[:, :, part]
            yield part, products, products.sum(axis=0)

    def scaled(self, scale: FloatArray) -> FoldMoments:
        """Products of columns multiplied by `scale`, shape (n_features,)."""
        own = scale[self.chosen][:, None]
        return replace(
            self,
            products=self.products * own * scale,
            score_products=self.score_products * own,
            fourths=np.full_like(self.fourths, np.nan),  # not known
            squares=self.squares * scale**2,
        )

    def shrinkage(self, number: int) -> float:
        """Weight of the identity in the covariance of the chosen columns, without a fold, by Ledoit and Wolf."""
        others = np.arange(len(self.counts)) != number
        n = int(self.counts[others].sum())
        own = self.own[others].sum(axis=0) / n
        return ledoit_wolf(own.trace(), float(np.vdot(own, own)), self.fourths[others].sum(), n, len(own))


def describe_core(
    matrix: Matrix,
    chosen: IntArray,
    scores: FloatArray,
    fold: IntArray,
    *,
    standardise: bool = True,
) -> CoreDescription:
    """Describe what chosen variables say of all variables.

    Parameters
    ----------
    matrix : Matrix
        The centred data, all variables.
    chosen : ndarray of int
        Indices of the chosen variables, at least one.
    scores : ndarray of shape (n_samples, n_components)
        Components of all relevant variables, in the units that `standardise` says.
    fold : ndarray of shape (n_samples,)
        The fold of every row, as `find_core` deals them.
    standardise : bool, default=True
        Whether variance and components are those of the standardised variables, or in the units of `matrix`.
    """
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    standard = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
    return describe_moments(FoldMoments.of(standard, chosen, scores, fold), None if standardise else deviations)


def describe_moments(moments: FoldMoments, units: FloatArray | None = None) -> CoreDescription:
    """Describe what chosen variables say of all variables.

    Parameters
    ----------
    moments : FoldMoments
        Of standardised variables.
    units : ndarray of shape (n_features,), optional
        Standard deviations of the variables, if variance and components are not those of the standardised ones.
    """
    by, correlation = _represented_by((total for _, _, total in moments.blocks), moments.chosen)
    correlation = np.clip(correlation / int(moments.counts.sum()), -1.0, 1.0)
    variance, components = component_shares(moments if units is None else moments.scaled(units))
    weights = moments.score_squares
    return CoreDescription(
        chosen=moments.chosen,
        predicted=predicted_shares(moments),
        represented_by=by,
        correlation=correlation,
        variance_share=variance,
        components_share=float(components @ weights / weights.sum()),
        component_shares=components,
    )


def predicted_shares(moments: FoldMoments) -> FloatArray:
    """Cross-validated share of each variable that the chosen ones predict, jointly or singly; see `CoreDescription`."""
    n_chosen, squares = len(moments.chosen), moments.squares
    own_total = moments.own.sum(axis=0)
    regressions = []
    for number, test in enumerate(moments.own):
        train, n = own_total - test, int(moments.counts.sum() - moments.counts[number])
        shrinkage = max(LEAST_SHRINKAGE, moments.shrinkage(number))
        weight = (1 - shrinkage) / n
        single = train.diagonal()[:, None]
        # The inverse, of a matrix that shrinkage keeps well conditioned: a product with it is a few times as fast as
        # a solution, and there are as many of them as variables.
        inverse = weight * np.linalg.inv(weight * train + shrinkage * np.eye(n_chosen))
        regressions.append((inverse, np.where(single > 0, single, np.inf)))
    errors = np.empty(len(squares))
    for part, products, total in moments.blocks:
        jointly, singly = np.zeros(total.shape[1]), np.zeros_like(total)
        for test, own, (inverse, single) in zip(products, moments.own, regressions, strict=True):
            train = total - test
            coefficients = inverse @ train
            jointly += np.einsum("mp,mp->p", coefficients, own @ coefficients - 2 * test)
            slopes = train / single
            singly += slopes * (slopes * own.diagonal()[:, None] - 2 * test)
        errors[part] = np.minimum(jointly, singly.min(axis=0))
    return -errors / np.where(squares > 0, squares, np.inf)


def component_shares(moments: FoldMoments) -> tuple[float, FloatArray]:
    """Cross-validated shares that the components of the chosen variables predict.

    Parameters
    ----------
    moments : FoldMoments
        In the units in which the components are computed; of the chosen variables, as many as there are scores.

    Returns
    -------
    variance_share : float
        Share of the variance of all variables.
    shares : ndarray of shape (n_components,)
        Share of each component of all relevant variables.
    """
    own_total, score_total = moments.own.sum(axis=0), moments.score_products.sum(axis=0)
    score_errors, bases = moments.score_squares, []
    for test, score_test in zip(moments.own, moments.score_products, strict=True):
        train = own_total - test
        _, vectors = np.linalg.eigh((train + train.T) / 2)
        axes = vectors[:, ::-1][:, : len(score_errors)].T
        within, test_own = axes @ train @ axes.T, axes @ test @ axes.T
        inverse = np.linalg.pinv((within + within.T) / 2, hermitian=True)
        slopes = inverse @ (axes @ (score_total - score_test))
        score_errors = score_errors + np.einsum("ck,ck->k", slopes, test_own @ slopes - 2 * axes @ score_test)
        bases.append((axes, inverse, test_own))
    errors = moments.squares.sum()
    for _, products, total in moments.blocks:
        for test, (axes, inverse, test_own) in zip(products, bases, strict=True):
            coefficients = inverse @ (axes @ (total - test))
            errors += np.vdot(coefficients, test_own @ coefficients - 2 * axes @ test)
    return float(1 - errors / moments.squares.sum()), 1 - score_errors / moments.score_squares


def represents(matrix: Matrix, chosen: IntArray, n_best: int) -> tuple[IntArray, FloatArray]:
    """Return, for each chosen variable, the others that it represents best, and their correlations with it.

    Every variable that is not chosen belongs to the chosen one of the largest absolute correlation.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    chosen : ndarray of shape (n_chosen,)
        Indices of the chosen variables.
    n_best : int
        How many to return for each, at most.

    Returns
    -------
    indices : ndarray of shape (n_chosen, n_best)
        By falling absolute correlation; -1 where there are fewer.
    correlations : ndarray of shape (n_chosen, n_best)
        Not a number where there are fewer.
    """
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    standard = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
    products = standard.transposed_product(column_values(standard, chosen)) / matrix.n_samples
    by, correlation = _represented_by([products], chosen)
    return represented_lists(by, np.clip(correlation, -1.0, 1.0), chosen, n_best)


def represented_lists(
    represented_by: IntArray, correlation: FloatArray, chosen: IntArray, n_best: int
) -> tuple[IntArray, FloatArray]:
    """`represents`, from the attributes of a `CoreDescription`."""
    indices = np.full((len(chosen), n_best), -1)
    correlations = np.full((len(chosen), n_best), np.nan)
    others = np.ones(len(represented_by), dtype=bool)
    others[chosen] = False
    for row, member in enumerate(chosen):
        own = np.flatnonzero(others & (represented_by == member) & (correlation != 0))
        best = own[np.argsort(-np.abs(correlation[own]), kind="stable")[:n_best]]
        indices[row, : len(best)], correlations[row, : len(best)] = best, correlation[best]
    return indices, correlations


def _represented_by(blocks: Iterable[FloatArray], chosen: IntArray) -> tuple[IntArray, FloatArray]:
    """The chosen variable of the largest product with each variable, and that product; features in blocks."""
    bests, products = [], []
    start = 0
    for block in blocks:
        best = np.argmax(np.abs(block), axis=0)
        inside = (chosen >= start) & (chosen < start + block.shape[1])
        best[chosen[inside] - start] = np.flatnonzero(inside)
        bests.append(best)
        products.append(block[best, np.arange(block.shape[1])])
        start += block.shape[1]
    return chosen[np.concatenate(bests)], np.concatenate(products)
