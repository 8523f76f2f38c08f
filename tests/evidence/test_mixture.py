"""The density of a noisy row: against arbitrary precision, its limits, its mass and its moments."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

from gsppca.evidence.mixture import log_density


def density(k, d, squared, alpha, variance):
    found = log_density(np.asarray(k, float), d, np.asarray(squared, float), np.log(alpha), np.asarray(variance, float))
    return [float(value) if np.ndim(value) == 0 else value for value in found]


def exact_log_density(k, d, squared, alpha, variance):
    """Log density and slope by mpmath's quadrature in 20 digits, over s itself, cut where the integrand bends."""
    with mpmath.workdps(20):
        k, d, rho, alpha, tau = (mpmath.mpf(float(value)) for value in (k, d, squared, alpha, variance))
        rho, tau = rho * alpha**2, tau * alpha**2

        @cache  # both integrals take it at the same nodes
        def log_integrand(s):
            v = s + tau
            return -(k * mpmath.log(v) + rho / v + s) / 2 + (d / 2 - 1) * mpmath.log(s)

        # The peak of s times the integrand, on a grid of log s fine enough for any k here.
        grid = np.linspace(-45, 15, 6001)
        s, t = np.exp(grid), float(tau)
        logs = -0.5 * (float(k) * np.log(s + t) + float(rho) / (s + t) + s) + float(d) / 2 * grid
        inside = np.flatnonzero(logs > logs.max() - 70)
        low, high, peak = grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, 6000)], grid[logs.argmax()]
        height = log_integrand(mpmath.exp(peak))
        cuts = [peak + sign * 2.0**power for sign in (-1, 1) for power in range(-5, 6)]
        points = sorted({low, high, peak, *(cut for cut in cuts if low < cut < high)})
        points = [mpmath.exp(x) for x in points]
        # Below the range the integrand is a power of s.
        if inside[0] == 0:
            points = [mpmath.mpf(0), *points]
        mass = mpmath.quad(lambda s: mpmath.exp(log_integrand(s) - height), points)
        first = mpmath.quad(lambda s: s * mpmath.exp(log_integrand(s) - height), points)
        constant = k * mpmath.log(alpha) - k / 2 * mpmath.log(2 * mpmath.pi) - d / 2 * mpmath.log(2)
        value = height + mpmath.log(mass) + constant - mpmath.loggamma(d / 2)
        return float(value), float(d - first / mass)


SIZES = [(1, 1), (1, 2), (2, 50), (7, 3), (60, 1), (60, 20), (700, 5), (5000, 1), (5000, 10), (5000, 50)]
NORMS = [(1.0, 1e-4), (0.02, 1.0), (1.05, 1.0), (4.0, 30.0), (30.0, 1e3), (0.9, 1e5)]
# The integrals take long: every second cell of the table, as on a chessboard; each row and column has its share.
GRID = [(k, d, *norm) for i, (k, d) in enumerate(SIZES) for j, norm in enumerate(NORMS) if (i + j) % 2 == 0]


@pytest.mark.parametrize(("k", "d", "ratio", "tau"), GRID)
def test_the_density_is_the_integral(k, d, ratio, tau):
    """From nearly no noise (tau = alpha^2 sigma^2) to little but noise; norms below, at and above their mean."""
    alpha = 1.7
    variance = tau / alpha**2
    squared = ratio * k * (d / alpha**2 + variance)
    value, slope, _ = density(k, d, squared, alpha, variance)
    wanted, wanted_slope = exact_log_density(k, d, squared, alpha, variance)
    assert abs(value - wanted) < 1e-10 * max(1.0, abs(wanted))
    assert abs(value - wanted) < 1e-8
    assert abs(slope - wanted_slope) < 1e-8 * d


def test_derivatives_are_those_of_the_density():
    """Central differences of the value, and of the slope."""
    step = 1e-4
    for k, d, squared, alpha, variance in [(3, 2, 4.0, 1.0, 0.5), (40, 1, 90.0, 0.3, 2.0), (400, 12, 300.0, 3.0, 0.4)]:
        _, slope, curvature = density(k, d, squared, alpha, variance)
        up = density(k, d, squared, alpha * np.exp(step), variance)
        down = density(k, d, squared, alpha * np.exp(-step), variance)
        np.testing.assert_allclose((up[0] - down[0]) / (2 * step), slope, rtol=1e-6)
        np.testing.assert_allclose((up[1] - down[1]) / (2 * step), curvature, rtol=1e-6)


