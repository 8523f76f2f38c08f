"""The figures of a comparison: what variables chosen on one half of the samples predict on the other half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.comparison.stability import StabilityResult

RANDOM, EVERYTHING = "random", "all"  # rows beside the methods
MOST_PAIRED = 1000  # selected variables whose correlations are averaged
# Of the covariance, in the regression. That of Ledoit & Wolf, for which the experiments have a column too, comes near 1
# where few variables are chosen because they are unlike each other: it would call them useless.
SHRINKAGE = 0.1
FAILED = "failed: "


@dataclass(frozen=True)
class Compared:
    """How one method did, at one size.

    Attributes
    ----------
    method : str
        Its name; "random" for random variables, "all" for all of them.
    at : {"common", "own"}
        Whether the size is the same for all, or the method's own.
    support : ndarray of shape (n_features,)
        The variables it selected on all samples.
    share : float
        Share of the components of all variables that the variables selected on one half of the samples predict on the
        other half, mean over the halves; see `gsppca.experiments.held_out`.
    stability : float
        How alike the selections from halves are: 1 if all are the same, about 0 if they agree as random ones do
        (Nogueira, Sechidis & Brown 2018). NaN when all variables are selected.
    redundancy : float
        Mean absolute correlation of the selected variables, two by two.
    overlap : float
        Jaccard index of its selection and that of the first method.
    seconds : float
        Time to fit all samples.
    note : str
        What it warned of or why it failed; the figures of a method that failed are NaN.
    """

    method: str
    at: str
    support: BoolArray
    share: float
    stability: float
    redundancy: float
    overlap: float
    seconds: float
    note: str = ""

    @property
    def size(self) -> int:
        """Number of variables selected."""
        return int(self.support.sum())


@dataclass(frozen=True)
class Fit:
    """Supports at the common size and at the own one, what was warned of, and the time for both."""

    supports: tuple[BoolArray, BoolArray]
    note: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether the method gave an error."""
        return self.note.startswith(FAILED)


class Judge:
    """Halves of the samples in pairs: variables chosen on one are judged on the other."""

    def __init__(self, data: FloatArray, n_halves: int, rng: np.random.RandomState):
        # The experiments import this room: the way back is taken late.
        from gsppca.experiments.held_out import HeldOut, standardised

        n = len(data)
        self.halves: list[IntArray] = []
        while len(self.halves) < n_halves:
            rows = rng.permutation(n)
            self.halves += [np.sort(rows[: n // 2]), np.sort(rows[n // 2 :])]
        self.halves = self.halves[:n_halves]
        self.varying = _varies(data)
        self.Z = standardised(data)
        everyone = np.arange(n)
        self.judges = [HeldOut(self.Z, rows, np.setdiff1d(everyone, rows)) for rows in self.halves]

    def share(self, supports: Sequence[BoolArray]) -> float:
        """Mean held-out share of what was selected on each half."""
        pairs = zip(self.judges, supports, strict=True)
        shares = [judge.share(np.flatnonzero(support[self.varying]), SHRINKAGE).weighted for judge, support in pairs]
        return float(np.mean(shares)) if shares else math.nan

    def redundancy(self, support: BoolArray) -> float:
        """Mean absolute correlation of two selected variables."""
        chosen = np.flatnonzero(support[self.varying])
        if len(chosen) > MOST_PAIRED:
            chosen = np.random.default_rng(0).choice(chosen, MOST_PAIRED, replace=False)
        if len(chosen) < 2:
            return math.nan
        part = self.Z[:, chosen]
        correlations = np.abs(part.T @ part) / len(part)
        return float((correlations.sum() - correlations.trace()) / (len(chosen) * (len(chosen) - 1)))

    def row(
        self, name: str, at: str, fit: Fit, halves: list[BoolArray], place: int, before: list[Compared]
    ) -> Compared:
        """Figures of one method at one size."""
        support = fit.supports[place]
        if fit.failed:  # nothing was selected, which is not the same as selecting nothing
            return Compared(name, at, support, math.nan, math.nan, math.nan, math.nan, fit.seconds, fit.note)
        overlap = jaccard(support, before[0].support) if before else 1.0
        return Compared(
            name,
            at,
            support,
            self.share(halves),
            _stability(halves),
            self.redundancy(support),
            overlap,
            fit.seconds,
            fit.note,
        )

    def references(self, at: str, size: int, n_random: int, seed: int, rows: list[Compared]) -> list[Compared]:
        """Random variables, of this number, and all of them."""
        p = len(self.varying)
        everything = np.ones(p, dtype=bool)
        found = []
        if n_random:
            rng = np.random.default_rng([seed, size])
            draws = [np.isin(np.arange(p), rng.choice(p, size, replace=False)) for _ in range(n_random)]
            share = float(np.mean([self.share([draw] * len(self.judges)) for draw in draws]))
            redundancy = float(np.mean([self.redundancy(draw) for draw in draws]))
            overlap = float(np.mean([jaccard(draw, rows[0].support) for draw in draws])) if rows else math.nan
            note = f"mean of {n_random} draws"
            found.append(Compared(RANDOM, at, draws[0], share, 0.0, redundancy, overlap, math.nan, note))
        overlap = jaccard(everything, rows[0].support) if rows else math.nan
        share = self.share([everything] * len(self.judges))
        found.append(
            Compared(EVERYTHING, at, everything, share, math.nan, self.redundancy(everything), overlap, math.nan)
        )
        return found


def jaccard(one: BoolArray, other: BoolArray) -> float:
    """Overlap of two selections: the variables in both, over those in either; 1 if both are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.comparison import jaccard
    >>> jaccard(np.array([True, True, False]), np.array([True, False, True])) == 1 / 3
    True
    """
    either = int(np.sum(one | other))
    return float(np.sum(one & other)) / either if either else 1.0


def _stability(supports: list[BoolArray]) -> float:
    if len(supports) < 2:
        return math.nan
    selected = np.array(supports)
    return StabilityResult(selected.mean(axis=0), selected.sum(axis=1), selected, 0).index


def _varies(data: FloatArray) -> BoolArray:
    """As `gsppca.experiments.held_out.standardised` has it."""
    centres = np.mean(data, axis=0)
    return np.asarray(np.std(data, axis=0) > 1e-10 * np.abs(centres).clip(min=1e-10))
