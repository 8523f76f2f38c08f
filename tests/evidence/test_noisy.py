"""The noisy evidence along a ranking: against sums over rows, the best rate, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gsppca.data import as_matrix
from gsppca.evidence.mixture import log_density
from gsppca.evidence.noisy import PROBED_COUNTS, _plan, noisy_evidence_along
from gsppca.evidence.row_norms import evidence_along

LAWS = ["gaussian", "cauchy", "one tiny row", "one huge row"]
SIZES = np.array([1, 2, 3, 6, 12, 30, 80, 150])


def rows_of(law, n=60, p=150):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 3, p)
    X[:, :30] += 2 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, 30))
    if law == "cauchy":
        X *= np.abs(rng.standard_cauchy((n, 1)))
    elif law == "one tiny row":
        X[0] *= 1e-6
    elif law == "one huge row":
        X[0] *= 1e5
    return X


def literal(X, order, size, d, log_alphas, variance, inactive_variance):
    """One sum over rows for each rate."""
    Z = X - X.mean(axis=0)
    squared = (Z[:, order[:size]] ** 2).sum(axis=1)
    active = log_density(np.array(float(size)), d, squared, log_alphas[:, None], np.array(variance))[0].sum(axis=1)
    return active + stats.norm(scale=np.sqrt(inactive_variance)).logpdf(Z[:, order[size:]]).sum()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "share"), [(1, 1e-3), (5, 1.0), (30, 1e-3), (30, 1.0)])
def test_every_size_has_the_literal_evidence_at_the_best_rate(law, d, share):
    """Sums over nodes are sums over rows, and no rate on a grid of three decades is better."""
    X = rows_of(law)
    matrix = as_matrix(X)
    order = np.argsort(-matrix.column_squares)
    variance = share * float(np.median(X.var(axis=0)))
    path = noisy_evidence_along(matrix, order, d, 1.0, SIZES, variance)
    for size, value, rate in zip(path.sizes, path.log_evidence, path.slab_rates, strict=True):
        factors = np.array([1, 0.97, 1.03, 0.03, 0.1, 0.3, 0.7, 1.4, 3, 10, 30])
        wanted, below, above, *others = literal(X, order, size, d, np.log(rate * factors), variance, 1.0)
        np.testing.assert_allclose(value, wanted, rtol=2e-10)
        assert max(below, above) < value
        assert max(others) < value + 1e-9 * abs(value)


def test_no_more_nodes_than_the_density_needs():
    """Few where all norms are alike, more where they spread; and they resolve what is between them."""
    np.testing.assert_array_equal(PROBED_COUNTS, 16 * 2 ** np.arange(5))
    sizes, d, variance = np.array([4, 40, 400]), 3, 0.5
    log_rates = np.log(np.full(3, 2.0))
    before = np.zeros(3)
    for spread in (1.01, 2.0, 30.0, 1e4):
        lowest, highest = sizes.astype(float), sizes * spread
        counts, shifts = _plan(sizes, d, log_rates, variance, lowest, highest)
        assert (counts >= before).all()
        before = counts
        for size, count, shift, low, high in zip(sizes, counts.tolist(), shifts, lowest, highest, strict=True):
            way, back = (np.log, np.exp) if shift == 0 else (np.asarray, np.asarray)
            centre, half = (way(high) + way(low)) / 2, (way(high) - way(low)) / 2

            def density(y, size=size, back=back, centre=centre, half=half):
                at = back(centre + half * np.asarray(y))
                return log_density(np.array(float(size)), d, at, np.array(np.log(2.0)), np.array(variance))[0]

            polynomial = np.polynomial.chebyshev.chebinterpolate(density, count - 1)
            y = np.linspace(-1, 1, 501)
            error = np.abs(np.polynomial.chebyshev.chebval(y, polynomial) - density(y)).max()
            assert error <= 1e-11 * np.abs(density(y)).max()
        if spread == 1.01:
            np.testing.assert_array_equal(counts, 16)
    assert counts.max() > 16


def test_it_tends_to_the_noiseless_evidence():
    X = rows_of("gaussian")
    matrix, order = as_matrix(X), np.arange(150)
    wanted = evidence_along(matrix, order, 3, None, SIZES)
    errors = []
    for variance in (1e-4, 1e-6, 1e-8):
        path = noisy_evidence_along(matrix, order, 3, None, SIZES, variance)
        np.testing.assert_array_equal(path.inactive_variances, wanted.inactive_variances)
        errors.append(np.abs(path.log_evidence - wanted.log_evidence).max())
    assert errors[0] > 20 * errors[1] > 400 * errors[2]
    np.testing.assert_allclose(path.slab_rates, wanted.slab_rates, rtol=1e-6)
    exact = noisy_evidence_along(matrix, order, 3, None, SIZES, 0.0)
    np.testing.assert_array_equal(exact.log_evidence, wanted.log_evidence)


def test_a_support_below_the_noise_is_noise():
    """The rate is infinite, and the evidence Gaussian."""
    X = 0.5 * np.random.default_rng(0).standard_normal((50, 40))
    path = noisy_evidence_along(as_matrix(X), np.arange(40), 3, 0.25, np.array([1, 10, 40]), 1.0)
    assert np.isinf(path.slab_rates).all()
    Z = X - X.mean(axis=0)
    for size, value in zip(path.sizes, path.log_evidence, strict=True):
        noise = stats.norm.logpdf(Z[:, :size]).sum() + stats.norm(scale=0.5).logpdf(Z[:, size:]).sum()
        np.testing.assert_allclose(value, noise, rtol=1e-12)


def test_a_little_signal_above_the_noise_is_found():
    rng = np.random.default_rng(0)
    loadings = 0.3 * rng.standard_normal((300, 20, 2))
    X = np.einsum("nkd,nd->nk", loadings, rng.standard_normal((300, 2))) + rng.standard_normal((300, 20))
    path = noisy_evidence_along(as_matrix(X), np.arange(20), 2, 1.0, np.array([20]), 1.0)
    assert 0.6 < path.slab_rates[0] * 0.3 < 1.6


def test_units_and_permutations():
    X = rows_of("gaussian")
    order = np.random.default_rng(1).permutation(150)
    told = []
    path = noisy_evidence_along(as_matrix(X), order, 4, 0.5, SIZES, 0.8, lambda *event: told.append(event))
    assert told[-1] == (len(SIZES), len(SIZES))
    for factor in (1e-50, 1e50):
        scaled = noisy_evidence_along(as_matrix(factor * X), order, 4, 0.5 * factor**2, SIZES, 0.8 * factor**2)
        np.testing.assert_allclose(path.log_evidence - scaled.log_evidence, X.size * np.log(factor), rtol=1e-10)
        np.testing.assert_allclose(scaled.slab_rates * factor, path.slab_rates, rtol=1e-6)
    permutation = np.random.default_rng(0).permutation(150)
    moved = noisy_evidence_along(as_matrix(X[:, permutation]), np.argsort(permutation)[order], 4, 0.5, SIZES, 0.8)
    np.testing.assert_allclose(moved.log_evidence, path.log_evidence, rtol=1e-11)
