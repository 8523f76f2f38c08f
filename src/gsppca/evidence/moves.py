"""From support to support: the moves of the joint search (`search`).

They visit supports, all of which `Supports` judges and remembers; which one is the best is known there.
"""

from __future__ import annotations

import math

import numpy as np

from gsppca._typing import BoolArray
from gsppca.evidence.supports import SAME_SCORE, Support, Supports

FEWEST = 3  # variables at which an elimination ends
GIVEN_UP, MANY_NATS = 0.15, 500.0  # of the best value of an elimination, and in nats: when it has lost both, it ends
ALIKE = 0.03  # of its variables: a support that differs by as many from one of the elimination before is that one
N_WALKS = 4  # from the best supports of each elimination
HOPELESS, FEW_NATS = 0.2, 50.0  # of the best value, and in nats: no walk starts from a support further behind
MAX_STEPS = 30  # of a walk
SMALL_RISE = 0.5  # nats, of a step of a walk: what is less is not worth another
UNDECIDED, MAX_EXCHANGES = 10, 8  # variables tried, and rounds


def eliminate(
    supports: Supports,
    start: Support,
    share: float,
    n_components: int | None,
    known: list[Support],
    *,
    in_noise: bool = False,
) -> list[Support]:
    """Drop the least explained variables, step by step; return the supports on the way.

    Where it comes to much the same variables as a known support, it goes on from that one. Variables that were dropped
    may come back; but not where large steps went down to those that can be held at once, of which noise would ask for
    others at each step.
    """
    visited, best = [start], start.value
    pool: BoolArray | None = None
    while visited[-1].size > FEWEST:
        last = visited[-1]
        explained, _, _ = supports.explained(last, n_components or last.n_components)
        if supports.is_coarse(in_noise) and last.size <= supports.at_once:
            pool = last.members if pool is None else pool
            explained = np.where(pool, explained, 0.0)
        kept = supports.first(explained, max(supports.fewer(last.size, share, in_noise), FEWEST))
        size = np.count_nonzero(kept)
        if size >= last.size:
            break
        met = [one for one in known if one.size < last.size]  # where scores tie, it may stand on one of these
        met = [one for one in met if np.count_nonzero(one.members ^ kept) <= 2 * ALIKE * size]
        visited.append(met[0] if met else supports.at(kept, n_components))
        best = max(best, visited[-1].value)
        if best > 0 and best - visited[-1].value > max(GIVEN_UP * best, MANY_NATS):
            break
    return visited


def walk(supports: Supports, visited: list[Support]) -> None:
    """Move from the best supports to what their factors make more likely in than out, again and again.

    A step of each walk at a time: what one finds can stop another, or keep it from being begun far behind the best.
    """
    starts = sorted(visited, key=lambda one: (-one.value, one.size))[:N_WALKS]
    walks = [(start, math.inf) for start in starts]  # where each stands, and its last rise
    for _ in range(MAX_STEPS):
        standing, walks = walks, []
        for support, before in standing:
            best = supports.best.value
            begun = before < math.inf or best - support.value <= max(HOPELESS * best, FEW_NATS)
            if not begun or supports.has_odds(support):
                continue
            members = supports.log_odds(support) > 0
            if np.count_nonzero(members) < 2:
                continue
            reached = supports.at(members)
            rise = reached.value - support.value
            if rise > SMALL_RISE and not falls_behind(supports.best.value - reached.value, rise, before):
                walks.append((reached, rise))


def falls_behind(behind: float, rise: float, before: float) -> bool:
    """Whether a walk whose rises go on to shrink as they do will not make up for what it is behind the best."""
    return rise < before < math.inf and rise**2 / (before - rise) < behind


def add(supports: Supports) -> None:
    """Add to the best support what its factors make more likely in than out, while its value rises.

    A walk also drops what the factors of the others do not explain. Of two near-copies of which one is a member, it
    would exchange one for the other, for ever; both together are each other's explanation.
    """
    while True:
        best = supports.best
        members = best.members | (supports.log_odds(best) > 0)
        if not supports.at(members).value > best.value + SMALL_RISE:
            break


def exchange(supports: Supports) -> None:
    """Move the variables that the odds leave undecided in or out of the best support, one at a time."""
    for _ in range(MAX_EXCHANGES):
        best = supports.best
        log_odds = supports.log_odds(best)
        doubt = np.argsort(np.abs(log_odds), kind="stable")[:UNDECIDED]
        for one in log_odds[doubt].tolist():
            # Copies of a variable move with it.
            moved = np.abs(log_odds - one) <= SAME_SCORE * max(abs(one), 1.0)
            members = best.members ^ moved
            if np.count_nonzero(members) > 1:
                supports.at(members)
        if supports.best is best:
            break
