"""Variance ranking (Johnstone & Lu 2009): keep the columns that vary more than noise would."""

from __future__ import annotations

import numpy as np

from gsppca.baselines.base import Baseline, FeatureCount, Selection
from gsppca.baselines.linalg import FloatArray, principal_axes
from gsppca.baselines.path import Centred, nested_path
from gsppca.checks import check_number


def johnstone_lu_threshold(variances: FloatArray, n_samples: int, factor: float = 12.0) -> float:
    """Threshold on the variances: median(s^2) (1 + sqrt(factor log(max(n, p)) / n)).

    The median of the s_j^2 estimates the noise variance when fewer than half of the columns hold signal.
    """
    largest = max(n_samples, variances.size)
    return float(np.median(variances) * (1 + np.sqrt(factor * np.log(largest) / n_samples)))


class VarianceRanking(Baseline):
    """Rank the variables by variance, then PCA of those kept.

    Blind on standardised columns: all variances are then one.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes of the PCA on the kept variables.
    n_features_to_select : "auto", None, int or float, default="auto"
        "auto" (or None) keeps s_j^2 > median(s^2) (1 + sqrt(factor log(max(n, p)) / n)), which may be none;
        an integer keeps exactly that many; a fraction, that share of them.
    factor : float, default=12.0
        The constant of the rule.
    random_state : int, RandomState or None, default=None
        Settles the order of equal columns only.

    References
    ----------
    Johnstone, I. M. and Lu, A. Y. (2009). On consistency and sparsity for principal components analysis in
    high dimensions. Journal of the American Statistical Association, 104, 682-693.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import VarianceRanking
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> X[:, [1, 6]] *= 5
    >>> VarianceRanking(n_components=1).fit(X).get_support(indices=True)
    array([1, 6])
    """

    def __init__(
        self,
        n_components: int = 2,
        n_features_to_select: FeatureCount = "auto",
        factor: float = 12.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.factor = factor
        self.random_state = random_state

    def _select(self, data: Centred, size: int | None) -> Selection:
        check_number("factor", self.factor, 0, finite=False)
        variances = data.squares / (data.n_samples - 1)
        if size is None:
            threshold = johnstone_lu_threshold(variances, data.n_samples, self.factor)
            size = int(np.count_nonzero(variances > threshold))
        order = data.order(variances)
        support = np.zeros(data.n_features, dtype=np.bool_)
        support[order[:size]] = True
        return Selection(
            support=support,
            order=order,
            components=principal_axes(data.matrix, support, self.n_components),
            path=nested_path(order, variances, size, "variance of the last variable"),
        )
