"""The joint evidence along an order of the variables, at the sizes that somebody wants to see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.evidence.joint import SPARE, components_evidence
from gsppca.evidence.search import standardised
from gsppca.evidence.supports import TINY, log_noise, log_own_noise
from gsppca.linalg.nested import NestedSpectra
from gsppca.results import EvidencePath, NoiseUnits

Row = tuple[int, float, int, float, float]


def evidence_along(
    matrix: Matrix,
    order: IntArray,
    sizes: IntArray,
    most_components: int,
    own_noise: bool,
    *,
    group_sizes: Sequence[int] = (),
    units: Sequence[NoiseUnits | None] = (),
    fixed_components: bool = False,
    temperature: float = 1.0,
) -> EvidencePath:
    """Log evidence of nested supports against the empty model, each at its best number of components.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    order : ndarray of shape (n_features,)
        The variables, the most relevant first.
    sizes : ndarray of shape (n_sizes,)
        From 2; ascending.
    most_components : int
        Largest number of components.
    own_noise : bool
        Whether every variable has a noise variance of its own.
    group_sizes : sequence of int, optional
        Sizes of the groups that the order begins with. The evidence of a size beyond the first group is that of the
        groups before, plus that of a further group among the variables left.
    units : sequence of NoiseUnits or None, optional
        Units of the variables in each group, with own noise; None stands for standardised variables.
    fixed_components : bool, default=False
    temperature : float, default=1.0
        As in `find_support`.
    """
    matrix = standardised(matrix) if own_noise else matrix
    sizes = np.unique(sizes)
    ends = np.cumsum([0, *group_sizes[:-1], len(order)]) if len(group_sizes) else np.array([0, len(order)])
    ends[-1] = len(order)
    rows: list[Row] = []
    evidence, dimension = 0.0, 0
    for number, (start, end) in enumerate(pairwise(ends.tolist())):
        measure = units[number] if number < len(units) else None
        scaled = matrix if measure is None else matrix.scaled(1 / np.sqrt(measure.share))
        charges = np.zeros(matrix.n_features) if measure is None else measure.charges
        inside = sizes[(sizes > start) & (sizes <= end)] - start
        # Where the next group begins, this one must be known.
        wanted = np.union1d(inside, [end - start]) if end < len(order) else inside
        most = max(most_components - dimension, 1)
        part = _along(scaled, order[start:], wanted, most, own_noise, charges, fixed_components)
        known = {size: (value, d) for size, value, d, _, _ in part}
        rows += [
            (start + size, evidence + value, dimension + d, rate, variance)
            for size, value, d, rate, variance in part
            if size in set(inside.tolist())
        ]
        if end < len(order):
            evidence, dimension = evidence + known[end - start][0], dimension + known[end - start][1]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    found, values, dimensions, rates, variances = columns
    return EvidencePath(found, values / temperature, rates, variances, 0.0, dimensions)


def _along(
    matrix: Matrix,
    order: IntArray,
    sizes: IntArray,
    most_components: int,
    own_noise: bool,
    charges: FloatArray,
    fixed: bool,
) -> list[Row]:
    """Size, log evidence, components, slab rate and inactive variance, among the variables of the order only."""
    n, p = matrix.n_samples, len(order)
    kept = np.zeros(matrix.n_features, dtype=bool)
    kept[order] = True
    rest = matrix.columns(kept)
    places = np.searchsorted(np.flatnonzero(kept), order)
    spectra = NestedSpectra(rest, places, most_components + SPARE)
    variances, outside = rest.column_squares / n, np.ones(p, dtype=bool)
    empty = log_noise(variances, outside, n)
    charged = np.cumsum(charges[order])
    rows: list[Row] = []
    for size in sizes.tolist():
        outside[places[:size]] = False
        spectrum = spectra.at(size)
        values = components_evidence(spectrum, size, n, most_components, fixed)
        variance = float(variances[outside if size < p else slice(None)].mean())
        if not np.isfinite(values).any():
            rows.append((size, -math.inf, 1, math.nan, variance))
            continue
        d = int(np.argmax(values)) + 1
        left = float(spectrum.leading[d:].sum()) + spectrum.rest_sum
        excess = float(spectrum.leading[:d].sum()) - d * left / (size - d)
        rate = math.sqrt(size * d / max(excess, TINY))
        as_noise = log_own_noise(variances[~outside], n) if own_noise else empty - log_noise(variances, outside, n)
        rows.append((size, float(values[d - 1]) - as_noise - float(charged[size - 1]), d, rate, variance))
    return rows
