"""The supports of one data set: their evidence, their price, and the odds of every variable given their factors.

A support is decomposed once; its joint evidence (`evidence.joint`), its factors and the Bayes factors of all variables
follow from that one decomposition, and are kept: a search that comes back to a support pays nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.data.base import Matrix
from gsppca.evidence.bayes_factors import (
    best_g,
    log_bayes_factor_common_units,
    log_bayes_factor_own_noise,
    prior_log_odds,
)
from gsppca.evidence.by_products import HELD_NUMBERS
from gsppca.evidence.decompose import Decomposer, Projections
from gsppca.evidence.factors import Factors
from gsppca.evidence.joint import SPARE, components_evidence, has_passed_its_peak, log_choices
from gsppca.linalg.nested import SupportSpectrum
from gsppca.results import NoiseUnits

# Of log C(p, k), in the comparison of supports when every variable has a noise variance of its own. Measured on
# standardised data: the whole of it ends with too few variables at n = 40 and 66, and hardly matters from n = 100 on.
OWN_NOISE_SHARE = 0.5
TIE = 1e-8  # of a log evidence, relative to it or to 100: what is less is rounding
SAME_SCORE = 1e-7  # relative: variables whose scores differ by less are kept or dropped together
MANY, AT_ONCE = 8192, 2048  # variables: of more, an elimination goes down to so many in large steps
COARSELY = 0.2  # of the variables, at each of these: with 0.05, half of all variables are not found where they are weak
TINY = float(np.finfo(float).tiny)

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Support:
    """A set of variables and what is known of it.

    Attributes
    ----------
    members : ndarray of shape (n_features,)
        The variables.
    size, n_components : int
        How many variables, and components at which the evidence is largest.
    log_evidence : float
        Against the empty model, in which all variables are noise; -inf where it does not exist.
    value : float
        Log evidence less the price of the search: what supports are compared by.
    spectrum : SupportSpectrum
    projections, whole
        As in `Decomposition`.
    """

    members: BoolArray
    size: int
    n_components: int
    log_evidence: float
    value: float
    spectrum: SupportSpectrum
    projections: Projections
    whole: bool


class Supports:
    """Supports of one data set, each evaluated once.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns; in units of its own for each column if `own_noise`.
    most_components : int
        Largest number of components.
    own_noise : bool
        Whether every variable has a noise variance of its own.
    fixed_components : bool
        Whether all supports have `most_components`, as far as they can; otherwise each has its best number.
    temperature : float
        What log evidences and log Bayes factors are divided by: more than 1 where samples say less than they seem to.
    progress : callable, optional
        Gets the number of supports evaluated so far.
    units : NoiseUnits, optional
        Units that the columns are in, if they are not standardised: their charges are taken from the evidence.
    decomposer : Decomposer, optional
        One that knows something of this matrix already.
    """

    def __init__(
        self,
        matrix: Matrix,
        most_components: int,
        own_noise: bool,
        fixed_components: bool = False,
        temperature: float = 1.0,
        progress: Progress | None = None,
        units: NoiseUnits | None = None,
        decomposer: Decomposer | None = None,
    ):
        self.matrix, self.most = matrix, most_components
        self.own_noise, self.fixed, self.progress = own_noise, fixed_components, progress
        self.n, self.p = matrix.n_samples, matrix.n_features
        self.temperature = temperature
        self.squares = matrix.column_squares
        self.variances = self.squares / self.n
        self.units = units
        self.charges = np.zeros(self.p) if units is None else units.charges
        self.n_updates = 0
        self._decomposer = decomposer or Decomposer(matrix, most_components + SPARE)
        self._known: dict[bytes, Support] = {}
        self._odds: dict[bytes, FloatArray] = {}
        self._explained: dict[tuple[bytes, int], tuple[FloatArray, float]] = {}

    def at(self, members: BoolArray, n_factors: int | None = None) -> Support:
        """Evaluate a support of at least two variables; by default, with as many factors as the evidence asks for."""
        key = _key(members)
        if key not in self._known:
            self._known[key] = self._evaluated(members, n_factors)
            if self.progress is not None:
                self.progress(len(self._known))
        return self._known[key]

    def with_factors(self, support: Support, n_factors: int) -> Support:
        """The same support, with so many factors known."""
        if support.whole or n_factors <= support.n_components:
            return support
        found = self._decomposer.of(support.members)
        whole = replace(support, spectrum=found.spectrum, projections=found.projections, whole=True)
        self._known[_key(support.members)] = whole
        return whole

    @property
    def best(self) -> Support:
        """The support of largest value so far; of those within rounding of it the smallest, then the first seen."""
        known = list(self._known.values())
        largest = max(one.value for one in known)
        return min((one for one in known if not largest > one.value + tolerance(largest)), key=lambda one: one.size)

    def measured_in(self, units: NoiseUnits) -> Supports:
        """The supports of the same data in noise units."""
        scale = 1 / np.sqrt(units.share * self.variances)
        matrix = self.matrix.scaled(scale)
        decomposer = self._decomposer.scaled(matrix, scale)
        return Supports(
            matrix, self.most, self.own_noise, self.fixed, self.temperature, self.progress, units, decomposer
        )

    def price(self, size: int) -> float:
        """Log number of supports of this size, all of which a search could have found."""
        return float(log_choices(self.p, np.array([size]))[0])

    def has_odds(self, support: Support) -> bool:
        """Whether the log odds given this support are known."""
        return _key(support.members) in self._odds

    def log_odds(self, support: Support) -> FloatArray:
        """Posterior log odds of every variable of being explained by the factors of the support."""
        key = _key(support.members)
        if key not in self._odds:
            self._odds[key] = self._log_odds(support)
        return self._odds[key]

    def explained(self, support: Support, n_components: int) -> tuple[FloatArray, int, float]:
        """Sum of squares of each variable that the factors of the support explain; their number; the noise left."""
        support = self.with_factors(support, n_components)
        d = _n_factors(support, n_components)
        key = _key(support.members)
        if (key, d) not in self._explained:
            self.n_updates += 1
            projections = support.projections(d)
            # Those of fewer factors are the first of these: a walk from here will ask for its own number of them.
            for count in {d, min(d, _n_factors(support, support.n_components))}:
                spectrum = support.spectrum
                left = float(spectrum.leading[count:].sum()) + spectrum.rest_sum
                noise = max(left / max(support.size - count, 1), TINY)
                factors = Factors(spectrum.leading[:count], noise, projections[:count])
                self._explained[key, count] = factors.explained(support.members, self.squares, self.n), noise
        explained, noise = self._explained[key, d]
        return explained, d, noise

    def is_coarse(self, in_noise: bool) -> bool:
        """Whether an elimination goes down to `at_once` in large steps: of a great many, or where most are noise.

        Large supports of data on disk take passes over it. Data in memory is searched alike: what is found does not
        depend on where it is.
        """
        return self.p > (AT_ONCE if in_noise else MANY)

    @property
    def at_once(self) -> int:
        """Variables whose products with all can be held."""
        return min(AT_ONCE, HELD_NUMBERS // self.p)

    def fewer(self, size: int, share: float, in_noise: bool = False) -> int:
        """How many of some variables an elimination keeps: a share of them, or far fewer."""
        if size <= self.at_once or not (self.is_coarse(in_noise) or self._decomposer.by_products):
            return int(size * share)
        fewer = 0 if in_noise or self._decomposer.by_products else int(size * COARSELY)
        return min(int(size * share), fewer if fewer >= 2 * self.at_once else self.at_once)

    def first(self, score: FloatArray, count: int) -> BoolArray:
        """Return about `count` variables of largest score, those that tie with the last included."""
        last = float(np.partition(score, -count)[-count])
        return score >= last - SAME_SCORE * abs(last)

    def _evaluated(self, members: BoolArray, n_factors: int | None) -> Support:
        size = int(np.count_nonzero(members))

        def enough(spectrum: SupportSpectrum) -> int | None:
            known, least = len(spectrum.leading) - SPARE, n_factors or 1
            if known < least:
                return None
            values = components_evidence(spectrum, size, self.n, min(self.most, known))
            passed = has_passed_its_peak(values, spectrum, size, self.n, self.most)
            return max(int(np.argmax(values)) + 1, least) if passed else None

        found = self._decomposer.of(members, None if self.fixed or n_factors == self.most else enough)
        values = components_evidence(found.spectrum, size, self.n, self.most, self.fixed)
        d, evidence = 1, -math.inf
        if np.isfinite(values).any():
            d = int(np.argmax(values)) + 1
            evidence = float(values[d - 1]) - self._log_noise_instead(members)
            evidence = (evidence - float(self.charges[members].sum())) / self.temperature
        share = OWN_NOISE_SHARE if self.own_noise else 1.0
        value = evidence - share * self.price(size)
        return Support(members, size, d, evidence, value, found.spectrum, found.projections, found.whole)

    def _log_noise_instead(self, members: BoolArray) -> float:
        """Log likelihood that the members have as noise: what their evidence is compared with."""
        if self.own_noise:
            return log_own_noise(self.variances[members], self.n)
        everything = np.ones(self.p, dtype=bool)
        return log_noise(self.variances, everything, self.n) - log_noise(self.variances, ~members, self.n)

    def _log_odds(self, support: Support) -> FloatArray:
        explained, d, noise = self.explained(support, support.n_components)
        prior = prior_log_odds(support.size, self.p)
        if self.own_noise:
            share = explained / self.squares
            return self._posterior(lambda g: log_bayes_factor_own_noise(share, self.n, d, g), prior)
        # The noise of all variables: those outside, and what the factors leave of the members.
        left = self.n * noise * (support.size - d)
        freedom = (self.n - 1) * (self.p - support.size) + (self.n - 1 - d) * (support.size - d)
        common = max((float(self.squares[~support.members].sum()) + left) / max(freedom, 1), TINY)
        return self._posterior(lambda g: log_bayes_factor_common_units(explained, common, d, g), prior)

    def _posterior(self, log_bayes_factor: Callable[[float], FloatArray], prior: float) -> FloatArray:
        def tempered(g: float) -> FloatArray:
            return (log_bayes_factor(g) - self.charges) / self.temperature

        return prior + tempered(best_g(tempered, prior))


def log_noise(variances: FloatArray, outside: BoolArray, n_samples: int) -> float:
    """Log likelihood of the variables outside a support, at the best common variance of noise."""
    count = int(np.count_nonzero(outside))
    if not count:
        return 0.0
    variance = max(float(variances[outside].mean()), TINY)
    return -n_samples * count / 2 * (math.log(2 * math.pi * variance) + 1)


def log_own_noise(variances: FloatArray, n_samples: int) -> float:
    """Log likelihood of variables that are noise, each at its best variance."""
    return -n_samples / 2 * float(np.log(2 * math.pi * np.maximum(variances, TINY)).sum() + len(variances))


def tolerance(value: float) -> float:
    """How much of a log evidence is rounding."""
    return TIE * max(abs(value), 100.0) if math.isfinite(value) else 0.0


def _n_factors(support: Support, n_components: int) -> int:
    """As many factors as are asked for, as far as the support has them."""
    spectrum = support.spectrum
    return max(min(n_components, support.size - 1, spectrum.rank - 1, len(spectrum.leading)), 1)


def _key(members: BoolArray) -> bytes:
    return np.packbits(members).tobytes()
