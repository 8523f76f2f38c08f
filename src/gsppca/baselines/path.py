"""Paths of supports: what every competitor records, and how an exact size is read off one.

A penalised method leaps: raising the penalty may remove several variables at once, and a variable may come
back. Three rules make every size from 1 to p available all the same:

1. walk up the penalties until fewer than the wanted number of variables is left;
2. bisect the last interval for a penalty that leaves exactly that number;
3. when there is none, keep what survives on the far side of the leap, and fill up with the largest rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from gsppca.baselines.linalg import BoolArray, FloatArray, IntArray

_MAX_BISECTIONS = 40
_NARROWEST = 1e-6  # relative width at which a leap is taken for one
_MAX_RECORDED_SIZES = 200
_SMALLEST_PENALTY = 1e-3  # of the largest
_SMALLEST_RATIO = 1.05  # between penalties beyond the highest level
_MAX_BEYOND = 100


@dataclass(frozen=True)
class Centred:
    """Centred data with shuffled columns.

    Equal columns differ by rounding once a decomposition has seen them, and rounding depends on the position,
    as does any choice of "the first". In a random order a position means nothing.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_features)
        The data, each column with mean zero, in the order `columns`.
    squares : ndarray of shape (n_features,)
        Sum of squares of each of its columns.
    columns : ndarray of shape (n_features,)
        Number that each of its columns had before.
    """

    matrix: FloatArray
    squares: FloatArray
    columns: IntArray

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def order(self, *keys: FloatArray | BoolArray) -> IntArray:
        """Sort the columns, largest first, by the first key, then the next, then the sum of squares."""
        decreasing = [-np.asarray(key, dtype=np.float64) for key in (*keys, self.squares)]
        return np.lexsort(decreasing[::-1]).astype(np.intp)


@dataclass(frozen=True)
class SelectionPath:
    """What a competitor selects as its penalty (or threshold, or size) changes.

    Parameters
    ----------
    penalties : ndarray of shape (n_points,) or (n_points, n_components)
        Penalty at each point; one per axis for SPCA.
    sizes : ndarray of shape (n_points,)
        Number of selected variables.
    supports : ndarray of shape (n_points, n_features)
        Selected variables, as booleans.
    entry_order : ndarray of shape (n_features,)
        Column numbers, most relevant first.
    criterion : ndarray of shape (n_points,)
        Value of the method's own rule at each point; NaN where it was not asked for.
    criterion_name : str
        What `criterion` holds, in words.
    chosen : int
        The point that the fitted support was taken from.
    """

    penalties: FloatArray
    sizes: IntArray
    supports: BoolArray
    entry_order: IntArray
    criterion: FloatArray
    criterion_name: str
    chosen: int


def nested_path(order: IntArray, levels: FloatArray, chosen_size: int, criterion_name: str) -> SelectionPath:
    """Path of a method that only ranks: the first k columns of `order`, at the level of the k-th.

    All sizes up to 200; beyond, 200 sizes spread geometrically, since p supports of p booleans do not scale.
    """
    n_features = order.size
    spread = np.geomspace(1, n_features, min(n_features, _MAX_RECORDED_SIZES)).astype(np.intp)
    small = np.arange(1, n_features + 1) if n_features <= _MAX_RECORDED_SIZES else spread
    sizes = np.unique(np.append(small, chosen_size)).astype(np.intp)
    place = np.empty(n_features, dtype=np.intp)
    place[order] = np.arange(n_features)
    sorted_levels = np.append(np.inf, levels[order])
    return SelectionPath(
        penalties=sorted_levels[sizes],
        sizes=sizes,
        supports=place[np.newaxis, :] < sizes[:, np.newaxis],
        entry_order=order,
        criterion=sorted_levels[sizes],
        criterion_name=criterion_name,
        chosen=int(np.searchsorted(sizes, chosen_size)),
    )


class Model(Protocol):
    """A fitted penalised model."""

    @property
    def strength(self) -> FloatArray:
        """Weight of each variable, zero for those left out; shape (n_features,)."""

    @property
    def n_iter(self) -> int:
        """Iterations used."""

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met."""


