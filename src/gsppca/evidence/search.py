"""The joint search: which variables share factors, how many factors there are, and how sure each variable is.

    eliminate:  from all variables, drop the least explained 30 % at a time, the factors fitted anew after each step
    walk:       from the best supports of an elimination, repeat
                    factors of the support -> Bayes factor of every variable -> those more likely in than out
    judge:      the joint evidence, less the price of the search, of EVERY support on the way; the largest wins
    again:      eliminate from the most probable variables round the winner, with its number of components
    add:        to the winner, what its factors explain, while its value rises
    units:      with noise of its own for every variable: walk on from the winner in units of that noise
    groups:     the same among the variables left out, while what is found there pays for its own search

A step needs one decomposition of its support, which serves factors, leave-one-out and evidence, and one product with
the data. A walk ends when its value does not rise, so that it cannot cycle, or where another walk has been. Nothing
depends on the order of rows or columns, and no comparison is decided by rounding.

Derivation, what is exact and what is not, and what was tried: docs/beyond.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.evidence.bayes_factors import probability
from gsppca.evidence.moves import add, eliminate, exchange, walk
from gsppca.evidence.noise_units import noise_units
from gsppca.evidence.supports import Progress, Support, Supports, tolerance
from gsppca.linalg.spectrum import leading_spectrum
from gsppca.results import NoiseUnits

KEPT = 0.7  # of the variables, at each step of an elimination
KEPT_CLOSELY = 0.8  # when it starts near the winner
NEAR = 4  # times the size of the winner: where that elimination starts
MAX_UNITS = 2  # times that the units of the variables are found anew
MAX_GROUPS = 6
FEWEST_LEFT = 4  # variables left out, among which no further group is looked for
HEAVIEST = 3.0  # excess kurtosis of the leading factor of a further group: that of a Laplacian
ROUNDING = 1e-12  # of a standard deviation
ODDS = 20.0  # of structure against noise, from which it is called supported: at most 1 in 20 false, by Markov


@dataclass(frozen=True)
class JointFit:
    """What the joint search found.

    Attributes
    ----------
    support : ndarray of shape (n_features,)
        The relevant variables; the best support also where nothing is supported.
    inclusion_probability : ndarray of shape (n_features,)
        Posterior probability that there is structure, times that of being explained by the factors of the support.
    log_odds : ndarray of shape (n_features,)
        Posterior log odds of being explained by the factors, given the support: to rank by. With several groups, the
        largest of them.
    explained : ndarray of shape (n_features,)
        Share of each variable that the factors of the other relevant variables explain; of several groups, the largest.
    n_components : int
        Components of all groups.
    log_evidence : float
        Against the empty model, in which all variables are noise; of all groups.
    log_price : float
        What the search is charged: a log evidence above it means odds of more than `ODDS` that there is structure.
    supported : bool
        Whether it does.
    n_updates : int
        Products with the data: how often the factors of a support were compared with all variables.
    groups : ndarray of shape (n_features,)
        Number of the group of each variable, from 1; 0 outside the support.
    group_components : tuple of int
        Components of each group.
    group_units : tuple of NoiseUnits or None
        Units of all variables in which each group was found; None for standardised variables, or common units.
    """

    support: BoolArray
    inclusion_probability: FloatArray
    log_odds: FloatArray
    explained: FloatArray
    n_components: int
    log_evidence: float
    log_price: float
    supported: bool
    n_updates: int
    groups: IntArray
    group_components: tuple[int, ...]
    group_units: tuple[NoiseUnits | None, ...]


def find_support(
    matrix: Matrix,
    most_components: int,
    *,
    own_noise: bool,
    fixed_components: bool = False,
    max_groups: int = MAX_GROUPS,
    temperature: float = 1.0,
    progress: Progress | None = None,
) -> JointFit:
    """Find the variables that share factors.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    most_components : int
        Largest number of components of all groups together.
    own_noise : bool
        Whether every variable has a noise variance of its own; otherwise they share their units, and one variance.
    fixed_components : bool, default=False
        Whether the support has `most_components`, as far as it can, in one group; otherwise the evidence chooses.
    max_groups : int, default=6
        Most groups of variables, each with factors of its own.
    progress : callable, optional
        Gets the number of supports evaluated so far.
    """
    matrix = standardised(matrix) if own_noise else matrix
    n, p = matrix.n_samples, matrix.n_features
    most = max(min(most_components, n - 2, p - 1), 1)
    if n < 3 or p < 2:
        return without_evidence(p)
    supports = Supports(matrix, most, own_noise, fixed_components, temperature, progress)
    first = _Group.among(supports)
    if not math.isfinite(first.support.log_evidence):
        return without_evidence(p)
    # Factors of several groups can be the same ones, where the data has no more of them.
    most = min(most, supports.at(np.ones(p, dtype=bool)).spectrum.rank)
    found = [first]
    places: list[IntArray] = [np.arange(p)]
    kept = ~first.support.members
    while len(found) < (1 if fixed_components else max_groups) and found[-1].is_supported:
        left = most - sum(group.support.n_components for group in found)
        if left < 1 or np.count_nonzero(kept) < FEWEST_LEFT:
            break
        rest = matrix.columns(kept)
        others = Supports(rest, min(left, rest.n_features - 1), own_noise, False, temperature, progress)
        group = _Group.among(others, further=True)
        if not group.is_supported or is_carried_by_few(rest, group.support.members):
            break
        found.append(group)
        places.append(np.flatnonzero(kept))
        kept[places[-1][group.support.members]] = False
    matrix.forget()
    return _joined(found, places)


def is_carried_by_few(matrix: Matrix, members: BoolArray) -> bool:
    """Whether the leading factor of some variables is that of a few samples: outliers that fell together."""
    part = matrix.columns(members)
    squares = part.product(leading_spectrum(part, 1).axes) ** 2
    return bool(np.mean(squares**2) > (3 + HEAVIEST) * np.mean(squares) ** 2)


def standardised(matrix: Matrix) -> Matrix:
    """Return the matrix with columns of variance one: itself, if they are."""
    scale = 1 / np.sqrt(matrix.column_squares / matrix.n_samples)
    return matrix if np.all(np.abs(scale - 1) <= ROUNDING) else matrix.scaled(scale)


@dataclass(frozen=True)
class _Group:
    """The best support among some variables."""

    support: Support
    log_odds: FloatArray
    explained: FloatArray
    log_price: float
    n_updates: int
    units: NoiseUnits | None

    @classmethod
    def among(cls, supports: Supports, further: bool = False) -> _Group:
        _search(supports, further)
        supports = _in_noise_units(supports)
        best = supports.best
        # Supports of a size are equally probable, and so are sizes and numbers of components.
        counts = 1 if supports.fixed else supports.most
        price = supports.price(best.size) + math.log(supports.p) + math.log(counts) + math.log(ODDS)
        explained = supports.explained(best, best.n_components)[0] / supports.squares
        return cls(best, supports.log_odds(best), explained, price, supports.n_updates, supports.units)

    @property
    def is_supported(self) -> bool:
        return self.support.log_evidence > self.log_price


def _search(supports: Supports, further: bool) -> None:
    """Visit supports; the best is then known to `supports`. A further group that is mere noise is given up early."""
    everything = supports.at(np.ones(supports.p, dtype=bool), supports.most)
    # Many factors find what is weak beside much noise, the best number finds what many would fill with noise.
    visited: list[Support] = []
    for n_components in (supports.most, None):
        visited = eliminate(supports, everything, KEPT, n_components, visited, in_noise=further)
        walk(supports, visited)
    best = supports.best
    if further and not best.value > 0:
        return
    if NEAR * best.size < supports.p:
        near = supports.first(_bounded(supports.log_odds(best)), NEAR * best.size)
        walk(supports, eliminate(supports, supports.at(near), KEPT_CLOSELY, best.n_components, []))
        exchange(supports)
    add(supports)


def _bounded(log_odds: FloatArray) -> FloatArray:
    """Log odds as positive scores, so that relative differences can be compared."""
    return log_odds - log_odds.min() + 1.0


def _in_noise_units(supports: Supports) -> Supports:
    """Search on from the best support with each variable in units of its noise; again if that changes the members."""
    for _ in range(MAX_UNITS if supports.own_noise else 0):
        best = supports.best
        if not math.isfinite(best.value):
            break
        explained = supports.explained(best, best.n_components)[0] / supports.squares
        units = noise_units(explained, best.members, supports.n)
        if units is None:
            break
        other = supports.measured_in(units)
        other.n_updates = supports.n_updates
        walk(other, [other.at(best.members)])
        if NEAR * other.best.size < other.p:
            exchange(other)
        if not other.best.value > best.value + tolerance(best.value):
            break
        supports = other
        if np.array_equal(other.best.members, best.members):
            break
    return supports


def _joined(found: list[_Group], places: list[IntArray]) -> JointFit:
    """All groups as one result; `places` are the columns that each was searched among."""
    p = len(places[0])
    log_odds, inclusion, explained = np.full(p, -np.inf), np.zeros(p), np.zeros(p)
    groups = np.zeros(p, dtype=int)
    for number, (group, where) in enumerate(zip(found, places, strict=True), start=1):
        support = group.support
        structure = float(probability(np.array(support.log_evidence - group.log_price + math.log(ODDS))))
        log_odds[where] = np.maximum(log_odds[where], group.log_odds)
        explained[where] = np.maximum(explained[where], group.explained)
        inclusion[where] = np.maximum(inclusion[where], structure * probability(group.log_odds))
        groups[where[support.members]] = number
    return JointFit(
        groups > 0,
        inclusion,
        log_odds,
        explained,
        sum(group.support.n_components for group in found),
        sum(group.support.log_evidence for group in found),
        sum(group.log_price for group in found),
        found[0].is_supported,
        sum(group.n_updates for group in found),
        groups,
        tuple(group.support.n_components for group in found),
        tuple(group.units and group.units.at(where, p) for group, where in zip(found, places, strict=True)),
    )


def without_evidence(n_features: int) -> JointFit:
    """What is said of data that says nothing: two samples, say."""
    everything = np.ones(n_features, dtype=bool)
    nothing = np.zeros(n_features)
    return JointFit(
        everything, nothing, nothing, nothing, 1, 0.0, math.log(ODDS), False, 0, everything.astype(int), (1,), (None,)
    )
