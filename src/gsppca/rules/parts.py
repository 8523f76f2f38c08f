"""What is to be predicted, and what a forward selection is given of some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix

Moments = Callable[[slice | IntArray], FloatArray]


@dataclass(frozen=True)
class Targets:
    """The variables whose components are to be predicted, among those that predict.

    Attributes
    ----------
    everything : Matrix
        All variables, standardised.
    places : ndarray of shape (n_features,)
        Where the variables in question, those that predict, stand among all; ascending.
    relevant : ndarray of shape (n_features,), bool
        Those whose components are to be predicted.
    units : ndarray of shape (n_features,)
        What the standardised variables are multiplied by, where the components are computed.
    """

    everything: Matrix
    places: IntArray
    relevant: BoolArray
    units: FloatArray

    @cached_property
    def standard(self) -> Matrix:
        """The variables in question, standardised."""
        p = self.everything.n_features
        return self.everything if len(self.places) == p else self.everything.columns(np.isin(np.arange(p), self.places))

    @property
    def matrix(self) -> Matrix:
        """The relevant variables, in their units."""
        own = self.standard if self.relevant.all() else self.standard.columns(self.relevant)
        return own if (self.units == 1).all() else own.scaled(self.units[self.relevant])

    def gram(self, standard: FloatArray) -> FloatArray:
        """Gram matrix of the relevant variables, in their units, from that of all in question."""
        inside = np.flatnonzero(self.relevant)
        own = standard if self.relevant.all() else standard.take(inside, axis=0).take(inside, axis=1)
        units = self.units[self.relevant]
        return own if (units == 1).all() else own * units * units[:, None]

    def axes(self, axes: FloatArray) -> FloatArray:
        """Axes of the relevant variables as weights of all those in question, standardised."""
        # A constant column has no weight: not even the rounding of an eigenvector, by which it could be chosen.
        weights = np.where(self.standard.column_squares > 0, self.units, 0.0)
        if self.relevant.all():
            return axes if (weights == 1).all() else axes * weights
        wide = np.zeros((len(axes), len(self.relevant)))
        wide[:, self.relevant] = axes
        return wide * weights


@dataclass(frozen=True)
class Part:
    """The principal axes of some of the rows.

    Attributes
    ----------
    n_rows : int
        How many rows these are.
    axes : ndarray of shape (n_components, n_features)
        Weights of the standardised variables in the scores; by falling variance of the scores. Only those of some
        variables, if `variables` are given: `weights` finds them by their places among all.
    score_variances : ndarray of shape (n_components,)
        Mean squares of the scores, over the rows of the part; zero for an axis that the part does not have.
    moments : callable
        Of some variables, a slice or their places: mean products of the scores with them, standardised, over the rows
        of the part, shape (n_components, n_some).
    variances : ndarray of shape (n_features,)
        Mean squares of the standardised variables, over the rows of the part.
    units : ndarray of shape (n_features,)
        What the standardised variables are multiplied by, where the components are computed.
    trace_of_square : float
        Of the second moments of the relevant variables, in their units: the sum of the squares of all eigenvalues.
    shrinkage : float
        Weight of the identity in the covariance of the relevant variables, by Ledoit and Wolf.
    again : callable or None
        Returns axes and moments of all variables, made anew; None if they stay.
    variables : ndarray of int or None
        Places of the variables whose axes and moments are held, ascending; None for all.
    """

    n_rows: int
    axes: FloatArray
    score_variances: FloatArray
    moments: Moments
    variances: FloatArray
    units: FloatArray
    trace_of_square: float
    shrinkage: float
    again: Callable[[], tuple[FloatArray, Moments]] | None = None
    variables: IntArray | None = None

    def weights(self, some: slice | IntArray) -> FloatArray:
        """Weights of some variables in the scores, shape (n_components, n_some)."""
        return self.axes[:, some if self.variables is None else _found(self.variables, some)]

    def whole(self) -> Part:
        """The same of all variables."""
        if self.variables is None:
            return self
        assert self.again is not None
        axes, moments = self.again()
        return replace(self, axes=axes, moments=moments, variables=None)

    def of(self, variables: IntArray) -> Part:
        """The same of some variables, in less memory; itself if all could not be had again."""
        if self.again is None:
            return self
        moments = self.moments(variables)
        return replace(
            self,
            axes=self.weights(variables),
            moments=lambda some: moments[:, _found(variables, some)],
            variables=variables,
        )


def _found(variables: IntArray, some: slice | IntArray) -> IntArray:
    """Where some variables stand among those that are held."""
    assert not isinstance(some, slice)
    return np.searchsorted(variables, some)
