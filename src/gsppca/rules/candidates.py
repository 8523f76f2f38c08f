"""Candidates for a batch: the variables that a factor model would choose, whose factors are the scores.

Given the chosen variables, cov(x_j, x_k) is taken for c_j' P^-1 c_k, with P the residual covariance of the scores: this
needs no data. With loadings ``m_j = P^-1 c_j``, all that a choice k changes is the covariance of the factors,

    P -= s u u',     u = P m_k,     s = 1 / (own_k + m_k'u),

where own_k is what the factors do not explain of the variance of k. What a gain is made of (`forward`) follows by
products of all loadings with u and Pu alone. Several selections are simulated at once: they are all short, and one
call of numpy serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gsppca._typing import IntArray
from gsppca.rules.forward import Forward
from gsppca.rules.ties import largest_first, places_of_largest

SPARE = 16  # candidates more than are to be chosen, at most as many as those


def candidates(forwards: Sequence[Forward], counts: Sequence[int]) -> list[IntArray]:
    """Return the candidates of the next choices of some selections, ascending.

    Parameters
    ----------
    forwards : sequence of Forward
        The selections, all of the same data.
    counts : sequence of int
        How many variables each is to choose.
    """
    looked_at = [forward.pool(count) for forward, count in zip(forwards, counts, strict=True)]
    pools = [pool for pool, _ in looked_at]
    asked = [(i, top, gains) for i, (top, gains) in enumerate(looked_at) if gains is not None]
    for width in {len(top) for _, top, _ in asked}:  # as many as there are, or as are looked at: nearly always the same
        group = [one for one in asked if len(one[1]) == width]
        steps = min(max(_with_spare(counts[i]) for i, _, _ in group), width)
        chosen = _simulated([forwards[i] for i, _, _ in group], np.array([top for _, top, _ in group]), steps)
        for (i, top, gains), places in zip(group, chosen, strict=True):
            best = largest_first(np.vstack([gains, forwards[i].ties[:, top]]))[: counts[i]]
            pools[i] = top[np.union1d(best, places[: _with_spare(counts[i])])]
    return pools


def _with_spare(count: int) -> int:
    return count + min(count, SPARE)


def _simulated(forwards: Sequence[Forward], tops: IntArray, n_steps: int) -> IntArray:
    """Places in `tops`, of shape (n_selections, n_top), that the factor model would choose, (n_selections, n_steps)."""
    cross = np.array([forward.cross[:, top] for forward, top in zip(forwards, tops, strict=True)])
    variance = np.array([forward.variance[top] for forward, top in zip(forwards, tops, strict=True)])
    weights = np.array([forward.own_of(top) for forward, top in zip(forwards, tops, strict=True)])
    ties = [forward.ties[:, top] for forward, top in zip(forwards, tops, strict=True)]
    least = np.array([[forward.shrinkage / 2] for forward in forwards])
    rounding = np.array([1e-12 * forward.total for forward in forwards])[:, None, None]
    factors = np.array([forward.unexplained for forward in forwards]) + rounding * np.eye(cross.shape[1])
    loadings = np.linalg.inv(factors) @ cross
    known = np.einsum("skp,skp->sp", cross, loadings)  # of each variance, by the factors
    own = np.maximum(variance - known, least)
    squares, mixed = np.einsum("skp,skp->sp", cross, cross), np.einsum("skp,skp->sp", cross, weights)
    lengths = np.einsum("skp,skp->sp", weights, weights)
    weighted = bool(weights.any())
    chosen = np.empty((len(forwards), n_steps), dtype=np.intp)
    every, taken, pair = np.arange(len(forwards)), np.zeros_like(known), np.empty((len(forwards), 2, cross.shape[1]))
    for step in range(n_steps):
        total = own + known if step else variance
        gains = squares / total
        if weighted:
            gains += total * lengths - 2 * mixed
        chosen[:, step] = k = places_of_largest(gains + taken, ties)
        taken[every, k] = -np.inf
        shift = (factors @ loadings[every, :, k][:, :, None])[:, :, 0]
        pair[:, 0], pair[:, 1] = shift, (factors @ shift[:, :, None])[:, :, 0]
        both = pair @ loadings
        links, twice = both[:, 0], both[:, 1]
        scale = 1 / (own[every, k] + links[every, k])[:, None]
        scaled = scale * links
        squares += scaled * (np.einsum("sk,sk->s", shift, shift)[:, None] * scaled - 2 * twice)
        known -= scaled * links
        if weighted:
            mixed -= scaled * (shift[:, None, :] @ weights)[:, 0]
        factors -= (scale * shift)[:, :, None] * shift[:, None, :]
    return chosen
