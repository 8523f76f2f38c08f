"""What some chosen variables say of all the others: predicted shares, and which variable each one stands for.

All of it comes from one product with the data: the products of the chosen columns with all columns and with the scores,
over the rows of each fold. Regressions are fitted without a fold and judged on it; shares are pooled over the folds,

    share_j = 1 - (sum of squared errors of variable j on rows left out) / (its sum of squares),

and are negative where the prediction is worse than the mean. The choice of the variables is taken as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.array import ColumnView
from gsppca.data.base import Matrix
from gsppca.data.chosen_columns import column_values
from gsppca.data.fold_products import fold_products, products_by_fold
from gsppca.data.folds import MANY_ROWS
from gsppca.rules.representatives import representing
from gsppca.rules.shrinkage import LEAST_SHRINKAGE, ledoit_wolf

BLOCK = 384  # features whose predictions are judged at a time
NONE: IntArray = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class CoreDescription:
    """What chosen variables, and the components of a PCA on them, say of all variables.

    Attributes
    ----------
    chosen : ndarray of shape (n_chosen,)
        Their indices, as given.
    predicted : ndarray of shape (n_features,)
        Cross-validated share of each variable that the chosen ones predict: by all of them under a shrunken
        covariance, or by the one that stands for it, whichever is more. 1 for the chosen ones and for their copies.
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
    products : callable
        Of a slice of the features: sums of products of the chosen columns with them over the rows of each fold, shape
        (n_folds, n_chosen, n_features of the slice); and those of other columns over all rows, (n_others, ...).
    own : ndarray of shape (n_folds, n_chosen, n_chosen)
        The same of the chosen columns with each other.
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
    products: Callable[[slice], tuple[FloatArray, FloatArray]]
    own: FloatArray
    score_products: FloatArray
    fourths: FloatArray
    squares: FloatArray
    score_squares: FloatArray

    @classmethod
    def of(
        cls,
        matrix: Matrix,
        chosen: IntArray,
        scores: FloatArray,
        fold: IntArray,
        others: IntArray = NONE,
        known: FloatArray | None = None,
    ) -> FoldMoments:
        """Compute them, in one pass over the data, or two if the chosen columns are read before.

        `others` are indices of columns whose products over all rows are wanted too; `known` are the values of the
        chosen columns and these, if somebody has them.
        """
        counts, squares, size = np.bincount(fold), matrix.column_squares, len(chosen)
        score_squares, both = np.einsum("ik,ik->k", scores, scores), np.concatenate([chosen, others])
        if matrix.n_samples > min(matrix.n_features, MANY_ROWS):
            weights = (np.arange(len(both)) < size).astype(np.float64)
            (sums, fourths), p = fold_products(matrix, both, fold, scores, weights), matrix.n_features
            return cls(
                chosen=chosen,
                counts=counts,
                products=lambda part: (sums[:, :size, part], sums[:, size:, part].sum(axis=0)),
                own=sums[:, :size, chosen],
                score_products=sums[:, :size, p:],
                fourths=fourths,
                squares=squares,
                score_squares=score_squares,
            )
        values = column_values(matrix, both) if known is None else known
        columns, rows = values[:, :size], [fold == number for number in range(int(fold.max()) + 1)]
        lengths = np.einsum("ij,ij->i", columns, columns)
        return cls(
            chosen=chosen,
            counts=counts,
            products=products_by_fold(matrix, columns, fold, values[:, size:]),
            own=np.array([columns[own].T @ columns[own] for own in rows]),
            score_products=np.array([columns[own].T @ scores[own] for own in rows]),
            fourths=np.array([np.sum(lengths[own] ** 2) for own in rows]),
            squares=squares,
            score_squares=score_squares,
        )

    def remember_gram(self, matrix: Matrix) -> None:
        """Let the data know the products of the chosen columns with each other, from which their PCA comes."""
        assert isinstance(matrix, ColumnView)
        if matrix.known_rows.gram is None:
            kept, order = np.zeros(matrix.n_features, dtype=bool), np.argsort(self.chosen)
            kept[self.chosen] = True
            matrix.columns(kept).remember_gram(self.own.sum(axis=0)[np.ix_(order, order)])

    @property
    def blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Some features at a time, so that what is made of them stays in the caches: their products."""
        p = len(self.squares)
        for start in range(0, p, BLOCK):
            part = slice(start, min(start + BLOCK, p))
            yield part, *self.products(part)

    def shrinkage(self, number: int) -> float:
        """Weight of the identity in the covariance of the chosen columns, without a fold, by Ledoit and Wolf."""
        others = np.arange(len(self.counts)) != number
        n = int(self.counts[others].sum())
        own = self.own[others].sum(axis=0) / n
        return ledoit_wolf(own.trace(), float(np.vdot(own, own)), self.fourths[others].sum(), n, len(own))


def describe_moments(
    moments: FoldMoments,
    units: FloatArray | None = None,
    also: Callable[[slice, FloatArray], None] | None = None,
) -> CoreDescription:
    """Describe what chosen variables say of all variables.

    Parameters
    ----------
    moments : FoldMoments
        Of standardised variables.
    units : ndarray of shape (n_features,), optional
        Standard deviations of the variables, if variance and components are not those of the standardised ones.
    also : callable, optional
        Is given the slices of features, one after the other, and sums of products of chosen and other columns with
        them, over all rows: they are made once.
    """
    p, n = len(moments.squares), int(moments.counts.sum())
    by, correlation, predicted = np.empty(p, dtype=np.intp), np.empty(p), np.empty(p)
    variables, components = _Regressions(moments), _Components(moments, units)
    for part, products, others in moments.blocks:
        total = products.sum(axis=0)
        place, correlation[part] = representing(total, moments.chosen, part.start)
        by[part], predicted[part] = moments.chosen[place], variables.shares(part, products, total, place)
        components.add(part, products, total)
        if also is not None:
            also(part, np.vstack([total, others]))
    weights = moments.score_squares
    return CoreDescription(
        chosen=moments.chosen,
        predicted=predicted,
        represented_by=by,
        correlation=np.clip(correlation / n, -1.0, 1.0),
        variance_share=components.variance_share,
        components_share=float(components.shares @ weights / weights.sum()),
        component_shares=components.shares,
    )


class _Regressions:
    """Predictions of each variable by the chosen ones, jointly or by one, without each fold; see `CoreDescription`.

    With coefficients ``B a``, where a are the products of the chosen columns with a variable without the fold, t those
    on it, and T the products of the chosen columns with each other there, the squared errors on the fold exceed the
    squares of the variable by ``a'B T B a - 2 a'B t``. T has no more directions V than the fold has rows, and t lies in
    them: with ``T = V D V'`` that is ``b'D b - 2 b'V't``, where ``b = V'B a``.
    """

    def __init__(self, moments: FoldMoments):
        self.moments = moments
        self.forms, self.singles = [], []
        for number, (test, count) in enumerate(zip(moments.own, moments.counts.tolist(), strict=True)):
            train, n = moments.own.sum(axis=0) - test, int(moments.counts.sum()) - count
            shrinkage = max(LEAST_SHRINKAGE, moments.shrinkage(number))
            weight, single = (1 - shrinkage) / n, train.diagonal()
            values, vectors = np.linalg.eigh((test + test.T) / 2)
            values, directions = values[-count:, None], np.ascontiguousarray(vectors[:, -count:].T)
            # The inverse, of a matrix that shrinkage keeps well conditioned: a product with it is a few times as fast
            # as a solution, and there are as many of them as variables.
            inverse = weight * np.linalg.inv(weight * train + shrinkage * np.eye(len(train)))
            self.forms.append((directions @ inverse, directions, values))
            self.singles.append(1 / np.where(single > 0, single, np.inf))

    def shares(self, part: slice, products: FloatArray, total: FloatArray, place: IntArray) -> FloatArray:
        """Return the cross-validated shares of some variables, given which chosen one stands for each."""
        squares = self.moments.squares[part]
        jointly, singly = np.zeros((2, total.shape[1]))
        stands = (place, np.arange(len(place)))
        for test, own, form, single in zip(products, self.moments.own, self.forms, self.singles, strict=True):
            coefficients, directions, values = form
            train = total - test
            predicted, found = coefficients @ train, directions @ test
            jointly += np.einsum("rp,rp->p", predicted, values * predicted - 2 * found)
            slopes = train[stands] * single[place]
            singly += slopes * (slopes * own.diagonal()[place] - 2 * test[stands])
        return -np.minimum(jointly, singly) / np.where(squares > 0, squares, np.inf)


class _Components:
    """Predictions by the components of the chosen variables, as many as there are scores, without each fold.

    Parameters
    ----------
    moments : FoldMoments
        Of standardised variables.
    units : ndarray of shape (n_features,), optional
        Standard deviations of the variables, if variance and components are not those of the standardised ones.

    Attributes
    ----------
    shares : ndarray of shape (n_components,)
        Cross-validated share of each component of all relevant variables.
    """

    def __init__(self, moments: FoldMoments, units: FloatArray | None):
        self.units = np.ones(len(moments.squares)) if units is None else units
        scale = self.units[moments.chosen][:, None]
        own, scores = moments.own * scale * scale.T, moments.score_products * scale
        own_total, score_total = own.sum(axis=0), scores.sum(axis=0)
        errors = moments.score_squares
        self.projections, self.inverses, self.tests = [], [], []
        for test, score_test in zip(own, scores, strict=True):
            train = own_total - test
            _, vectors = np.linalg.eigh((train + train.T) / 2)
            axes = vectors[:, ::-1][:, : len(errors)].T
            within, test_own = axes @ train @ axes.T, axes @ test @ axes.T
            inverse = np.linalg.pinv((within + within.T) / 2, hermitian=True)
            slopes = inverse @ (axes @ (score_total - score_test))
            errors = errors + np.einsum("ck,ck->k", slopes, test_own @ slopes - 2 * axes @ score_test)
            self.projections.append(axes * scale.T)
            self.inverses.append(inverse)
            self.tests.append(test_own)
        self.shares: FloatArray = 1 - errors / moments.score_squares
        self.total = self.left = float(np.sum(moments.squares * self.units**2))

    def add(self, part: slice, products: FloatArray, total: FloatArray) -> None:
        """Predict some variables."""
        squared = self.units[part] ** 2
        for test, axes, inverse, own in zip(products, self.projections, self.inverses, self.tests, strict=True):
            outside = axes @ test
            coefficients = inverse @ (axes @ total - outside)
            self.left += float(np.vdot(coefficients * squared, own @ coefficients - 2 * outside))

    @property
    def variance_share(self) -> float:
        """Cross-validated share of the variance of all variables."""
        return 1 - self.left / self.total
