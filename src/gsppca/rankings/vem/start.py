"""Where the variational EM begins: loadings, and the start of the slab rate, which decides the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gsppca._typing import FloatArray
from gsppca.checks import check_choice, check_number
from gsppca.results import RelaxedState, Spectrum

GRID = (0.1, 1.0, 10.0)  # section 2.7 of the paper, in units of the noise by default
SHORT_RUN = 5  # iterations of a run on the grid
UNITS = ("noise", "data", "absolute")
FARTHEST = 1e6  # from the rate of the data: beyond this factor little but rounding is left


def start_rates(multiples: Sequence[float], unit: str, noise_variance: float, data_rate: float) -> list[float]:
    """Slab rates to start from, without repetitions.

    Parameters
    ----------
    multiples : sequence of float
        Rates in the given unit.
    unit : {"noise", "data", "absolute"}
        "noise": a rate of 1 gives loadings the standard deviation of the noise; no rate is farther than a factor of 1e6
        from the data's, as it could be if a single column has nearly all the variance. "data": a rate of 1 gives
        variables the mean variance of the data. "absolute": the rates themselves, which depend on the unit of the data.
    noise_variance : float
        Variance of the noise.
    data_rate : float
        `reference_rate` of the data.
    """
    one = {"noise": 1 / math.sqrt(noise_variance), "data": data_rate, "absolute": 1.0}[unit]
    middle = 1.0 if unit == "noise" else data_rate / one
    for multiple in multiples:
        if not 1 / FARTHEST <= multiple / middle <= FARTHEST:
            raise ValueError(
                f"slab_rate must be within a factor of 1e6 of {middle:.3g} with slab_unit={unit!r}, "
                f"got {multiple!r}. Give a rate closer to it, or 'grid'."
            )
    rates = [min(max(multiple * one, data_rate / FARTHEST), data_rate * FARTHEST) for multiple in multiples]
    return list(dict.fromkeys(rates))


def check_slab_rate(slab_rate: Any) -> tuple[float, ...]:
    """Return the starts of the slab rate, in their unit: "grid", one positive number, or a sequence of them."""
    if isinstance(slab_rate, str):
        check_choice("slab_rate", slab_rate, ("grid",), "one or more positive numbers")
        return GRID
    rates = slab_rate if isinstance(slab_rate, Sequence | np.ndarray) and len(slab_rate) else (slab_rate,)
    advice = "Several starts are a sequence, such as (0.1, 1, 10)."
    return tuple(check_number("slab_rate", rate, 0, open_low=True, advice=advice, otherwise="'grid'") for rate in rates)


def reference_rate(total_squares: float, n_samples: int, n_features: int, n_components: int) -> float:
    """Slab rate at which the prior gives a variable the mean variance of the data.

    With this rate a variable's prior variance, d / alpha^2, is the mean variance of the columns.
    """
    return math.sqrt(n_components * n_samples * n_features / total_squares)


def spectral_loadings(spectrum: Spectrum, noise_variance: float) -> FloatArray:
    """Loadings of probabilistic PCA (eq. 2 of the paper), shape (n_components, n_features).

    An axis that noise alone could explain gets a little length: at zero length it could never grow.
    """
    excess = np.maximum(spectrum.eigenvalues - noise_variance, 1e-3 * noise_variance)
    return spectrum.axes * np.sqrt(excess)[:, None]


def random_loadings(rng: np.random.RandomState, n_components: int, n_features: int, rate: float) -> FloatArray:
    """Gaussian loadings with the variance of the prior at the reference rate: a start without any SVD."""
    return rng.standard_normal((n_components, n_features)) / rate


def start_state(loadings: FloatArray, slab_rate: float, noise_variance: float) -> RelaxedState:
    """All variables relevant, loadings with the prior's covariance around `loadings` (section 2.7 of the paper)."""
    d, p = loadings.shape
    return RelaxedState(
        relevance=np.ones(p),
        slab_rate=slab_rate,
        noise_variance=noise_variance,
        loading_mean=loadings,
        weighted_loading_cov=np.eye(d) * (p / slab_rate**2),
        explained=np.zeros(p),
    )
