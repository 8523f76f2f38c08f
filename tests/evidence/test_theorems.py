"""Theorem 1 and Proposition 4 of the paper, by numerical integration and differences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats


def log_hankel(r, q, d, alpha, variance, exponent=0.5):
    """Log density of q active variables by the integral of Theorem 1; the paper prints the exponent 1."""
    with mpmath.workdps(20):

        def integrand(u):
            damping = mpmath.exp(-exponent * variance * u * u) / (1 + (u / alpha) ** 2) ** (mpmath.mpf(d) / 2)
            return u ** (mpmath.mpf(q) / 2) * damping * mpmath.besselj(mpmath.mpf(q) / 2 - 1, u * r)

        # The integrand oscillates with period 2 pi / r, and is negligible where the Gaussian is.
        end = 9 / mpmath.sqrt(variance)
        nodes = mpmath.linspace(0, end, int(end * r / 3) + 2)
        value = mpmath.quad(integrand, nodes)
        return float(
            mpmath.log(value) + (1 - mpmath.mpf(q) / 2) * mpmath.log(r) - mpmath.mpf(q) / 2 * mpmath.log(2 * mpmath.pi)
        )


def log_mixture(r, q, d, alpha, variance):
    """The same as a scale mixture of Gaussians."""

    def integrand(s):
        v = s / alpha**2 + variance
        return np.exp(-q / 2 * np.log(2 * np.pi * v) - r * r / (2 * v)) * stats.chi2(d).pdf(s)

    return np.log(integrate.quad(integrand, 0, 200, limit=500, points=[0.1, 1, 5, 20], epsabs=0, epsrel=1e-10)[0])


@pytest.mark.parametrize(
    ("q", "d", "variance"),
    [
        (3, 2, 0.5),
        pytest.param(5, 1, 0.3, marks=pytest.mark.nightly),
        pytest.param(2, 4, 1.0, marks=pytest.mark.nightly),
    ],
)
def test_the_integral_of_theorem_1_is_the_scale_mixture(q, d, variance):
    for r in (0.4, 1.7, 3.0):
        exact = log_mixture(r, q, d, 0.9, variance)
        np.testing.assert_allclose(log_hankel(r, q, d, 0.9, variance), exact, rtol=1e-7, atol=1e-8)
        assert abs(log_hankel(r, q, d, 0.9, variance, exponent=1.0) - exact) > 1e-3  # as printed


def log_evidence(alpha, r, k, d):
    """Log density of the row norms r as a function of alpha, without constants (Theorem 3)."""
    nu = (k - d) / 2
    return np.sum(np.log(special.kve(nu, alpha * r)) - alpha * r) + len(r) * (k + d) / 2 * np.log(alpha)


@pytest.mark.parametrize(("k", "d"), [(12, 3), (3, 3), (1, 3), (2, 9), (1, 20)])
def test_the_evidence_is_concave_in_the_slab_rate(k, d):
    """Proposition 4 is proved for k >= d; second differences are negative for k < d as well."""
    r = np.random.default_rng(k).gamma(2.0, size=25)
    alphas = np.geomspace(1e-2, 30, 200)
    for alpha in alphas:
        step = 1e-3 * alpha
        values = [log_evidence(alpha + shift * step, r, k, d) for shift in (-1, 0, 1)]
        assert values[0] - 2 * values[1] + values[2] < 0
