"""The posterior over sizes along a ranking, and how probable it makes each variable.

With E_k the evidence of the first k variables of the ranking, pi_k the prior of the size and T a temperature,

    P(size = k) is proportional to pi_k E_k^(1/T),     P(variable is active) = P(size >= its rank).

1. Sizes that were not evaluated lie on the straight line, in log evidence and log prior, between those that were: each
   evaluated size speaks for its neighbourhood, and a coarse grid far from the best size costs nothing. Sizes below the
   first and beyond the last evaluated one have no mass.
2. Occam's window (Madigan & Raftery 1994): sizes less probable than 1/20 of the best are dropped, and the others
   rescaled. The sum of very many improbable sizes would otherwise outweigh the few good ones when p is large.
3. Tempering. A log evidence is a sum over the rows. If it takes rows for more informative than they are, as does an
   evidence that integrates the loadings anew for each row, or that is evaluated along a ranking which the same rows
   chose, its posterior is too sure. T > 1 counts n rows as n/T; it is the power posterior, or learning rate, 1/T.
   What T is needed is measured, not derived (`benchmarks/calibration.py`): 4 for the noiseless evidence along
   the ranking of the relaxed model, with noise as the model has it. With heavy tails no T mends it.

All of it is given the ranking: a variable ranked too early is not found out here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.results import EvidencePath

# By measurement (benchmarks/calibration.py): the paper's evidence counts too many rows.
NOISELESS_TEMPERATURE = 4.0
WINDOW = 1 / 20  # of the probability of the best size: strong evidence on Raftery's scale


@dataclass(frozen=True)
class SizePosterior:
    """Probabilities of the numbers of active variables.

    Attributes
    ----------
    sizes : ndarray of shape (n_kept,)
        The sizes inside the window, ascending; 0 stands for "no variable".
    probabilities : ndarray of shape (n_kept,)
        Positive, summing to one.
    """

    sizes: IntArray
    probabilities: FloatArray

    @property
    def mean(self) -> float:
        """Expected size."""
        return float(self.sizes @ self.probabilities)

    @property
    def mode(self) -> int:
        """Most probable size; the smaller one in a tie."""
        return int(self.sizes[np.argmax(self.probabilities)])

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """Smallest and largest size of the central interval that holds at least this probability."""
        below = np.cumsum(self.probabilities)
        above = np.cumsum(self.probabilities[::-1])[::-1]
        tail = (1 - level) / 2
        inside = (below > tail) & (above > tail)
        # The tails cannot meet but by rounding, when nearly all mass is outside a very small level.
        kept = self.sizes[inside] if inside.any() else np.array([self.mode])
        return int(kept[0]), int(kept[-1])

    def at_least(self, sizes: IntArray) -> FloatArray:
        """P(size >= each of some sizes)."""
        above = np.append(np.cumsum(self.probabilities[::-1])[::-1], 0.0)
        return np.minimum(above[np.searchsorted(self.sizes, sizes)], 1.0)


def size_posterior(
    path: EvidencePath,
    log_prior: FloatArray,
    *,
    log_empty: float | None = None,
    temperature: float = 1.0,
    window: float = WINDOW,
) -> SizePosterior:
    """Posterior over the sizes of nested supports.

    Parameters
    ----------
    path : EvidencePath
        Log evidence at some sizes.
    log_prior : ndarray of shape (n_sizes,)
        Log prior of these sizes, up to a constant; -inf excludes a size.
    log_empty : float, optional
        Log evidence of "no variable is active", on the scale of the path, with the logarithm of its prior; without it
        this possibility has no mass.
    temperature : float, default=1.0
        T, positive: the log evidence is divided by it. Infinity leaves the prior, 0 in the limit the best size.
    window : float, default=1/20
        Sizes less probable than this share of the best are dropped; 0 keeps all.
    """
    sizes = np.arange(path.sizes[0], path.sizes[-1] + 1)
    log_evidence = np.interp(sizes, path.sizes, path.log_evidence)
    priors = _interpolated_prior(sizes, path.sizes, log_prior)
    if log_empty is not None:
        sizes, log_evidence, priors = np.r_[0, sizes], np.r_[log_empty, log_evidence], np.r_[0.0, priors]
    # The best evidence is subtracted before the division: a huge one would drown the prior at T = inf.
    best = log_evidence[np.isfinite(priors)].max()
    logs = (log_evidence - best) / temperature + priors
    masses = np.exp(logs - logs.max())
    kept = (masses > 0) & (masses >= window)
    return SizePosterior(sizes[kept], masses[kept] / masses[kept].sum())


def inclusion_probability(posterior: SizePosterior, order: IntArray, n_features: int) -> FloatArray:
    """Probability of each variable to be active: that the size reaches its rank.

    Parameters
    ----------
    posterior : SizePosterior
        Over the sizes along `order`.
    order : ndarray of shape (n_ranked,)
        Indices of the variables, the most relevant first; variables left out get 0.
    n_features : int
        Length of the answer.
    """
    probability = np.zeros(n_features)
    probability[order] = posterior.at_least(np.arange(1, len(order) + 1))
    return probability


def _interpolated_prior(sizes: IntArray, known: IntArray, log_prior: FloatArray) -> FloatArray:
    """Log prior between the known sizes, on straight lines; an excluded size excludes its neighbourhood."""
    excluded = np.isneginf(log_prior)
    if not excluded.any():
        return np.interp(sizes, known, log_prior)
    values = np.interp(sizes, known, np.where(excluded, 0.0, log_prior))
    # A line to an excluded size ends before it: sizes next to one are excluded, unless they are known themselves.
    lines = np.interp(sizes, known, excluded.astype(float))
    return np.where(lines > 0, -np.inf, values)
