"""Algorithm 1 to the letter, as a recipe of options: the printed start, order of updates, and no acceleration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, kve

from gsppca import estimate_noise_variance, evidence_path, relaxed_vem
from gsppca.data import as_matrix
from gsppca.datasets import make_model_selection
from gsppca.linalg.spectrum import leading_spectrum
from gsppca.rankings.order import rank_variables, without_zeros
from gsppca.rankings.vem.em import em_step
from gsppca.rankings.vem.start import spectral_loadings, start_state
from tests.reference import literal_vem

# "Short VEM runs (with less than 5 iterations) on a small grid (typically {0.1, 1, 10})", eq. 13, 14, 15 in this order.
LITERAL = {"slab_unit": "absolute", "short_iterations": 4, "accelerate": False, "noise_first": True}


def literal_evidence(X, support, d, noise):
    """Theorem 3 with scipy's Bessel function, at the best slab rate, which a bounded search finds."""
    k = int(support.sum())
    r = np.linalg.norm(X[:, support], axis=1)
    nu = (k - d) / 2
    outside = -0.5 * (X[:, ~support] ** 2).sum() / noise - 0.5 * (~support).sum() * len(X) * np.log(2 * np.pi * noise)

    def active(log_alpha):
        alpha = np.exp(log_alpha)
        constant = (1 - (k + d) / 2) * np.log(2) - gammaln(d / 2) - k / 2 * np.log(np.pi) + (k + d) / 2 * log_alpha
        return np.sum(np.log(kve(nu, alpha * r)) - alpha * r - nu * np.log(r) + constant)

    best = minimize_scalar(lambda t: -active(t), bounds=(-6, 6), method="bounded", options={"xatol": 1e-10})
    return outside - best.fun


def recipe(X, d, **changes):
    """Algorithm 1: the relaxed model, variables with u = 0 discarded (section 2.7), the best of the nested supports."""
    noise = estimate_noise_variance(X, d)
    fit = relaxed_vem(X, d, noise_variance=noise, **(LITERAL | changes))
    order = rank_variables(fit.relevance, fit.explained, as_matrix(X).column_squares)
    order = without_zeros(order, fit.relevance)
    return fit, order, evidence_path(X, order, d, noise)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.nightly)]
)
def test_the_recipe_is_algorithm_1(factor_data, seed):
    """Loops over p covariance matrices and scipy's Bessel function give the same bounds, relevances and support."""
    X = factor_data(seed, n=30, p=14, d=2, q=5)[0]
    d, tol = 2, 1e-5
    fit, order, path = recipe(X, d, tol=tol)
    noise = estimate_noise_variance(X, d)
    loadings = spectral_loadings(leading_spectrum(as_matrix(X), d), noise).T
    full, bounds = literal_vem.algorithm_1(
        X, loadings, (0.1, 1.0, 10.0), noise, short_iterations=4, tol=tol, max_iter=1000
    )
    assert fit.n_iter == len(bounds)
    np.testing.assert_allclose(fit.bounds, bounds, rtol=1e-10)
    np.testing.assert_allclose(fit.relevance, full.u, atol=1e-8)

    centred = X - X.mean(axis=0)
    kept = np.argsort(-full.u, kind="stable")[: np.count_nonzero(np.round(full.u, 9))]  # the others are zero
    found = []
    for size in range(1, len(kept) + 1):
        nested = np.zeros(X.shape[1], dtype=bool)
        nested[kept[:size]] = True
        found.append(literal_evidence(centred, nested, d, noise))
    np.testing.assert_allclose(path.log_evidence, found, rtol=1e-9)
    chosen = order[: path.sizes[path.log_evidence.argmax()]]
    assert set(chosen) == set(kept[: int(np.argmax(found)) + 1])


@pytest.mark.parametrize(("n", "p", "d"), [(40, 25, 3), (15, 30, 4), (30, 12, 1)])
def test_a_step_in_the_printed_order_is_the_literal_step(factor_data, n, p, d):
    X = factor_data(0, n=n, p=p, d=d, q=max(2, p // 3))[0]
    matrix = as_matrix(X)
    state = start_state(spectral_loadings(leading_spectrum(matrix, d), 0.2), 1.3, 0.2)
    full = literal_vem.start(X, state.loading_mean.T, state.slab_rate, state.noise_variance)
    for _ in range(3):
        step = em_step(matrix, [state], noise_first=True)[0]
        state = step.state
        for update in literal_vem.PRINTED_ORDER:
            full = update(full)
        np.testing.assert_allclose(state.relevance, full.u, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.noise_variance, full.sigma2, rtol=1e-9)
        np.testing.assert_allclose(step.bound, literal_vem.bound(full), rtol=1e-11)


def test_the_printed_order_raises_the_bound_too(factor_data):
    X = factor_data(1)[0]
    for accelerate in (False, True):
        fit = relaxed_vem(X, 3, noise_first=True, accelerate=accelerate, tol=1e-9, max_iter=400)
        assert np.diff(fit.bounds).min() >= -1e-11 * abs(fit.bounds[-1])
    other = relaxed_vem(X, 3, tol=1e-9, max_iter=400)
    np.testing.assert_allclose(fit.bounds[-1], other.bounds[-1], rtol=1e-5)  # and ends at the same optimum


def test_means_before_covariances_lower_the_bound(factor_data):
    """Proposition 5 lists mu and m before Sigma and S; taken as an order, mu is not a maximiser any more."""
    X = factor_data(0)[0]
    matrix = as_matrix(X)
    loadings = spectral_loadings(leading_spectrum(matrix, 3), 0.2).T
    full = literal_vem.start(X, loadings, 0.1, 0.2)
    full = literal_vem.update_loadings(full)
    stale = literal_vem.replace(full, Sigma=np.eye(3), mu=full.X @ (full.u[:, None] * full.M) / full.sigma2)
    assert literal_vem.bound(stale) < literal_vem.bound(full)


def test_discarding_u_zero_shortens_the_path_and_nothing_else():
    """Section 2.7: variables with u = 0 come last in any case."""
    data = make_model_selection(66, noise="laplacian", random_state=0)
    fit, order, path = recipe(data.X, 10)
    assert 20 < len(order) < 150
    everything = rank_variables(fit.relevance, fit.explained, as_matrix(data.X).column_squares)
    whole = evidence_path(data.X, everything, 10, estimate_noise_variance(data.X, 10))
    np.testing.assert_array_equal(everything[: len(order)], order)
    np.testing.assert_allclose(whole.log_evidence[: len(order)], path.log_evidence, rtol=1e-12)
    assert whole.log_evidence.argmax() == path.log_evidence.argmax()


def test_one_variable_is_left_where_all_relevances_vanish():
    assert list(without_zeros(np.array([2, 0, 1]), np.zeros(3))) == [2]
