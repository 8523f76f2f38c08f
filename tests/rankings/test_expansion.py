"""Moves that let an EM iteration go further: each raises the bound, and none moves a fixed point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from gsppca import relaxed_vem
from gsppca.data import as_matrix
from gsppca.linalg.spectrum import leading_spectrum
from gsppca.linalg.turn import best_turn
from gsppca.rankings.vem.em import em_step
from gsppca.rankings.vem.expansion import FASTEST, likelier
from gsppca.rankings.vem.start import spectral_loadings, start_state
from tests.reference import literal_vem

SHAPES = [(40, 25, 3), (15, 30, 4), (60, 8, 2), (30, 12, 1), (20, 20, 3), (12, 20, 11)]


def first_state(X, d, noise=0.2):
    matrix = as_matrix(X)
    rate = np.sqrt(d * X.size / matrix.total_squares)
    return matrix, start_state(spectral_loadings(leading_spectrum(matrix, d), noise), rate, noise)


def part_of_bound(u, lam, squares, unit):
    x = u**2 / unit
    return sum(x * c / (1 + x * one) - np.log1p(x * one) for one, c in zip(lam, squares, strict=True))


def problem(d, spread, seed=0, p=2000):
    """Eigenvalues, squares and relevances of any size; some variables should vanish, some grow."""
    rng = np.random.default_rng(seed)
    lam = 100 * np.exp(spread * rng.standard_normal(d))
    strength = np.exp(1.5 * rng.standard_normal(p)) * np.where(rng.random((d, p)) < 0.2, 30, 1)
    squares = lam[:, None] * strength * rng.standard_normal((d, p)) ** 2
    return np.exp(0.5 * spread * rng.standard_normal(p)), lam, squares, 100.0


@pytest.mark.parametrize("d", [1, 2, 5, 10, 11])
@pytest.mark.parametrize("spread", [0.5, 3.0, 6.0])
def test_likelier_relevances_have_no_lower_bound(d, spread):
    u, lam, squares, unit = problem(d, spread)
    for _ in range(10):
        new = likelier(u, lam, squares, unit)
        before, after = (part_of_bound(one, lam, squares, unit) for one in (u, new))
        assert np.all(after >= before - 1e-10 * (1 + np.abs(before)))
        assert np.all(new >= 0.999 * np.sqrt(FASTEST) * u)
        u = new


def test_with_one_component_a_step_ends_at_the_maximum():
    """x lam = c / lam - 1 there, unless it is too far: a relevance falls by the factor of EM, or grows by twice it."""
    u, lam, squares, unit = problem(1, 0.5)
    best = (squares[0] / lam[0] - 1) / lam[0] * unit
    em = squares[0] / lam[0] / (1 + u**2 / unit * lam[0])
    lowest, highest = u * np.clip(em, np.sqrt(FASTEST), 1), u * np.maximum(2 * em, 1)
    new = likelier(u, lam, squares, unit)
    np.testing.assert_allclose(new**2, np.clip(best, lowest**2, highest**2), rtol=1e-9)
    assert np.isclose(new**2, best).mean() > 0.2


@pytest.mark.parametrize("d", [1, 2, 10])
def test_steps_end_at_a_maximum(d):
    """Where the bound is lower on both sides; or at u = 0, which is one only if the bound falls there."""
    u, lam, squares, unit = problem(d, 0.5)
    for _ in range(300):
        u = likelier(u, lam, squares, unit)
    low, top, high = (part_of_bound(u * by, lam, squares, unit) for by in (0.99, 1.0, 1.01))
    kept = (top > low) & (top > high)
    assert 0.4 < kept.mean() < 0.9
    vanished = u < 1e-3
    assert np.mean(kept | vanished) > 0.99  # a few are still on their way
    assert np.all((squares.sum(axis=0) < lam.sum())[vanished])


def test_a_relevance_of_zero_stays_and_none_becomes_zero():
    u, lam, squares, unit = problem(3, 0.5)
    u[:5] = 0.0
    squares[:, 5:10] = 0.0
    new = likelier(u, lam, squares, unit)
    assert np.all(new[:5] == 0)
    assert np.all(new[5:] > 0)


def moments(d, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((2, d, d)) * np.array([3.0, 0.5])[:, None, None]
    return [factor @ factor.T + 0.1 * np.eye(d) for factor in factors]


def turned_bound(L, T, V, n, p):
    """Of W L' and Y L^-1 with the best alpha, up to a constant."""
    d, inverse = len(L), np.linalg.inv(L)
    log_det = np.linalg.slogdet(L)[1]
    return -0.5 * np.trace(inverse.T @ T @ inverse) - (n - p) * log_det - 0.5 * p * d * np.log(np.trace(L @ V @ L.T))


