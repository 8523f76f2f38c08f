"""The joint evidence: against brute-force integration over the loadings, other formulas, and its behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from gsppca.data import as_matrix
from gsppca.evidence.joint import (
    SPARE,
    components_evidence,
    has_passed_its_peak,
    log_choices,
    log_joint_evidence,
)
from gsppca.evidence.path import evidence_along
from gsppca.linalg.nested import NestedSpectra, SupportSpectrum


def factor_data(n, k, d, seed, length=1.5, p=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p or k))
    X[:, :k] += length * rng.normal(size=(n, d)) @ rng.normal(size=(d, k))
    return X - X.mean(axis=0)


def spectrum_of(X):
    values = np.linalg.eigvalsh(X.T @ X / len(X))[::-1][: min(X.shape[1], len(X) - 1)]
    return SupportSpectrum(values, len(values))


def log_likelihood(X, W, noise):
    """Scores integrated exactly: every row is Gaussian with covariance W W' + noise I."""
    covariance = W @ W.T + noise * np.eye(len(W))
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * (len(X) * log_det + np.trace(np.linalg.solve(covariance, X.T @ X)))


def estimates(X, d):
    """Noise variance and prior precision that the formula uses."""
    values = spectrum_of(X).leading
    k = X.shape[1]
    noise = values[d:].sum() / (k - d)
    return noise, k * d / (values[:d] - noise).sum()


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_one_factor_against_quadrature(k):
    X = factor_data(400, k, 1, seed=k)
    noise, precision = estimates(X, 1)
    formula = log_joint_evidence(spectrum_of(X), k, len(X), 1)[0]

    # With one factor the covariance inverts by hand: a plain sum over a grid of loadings, w and -w being the same.
    reach = 1.4 * math.sqrt(spectrum_of(X).leading[0])
    steps = [np.linspace(0, reach, 200)] + [np.linspace(-reach, reach, 400 if k == 2 else 200)] * (k - 1)
    grid = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, k)
    squares = (grid**2).sum(axis=1)
    second = X.T @ X
    log_det = k * math.log(2 * math.pi) + (k - 1) * math.log(noise) + np.log(noise + squares)
    inside = np.einsum("ij,jk,ik->i", grid, second, grid) / (noise * (noise + squares))
    log_values = -0.5 * (len(X) * log_det + np.trace(second) / noise - inside)
    log_values += 0.5 * k * math.log(precision / (2 * math.pi)) - 0.5 * precision * squares
    w = grid[len(grid) // 3]
    assert log_values[len(grid) // 3] == pytest.approx(
        log_likelihood(X, w[:, None], noise)
        + 0.5 * k * math.log(precision / (2 * math.pi))
        - 0.5 * precision * float(w @ w)
    )
    cell = sum(math.log(step[1] - step[0]) for step in steps)
    value = np.logaddexp.reduce(log_values) + cell + math.log(2)
    assert value == pytest.approx(formula, abs=0.02)


def hessian(function, x, h=1e-3):
    steps = h * np.eye(len(x))
    return np.array(
        [
            [
                (function(x + a + b) - function(x + a - b) - function(x - a + b) + function(x - a - b)) / (4 * h * h)
                for a in steps
            ]
            for b in steps
        ]
    )


def test_two_factors_against_importance_sampling():
    """W = L Q with L lower trapezoidal: the integrand does not see Q, whose volume is that of the orthogonal group."""
    n, k, d = 300, 4, 2
    X = factor_data(n, k, d, seed=5, length=2.0)
    noise, precision = estimates(X, d)
    places = np.tril_indices(k, 0, d)

    def log_integrand(entries):
        L = np.zeros((k, d))
        L[places] = entries
        diagonal = np.abs(np.diag(L[:d]))
        log_prior = 0.5 * k * d * math.log(precision / (2 * math.pi)) - 0.5 * precision * (L**2).sum()
        log_volume = ((d - 1 - np.arange(d)) * np.log(diagonal)).sum()
        return log_likelihood(X, L, noise) + log_prior + log_volume

    values, vectors = np.linalg.eigh(X.T @ X / n)
    W = vectors[:, ::-1][:, :d] * np.sqrt(values[::-1][:d] - noise)
    start = (W @ np.linalg.qr(W[:d].T)[0])[places]  # the rotation of PPCA's loadings that makes them trapezoidal
    mode = minimize(lambda e: -log_integrand(e), start, method="Nelder-Mead", options={"xatol": 1e-4}).x
    chol = np.linalg.cholesky(1.3 * np.linalg.inv(hessian(lambda e: -log_integrand(e), mode)))
    draws = np.random.default_rng(0).standard_normal((4000, len(mode)))
    log_proposal = -0.5 * (draws**2).sum(axis=1) - len(mode) / 2 * math.log(2 * math.pi) - np.log(np.diag(chol)).sum()
    weights = np.array([log_integrand(mode + chol @ z) for z in draws]) - log_proposal
    log_mean = np.logaddexp.reduce(weights) - math.log(len(draws))
    # Signs of the columns of L: the proposal covers one of 2^d, and Q over all of the group counts each 2^d times.
    group = sum(math.log(2) + i / 2 * math.log(math.pi) - gammaln(i / 2) for i in range(1, d + 1))
    formula = log_joint_evidence(spectrum_of(X), k, n, d)[d - 1]
    assert log_mean + group == pytest.approx(formula, abs=0.05)


def variational_bounds(X, d, noise, precision, n_rounds=200):
    """Mean-field bound of the same model, q(W) q(Y): both factors are Gaussian, in closed form given the other."""
    n, k = X.shape
    W, of_w = np.linalg.svd(X, full_matrices=False)[2][:d].T * 1.0, np.eye(d) / n
    bounds = []
    for _ in range(n_rounds):
        of_y = np.linalg.inv(np.eye(d) + (W.T @ W + k * of_w) / noise)
        Y = X @ W @ of_y / noise
        of_w = np.linalg.inv(precision * np.eye(d) + (Y.T @ Y + n * of_y) / noise)
        W = X.T @ Y @ of_w / noise
        scores, loadings = Y.T @ Y + n * of_y, W.T @ W + k * of_w  # second moments
        misfit = (X**2).sum() - 2 * (X * (Y @ W.T)).sum() + np.trace(scores @ loadings)
        value = -0.5 * n * k * math.log(2 * math.pi * noise) - misfit / (2 * noise)
        value += 0.5 * (n * d + n * np.linalg.slogdet(of_y)[1] - np.trace(scores))
        value += 0.5 * (
            k * d * (1 + math.log(precision)) + k * np.linalg.slogdet(of_w)[1] - precision * np.trace(loadings)
        )
        bounds.append(value)
    return np.array(bounds)


@pytest.mark.parametrize(("k", "d"), [(3, 1), (8, 1), (8, 2), (20, 3)])
def test_it_lies_above_the_variational_bound(k, d):
    """A bound is below the evidence; mean-field loses what scores and loadings share, some nats for each factor."""
    X = factor_data(400, k, d, seed=k)
    bounds = variational_bounds(X, d, *estimates(X, d))
    assert (np.diff(bounds) > -1e-8).all()
    gap = log_joint_evidence(spectrum_of(X), k, len(X), d)[d - 1] - bounds[-1]
    assert 0 < gap < 12 * d


def test_a_summed_up_spectrum_is_nearly_as_good():
    """Leading eigenvalues and two moments of the rest, against all of them."""
    X = factor_data(700, 300, 5, seed=1)
    full = spectrum_of(X)
    rest = full.leading[12:]
    short = SupportSpectrum(full.leading[:12], full.rank, float(rest.sum()), float((rest**2).sum()))
    a, b = (log_joint_evidence(s, 300, 700, 10) for s in (full, short))
    assert a.argmax() == b.argmax() == 4
    np.testing.assert_allclose(b[:5], a[:5], rtol=1e-6)


def shortened(spectrum, known):
    """The same with fewer eigenvalues known one by one."""
    rest = spectrum.leading[known:]
    return SupportSpectrum(spectrum.leading[:known], spectrum.rank, float(rest.sum()), float((rest**2).sum()))


def sectors(n, m, b, r, market, q, seed=0):
    """A market that all share, m sectors of b variables each, and q variables of noise."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - r) * rng.normal(size=(n, m * b)) + np.sqrt(r) * np.repeat(rng.normal(size=(n, m)), b, axis=1)
    X = np.hstack([X + market * rng.normal(size=(n, 1)), rng.normal(size=(n, q))])
    X -= X.mean(axis=0)
    return X / X.std(axis=0)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("b", [3, 6])
@pytest.mark.parametrize("r", [0.5, 0.8])
def test_no_peak_lies_behind_one_that_is_taken_for_passed(n, b, r):
    """Of forty equal factors one does not pay, and all do: the evidence falls by dozens and rises by thousands."""
    n_early, most = 0, 50
    for market in (0.5, 2.0, 4.0):
        X = sectors(n, 40, b, r, market, 300)
        full, size = spectrum_of(X), X.shape[1]
        best = components_evidence(shortened(full, most + SPARE), size, n, most)
        for known in range(3, most + SPARE):
            short = shortened(full, known)
            values = components_evidence(short, size, n, known - SPARE)
            if has_passed_its_peak(values, short, size, n, most):
                n_early += 1
                assert best.max() - best[values.argmax()] < 20.0  # that much is lost where eigenvalues are summed up
                break
    assert n_early > 0


def test_a_fall_before_the_peak_is_none():
    """By hundreds, and then it rises by more: a rule by the fall alone takes one component, where there are forty."""
    full = spectrum_of(sectors(1000, 40, 3, 0.5, 4.0, 0))
    values = components_evidence(full, 120, 1000, 60)
    assert values[:30].min() < values[0] - 500
    assert values.argmax() + 1 == 40
    for known in range(3, 42):
        short = shortened(full, known)
        assert not has_passed_its_peak(values[: known - SPARE], short, 120, 1000, 60)


def test_what_rounding_leaves_of_a_gap_between_components_does_not_show():
    """Components must not end between equal eigenvalues; with both of them, the evidence is the limit of small gaps."""
    values = np.array([9.0, 5.0, 5.0, 4.0, 0.3, 0.2, 0.1])
    found = []
    for gap in (0.0, 1e-15, 1e-12):
        apart = values + gap * np.array([0, 1, 0, 0, 0, 0, 0])
        found.append(log_joint_evidence(SupportSpectrum(apart, 7), 7, 60, 6))
    assert found[0][1] == -np.inf
    others = np.array([0, 2, 3, 4, 5])
    assert np.isfinite(found[0][others]).all()
    np.testing.assert_allclose(found[0][others], found[2][others], rtol=1e-9)
    np.testing.assert_allclose(found[1][others], found[2][others], rtol=1e-9)


def test_the_number_of_factors_is_found():
    for d in (1, 3, 6):
        X = factor_data(150, 30, d, seed=d)
        assert log_joint_evidence(spectrum_of(X), 30, 150, 10).argmax() + 1 == d


@pytest.mark.parametrize("own_noise", [True, False])
def test_it_rises_with_true_variables_and_falls_with_noise(own_noise):
    X = factor_data(120, 20, 3, seed=2, p=60)
    path = evidence_along(as_matrix(X), np.arange(60), np.arange(2, 61), 5, own_noise)
    values = dict(zip(path.sizes.tolist(), path.log_evidence.tolist(), strict=True))
    assert all(values[k + 1] > values[k] for k in range(5, 19))
    assert all(values[k + 1] < values[k] for k in range(20, 30))
    if not own_noise:  # standardised, the noise of the true variables differs: more factors stand for it
        assert path.dimensions[path.sizes.tolist().index(20)] == 3


@pytest.mark.parametrize("own_noise", [True, False])
def test_nothing_beats_the_empty_model_on_noise(own_noise):
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(50, 80))
        X -= X.mean(axis=0)
        order = np.argsort(-np.abs(np.linalg.svd(X)[2][0]))  # the best that noise has to offer
        path = evidence_along(as_matrix(X), order, np.arange(2, 81), 5, own_noise)
        assert (path.log_evidence - log_choices(80, path.sizes)).max() <= 0


def test_standardising_is_own_noise():
    X = factor_data(60, 10, 2, seed=3, p=30)
    uneven = X * np.exp(np.random.default_rng(0).normal(size=30))
    flat = [evidence_along(as_matrix(Z), np.arange(30), np.arange(2, 31), 4, True) for Z in (X, uneven)]
    np.testing.assert_allclose(flat[0].log_evidence, flat[1].log_evidence, rtol=1e-9)


@pytest.mark.parametrize("own_noise", [True, False])
def test_units_do_not_matter(own_noise):
    X = factor_data(60, 10, 2, seed=4, p=30)
    base, scaled = (evidence_along(as_matrix(Z), np.arange(30), np.arange(2, 31), 4, own_noise) for Z in (X, 1e5 * X))
    np.testing.assert_allclose(scaled.log_evidence, base.log_evidence, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize(("n", "p"), [(40, 90), (90, 40), (700, 30)])
def test_nested_spectra_are_those_of_the_columns(n, p):
    X = factor_data(n, 10, 2, seed=6, p=p)
    order = np.random.default_rng(1).permutation(p)
    spectra = NestedSpectra(as_matrix(X), order, 6)
    for size in [2, 7, p // 2, p, p // 3]:  # the last one goes back
        expected = np.linalg.svd(X[:, order[:size]], compute_uv=False)[: min(size, n - 1)] ** 2 / n
        np.testing.assert_allclose(spectra.at(size).leading, expected, rtol=1e-8)


def test_a_large_spectrum_is_summed_up():
    X = factor_data(600, 20, 2, seed=7, p=560)
    spectrum = NestedSpectra(as_matrix(X), np.arange(560), 6).at(560)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / 600
    np.testing.assert_allclose(spectrum.leading, values[:6], rtol=1e-9)
    assert spectrum.rank == 560
    assert spectrum.rest_sum == pytest.approx(values[6:].sum())
    assert spectrum.rest_squares == pytest.approx((values[6:] ** 2).sum())


def test_what_the_search_pays():
    assert log_choices(10, np.array([1, 3, 5, 9])) == pytest.approx(np.log([10, 120, 252, 252]))
