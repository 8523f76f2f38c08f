"""Exact choices among candidates: all products of their columns are known.

Selections that choose as many variables, and in the same way, go together: each step is a few calls of numpy, which
serve all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.rules.forward import Forward, gains_of
from gsppca.rules.ties import EQUAL, places_of_largest


@dataclass(frozen=True)
class Pool:
    """Candidates of one selection.

    Attributes
    ----------
    forward : Forward
        The selection.
    variables : ndarray of shape (n_pool,)
        Candidates, none chosen before.
    columns : ndarray of shape (length, n_pool)
        Their standardised columns, as vectors of `Part.columns`.
    count : int or None
        How many to choose, copies of others not among them; None for all, whatever they are.
    """

    forward: Forward
    variables: IntArray
    columns: FloatArray
    count: int | None


def choose(pools: Sequence[Pool]) -> None:
    """Choose the next variables of each selection from its pool; all variables then wait for `Forward.absorb`."""
    groups: defaultdict[tuple[int | None, str], list[Pool]] = defaultdict(list)
    for pool in pools:
        groups[pool.count, _way(pool)].append(pool)
    for (_, way), group in groups.items():
        _choose_together(group, way)


def _way(pool: Pool) -> str:
    """What the next choices are made by."""
    if pool.forward.exhausted:
        return "relevance"
    return "agreement" if pool.forward.by_agreement and pool.count is not None else "gain"


class _Products:
    """What is known of the columns of a pool, given those chosen before.

    Attributes
    ----------
    before : ndarray of shape (n_before, n_pool)
        Slopes of the columns on the residuals of those chosen before.
    between : ndarray of shape (n_pool, n_pool)
        Residual covariances of the pool.
    same : ndarray of shape (n_pool, n_pool), bool
        Which residuals differ in sign at most.
    alike, alike_between : ndarray of shape (n_pool,) and (n_pool, n_pool)
        Links of `Agreement` with those chosen, and with each other.
    """

    def __init__(self, pool: Pool):
        forward, n_rows = pool.forward, pool.forward.n_rows
        inside = forward.columns.inside(pool.columns)
        products, own = forward.residuals.T @ inside, inside.T @ pool.columns
        self.alike, self.alike_between = forward.agreement.links(
            pool.variables, forward.mixing.T @ products / n_rows, own / n_rows
        )
        self.before = forward.weight * products / forward.pivots[:, None]
        self.between = own - products.T @ self.before
        squares = self.between.diagonal()
        self.same: BoolArray = self.between**2 >= (1 - EQUAL) * np.outer(squares, squares)
        if pool.count is None:
            self.same = np.zeros_like(self.same)
        self.between *= forward.weight  # which is zero in pure noise: copies are told before
        self.between.flat[:: len(own) + 1] += forward.shrinkage  # the diagonal


def _choose_together(pools: Sequence[Pool], way: str) -> None:
    """Choose from pools of the same count, in the same way."""
    forwards, known = [pool.forward for pool in pools], [_Products(pool) for pool in pools]
    n, width = len(pools), max(len(pool.variables) for pool in pools)
    count = width if pools[0].count is None else min(pools[0].count, width)
    cross, variance = np.zeros((n, len(forwards[0].cross), width)), np.ones((n, width))
    between, alike_between = np.zeros((n, width, width)), np.zeros((n, width, width))
    alike, taken = np.zeros((n, width)), np.full((n, width), -np.inf)  # the latter for those that cannot be chosen
    weights = np.zeros_like(cross) if forwards[0].sparse else np.zeros((1, 1, 1))
    shared, own, relevance = np.zeros((n, width)), np.zeros((n, width)), np.zeros((n, width))
    for i, (forward, one, pool) in enumerate(zip(forwards, known, pools, strict=True)):
        m, at = len(pool.variables), pool.variables
        cross[i, :, :m], variance[i, :m] = forward.cross[:, at], forward.variance[at]
        between[i, :m, :m], alike_between[i, :m, :m] = one.between, one.alike_between
        alike[i, :m], taken[i, :m] = one.alike, 0.0
        shared[i, :m], own[i, :m] = forward.agreement.shared[at], forward.agreement.own[at]
        relevance[i, :m] = forward.relevance[at]
        if forward.sparse:
            weights[i, :, :m] = forward.own_of(at)
    ties = [forward.ties[:, pool.variables] for forward, pool in zip(forwards, pools, strict=True)]
    copied = [np.count_nonzero(one.same, axis=1) > 1 for one in known]
    slopes, pivots = np.zeros((n, len(forwards[0].cross), count)), np.ones((n, count))
    links = np.zeros((n, count, width))
    new: list[list[int]] = [[] for _ in pools]
    active, every = list(range(n)), np.arange(n)
    for step in range(count):
        if way == "agreement":
            values = [forward.agreement.after(shared[i], alike[i], own[i]) for i, forward in enumerate(forwards)]
            gains = np.array(values) + taken
        else:
            gains = (relevance if way == "relevance" else gains_of(cross, variance, weights)) + taken
        places = places_of_largest(gains, ties)
        best = gains[every, places].tolist()
        active = [i for i in active if best[i] > -np.inf and not _stops(pools[i], best[i], way, step)]
        if not active:
            break
        pivots[:, step] = variance[every, places]
        chosen = cross[every, :, places]
        slopes[:, :, step] = chosen / pivots[:, step, None]
        explained = np.einsum("sk,sk->s", chosen, slopes[:, :, step]).tolist()
        link = alike[every, places].tolist()
        for i in active:
            k, forward, pool = int(places[i]), forwards[i], pools[i]
            if way == "agreement" and best[i] <= forward.agreement.value:
                forward.settled = len(forward.order)  # it cannot be raised any more
            if copied[i][k]:
                m = len(pool.variables)
                forward.postpone(pool.variables[known[i].same[k] & (taken[i, :m] == 0)])
                taken[i, :m][known[i].same[k]] = -np.inf
            new[i].append(k)
            forward.accept(int(pool.variables[k]), explained[i], link[i])
        taken[every, places] = -np.inf
        alike += alike_between[every, places]
        # Residual covariances with the chosen: less what those before it in this batch have taken.
        taken_before = pivots[:, :step] * links[every, :step, places]
        row = between[every, places] - (taken_before[:, None] @ links[:, :step])[:, 0]
        links[:, step] = row = row / pivots[:, step, None]
        cross -= chosen[:, :, None] * row[:, None, :]
        variance -= pivots[:, step, None] * row**2
        variance[every, places] = 1.0  # they are not asked again
    earlier = ~np.tri(count, dtype=bool)
    for i, (forward, one, pool) in enumerate(zip(forwards, known, pools, strict=True)):
        m = len(new[i])
        # r_k = rest_k - sum of r_j link_jk over the j before k: a triangular system.
        turn, before = np.where(earlier[:m, :m], links[i, :m][:, new[i]], np.eye(m)), one.before[:, new[i]]
        rest = pool.columns[:, new[i]] - forward.residuals @ before
        forward.extend(rest @ np.linalg.inv(turn), slopes[i, :, :m], pivots[i, :m], before, turn)


def _stops(pool: Pool, best: float, way: str, step: int) -> bool:
    """Whether a selection needs other candidates than these, of which the best gain or agreement is given."""
    if step == 0 or pool.count is None or way == "relevance":
        return False
    forward = pool.forward
    if forward.by_agreement != (way == "agreement"):
        return True
    return best <= forward.agreement.value if way == "agreement" else forward.is_chance(best)
