"""The evidence of a support: densities that are known otherwise, laws, and the solution of all sizes at once."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

from gsppca import estimate_noise_variance, evidence_path, kv_ratio
from gsppca.data import as_matrix
from gsppca.data.dense import DenseMatrix
from gsppca.evidence.row_norms import empty_evidence, evidence_along, inactive_part


def log_density(row, d, alpha):
    """Log of the noiseless density of a row of k active variables, in 40 digits (Theorem 2)."""
    with mpmath.workdps(40):
        k = len(row)
        r = mpmath.sqrt(sum(mpmath.mpf(float(x)) ** 2 for x in row))
        nu = mpmath.mpf(k - d) / 2
        value = mpmath.log(mpmath.besselk(nu, alpha * r)) - nu * mpmath.log(r)
        value += (1 - mpmath.mpf(k + d) / 2) * mpmath.log(2) - mpmath.loggamma(mpmath.mpf(d) / 2)
        value += -mpmath.mpf(k) / 2 * mpmath.log(mpmath.pi) + mpmath.mpf(k + d) / 2 * mpmath.log(alpha)
        return float(value)


def quick_log_density(r, k, d, alpha):
    """The same for norms r, with scipy, for small orders and arguments only."""
    nu = (k - d) / 2
    log_bessel = np.log(special.kve(nu, alpha * r)) - alpha * r
    constant = (1 - (k + d) / 2) * np.log(2) - special.gammaln(d / 2) - k / 2 * np.log(np.pi)
    return log_bessel - nu * np.log(r) + constant + (k + d) / 2 * np.log(alpha)


def literal_evidence(X, order, size, d, alpha, s1):
    """Sum of the log densities of the centred rows, active part in high precision, inactive part by scipy."""
    X = X - X.mean(axis=0)
    active, inactive = X[:, order[:size]], X[:, order[size:]]
    noise = stats.norm(scale=np.sqrt(s1)).logpdf(inactive).sum()
    return sum(log_density(row, d, alpha) for row in active) + noise


# The oracle itself is checked first.


def test_one_variable_two_axes_is_the_laplace_law():
    for x in (0.3, -2.0):
        np.testing.assert_allclose(log_density([x], 2, 1.7), stats.laplace(scale=1 / 1.7).logpdf(x), rtol=1e-14)


def test_one_variable_one_axis_is_k0():
    np.testing.assert_allclose(log_density([0.8], 1, 1.0), np.log(special.k0(0.8) / np.pi), rtol=1e-14)


def test_the_quick_density_is_the_exact_one():
    for k, d, r in [(1, 1, 0.3), (5, 2, 4.0), (2, 6, 1e-3)]:
        np.testing.assert_allclose(
            quick_log_density(r, k, d, 1.3), log_density([r] + [0.0] * (k - 1), d, 1.3), rtol=1e-13
        )


@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 3), (2, 1), (3, 2), (5, 2), (2, 6)])
def test_the_density_integrates_to_one_and_has_its_variance(k, d):
    """Over spheres: surface of radius r times density; E r^2 = k d / alpha^2."""
    alpha = 1.3
    surface = np.log(2) + k / 2 * np.log(np.pi) - special.gammaln(k / 2)

    def mass(r):
        return np.exp(surface + (k - 1) * np.log(r) + quick_log_density(r, k, d, alpha))

    total = integrate.quad(mass, 0, 60, limit=200, points=[0.01, 1, 10])[0]
    square = integrate.quad(lambda r: r * r * mass(r), 0, 60, limit=200, points=[0.01, 1, 10])[0]
    np.testing.assert_allclose(total, 1, rtol=1e-6)
    np.testing.assert_allclose(square, k * d / alpha**2, rtol=1e-6)


@pytest.mark.parametrize(("k", "d"), [(3, 2), (2, 5), (4, 1)])
def test_the_density_is_that_of_gaussian_loadings_times_gaussian_scores(k, d):
    """Kolmogorov-Smirnov test of 20,000 norms of W y against the density over spheres."""
    rng = np.random.default_rng(k + 10 * d)
    norms = np.linalg.norm(
        np.einsum("nkd,nd->nk", rng.standard_normal((20_000, k, d)), rng.standard_normal((20_000, d))), axis=1
    )
    surface = np.log(2) + k / 2 * np.log(np.pi) - special.gammaln(k / 2)
    grid = np.linspace(1e-4, 40, 3000)
    density = np.exp(surface + (k - 1) * np.log(grid) + quick_log_density(grid, k, d, 1.0))
    law = integrate.cumulative_simpson(density, x=grid, initial=0)
    result = stats.kstest(norms, lambda r: np.interp(r, grid, law))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize(("k", "d"), [(3, 2), (2, 5), (12, 4)])
def test_the_density_is_the_noiseless_limit_of_the_scale_mixture(k, d):
    """x | s ~ N(0, (s/alpha^2 + sigma^2) I), s ~ chi^2_d, by quadrature, sigma -> 0."""
    alpha, row = 0.9, np.random.default_rng(0).standard_normal(k) * 2
    square = row @ row
    log_constant = -d / 2 * np.log(2) - special.gammaln(d / 2)  # of the chi^2 density, written out: many calls

    def mixture(variance):
        def integrand(s):
            v = s / alpha**2 + variance
            log_normal = -k / 2 * np.log(2 * np.pi * v) - square / (2 * v)
            return np.exp(log_normal + log_constant + (d / 2 - 1) * np.log(s) - s / 2)

        return np.log(integrate.quad(integrand, 0, 200, limit=500, points=[0.1, 1, 5, 20], epsabs=0, epsrel=1e-11)[0])

    exact = log_density(row, d, alpha)
    np.testing.assert_allclose(mixture(0.0), exact, rtol=1e-8)
    errors = [abs(mixture(v) - exact) for v in (1e-1, 1e-2, 1e-3)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


# The path against the oracle.

SHAPES = [(8, 9, 3), (6, 14, 1), (6, 10, 5), (9, 7, 6)]


@pytest.mark.parametrize(("n", "p", "d"), SHAPES)
@pytest.mark.parametrize("variance", [0.3, "profile"])
def test_every_size_has_the_literal_evidence_at_a_rate_that_is_best(factor_data, n, p, d, variance):
    X, _ = factor_data(1, n=n, p=p, d=d, q=max(2, p // 2))
    order = np.random.default_rng(0).permutation(p)
    path = evidence_path(X, order, d, variance)
    np.testing.assert_array_equal(path.sizes, np.arange(1, p + 1))
    for size, value, alpha, s1 in zip(
        path.sizes, path.log_evidence, path.slab_rates, path.inactive_variances, strict=True
    ):
        np.testing.assert_allclose(value, literal_evidence(X, order, size, d, alpha, s1), rtol=1e-11, atol=1e-10)
        for step in (0.97, 1.03):
            assert literal_evidence(X, order, size, d, step * alpha, s1) < value
    if variance == "profile":
        centred = X - X.mean(axis=0)
        expected = [(centred[:, order[size:]] ** 2).mean() for size in path.sizes[:-1]]
        np.testing.assert_allclose(path.inactive_variances[:-1], expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_the_slope_vanishes_at_the_rate_found(d):
    """sum_i (d - w_i) = 0 to rounding, for all sizes of a larger problem, and whatever the start."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((60, 400)) * rng.uniform(0.2, 3, 400)
    order = np.arange(400)
    path = evidence_path(X, order, d, 1.0)
    Z = X - X.mean(axis=0)
    r = np.sqrt(np.cumsum(Z**2, axis=1))
    nu = (path.sizes - d) / 2
    t = path.slab_rates * r
    w = t * kv_ratio(nu, t)
    np.testing.assert_allclose((d - w).sum(axis=0) / (60 * d), 0, atol=1e-12)
    # Each size alone, from its own start, without neighbours.
    for size in (1, 2, 25, 26, 77, 399, 400):
        alone = evidence_path(X, order, d, 1.0, sizes=[size])
        np.testing.assert_allclose(alone.log_evidence[0], path.log_evidence[size - 1], rtol=1e-12)
        np.testing.assert_allclose(alone.slab_rates[0], path.slab_rates[size - 1], rtol=1e-11)


