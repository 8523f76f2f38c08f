"""From some rankings to one support: the evidence chooses among them, and the support found ranks again.

    for each ranking: the evidence along it          -> the best one
    repeat: factors of its support -> what they explain of every variable: a new ranking, and new noise shares
            accept the best of old and new, while the evidence rises

Every comparison is of evidence times size prior, at the best size or at the size that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from gsppca._typing import FloatArray
from gsppca.core.joint_path import JointEvidence, LogPrior
from gsppca.core.ranking import rank_by_score
from gsppca.core.refine import explained_given_support
from gsppca.core.state import EvidencePath, Ranking

MAX_ROUNDS = 8
LEAST_NOISE = 0.02  # share of its variance that an active variable keeps as noise of its own
LEAST_GAIN = 1e-6  # in log evidence: what is less is rounding

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Found:
    """A ranking with the evidence along it.

    Attributes
    ----------
    ranking : Ranking
    path : EvidencePath
        Against the empty model.
    size : int
        The best, or the one asked for.
    value : float
        Its log evidence plus log prior.
    dimension : int
        Its number of components.
    psi : ndarray of shape (n_features,) or None
        Shares of noise, when active variables have their own.
    """

    ranking: Ranking
    path: EvidencePath
    size: int
    value: float
    dimension: int
    psi: FloatArray | None


class JointSearch:
    """The search for a support by the joint evidence.

    Parameters
    ----------
    evidence : JointEvidence
    log_prior : callable
        Log prior of some sizes.
    wanted : int or None
        Size asked for; None lets the evidence choose.
    progress : callable, optional
        Gets the number of evidences evaluated along the current ranking.
    """

    def __init__(
        self, evidence: JointEvidence, log_prior: LogPrior, wanted: int | None = None, progress: Progress | None = None
    ):
        self.evidence, self.log_prior, self.wanted, self.progress = evidence, log_prior, wanted, progress

    def best_of(self, rankings: Iterable[Ranking], refine: bool) -> Found:
        """Return the best support along some rankings, refined if asked for, all sizes around it evaluated."""
        found = max((self._follow(ranking, around=self.wanted) for ranking in rankings), key=lambda one: one.value)
        for _ in range(MAX_ROUNDS if refine else 0):
            better = self._refined(found)
            if better is None:
                break
            found = better
        return self._follow(found.ranking, found.psi, fine=True)

    def _follow(
        self, ranking: Ranking, psi: FloatArray | None = None, around: int | None = None, fine: bool = False
    ) -> Found:
        """Evaluate one ranking; coarsely, for a comparison, maybe near a size, or closing in on the best size."""
        extra = () if self.wanted is None else (self.wanted,)
        path = self.evidence.along(
            ranking.order,
            self.log_prior,
            psi=psi,
            extra=extra,
            around=around,
            fine=fine and self.wanted is None,
            progress=self.progress,
        )
        values = path.log_evidence + self.log_prior(path.sizes)
        at = int(np.argmax(values)) if self.wanted is None else int(np.searchsorted(path.sizes, self.wanted))
        assert path.dimensions is not None
        return Found(ranking, path, int(path.sizes[at]), float(values[at]), int(path.dimensions[at]), psi)

    def _refined(self, found: Found) -> Found | None:
        """Rank again by what the factors of the support explain; None if that is no better."""
        order = found.ranking.order
        if found.size <= found.dimension + 1:
            return None
        own = self.evidence.own_noise
        matrix = self.evidence.matrix
        scaled = matrix if found.psi is None else matrix.scaled(1 / np.sqrt(found.psi))
        share = explained_given_support(scaled, order[: found.size], found.dimension) / scaled.column_squares
        explained = np.clip(share, 0, 1) * matrix.column_squares
        relative = explained / explained.max()
        again = Ranking(rank_by_score(relative, matrix.column_squares), relative, "refined", 1)
        noises = [found.psi, self._noise_shares(share, found.dimension)] if own else [None]
        options = [(again, psi) for psi in noises]
        if own:  # the same order under the new noise
            options.append((found.ranking, noises[1]))
        followed = (self._follow(ranking, psi, around=found.size) for ranking, psi in options)
        best = max(followed, key=lambda one: one.value)
        if best.value <= found.value + LEAST_GAIN:
            return None
        return replace(best, ranking=replace(best.ranking, n_iter=found.ranking.n_iter + 1))

    def _noise_shares(self, explained_share: FloatArray, n_components: int) -> FloatArray:
        """Noise share of each variable: what the factors leave, adjusted for their number; 1 where that is nothing."""
        n = self.evidence.n
        left = (1 - np.clip(explained_share, 0, 1)) * (n - 1) / max(n - 1 - n_components, 1)
        return np.clip(left, LEAST_NOISE, 1.0)
