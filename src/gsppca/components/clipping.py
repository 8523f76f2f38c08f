"""Heavy tails: are there any, which bounds cut them, and what they leave the evidence to say.

The evidence is Gaussian. Where columns have heavier tails, a few large entries in one row look like a factor, and pure
noise seems to have structure. What is done about it needs the moments of the columns only, mostly one pass over the
data in all, and is the same for every container and every order of rows and columns:

1. The tails are heavy if the mean kurtosis of the columns exceeds the Gaussian one by more than `LEAST_EXCESS`, and by
   more than four of its standard errors, sqrt(24 / (n p)).
2. Then columns are clipped at `REACH` standard deviations from their mean, as the mean absolute deviation tells them,
   both taken of the clipped column: rounds of it, for each column until its kurtosis no longer falls. Bounds are the
   nearest multiples of 1/64 of the standard deviation of the whole column, if that is not much larger than what is left
   of it: sums of powers between all of these come with the pass that measures the tails, and serve all rounds.
3. A column that hardly ever differs from one value (a rare word, a rare count) has few samples that say anything, n /
   kurtosis in effect. With fewer than `FEWEST` it is rare: it would be equal to others by chance, and no clipping
   helps. Such columns are not judged.
4. With the mean excess kurtosis k that the others keep, log evidences are divided by k / log(e + k), the `temperature`,
   if that is above 1: two rare events coincide more often than the Gaussian model says. (Two columns with m ones each
   share j of them with log probability about -j log(n/m); the Gaussian log evidence of it is n j^2 / (2 m^2), and k is
   about n/m. The ratio of the two at j of half of m to all of m is k / (4 log k) to k / log k.)

The columns are never taken to share their units then: heavy tails spread their variances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.components.units import share_units
from gsppca.data.binned import ClippedMoments, nearest_edge, on_edges, sums_and_bins
from gsppca.data.clipped import clip_columns, column_sums, held_columns

LEAST_EXCESS = 0.5
N_ERRORS = 4.0
REACH = 3.0  # 0.3 % of a Gaussian column lie beyond
GAUSSIAN = 1.2533141373155003  # standard deviation per mean absolute deviation
MAX_ROUNDS = 10
SETTLED = 0.02  # of the kurtosis of a column: a round that lowers it by less is its last
FEWEST = 5.0  # effective samples of a column
FEW_COLUMNS = 10  # whose variances are not compared
ALLOWED = 9.0  # kurtosis that is not rare at any number of samples


class _Moments(NamedTuple):
    """Of some columns: of a constant one the variance is 0 and the kurtosis nan.

    The deviation is told by the mean absolute deviation.
    """

    mean: FloatArray
    variance: FloatArray
    kurtosis: FloatArray
    deviation: FloatArray


@dataclass(frozen=True)
class Tails:
    """What is known of the tails of some columns.

    Attributes
    ----------
    heavy : bool
        Whether columns are to be clipped, and each to have a noise variance of its own.
    excess : float
        Mean excess kurtosis of the columns as they came.
    low, high : ndarray of shape (n_features,)
        Bounds to clip at; infinite if the tails are not heavy.
    mean, squares : ndarray of shape (n_features,)
        Means of the columns that `clip_tails` returns, and their sums of squares around them.
    rare : ndarray of shape (n_features,)
        Columns that are not to be judged; none if the tails are not heavy.
    temperature : float
        What log evidences are to be divided by; 1 if the tails are not heavy.
    rows : ndarray of shape (n_samples, 2)
        Sums and sums of squares of the rows, as `data.folds.sums_and_squares` has them of standardised columns.
    """

    heavy: bool
    excess: float
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    squares: FloatArray
    rare: BoolArray
    temperature: float
    rows: FloatArray


def measure_tails(X: Any, mean: FloatArray, deviation: FloatArray, *, always: bool = False) -> Tails:
    """Measure the tails of the columns; one pass over the data, some more if they are heavy.

    Parameters
    ----------
    X : ndarray, CSR or CSC matrix, or Blocks of shape (n_samples, n_features)
        Finite numbers; constant columns are left out of all means.
    mean, deviation : ndarray of shape (n_features,)
        Means and standard deviations of the columns; one for those that are constant.
    always : bool, default=False
        Whether to clip whatever the kurtosis.
    """
    n, p = X.shape
    # What rows are dealt out to folds by comes with the same pass.
    least = 0.0 if always else 3 + LEAST_EXCESS
    sums, of_rows, by_bins = sums_and_bins(X, _powers, mean, deviation, by_row=(0, 2), least=least)
    moments = _moments(sums / n, mean, deviation)
    varying = np.isfinite(moments.kurtosis)
    excess = float(moments.kurtosis[varying].mean()) - 3 if varying.any() else 0.0
    error = float(np.sqrt(24 / (n * max(int(varying.sum()), 1))))
    heavy = always or excess > max(LEAST_EXCESS, N_ERRORS * error)
    low, high, most = np.full(p, -np.inf), np.full(p, np.inf), max(n / FEWEST, ALLOWED)
    rare, temperature = np.zeros(p, dtype=bool), 1.0
    if heavy:
        low, high, moments = _clip(X, by_bins, mean, deviation, moments, most)
        rare = ~(moments.kurtosis < most)
        left = max(float(moments.kurtosis[~rare].mean()) - 3, 0.0) if not rare.all() else 0.0
        temperature = max(left / float(np.log(math.e + left)), 1.0)
    centre = moments.mean - np.clip(0.0, low, high)
    return Tails(heavy, excess, low, high, centre, n * moments.variance, rare, temperature, of_rows.T)


def clip_tails(X: Any, tails: Tails) -> Any:
    """Return X with the tails of its columns cut off, if they are heavy; where zero is cut off, it is zero again."""
    return clip_columns(X, tails.low, tails.high) if tails.heavy else X


def has_own_noise(column_squares: FloatArray, n_samples: int, tails: Tails) -> bool:
    """Whether every column has a noise variance of its own, rather than all the same.

    Parameters
    ----------
    column_squares : ndarray of shape (n_features,)
        Sums of squares of the clipped columns.
    n_samples : int
    tails : Tails
        Heavy ones spread the variances; and few columns do not tell their spread.
    """
    few = len(column_squares) < FEW_COLUMNS
    return tails.heavy or few or not share_units(column_squares, n_samples)


def _clip(
    X: Any, by_bins: ClippedMoments | None, mean: FloatArray, unit: FloatArray, moments: _Moments, most: float
) -> tuple[FloatArray, FloatArray, _Moments]:
    """Clip every column, round by round; return its bounds and what moments they leave it.

    Bounds are taken at the nearest edge of bins of the column where these are narrow, so that most rounds take no pass
    over data in blocks.
    """
    low, high = np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    data, held, now = X, np.arange(len(mean)), _Moments(*map(np.copy, moments))
    rounds = np.where(np.isfinite(now.kurtosis), MAX_ROUNDS, 0)  # left to each column
    while rounds.any():
        active = np.flatnonzero(rounds)
        # In standard deviations from the mean.
        centre = (now.mean - mean)[active] / unit[active]
        reach = REACH * now.deviation[active] / unit[active]
        places = np.array([centre - reach, centre, centre + reach])
        binned = on_edges(places[0]) & on_edges(places[2])
        places = np.where(binned, nearest_edge(places), places)
        # Columns do not depend on each other: the rounds that take no pass come first.
        if by_bins is not None and binned.any():
            active, places = active[binned], places[:, binned]
        own_mean, own_unit, before = mean[active], unit[active], now.kurtosis[active]
        # As exact as the data is, so that what is clipped there has the moments that are found here.
        bounds = (own_mean + own_unit * places[::2]).astype(X.dtype).astype(np.float64)
        low[active], high[active] = bounds
        middle = own_mean + own_unit * places[1]
        if by_bins is not None and binned.any():
            sums = by_bins.sums(active, places[1], *((bounds - own_mean) / own_unit))
        else:
            # After some rounds, few columns are left: one more pass over data in blocks is then the last.
            few = held_columns(data, active)
            data, held = (data, held) if few is None else (few, active)
            own = middle, own_unit, *bounds
            sums = column_sums(data, _clipped_powers, *own, columns=np.searchsorted(held, active))
        for known, found in zip(now, _moments(sums / X.shape[0], middle, own_unit), strict=True):
            known[active] = found
        # A gross outlier is cut down round by round, and the kurtosis falls only when it is near the others.
        kurtosis = now.kurtosis[active]
        rounds[active] = np.where((kurtosis < (1 - SETTLED) * before) | (kurtosis > most), rounds[active] - 1, 0)
    return low, high, now


def _moments(means: FloatArray, centre: FloatArray, unit: FloatArray) -> _Moments:
    """Moments of some columns, given the means of what `_powers` has of them round `centre`."""
    first, absolute, second, third, fourth = means
    variance = second - first**2
    central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    # Rounding leaves a constant column some variance.
    constant = variance <= 1e-14 * (second + (np.finfo(float).eps * centre / unit) ** 2) + np.finfo(float).tiny
    kurtosis = np.where(constant, np.nan, central / np.where(constant, 1.0, variance) ** 2)
    variance = np.where(constant, 0.0, unit**2 * variance)
    return _Moments(centre + unit * first, variance, kurtosis, GAUSSIAN * unit * absolute)


def _clipped_powers(
    values: FloatArray, centre: FloatArray, unit: FloatArray, low: FloatArray, high: FloatArray
) -> Iterator[FloatArray]:
    """What `_powers` yields of the clipped values."""
    np.maximum(values, low, out=values)  # faster than numpy.clip, and the same
    np.minimum(values, high, out=values)
    yield from _powers(values, centre, unit)


def _powers(values: FloatArray, centre: FloatArray, unit: FloatArray) -> Iterator[FloatArray]:
    """The centred values, their sizes, and their powers from the second to the fourth: in two arrays' memory."""
    values -= centre
    values *= 1 / unit
    yield values
    powers = np.abs(values)
    yield powers
    yield np.square(values, out=powers)
    values *= powers
    yield values
    yield np.square(powers, out=powers)
