"""What some chosen variables say of all the others: predicted shares, and which variable each one stands for.

All of it comes from one product with the data: the products of the chosen columns with all columns and with the scores,
over the rows of each fold. Regressions are fitted without a fold and judged on it; shares are pooled over the folds,

    share_j = 1 - (sum of squared errors of variable j on rows left out) / (its sum of squares),

and are negative where the prediction is worse than the mean. The choice of the variables is taken as given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import column_values, fold_products
from gsppca.rules.shrinkage import LEAST_SHRINKAGE, ledoit_wolf


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

    @property
    def total(self) -> FloatArray:
        """Products over all rows, shape (n_chosen, n_features)."""
        return self.products.sum(axis=0)

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
        own = self.products[others][:, :, self.chosen].sum(axis=0) / n
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
    by, correlation = _represented_by(moments.total / int(moments.counts.sum()), moments.chosen)
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
    chosen, total = moments.chosen, moments.total
    jointly = np.zeros(total.shape[1])
    singly = np.zeros_like(total)
    for number, test in enumerate(moments.products):
        train, n = total - test, int(moments.counts.sum() - moments.counts[number])
        shrinkage = max(LEAST_SHRINKAGE, moments.shrinkage(number))
        shrunken = (1 - shrinkage) * train[:, chosen] / n + shrinkage * np.eye(len(chosen))
        coefficients = np.linalg.solve(shrunken, (1 - shrinkage) / n * train)
        jointly += np.einsum("mp,mp->p", coefficients, test[:, chosen] @ coefficients - 2 * test)
        own = train[np.arange(len(chosen)), chosen]
        slopes = train / np.where(own > 0, own, np.inf)[:, None]
        singly += slopes * (slopes * test[np.arange(len(chosen)), chosen][:, None] - 2 * test)
    squares = np.where(moments.squares > 0, moments.squares, np.inf)
    return -np.minimum(jointly, singly.min(axis=0)) / squares


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
    chosen, total, score_total = moments.chosen, moments.total, moments.score_products.sum(axis=0)
    errors, score_errors = moments.squares.sum(), moments.score_squares
    for test, score_test in zip(moments.products, moments.score_products, strict=True):
        train = total - test
        _, vectors = np.linalg.eigh((train[:, chosen] + train[:, chosen].T) / 2)
        axes = vectors[:, ::-1][:, : len(score_errors)].T
        own = axes @ train[:, chosen] @ axes.T
        inverse = np.linalg.pinv((own + own.T) / 2, hermitian=True)
        coefficients = inverse @ (axes @ train)
        test_own = axes @ test[:, chosen] @ axes.T
        errors += np.vdot(coefficients, test_own @ coefficients - 2 * axes @ test)
        slopes = inverse @ (axes @ (score_total - score_test))
        score_errors = score_errors + np.einsum("ck,ck->k", slopes, test_own @ slopes - 2 * axes @ score_test)
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
    return represented_lists(*_represented_by(products, chosen), chosen, n_best)


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


def _represented_by(correlations: FloatArray, chosen: IntArray) -> tuple[IntArray, FloatArray]:
    best = np.argmax(np.abs(correlations), axis=0)
    best[chosen] = np.arange(len(chosen))
    return chosen[best], np.clip(correlations[best, np.arange(correlations.shape[1])], -1.0, 1.0)
