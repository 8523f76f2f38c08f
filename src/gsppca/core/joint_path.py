"""The joint evidence along a ranking, at the sizes that matter, against the empty model.

Two models of the noise. *Common*: the variables share their units, those outside the support one variance, as in the
paper. *Own*: every variable has a noise variance of its own, v_k outside the support and psi_k inside; standardised
columns, psi_k = v_k, are the simplest case. Dividing column k by sqrt(psi_k) makes the active noise isotropic again,
at the price of the Jacobian -n/2 log psi_k, so that both take the same evidence of a bare spectrum (`core.joint`). A
psi_k that differs from v_k is one more fitted number, and pays log(n)/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.core.joint import log_joint_evidence
from gsppca.core.nested import NestedSpectra
from gsppca.core.state import EvidencePath
from gsppca.data.base import Matrix

SMALL = 30  # sizes above the dimension that are all evaluated: where the evidence changes fast
RATIO = 1.3  # of the sizes of the grid above
BRACKET = 8  # sizes evaluated between two neighbours, where the best is looked for

Progress = Callable[[int], None]
LogPrior = Callable[[IntArray], FloatArray]


class JointEvidence:
    """Evidence of supports of one data set.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns.
    most_components : int
        Largest number of components; each support has its best.
    own_noise : bool
        Whether every variable has a noise variance of its own.
    """

    def __init__(self, matrix: Matrix, most_components: int, own_noise: bool):
        self.n, self.p = matrix.n_samples, matrix.n_features
        self.most, self.own_noise = most_components, own_noise
        self.matrix = matrix.scaled(1 / np.sqrt(matrix.column_squares / self.n)) if own_noise else matrix

    def along(
        self,
        order: IntArray,
        log_prior: LogPrior,
        *,
        psi: FloatArray | None = None,
        extra: Iterable[int] = (),
        around: int | None = None,
        fine: bool = True,
        progress: Progress | None = None,
    ) -> EvidencePath:
        """Log evidence of nested supports, against the empty model, each at its best number of components.

        Parameters
        ----------
        order : ndarray of shape (n_features,)
            The variables, the most relevant first.
        log_prior : callable
            Log prior of some sizes; where evidence times prior is largest, more sizes are evaluated.
        psi : ndarray of shape (n_features,), optional
            Noise variance of each variable when it is active, as a share of its variance; for own noise only.
        extra : iterable of int
            Sizes to evaluate besides all small ones and a grid of the others.
        around : int, optional
            Size that the best is near to: from half to twice of it are evaluated, and no others.
        fine : bool
            Whether to close in on the best size until its neighbours are known.
        progress : callable, optional
            Gets the number of sizes evaluated so far.
        """
        rows = _Rows(self, order, psi, progress)
        first = first_sizes(self.p, self.most)
        if around is not None:
            first = np.append(first[(first >= around / 2) & (first <= around * 2)], around)
        rows.evaluate(np.union1d(first, np.array(list(extra), dtype=int)))
        while fine:
            path = rows.path()
            missing = _between(path.sizes, int(np.argmax(path.log_evidence + log_prior(path.sizes))))
            if not len(missing):
                break
            rows.evaluate(missing)
        return rows.path()


def first_sizes(n_features: int, most_components: int) -> IntArray:
    """Return all sizes from 2 up to the dimension and some more, then a geometric grid up to all variables.

    One variable shares nothing with others: it has no joint evidence.
    """
    dense = min(n_features, most_components + SMALL)
    n_steps = max(math.ceil(math.log(n_features / dense) / math.log(RATIO)), 0)
    grid = np.round(np.geomspace(dense, n_features, n_steps + 1)).astype(int)
    return np.unique(np.concatenate([np.arange(2, dense + 1), grid]))


def _between(sizes: IntArray, best: int) -> IntArray:
    """Sizes to look at on both sides of the best one; none if its neighbours are known."""
    low, high = sizes[max(best - 1, 0)], sizes[min(best + 1, len(sizes) - 1)]
    inside = np.unique(np.round(np.linspace(low, high, BRACKET + 2)).astype(int))
    return np.setdiff1d(inside, sizes)


class _Rows:
    """What has been evaluated so far along one ranking, size by size."""

    def __init__(self, owner: JointEvidence, order: IntArray, psi: FloatArray | None, progress: Progress | None):
        self.owner, self.progress = owner, progress
        matrix = owner.matrix if psi is None else owner.matrix.scaled(1 / np.sqrt(psi))
        self.spectra = NestedSpectra(matrix, order, owner.most + 2)
        # Sum of squares outside the first k variables, in the units of the empty model.
        squares = owner.matrix.column_squares[order]
        self.inactive = np.append(np.cumsum(squares[::-1])[::-1], 0.0)
        self.jacobian = np.zeros(owner.p + 1)
        if psi is not None:
            charge = np.where(psi < 1, math.log(owner.n) / 2, 0.0)
            self.jacobian[1:] = np.cumsum((-owner.n / 2 * np.log(psi) - charge)[order])
        self.empty = self._noise(0)
        self.rows: dict[int, tuple[float, int, float, float]] = {}

    def evaluate(self, sizes: IntArray) -> None:
        for size in sizes.tolist():
            self.rows[size] = self._row(size)
            if self.progress is not None:
                self.progress(len(self.rows))

    def path(self) -> EvidencePath:
        sizes = np.array(sorted(self.rows))
        evidence, dimensions, rates, variances = (
            np.array(column) for column in zip(*(self.rows[k] for k in sizes.tolist()), strict=True)
        )
        if not np.isfinite(evidence).any():  # two samples, say: no support is better or worse than noise
            evidence = np.zeros(len(sizes))
        return EvidencePath(sizes, evidence, rates, variances, 0.0, dimensions)

    def _row(self, k: int) -> tuple[float, int, float, float]:
        """Log evidence, number of components, slab rate and inactive variance at one size."""
        n, p = self.owner.n, self.owner.p
        spectrum = self.spectra.at(k)
        values = log_joint_evidence(spectrum, k, n, self.owner.most)
        variance = self.inactive[k] / (n * (p - k)) if k < p else self.inactive[0] / (n * p)
        if not len(values):
            return -math.inf, 1, math.nan, variance
        best = int(np.argmax(values))
        d = best + 1
        top = spectrum.leading[:d]
        noise = (float(spectrum.leading.sum()) + spectrum.rest_sum - float(top.sum())) / (k - d)
        rate = math.sqrt(k * d / max(float((top - noise).sum()), np.finfo(float).tiny))
        evidence = float(values[best]) + float(self.jacobian[k]) + self._noise(k) - self.empty
        return evidence, d, rate, variance

    def _noise(self, size: int) -> float:
        """Log likelihood of the variables outside the first `size`, at the best variance of the noise."""
        entries = self.owner.n * (self.owner.p - size)
        if not entries:
            return 0.0
        # Own noise: all variances are one, and so is their mean.
        return -entries / 2 * (math.log(2 * math.pi * max(self.inactive[size] / entries, np.finfo(float).tiny)) + 1)