def bessel_log_density(k, d, squared, alpha):
    """Theorem 2, for small orders."""
    r, nu = np.sqrt(squared), (k - d) / 2
    bessel = np.log(special.kve(nu, alpha * r)) - alpha * r - nu * np.log(r)
    return (
        bessel
        + (1 - (k + d) / 2) * np.log(2)
        - special.gammaln(d / 2)
        - k / 2 * np.log(np.pi)
        + (k + d) / 2 * np.log(alpha)
    )


@pytest.mark.parametrize(("k", "d"), [(1, 3), (4, 4), (9, 2), (30, 10)])
def test_without_noise_it_is_the_bessel_density(k, d):
    """The error vanishes with the variance of the noise, in proportion."""
    squared = np.array([0.3, 1.0, 3.0]) * k * d
    wanted = bessel_log_density(k, d, squared, 1.0)
    errors = [np.abs(density(k, d, squared, 1.0, s)[0] - wanted).max() for s in (1e-3, 1e-5, 1e-7)]
    assert errors[0] > 20 * errors[1] > 400 * errors[2]
    np.testing.assert_allclose(density(k, d, squared, 1.0, 1e-14)[0], wanted, rtol=1e-11)


def test_without_signal_it_is_gaussian():
    for k, d in [(1, 1), (20, 3), (3000, 10)]:
        squared = np.array([0.5, 1.0, 1.1]) * k * 0.7
        gaussian = -k / 2 * np.log(2 * np.pi * 0.7) - squared / (2 * 0.7)
        np.testing.assert_allclose(density(k, d, squared, 1e7, 0.7)[0], gaussian, rtol=1e-9)


@pytest.mark.parametrize(("k", "d", "variance"), [(1, 1, 0.1), (2, 1, 1.0), (3, 5, 0.02), (8, 2, 3.0)])
def test_it_integrates_to_one_and_has_its_variance(k, d, variance):
    """Over spheres; E |x|^2 = k (d / alpha^2 + sigma^2)."""
    alpha = 1.3
    surface = np.log(2) + k / 2 * np.log(np.pi) - special.gammaln(k / 2)

    def mass(r):
        return np.exp(surface + (k - 1) * np.log(r) + density(k, d, r * r, alpha, variance)[0])

    options = {"limit": 200, "points": [0.01, 0.1, 1, 10], "epsrel": 1e-11}
    np.testing.assert_allclose(integrate.quad(mass, 0, 60, **options)[0], 1, rtol=1e-8)
    second = integrate.quad(lambda r: r * r * mass(r), 0, 60, **options)[0]
    np.testing.assert_allclose(second, k * (d / alpha**2 + variance), rtol=1e-8)


def test_it_is_the_law_of_loadings_times_scores_plus_noise():
    rng = np.random.default_rng(0)
    k, d = 3, 2
    draws = np.einsum("nkd,nd->nk", rng.standard_normal((20_000, k, d)), rng.standard_normal((20_000, d)))
    norms = np.linalg.norm(draws + 0.8 * rng.standard_normal((20_000, k)), axis=1)
    grid = np.linspace(1e-4, 40, 3000)
    surface = np.log(2) + k / 2 * np.log(np.pi) - special.gammaln(k / 2)
    masses = np.exp(surface + (k - 1) * np.log(grid) + density(k, d, grid**2, 1.0, 0.64)[0])
    law = integrate.cumulative_simpson(masses, x=grid, initial=0)
    assert stats.kstest(norms, lambda r: np.interp(r, grid, law)).pvalue > 1e-3


def test_many_at_once_are_as_each_alone_and_a_zero_row_is_finite():
    rng = np.random.default_rng(0)
    k = rng.integers(1, 300, (5, 7)).astype(float)
    squared, variance = rng.exponential(k), rng.exponential(1, (5, 7))
    squared[0, 0] = 0.0
    together = log_density(k, 4, squared, np.array(0.3), variance)
    assert np.isfinite(together).all()
    for index in np.ndindex(5, 7):
        alone = log_density(k[index], 4, squared[index], np.array(0.3), variance[index])
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one, other[index], rtol=1e-9)


def test_units_shift_the_logarithm():
    for factor in (1e-60, 1e60):
        value, slope, curvature = density(30, 4, 50.0, 0.8, 0.3)
        scaled = density(30, 4, 50.0 * factor**2, 0.8 / factor, 0.3 * factor**2)
        np.testing.assert_allclose(scaled[0], value - 30 * np.log(factor), rtol=1e-11)
        np.testing.assert_allclose(scaled[1:], [slope, curvature], rtol=1e-9)
