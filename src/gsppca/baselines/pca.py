"""PCA without selection: the reference that every sparse method is compared with."""

from __future__ import annotations

import numpy as np

from gsppca.baselines.base import Baseline, FeatureCount, Selection
from gsppca.baselines.linalg import compact_rows, leading_svd, principal_axes
from gsppca.baselines.path import Centred, nested_path


class PlainPCA(Baseline):
    """PCA of all variables, or of those with the largest communality.

    The communality of a variable is the sum of squares that the first axes explain of it,
    sum_k (s_k v_kj)^2 with s_k the singular values and v_k the axes.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes.
    n_features_to_select : "auto", None, int or float, default="auto"
        "auto" (or None) keeps all variables; an integer keeps exactly that many; a fraction, that share.
    random_state : int, RandomState or None, default=None
        Settles the order of equal columns only.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import PlainPCA
    >>> X = np.random.default_rng(0).normal(size=(20, 4)) * [3.0, 1.0, 2.0, 0.1]
    >>> PlainPCA(n_components=2, n_features_to_select=2).fit(X).get_support(indices=True)
    array([0, 2])
    """

    def __init__(
        self,
        n_components: int = 2,
        n_features_to_select: FeatureCount = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    def _select(self, data: Centred, size: int | None) -> Selection:
        size = data.n_features if size is None else size
        _, values, right = leading_svd(compact_rows(data.matrix), self.n_components)
        communality = (values**2) @ right**2
        order = data.order(communality)
        support = np.zeros(data.n_features, dtype=np.bool_)
        support[order[:size]] = True
        return Selection(
            support=support,
            order=order,
            components=principal_axes(data.matrix, support, self.n_components),
            path=nested_path(order, communality, size, "communality of the last variable"),
        )
