"""Paired tests behind the verdicts: two methods, the same data sets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca.experiments.spec import FAILS, HOLDS, TIE

LEVEL = 0.05
ASKED = "paired t test over the data sets, p < 0.05 two-sided"


@dataclass(frozen=True)
class Paired:
    """Student's t test of the differences between two methods on the same data sets.

    Attributes
    ----------
    n : int
        Data sets that both have.
    difference : float
        Mean of the first minus mean of the second.
    t, p : float
        Statistic and two-sided p value; 0 and 1 where all differences vanish or there are fewer than two.
    """

    n: int
    difference: float
    t: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether the difference is significant, in either direction."""
        return self.p < LEVEL

    @property
    def larger(self) -> bool:
        """Whether the first is significantly larger."""
        return self.significant and self.difference > 0

    @property
    def smaller(self) -> bool:
        """Whether the first is significantly smaller."""
        return self.significant and self.difference < 0

    def text(self, digits: int = 1) -> str:
        """The difference and its statistic."""
        return f"{self.difference:+.{digits}f} (t = {self.t:.1f})"


def paired(first: Any, second: Any) -> Paired:
    """Test two pandas Series of one number per data set, matched by their index."""
    differences = (first - second).dropna().to_numpy(dtype=float)
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    if n < 2 or (spread == 0 and mean == 0):
        return Paired(n, mean, 0.0, 1.0)
    from scipy.stats import t as student

    t = mean / (spread / math.sqrt(n)) if spread > 0 else math.copysign(math.inf, mean)
    return Paired(n, mean, t, float(2 * student.sf(abs(t), n - 1)))


def judge(tests: Iterable[Paired]) -> str:
    """Verdict on "the first is larger": in all tests, significantly; a tie where no test says the contrary."""
    known = list(tests)
    if known and all(test.larger for test in known):
        return HOLDS
    return FAILS if not known or any(test.smaller for test in known) else TIE


def holm(p_values: Iterable[float]) -> Any:
    """Holm's adjustment of p values for their number, in their order."""
    p = np.array(list(p_values), dtype=float)
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
