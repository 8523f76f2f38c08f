"""How far to extrapolate two iterations of a map that creeps: SQUAREM (Varadhan & Roland 2008)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from gsppca._typing import FloatArray

LONGEST = 100.0  # extrapolation, in steps of the map; longer ones are rarely accepted, and amplify rounding


def extrapolation_length(groups: Iterable[tuple[Sequence[FloatArray], float]], longest: float = LONGEST) -> float:
    """Length s of the extrapolation ``x0 + 2 s r + s^2 v``: r is the first step, v the change of the step.

    Parameters
    ----------
    groups : iterable of (arrays, unit)
        A part of the start, of its image and of the image of that; and the unit in which this part is measured.
    longest : float
        At least 1, at which nothing is extrapolated.
    """
    step = bend = 0.0
    for (x0, x1, x2), unit in groups:
        change = (x1 - x0) / unit
        step += _sum_squares(change)
        bend += _sum_squares((x2 - x1) / unit - change)
    return min(max(1.0, math.sqrt(step / bend)), longest) if bend > 0 else 1.0


def extrapolated(iterates: Sequence[FloatArray], length: float) -> FloatArray:
    """Where an extrapolation lands."""
    x0, x1, x2 = iterates
    return (1 - length) ** 2 * x0 + 2 * length * (1 - length) * x1 + length**2 * x2


def root_mean_square(x: FloatArray) -> float:
    """A unit for an array; one if it is all zero."""
    return math.sqrt(_sum_squares(x) / x.size) or 1.0


def _sum_squares(x: FloatArray) -> float:
    return float(np.vdot(x, x))