M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class PathPoint(Generic[M]):
    """One penalty and the model fitted with it."""

    penalty: float
    model: M
    strength: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", self.model.strength)

    @property
    def support(self) -> BoolArray:
        """Variables that are not left out."""
        kept: BoolArray = self.strength > 0
        return kept

    @property
    def size(self) -> int:
        """Number of variables that are not left out."""
        return int(np.count_nonzero(self.strength))


Fit = Callable[[float, M], M]


def rising_penalties(levels: FloatArray, n_penalties: int) -> Iterator[float]:
    """Yield penalties geometrically over the `levels` at which variables leave the dense model, and on.

    Beyond the highest level they go on, for the model adapts: `walk` stops once nothing is left.
    """
    highest = float(levels.max())
    if highest > 0:
        lowest = max(float(levels.min()), _SMALLEST_PENALTY * highest)
        yield from np.geomspace(lowest, highest, n_penalties).tolist()
        ratio = max((highest / lowest) ** (1 / max(n_penalties - 1, 1)), _SMALLEST_RATIO)
        yield from (highest * ratio**i for i in range(1, _MAX_BEYOND))


def walk(fit: Fit[M], start: M, penalties: Iterable[float], min_size: int = 1) -> list[PathPoint[M]]:
    """Fit at increasing penalties, each from the model before, until fewer than `min_size` variables remain.

    The first point is `start`, at penalty zero.
    """
    points = [PathPoint(0.0, start)]
    for penalty in penalties:
        points.append(PathPoint(penalty, fit(penalty, points[-1].model)))
        if points[-1].size < min_size:
            break
    return points


def reach_size(
    fit: Fit[M], points: Sequence[PathPoint[M]], size: int
) -> tuple[list[PathPoint[M]], PathPoint[M], BoolArray]:
    """Find the sparsest point with at least `size` variables, by bisection (rules 1 and 2 above).

    Returns
    -------
    points : list of PathPoint
        The walk, with the bisected points, in increasing penalty.
    larger : PathPoint
        The point with at least `size` variables (all that `start` had, if that is fewer).
    survivors : ndarray of shape (n_features,)
        Support just beyond the leap; inside `larger` when the path is nested.
    """
    found = list(points)
    beyond = next((i for i, point in enumerate(found) if i > 0 and point.size < size), None)
    if beyond is None:
        return found, found[-1], found[-1].support
    larger, smaller = found[beyond - 1], found[beyond]
    for _ in range(_MAX_BISECTIONS):
        middle = (larger.penalty + smaller.penalty) / 2
        if larger.size <= size or smaller.penalty - larger.penalty <= _NARROWEST * smaller.penalty:
            break
        point = PathPoint(middle, fit(middle, larger.model))
        found.append(point)
        larger, smaller = (point, smaller) if point.size >= size else (larger, point)
    found.sort(key=lambda point: point.penalty)
    return found, larger, smaller.support


def cut(data: Centred, larger: BoolArray, survivors: BoolArray, strength: FloatArray, size: int) -> BoolArray:
    """Keep exactly `size` variables (rule 3 above)."""
    kept = np.zeros(data.n_features, dtype=np.bool_)
    kept[data.order(larger, survivors, strength)[:size]] = True
    return kept


def entry_order(data: Centred, points: Sequence[PathPoint[M]], support: BoolArray) -> IntArray:
    """Order the variables: the selected first, then by the highest penalty survived, then by strength there."""
    level = np.full(data.n_features, -1.0)
    strength = np.zeros(data.n_features)
    for i, point in enumerate(points):
        level[point.support] = i
        strength[point.support] = point.strength[point.support]
    return data.order(support, level, strength)


def record(
    points: Sequence[PathPoint[M]], order: IntArray, criterion: FloatArray, criterion_name: str, chosen: int
) -> SelectionPath:
    """Turn fitted points into the public record."""
    return SelectionPath(
        penalties=np.array([point.penalty for point in points]),
        sizes=np.array([point.size for point in points], dtype=np.intp),
        supports=np.array([point.support for point in points]),
        entry_order=order,
        criterion=criterion,
        criterion_name=criterion_name,
        chosen=chosen,
    )
