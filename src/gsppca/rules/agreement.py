"""How alike the rows lie on chosen columns and by their components: the RV coefficient of Robert & Escoufier (1976).

Columns that predict the components well are nearly uncorrelated, so that a minor component weighs as much in the
distances between rows as a major one. Clusters and neighbours on these columns are then other ones than on all
variables. With the second moments S of the columns, chosen ones C, and scores t = W x,

    RV = sum_{k in C} ||(W S)_k||^2 / sqrt( sum_{j, k in C} S_jk^2  ||W S W'||^2 )

is the cosine of the angle between the two matrices of products of rows, ``Z_C Z_C'`` and ``T T'``. All relevant
variables together have ``||W S W'|| / ||S||``, less than one if there is more to them than the components.
"""

from __future__ import annotations

import math

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.rules.parts import Part

KEPT = 0.97  # of the agreement that all relevant variables have


class Agreement:
    """The agreement of a growing set of chosen columns with the components, in the units of the components.

    Parameters
    ----------
    part : Part
        Axes and moments of some of the rows.

    Attributes
    ----------
    value : float
        The RV coefficient of those chosen so far.
    wanted : float
        The value that is enough.
    """

    def __init__(self, part: Part):
        self.part, self.norm = part, float(np.linalg.norm(part.score_variances))
        self.wanted = KEPT * self.norm / math.sqrt(part.trace_of_square) if part.trace_of_square > 0 else 0.0
        known = part.score_variances > 0
        self.inverses = np.where(known, 1 / np.where(known, part.score_variances, 1.0), 0.0)
        self.shared_sum = self.square_sum = 0.0
        self.value = 0.0

    def shared_and_own(self, some: slice | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what some columns add to the first sum, and to the second by themselves."""
        units = self.part.units[some]
        moments = self.part.moments(some)
        return np.einsum("kp,kp->p", moments, moments) * units**2, (self.part.variances[some] * units**2) ** 2

    def likely(self, chosen: IntArray, some: slice | IntArray) -> FloatArray:
        """Return about what the value would be with each of some columns added to those chosen.

        As if the components were all that columns share: this needs no data.
        """
        factors = self.inverses[:, None] * self.part.moments(chosen) * self.part.units[chosen]
        moments = self.part.moments(some) * self.part.units[some]
        links = np.einsum("kp,kp->p", moments, (factors @ factors.T) @ moments)
        return self.after(*self.shared_and_own(some), links)

    def after(self, shared: FloatArray, own: FloatArray, links: FloatArray) -> FloatArray:
        """Return the value with each of some columns added.

        `links` are the sums of the squared second moments of each with those chosen.
        """
        squares = np.maximum(self.square_sum + 2 * links + own, np.finfo(float).tiny)
        return (self.shared_sum + shared) / (np.sqrt(squares) * self.norm)

    def add(self, shared: float, own: float, link: float) -> None:
        """Add a column."""
        self.shared_sum += shared
        self.square_sum += own + 2 * link
        self.value = self.shared_sum / (math.sqrt(self.square_sum) * self.norm) if self.square_sum > 0 else 0.0
