"""Groups of near-copies: a variable, and those further down the order that say nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data import Matrix
from gsppca.data.chosen_columns import column_values
from gsppca.overview import Overview
from gsppca.summary import count

LEAST_CORRELATION = 0.95  # absolute, of a near-copy
MOST_PRODUCTS = 2 * 10**10  # multiplications that the search may take: all pairs of 5,000 variables in 800 samples
MOST_CORRELATIONS = 3 * 10**7  # and the correlations that it may look at: all pairs of 5,500 variables
BLOCK = 2**22  # correlations held at a time
FIRST_COPIES = 8  # named at once; the others open
MOST_COPIES = 200  # named at all
MOST_GROUPS = 100  # on the page; all are counted

Members = dict[int, tuple[IntArray, FloatArray]]  # of a column: its copies, the nearest first, and their correlations


@dataclass(frozen=True)
class Group:
    """A variable and its near-copies.

    Attributes
    ----------
    rank, name, role : int, str, str
        Of the variable.
    n_copies : int
        How many near-copies it has.
    copies : list of (name, correlation)
        The nearest of them, the strongest correlation first.
    """

    rank: int
    name: str
    role: str
    n_copies: int
    copies: list[tuple[str, float]]

    @property
    def first(self) -> list[tuple[str, float]]:
        """Copies that are shown at once."""
        return self.copies[:FIRST_COPIES]

    @property
    def more(self) -> list[tuple[str, float]]:
        """Copies that are shown on demand."""
        return self.copies[FIRST_COPIES:]


@dataclass(frozen=True)
class Copies:
    """All groups of near-copies.

    Attributes
    ----------
    among : str
        Which variables were compared with all others, in words.
    n_groups, n_copies : int
        How many variables have copies, and how many copies there are.
    groups : list of Group
        The largest ones first.
    """

    among: str
    n_groups: int
    n_copies: int
    groups: list[Group]


def near_copies(view: Overview, matrix: Matrix | None = None) -> Copies | None:
    """Return variables with those whose absolute correlation with them is at least `LEAST_CORRELATION`.

    Variables are taken in the nested order, and a copy belongs to the first that it is near.

    Parameters
    ----------
    view : Overview
        What the fit says of all columns of X.
    matrix : Matrix, optional
        The varying columns of X, centred. Relevant variables are compared with all others, as many as
        `MOST_PRODUCTS` and `MOST_CORRELATIONS` allow. Without it, only what the model knows of its core can be said,
        and None if it has none.
    """
    if matrix is None:
        if view.core is None:
            return None
        among, members = "the core", _of_the_core(view)
    else:
        leaders = view.order[(view.relevant | view.selected)[view.order]]
        leaders = leaders[np.argsort(view.rank[leaders])]
        products, pairs = matrix.n_samples * matrix.n_features, matrix.n_features
        affordable = max(1, min(MOST_PRODUCTS // products, MOST_CORRELATIONS // pairs))
        among = "the relevant variables"
        if affordable < len(leaders):
            leaders, among = leaders[:affordable], f"the first {count(affordable, 'variable').removeprefix('1 ')}"
        places = np.flatnonzero(view.varying)
        found = _in_the_data(matrix, np.searchsorted(places, leaders))
        members = {int(places[k]): (places[near], values) for k, (near, values) in found.items()}
    order = sorted(members, key=lambda leader: (-len(members[leader][0]), int(view.rank[leader])))
    total = sum(len(near) for near, _ in members.values())
    return Copies(among, len(members), total, [_group(view, k, *members[k]) for k in order[:MOST_GROUPS]])


def _group(view: Overview, leader: int, near: IntArray, correlations: Sequence[float] | FloatArray) -> Group:
    shown = [(view.names[k], float(r)) for k, r in zip(near[:MOST_COPIES], correlations[:MOST_COPIES], strict=True)]
    return Group(int(view.rank[leader]), view.names[leader], str(view.role[leader]), len(near), shown)


def _of_the_core(view: Overview) -> Members:
    """Groups from the correlations that the model stores: of each variable with the nearest of the core."""
    assert view.core is not None
    known, places = view.core.description, np.flatnonzero(view.varying)
    near = np.abs(known.correlation) >= LEAST_CORRELATION
    near[known.chosen] = False
    found = {}
    for leader in np.unique(known.represented_by[near]).tolist():
        own = np.flatnonzero(near & (known.represented_by == leader))
        found[int(places[leader])] = _sorted(places[own], known.correlation[own])
    return found


def _in_the_data(matrix: Matrix, leaders: IntArray) -> Members:
    """Groups of the columns of a matrix; leaders come first to last, and take what is still free."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    standard = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
    taken, found = np.zeros(matrix.n_features, dtype=bool), {}
    width = max(16, BLOCK // matrix.n_features)
    for start in range(0, len(leaders), width):
        part = leaders[start : start + width]
        part = part[~taken[part]]
        if not len(part):
            continue
        correlations = standard.transposed_product(column_values(standard, part)) / matrix.n_samples
        near = (correlations >= LEAST_CORRELATION) | (correlations <= -LEAST_CORRELATION)
        for row in np.flatnonzero(near.sum(axis=1) > 1).tolist():
            leader = int(part[row])
            if taken[leader]:
                continue
            own = np.flatnonzero(near[row] & ~taken)
            own = own[own != leader]
            if len(own):
                taken[own] = taken[leader] = True
                found[leader] = _sorted(own, np.clip(correlations[row, own], -1.0, 1.0))
    return found


def _sorted(members: IntArray, correlations: FloatArray) -> tuple[IntArray, FloatArray]:
    order = np.argsort(-np.abs(correlations), kind="stable")
    return members[order], correlations[order]