@pytest.mark.parametrize(("n", "p"), [(10, 35), (30, 30), (50, 8), (50, 5000)])
@pytest.mark.parametrize("d", [1, 3])
def test_the_best_turn_is_where_a_search_ends(n, p, d):
    T, V = moments(d)
    L = best_turn(T, V, n, p)
    np.testing.assert_allclose(L, L.T, atol=1e-12 * np.abs(L).max())
    value = turned_bound(L, T, V, n, p)
    for start in (L, np.eye(d)):
        found = minimize(lambda flat: -turned_bound(flat.reshape(d, d), T, V, n, p), start.ravel(), method="BFGS")
        assert -found.fun <= value + 1e-6 * n * p
    assert -found.fun >= value - 1e-3
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert turned_bound(L @ (np.eye(d) + 1e-3 * rng.standard_normal((d, d))), T, V, n, p) <= value


@pytest.mark.parametrize(("n", "p", "d"), SHAPES)
@pytest.mark.parametrize("noise_first", [False, True])
def test_an_expanded_step_has_the_bound_of_its_state(factor_data, n, p, d, noise_first):
    """The moves made one after the other with p matrices and loops: the bound rises with each of them."""
    X = factor_data(0, n=n, p=p, d=d, q=max(2, p // 3))[0]
    matrix, state = first_state(X, d)
    full = literal_vem.start(X, state.loading_mean.T, state.slab_rate, state.noise_variance)
    for _ in range(3):
        step = em_step(matrix, [state], noise_first, None, True)[0]
        state, bounds = step.state, []
        for move in (literal_vem.update_scores, likelier_literally, literal_vem.update_loadings):
            full = move(full)
            bounds.append(literal_vem.bound(full))
        del bounds[1]  # of the new relevances with the loadings of the old
        for move in literal_order(noise_first):
            full = move(full)
            bounds.append(literal_vem.bound(full))
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])
        assert step.bound == pytest.approx(bounds[-1], rel=1e-11)
        assert state.relevance.max() == pytest.approx(1.0)
        np.testing.assert_allclose(state.relevance, full.u, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(state.slab_rate**2, full.alpha2, rtol=1e-8)
        np.testing.assert_allclose(state.noise_variance, full.sigma2, rtol=1e-8)
        np.testing.assert_allclose(state.loading_mean.T, full.M, rtol=1e-6, atol=1e-9)
        summed = np.einsum("k,kij->ij", full.u**2, full.S)
        np.testing.assert_allclose(state.weighted_loading_cov, summed, rtol=1e-7, atol=1e-10)


def likelier_literally(full):
    lam, basis = np.linalg.eigh(len(full.X) * full.Sigma + full.mu.T @ full.mu)
    squares = (basis.T @ full.mu.T @ full.X) ** 2 / full.sigma2
    return replace(full, u=likelier(full.u, lam, squares, full.alpha2 * full.sigma2))


def free_relevance(full):
    num, den = literal_vem._num_den(full)
    return replace(full, u=num / den)


def turn(full):
    n, p = full.X.shape
    T = n * full.Sigma + full.mu.T @ full.mu
    L = best_turn(T, full.M.T @ full.M + full.S.sum(axis=0), n, p)
    inverse = np.linalg.inv(L)
    full = replace(full, M=full.M @ L.T, S=L @ full.S @ L.T, mu=full.mu @ inverse, Sigma=inverse @ full.Sigma @ inverse)
    return literal_vem.update_slab(full)


def change_unit(full):
    c = full.u.max()
    return replace(full, u=full.u / c, M=full.M * c, S=full.S * c**2, alpha2=full.alpha2 / c**2)


def literal_order(noise_first):
    middle = (literal_vem.update_noise, free_relevance) if noise_first else (free_relevance, literal_vem.update_noise)
    return (*middle, literal_vem.update_slab, turn, change_unit)


@pytest.mark.parametrize(("n", "p", "d"), SHAPES[:4])
def test_the_end_of_an_expanded_run_is_a_fixed_point_of_em(factor_data, n, p, d):
    """An iteration as printed, relevances clipped at 1, leaves it where it is."""
    X = factor_data(0, n=n, p=p, d=d, q=max(2, p // 3))[0]
    matrix, state = first_state(X, d)
    for _ in range(2000):
        state = em_step(matrix, [state], False, None, True)[0].state
    for noise_first in (False, True):
        following = em_step(matrix, [state], noise_first)[0].state
        np.testing.assert_allclose(following.relevance, state.relevance, atol=1e-6)
        np.testing.assert_allclose(following.noise_variance, state.noise_variance, rtol=1e-8)
        np.testing.assert_allclose(following.slab_rate, state.slab_rate, rtol=1e-6)
        largest = np.abs(state.loading_mean).max()
        np.testing.assert_allclose(following.loading_mean, state.loading_mean, atol=1e-5 * largest)


def test_expanded_runs_end_higher_after_fewer_iterations(factor_data):
    for seed in range(5):
        X = factor_data(seed, n=60, p=80, d=3, q=20)[0]
        plain, fast = (relaxed_vem(X, 3, slab_rate=1.0, accelerate=one) for one in (False, True))
        assert fast.bounds[-1] > plain.bounds[-1]
        assert fast.n_iter < plain.n_iter / 2