def test_sudden_changes_along_the_ranking_do_no_harm():
    """One variable of enormous, skewed variance in the middle."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 300)) * np.where(np.arange(300) == 150, 200.0, 1.0)
    X[:, 150] *= np.linspace(0, 3, 15) ** 4
    path = evidence_path(X, np.arange(300), 3, 1.0)
    for size in (1, 140, 150, 151, 152, 160, 300):
        alpha = path.slab_rates[size - 1]
        wanted = literal_evidence(X, np.arange(300), size, 3, alpha, 1.0)
        np.testing.assert_allclose(path.log_evidence[size - 1], wanted, rtol=1e-12)
        for step in (0.99, 1.01):
            assert literal_evidence(X, np.arange(300), size, 3, step * alpha, 1.0) < path.log_evidence[size - 1]


@pytest.mark.parametrize(("rows", "passes_wanted"), [(50, 1), (49, 2), (7, 2)])
def test_the_data_is_read_at_most_twice_for_all_sizes(monkeypatch, factor_data, rows, passes_wanted):
    X, _ = factor_data(0, n=50, p=200, d=5, q=30)
    wanted = evidence_path(X, np.arange(200), 5, 1.0)
    monkeypatch.setattr("gsppca.data.array.RADII_ROWS", rows)
    passes = []
    original = DenseMatrix.reduce_radii

    def counted(self, *arguments):
        passes.append(len(arguments[2]))
        return original(self, *arguments)

    monkeypatch.setattr(DenseMatrix, "reduce_radii", counted)
    path = evidence_path(X, np.arange(200), 5, 1.0)
    assert len(passes) == passes_wanted
    np.testing.assert_allclose(path.log_evidence, wanted.log_evidence, rtol=1e-13)
    np.testing.assert_allclose(path.slab_rates, wanted.slab_rates, rtol=1e-12)


def test_scaling_shifts_the_evidence_and_keeps_its_order(factor_data):
    X, _ = factor_data(0)
    order = np.argsort(-X.var(axis=0))
    for factor in (1e-100, 1e-3, 1e100):
        path, scaled = evidence_path(X, order, 3, 0.1), evidence_path(factor * X, order, 3, 0.1 * factor**2)
        shift = path.log_evidence - scaled.log_evidence
        np.testing.assert_allclose(shift, X.size * np.log(factor), rtol=1e-11)
        np.testing.assert_allclose(scaled.slab_rates * factor, path.slab_rates, rtol=1e-11)


def test_permuting_columns_with_their_ranks_changes_nothing(factor_data):
    X, _ = factor_data(0)
    order, permutation = np.argsort(-X.var(axis=0)), np.random.default_rng(0).permutation(25)
    path = evidence_path(X, order, 3, 0.1)
    permuted = evidence_path(X[:, permutation], np.argsort(permutation)[order], 3, 0.1)
    np.testing.assert_allclose(permuted.log_evidence, path.log_evidence, rtol=1e-13)


def test_a_ranking_of_the_first_variables_gives_the_start_of_the_path(factor_data):
    X, _ = factor_data(0)
    order = np.argsort(-X.var(axis=0))
    for variance in (0.1, "profile"):
        whole, first = evidence_path(X, order, 3, variance), evidence_path(X, order[:10], 3, variance)
        np.testing.assert_allclose(first.log_evidence, whole.log_evidence[:10], rtol=1e-12)


def test_progress_rises_to_all_sizes_and_no_further(factor_data):
    told = []
    matrix = as_matrix(factor_data(0, p=2000)[0])
    path = evidence_along(matrix, np.arange(2000), 3, None, np.arange(1, 2001), lambda *event: told.append(event))
    done = [count for count, total in told if total == 2000]
    assert len(path.sizes) == 2000 == done[-1]
    assert len(done) == len(told) > 1
    assert (np.diff([0, *done]) > 0).all()


def test_it_peaks_at_the_true_size(factor_data):
    X, support = factor_data(0, n=100, p=40, d=3, q=10, noise=0.3)
    order = np.concatenate([np.flatnonzero(support), np.flatnonzero(~support)])
    path = evidence_path(X, order, 3, estimate_noise_variance(X, 3))
    assert path.sizes[path.log_evidence.argmax()] == 10


@pytest.mark.parametrize("tiny", [0.0, 1e-12])
def test_a_zero_row_neither_breaks_nor_decides(factor_data, tiny):
    """Its density would be infinite: each size beyond d would gain without limit."""
    X, support = factor_data(0, n=61, p=40, d=3, q=10, noise=0.3)
    X -= X.mean(axis=0)
    X[0] = tiny * X[1]
    X[1:] -= X[1:].mean(axis=0) + X[0] / 60
    order = np.concatenate([np.flatnonzero(support), np.flatnonzero(~support)])
    path = evidence_path(X, order, 3, 0.09)
    without = evidence_path(X[1:], order, 3, 0.09)
    assert np.isfinite(path.log_evidence).all()
    assert path.sizes[path.log_evidence.argmax()] == without.sizes[without.log_evidence.argmax()] == 10
    # It counts as a row of noise on the support: about as much as one more such row adds.
    added = path.log_evidence - without.log_evidence
    assert np.abs(added).max() < 100


def test_the_evidence_of_the_authors(authors):
    """Given their ranking; their Bessel expansion is truncated, hence the tolerance."""
    X, d = authors["X"], int(authors["n_components"])
    order = np.argsort(-authors["relevance"], kind="stable")
    for noise in ("bias_corrected", "median"):
        wanted = authors[f"log_evidence_{noise}"]
        sizes = np.arange(d + 1, d + 1 + len(wanted))
        path = evidence_path(X, order, d, float(authors[f"noise_sd_{noise}"]) ** 2, sizes)
        np.testing.assert_allclose(path.log_evidence, wanted, atol=2e-4)
        np.testing.assert_allclose(path.log_evidence[40:], wanted[40:], atol=1e-5)
        assert sizes[path.log_evidence.argmax()] == authors[f"size_{noise}"]


@pytest.mark.parametrize("variance", [0.2, "profile"])
def test_constant_columns_are_no_variables(factor_data, variance):
    X, _ = factor_data(0)
    wide = np.hstack([X, np.ones((40, 3))])
    order = np.argsort(-X.var(axis=0))
    path, without = evidence_path(wide, np.r_[order, 25:28], 3, variance), evidence_path(X, order, 3, variance)
    np.testing.assert_allclose(path.log_evidence[:25], without.log_evidence, rtol=1e-12)
    assert np.isfinite(path.log_evidence).all()


@pytest.mark.parametrize("constant", [0, 2])
def test_the_noise_is_a_product_of_normal_densities(constant):
    """The empty model, and the variables outside a support: constant columns are no variables."""
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 6)) * np.arange(1, 7)
    X -= X.mean(axis=0)
    data = np.hstack([X[:, :3], np.full((9, constant), 7.0), X[:, 3:]])
    matrix = as_matrix(data)
    places = np.r_[0:3, 3 + constant : 6 + constant]
    for variance in (0.3, 2.0, 11.0):
        np.testing.assert_allclose(empty_evidence(matrix, variance), norm.logpdf(X, scale=np.sqrt(variance)).sum())
    # None is the best variance.
    best = max(norm.logpdf(X, scale=np.sqrt(s)).sum() for s in (X**2).mean() * np.geomspace(0.9, 1.1, 201))
    np.testing.assert_allclose(empty_evidence(matrix, None), best, rtol=1e-9)
    order = np.append(places[[4, 1, 5, 0]], np.arange(3, 3 + constant))  # two variables are not ranked
    sizes = np.arange(1, len(order) + 1)
    for variance in (0.7, None):
        found, variances = inactive_part(matrix, order, variance, sizes)
        for size, value, s in zip(sizes, found, variances, strict=True):
            outside = np.delete(X, [4, 1, 5, 0][: min(size, 4)], axis=1)
            assert s == pytest.approx(variance if variance is not None else (outside**2).mean())
            np.testing.assert_allclose(value, norm.logpdf(outside, scale=np.sqrt(s)).sum())
    everything, _ = inactive_part(matrix, places, None, np.array([6]))
    np.testing.assert_allclose(everything, 0.0)
