"""Bayes factors in closed form against numerical integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from gsppca.evidence.bayes_factors import (
    GRID,
    best_g,
    log_bayes_factor_common_units,
    log_bayes_factor_own_noise,
    prior_log_odds,
    probability,
)


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    n = 9
    factor = rng.standard_normal(n)
    factor -= factor.mean()
    x = 0.5 * factor + rng.standard_normal(n)
    x -= x.mean()
    explained = (factor @ x) ** 2 / (factor @ factor)
    return n, factor, x, explained


@pytest.mark.parametrize("g", [0.1, 3.0, 200.0])
def test_common_units_against_quadrature(regression, g):
    _, factor, x, explained = regression
    noise = 0.7
    spread = np.sqrt(g * noise / (factor @ factor))

    def integrand(b):
        return np.exp(-0.5 * (((x - b * factor) ** 2).sum() - x @ x) / noise - 0.5 * (b / spread) ** 2)

    marginal = quad(integrand, -np.inf, np.inf)[0] / (np.sqrt(2 * np.pi) * spread)
    assert log_bayes_factor_common_units(np.array(explained), noise, 1, g) == pytest.approx(np.log(marginal), abs=1e-7)


@pytest.mark.parametrize("g", [0.1, 3.0, 50.0])
def test_own_noise_against_quadrature(regression, g):
    n, factor, x, explained = regression
    length = np.sqrt(factor @ factor)

    def log_likelihood(b, log_variance):
        # The mean is integrated: n - 1 samples are left. The density 1/s is flat in log s.
        return -(n - 1) / 2 * log_variance - ((x - b * factor) ** 2).sum() / (2 * np.exp(log_variance))

    top = max(log_likelihood(explained**0.5 / length, t) for t in np.linspace(-4, 4, 81))

    def with_factor(z, t):  # b = z times its prior standard deviation
        b = z * np.sqrt(g) * np.exp(t / 2) / length
        return np.exp(log_likelihood(b, t) - top - z * z / 2) / np.sqrt(2 * np.pi)

    inside = dblquad(with_factor, -8, 8, -9, 9, epsabs=1e-9)[0]
    outside = quad(lambda t: np.exp(log_likelihood(0.0, t) - top), -8, 8)[0]
    share = np.array(explained / (x @ x))
    assert log_bayes_factor_own_noise(share, n, 1, g) == pytest.approx(np.log(inside / outside), abs=1e-5)


def test_a_factor_that_explains_nothing_is_charged():
    assert log_bayes_factor_own_noise(np.array(0.0), 30, 2, 10.0) == pytest.approx(-np.log(11.0))
    assert log_bayes_factor_common_units(np.array(0.0), 1.0, 2, 10.0) == pytest.approx(-np.log(11.0))


def test_many_samples_make_both_noise_models_agree():
    """With R2 small and n large, n R2 = E / s."""
    n, explained = 10**6, np.array([1.0, 5.0, 30.0])
    own = log_bayes_factor_own_noise(explained / n, n, 3, 20.0)
    np.testing.assert_allclose(own, log_bayes_factor_common_units(explained, 1.0, 3, 20.0), rtol=1e-3)


def test_g_maximises_the_mixture_on_its_grid():
    share = np.r_[np.full(5, 0.6), np.random.default_rng(1).beta(0.5, 10, 40)]

    def factor(g):
        return log_bayes_factor_own_noise(share, 30, 1, g)

    odds = prior_log_odds(5, 45)
    pi = probability(np.array(odds))
    likelihood = [np.log(1 - pi + pi * np.exp(factor(g))).sum() for g in GRID]
    assert best_g(factor, odds) == GRID[np.argmax(likelihood)]


@pytest.mark.parametrize("g", [0.1, 0.3, 5.0, 400.0, 3000.0])
def test_the_grid_of_g_is_wide_and_fine_enough(g):
    """A member whose share is what g makes of it loses less than 5 % of its evidence to the grid."""
    share = np.array(g / (1 + g))

    def value(at):
        return float(log_bayes_factor_own_noise(share, 200, 1, at))

    nearest = GRID[np.argmin(np.abs(np.log(GRID / g)))]
    best = max(value(at) for at in np.geomspace(0.05, 6000, 4000))
    assert max(nearest / g, g / nearest) <= 30000 ** (1 / 24) * (1 + 1e-12)
    assert value(best_g(lambda at: np.array([value(at)]), 0.0)) >= 0.95 * best


def test_g_of_nothing_is_the_smallest():
    assert best_g(lambda g: np.zeros(4), 0.0) == GRID[0]


def test_prior_odds_are_those_of_the_posterior_mean():
    assert prior_log_odds(3, 10) == pytest.approx(np.log((4 / 12) / (8 / 12)))
    assert np.isfinite(prior_log_odds(10, 10))
