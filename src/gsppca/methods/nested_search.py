"""Rank the variables, judge the nested supports along the ranking, keep the best: with pieces of your own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.checks import check_choice
from gsppca.data import Matrix
from gsppca.evidence.joint import log_choices
from gsppca.evidence.posterior import inclusion_probability, size_posterior
from gsppca.evidence.prior import SizePrior, log_size_prior
from gsppca.frame import Frame
from gsppca.parameters import Parameters
from gsppca.rankings.order import rank_by_score
from gsppca.results import EvidencePath, Found, Wishes
from gsppca.stages import check_n_components, estimate_n_components

Scores = Callable[[Matrix, int], FloatArray]
Criterion = Callable[[Matrix, IntArray, int], EvidencePath]


@dataclass(frozen=True, repr=False)
class NestedSearch(Parameters):
    """A method made of a ranking and a criterion.

    Parameters
    ----------
    ranking : callable
        ``ranking(matrix, n_components)`` returns one score for each column of a `gsppca.data.Matrix`; larger means
        more relevant.
    evidence : callable
        ``evidence(matrix, order, n_components)`` returns an `EvidencePath`: the criterion to be maximised at each of
        some sizes along an order.
    size_prior : {"uniform", "search", "sparse"} or callable, default="uniform"
        Prior on the number of variables; as in `Paper`.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import GSPPCA, NestedSearch, evidence_path
    >>> def by_variance(matrix, n_components):
    ...     return np.log(matrix.column_squares)
    >>> def criterion(matrix, order, n_components):
    ...     return evidence_path(matrix, order, n_components, inactive_variance="profile")
    >>> rng = np.random.default_rng(0)
    >>> X = 0.1 * rng.normal(size=(60, 10))
    >>> X[:, :4] += rng.normal(size=(60, 1))
    >>> GSPPCA(1, method=NestedSearch(by_variance, criterion)).fit(X).get_support(indices=True)
    array([0, 1, 2, 3])
    """

    ranking: Scores
    evidence: Criterion
    size_prior: SizePrior = "uniform"

    def check(self) -> None:
        """Refuse values that no data could make right."""
        for name in ("ranking", "evidence"):
            if not callable(getattr(self, name)):
                raise ValueError(f"{name} must be a function, got {getattr(self, name)!r}. See the class NestedSearch.")
        check_size_prior(self.size_prior)

    def find(self, frame: Frame, n_components: int | None, wishes: Wishes, random_state: Any) -> Found:
        """Rank, judge, keep the best."""
        matrix = frame.judged
        d = checked_dimension(matrix, n_components)
        score = np.asarray(self.ranking(matrix, d), dtype=float)
        if score.shape != (matrix.n_features,) or np.isnan(score).any():
            raise ValueError(
                f"ranking must return one number for each of the {matrix.n_features} columns, got shape {score.shape}"
                f"{' with NaN' if np.isnan(score).any() else ''}."
            )
        order = wishes.applied(rank_by_score(score, matrix.column_squares))
        path = self.evidence(matrix, order, d)
        span = float(np.ptp(score[np.isfinite(score)])) or 1.0
        relevance = np.clip((score - score[np.isfinite(score)].min()) / span, 0, 1)
        return best_along(path, order, relevance, self.size_prior, frame, d, n_iter=1, wishes=wishes)

    def evidence_path(self, frame: Frame, found: Found) -> EvidencePath:
        """Return the criterion along the order."""
        return self.evidence(frame.judged, found.order, found.n_components)


def best_along(
    path: EvidencePath,
    order: IntArray,
    relevance: FloatArray,
    prior: SizePrior,
    frame: Frame,
    n_components: int,
    *,
    n_iter: int,
    temperature: float = 1.0,
    **more: Any,
) -> Found:
    """Return what is found by maximising evidence times prior along an order.

    The support is `supported` if it beats the empty model after paying for having been searched among all supports of
    its size.
    """
    n, p = frame.data.n_samples, frame.data.n_features
    log_prior = log_size_prior(prior, path.sizes, n, p)
    best = int(np.argmax(path.log_evidence + log_prior))
    size = int(path.sizes[best])
    relevant = np.zeros(p, dtype=bool)
    relevant[order[:size]] = True
    gain = float(path.log_evidence[best]) - path.log_evidence_empty
    posterior = size_posterior(path, log_prior, temperature=temperature)
    return Found(
        order=order,
        relevant=relevant,
        relevance=relevance,
        inclusion_probability=inclusion_probability(posterior, order, p),
        supported=bool(gain > log_choices(p, np.array([size]))[0]),
        n_components=n_components,
        n_iter=n_iter,
        evidence=path,
        **more,
    )


def checked_dimension(matrix: Matrix, n_components: int | None, noise_variance: float | None = None) -> int:
    """Return the dimension of the latent space: that given, or as many eigenvalues as noise would not reach."""
    if n_components is None:
        return estimate_n_components(matrix, noise_variance)
    return check_n_components(n_components, matrix.n_samples, matrix.n_features)


def check_size_prior(prior: Any) -> None:
    """Refuse a prior that is neither a known word nor a function."""
    if not callable(prior):
        check_choice("size_prior", prior, ("uniform", "search", "sparse"), "a function of the size")
