"""From rankings to a support, by whichever evidence: the middle of the line, one class for each evidence.

Both answer `best_of(rankings, refine)` with a `Found`: the ranking that the evidence prefers, and the evidence along
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from gsppca.core.joint_path import LogPrior
from gsppca.core.joint_search import Found
from gsppca.core.noisy import noisy_evidence_along
from gsppca.core.state import EvidencePath, Ranking
from gsppca.data import Matrix
from gsppca.stages import evidence_path


class Search(Protocol):
    """What finds a support along some rankings."""

    def best_of(self, rankings: Iterable[Ranking], refine: bool) -> Found:
        """Return the best support along some rankings."""


class NormSearch:
    """The search by the evidence of the paper, which sees the norms of the rows.

    Parameters
    ----------
    data : Matrix
        The centred data, without constant columns.
    n_components : int
        Dimension of the latent space.
    inactive_variance : float or "profile"
        Variance of the variables outside.
    active_variance : float
        Noise variance of the variables inside; zero for the closed form of Theorem 2.
    log_prior : callable
        Log prior of some sizes.
    wanted : int or None
        Size asked for; None lets the evidence choose.
    """

    def __init__(
        self,
        data: Matrix,
        n_components: int,
        inactive_variance: float | str,
        active_variance: float,
        log_prior: LogPrior,
        wanted: int | None,
    ):
        self.data, self.n_components = data, n_components
        self.inactive_variance, self.active_variance = inactive_variance, active_variance
        self.log_prior, self.wanted = log_prior, wanted

    def best_of(self, rankings: Iterable[Ranking], refine: bool) -> Found:
        """Return the best support along some rankings; norms say nothing of how to refine it."""
        return max((self._follow(ranking) for ranking in rankings), key=lambda found: found.value)

    def _follow(self, ranking: Ranking) -> Found:
        path = self._path(ranking)
        values = path.log_evidence + self.log_prior(path.sizes)
        at = int(np.argmax(values)) if self.wanted is None else int(np.searchsorted(path.sizes, self.wanted))
        return Found(ranking, path, int(path.sizes[at]), float(values[at]), self.n_components, None)

    def _path(self, ranking: Ranking) -> EvidencePath:
        if self.active_variance == 0:
            return evidence_path(self.data, ranking.order, self.n_components, self.inactive_variance)
        sizes = np.arange(1, len(ranking.order) + 1)
        variance = None if isinstance(self.inactive_variance, str) else self.inactive_variance
        return noisy_evidence_along(
            self.data, ranking.order, self.n_components, variance, sizes, active_variance=self.active_variance
        )
