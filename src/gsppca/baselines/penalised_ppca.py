"""What the estimators svnPCA and vsnPCA share: the path in the penalty, BIC, exact sizes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from gsppca.baselines.base import (
    Axes,
    Baseline,
    FeatureCount,
    Selection,
    own_or_principal,
    selection_on_path,
)
from gsppca.baselines.linalg import FloatArray, compact_rows, leading_svd
from gsppca.baselines.path import Centred, cut, reach_size, rising_penalties, walk
from gsppca.baselines.penalised_em import PenalisedPPCA, ScoreMoments, bic, penalised_em, ppca, score_moments
from gsppca.checks import check_count, check_number


class PenalisedPPCABaseline(Baseline):
    """PPCA whose rows of loadings pay a penalty; a subclass says which."""

    def __init__(
        self,
        n_components: int = 2,
        n_features_to_select: FeatureCount = "auto",
        n_penalties: int = 40,
        axes: Axes = "own",
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.n_penalties = n_penalties
        self.axes = axes
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @staticmethod
    @abstractmethod
    def _row_step(moments: ScoreMoments, penalty: float) -> FloatArray:
        """M-step of the loadings."""

    @staticmethod
    @abstractmethod
    def _levels(moments: ScoreMoments) -> FloatArray:
        """Penalty at which each row leaves."""

    def _select(self, data: Centred, size: int | None) -> Selection:
        check_count("n_penalties", self.n_penalties, 2)
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, 0, finite=False)
        X, n_samples = compact_rows(data.matrix), data.n_samples
        start = ppca(X, n_samples, self.n_components)

        def fit(penalty: float, warm: PenalisedPPCA) -> PenalisedPPCA:
            return penalised_em(X, n_samples, warm, penalty, self._row_step, self.max_iter, self.tol)

        levels = self._levels(score_moments(X, n_samples, start.loadings, start.noise_variance))
        points = walk(fit, start, rising_penalties(levels, self.n_penalties), min_size=size or 1)
        if size is not None:
            points, chosen, survivors = reach_size(fit, points, size)
            support = cut(data, chosen.support, survivors, chosen.strength, size)
        criterion = np.array([bic(point.model, n_samples) for point in points])
        if size is None:
            chosen = points[int(np.argmin(criterion))]
            support = chosen.support
        # The likelihood does not tell G from G times a rotation: its left singular vectors are the axes.
        own, weights, _ = leading_svd(np.where(support[:, np.newaxis], chosen.model.loadings, 0.0), self.n_components)
        return selection_on_path(
            data,
            points,
            chosen,
            support,
            criterion,
            "BIC",
            own_or_principal(self.axes, own * (weights > 0), data, support),
        )
