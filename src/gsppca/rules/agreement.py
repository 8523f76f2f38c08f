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
        self.units = part.units
        self.moments = part.moments if (part.units == 1).all() else part.moments * part.units
        self.shared = np.einsum("kp,kp->p", self.moments, self.moments)
        self.own = (part.variances * part.units**2) ** 2
        components = part.moments @ part.axes.T
        self.norm = float(np.linalg.norm(components))
        self.wanted = KEPT * self.norm / math.sqrt(part.trace_of_square) if part.trace_of_square > 0 else 0.0
        self.inverse = np.linalg.pinv((components + components.T) / 2, hermitian=True)
        self.shared_sum = self.square_sum = 0.0
        self.value = 0.0
        self.chosen: list[int] = []

    def likely(self) -> FloatArray:
        """Return about what the value would be with each column added, as if the components were all they share."""
        chosen = self.inverse @ self.moments[:, self.chosen]
        links = np.einsum("kp,kp->p", self.moments, (chosen @ chosen.T) @ self.moments)
        return self.after(self.shared, links, self.own)

    def links(self, pool: IntArray, chosen: FloatArray, between: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact links of a pool of columns with those chosen, and with each other.

        Parameters
        ----------
        pool : ndarray of shape (n_pool,)
            Places of the columns.
        chosen : ndarray of shape (n_chosen, n_pool)
            Second moments of the chosen columns with them.
        between : ndarray of shape (n_pool, n_pool)
            Their own.
        """
        units = self.units[pool]
        with_chosen = np.square(chosen * self.units[self.chosen][:, None] * units).sum(axis=0)
        return with_chosen, np.square(between * units * units[:, None])

    def after(self, shared: FloatArray, links: FloatArray, own: FloatArray) -> FloatArray:
        """Return the value with each column of a pool added: their entries of `shared` and `own`, and their links."""
        squares = np.maximum(self.square_sum + 2 * links + own, np.finfo(float).tiny)
        return (self.shared_sum + shared) / (np.sqrt(squares) * self.norm)

    def add(self, column: int, link: float) -> None:
        """Add a column, given its link with those chosen before."""
        self.shared_sum += float(self.shared[column])
        self.square_sum += float(self.own[column]) + 2 * link
        self.chosen.append(column)
        self.value = self.shared_sum / (math.sqrt(self.square_sum) * self.norm) if self.square_sum > 0 else 0.0
