"""The EM of the observed entries: literal loops over entries with full matrices, the best covariances, and laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gsppca.components import observed_em
from gsppca.components.gappy import Gappy
from gsppca.components.observed_em import Moments, em_step, extrapolate, missing_variance, run, start
from gsppca.linalg import conjugate


def gappy(seed=0, n=15, p=7, d=2, share=0.2, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, p)) + noise * rng.standard_normal((n, p))
    missing = rng.random((n, p)) < share
    missing[np.arange(n), rng.integers(p, size=n)] = False
    missing[:2] = False
    return np.where(missing, np.nan, X - np.where(missing, np.nan, X).mean(axis=0, where=~missing)), missing


def data_of(X):
    return Gappy(np.nan_to_num(X), np.isnan(X))


def after(X, d, n_steps):
    data = data_of(X)
    state = start(data, d)
    for _ in range(n_steps):
        state = em_step(data, state)
    return data, state


def covs_of(moments: Moments):
    return np.array([moments.axes @ np.diag(v) @ moments.axes.T for v in moments.variances])


def literal_bound(X, z, C, w, S, m, t, a):
    """The lower bound by its definition."""
    n, p = X.shape
    d = z.shape[1]
    bound = 0.0
    for i, j in np.argwhere(~np.isnan(X)):
        rest = X[i, j] - m[j]
        second = np.trace((np.outer(w[j], w[j]) + S[j]) @ (np.outer(z[i], z[i]) + C[i]))
        bound -= 0.5 * np.log(2 * np.pi * t) + (rest**2 - 2 * rest * w[j] @ z[i] + second) / (2 * t)
    for i in range(n):
        bound += 0.5 * (np.linalg.slogdet(C[i])[1] + d - np.trace(C[i]) - z[i] @ z[i])
    for j in range(p):
        square = w[j] @ w[j] + np.trace(S[j])
        bound += 0.5 * (np.linalg.slogdet(S[j])[1] + d - square / a[j] - d * np.log(a[j]))
    return bound


def best_rest(X, z, C, w, S):
    """Offsets, noise variance and slab variances that maximise the bound, given the rest."""
    seen = ~np.isnan(X)
    fits = z @ w.T
    m = np.mean(X - fits, axis=0, where=seen)
    second = np.einsum("jab,iba->ij", np.einsum("ja,jb->jab", w, w) + S, np.einsum("ia,ib->iab", z, z) + C)
    t = np.mean((X - m) ** 2 - 2 * (X - m) * fits + second, where=seen)
    return m, t, (np.sum(w**2, axis=1) + np.trace(S, axis1=1, axis2=2)) / w.shape[1]


def literal_side(X, t, prior, own, other, other_covs, axes):
    """One side of `_posterior`, vector by vector: rows of X are `own`, `axes` None for those of the sum over all."""
    d = own.shape[1]
    whole = sum(np.outer(v, v) + S for v, S in zip(other, other_covs, strict=True))
    axes = np.linalg.eigh(whole)[1] if axes is None else axes
    means, covs = np.zeros_like(own), np.zeros((len(own), d, d))
    for i in range(len(own)):
        precision, pull = prior[i] * np.eye(d), np.zeros(d)
        for j in range(len(other)):
            if np.isnan(X[i, j]):
                continue
            pull += other[j] * X[i, j] / t
            precision += (np.outer(other[j], other[j]) + other_covs[j]) / t
        covs[i] = axes @ np.diag(1 / np.diag(axes.T @ precision @ axes)) @ axes.T
        means[i] = np.linalg.solve(precision, pull)
    return means, covs


@pytest.mark.parametrize("turn", [True, False])
@pytest.mark.parametrize("shape", [(15, 7, 2), (8, 20, 3)])
def test_a_step_is_the_literal_one(monkeypatch, shape, turn):
    """With conjugate gradients to the end."""
    monkeypatch.setattr(conjugate, "GOOD", 0.0)
    monkeypatch.setattr(conjugate, "MOST", 30)
    n, p, d = shape
    X, _ = gappy(n=n, p=p)
    data, old = after(X, d, 3)
    new = em_step(data, old, turn)
    z, w, m, t = old.scores.means, old.loadings.means, old.offset, old.noise
    np.testing.assert_allclose(old.expected, (z @ w.T)[np.isnan(X)], rtol=1e-10)
    kept = (None, None) if turn else (old.scores.axes, old.loadings.axes)
    rest = X - m
    z, C = literal_side(rest, t, np.ones(n), z, w, covs_of(old.loadings), kept[0])
    w, S = literal_side(rest.T, t, 1 / old.slabs, w, z, C, kept[1])
    m, t, a = best_rest(X, z, C, w, S)
    np.testing.assert_allclose(new.scores.means, z, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(covs_of(new.scores), C, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(new.loadings.means, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(covs_of(new.loadings), S, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(new.offset, m, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(new.noise, t, rtol=1e-9)
    np.testing.assert_allclose(new.slabs, a, rtol=1e-9)
    np.testing.assert_allclose(new.bound, literal_bound(X, z, C, w, S, m, t, a), rtol=1e-9)
    variance = np.zeros(p)
    for i, j in np.argwhere(np.isnan(X)):
        second = np.trace((np.outer(w[j], w[j]) + S[j]) @ (np.outer(z[i], z[i]) + C[i]))
        variance[j] += second - (w[j] @ z[i]) ** 2 + t
    np.testing.assert_allclose(missing_variance(data, new), variance, rtol=1e-8, atol=1e-12)


def best_iteration(X, z, w, S, m, t, a):
    """The formulas at the head of the module, with a matrix of its own for each row and column."""
    d, seen = w.shape[1], ~np.isnan(X)
    rest = np.nan_to_num(X - m)
    seconds = np.einsum("ja,jb->jab", w, w) + S
    C = np.linalg.inv(np.eye(d) + np.einsum("ij,jab->iab", seen, seconds) / t)
    z = np.einsum("iab,jb,ij->ia", C, w, rest) / t
    seconds = np.einsum("ia,ib->iab", z, z) + C
    S = np.linalg.inv(np.eye(d) / a[:, None, None] + np.einsum("ij,iab->jab", seen, seconds) / t)
    w = np.einsum("jab,ib,ij->ja", S, z, rest) / t
    return (z, C, w, S, *best_rest(X, z, C, w, S))


def test_without_gaps_a_step_is_the_best():
    """Shared axes cost nothing, and the means move all the way."""
    X, _ = gappy(share=0.0)
    data, old = after(X, 3, 3)
    new = em_step(data, old)
    found = best_iteration(
        X, old.scores.means, old.loadings.means, covs_of(old.loadings), old.offset, old.noise, old.slabs
    )
    ours = (new.scores.means, covs_of(new.scores), new.loadings.means, covs_of(new.loadings), new.offset, new.noise)
    for mine, best in zip(ours, found, strict=False):
        np.testing.assert_allclose(mine, best, rtol=1e-7, atol=1e-9)
    assert missing_variance(data, new).max() == 0


@pytest.mark.parametrize(("share", "lost", "moved"), [(0.05, 0.002, 0.01), (0.25, 0.01, 0.03)])
def test_shared_axes_lose_little(share, lost, moved):
    """Full covariances, from where ours end: the bound per entry rises a little, the filled values hardly move."""
    X, missing = gappy(5, n=40, p=12, share=share)
    data = data_of(X)
    state, bounds, converged = run(data, 2, 5000, 1e-10)
    assert converged
    z, w, S, m, t, a = (
        state.scores.means,
        state.loadings.means,
        covs_of(state.loadings),
        state.offset,
        state.noise,
        state.slabs,
    )
    for _ in range(40):
        z, C, w, S, m, t, a = best_iteration(X, z, w, S, m, t, a)
    gain = (literal_bound(X, z, C, w, S, m, t, a) - bounds[-1]) / data.n_observed
    assert 0 < gain < lost
    change = (m + z @ w.T)[missing] - (state.offset + state.scores.means @ state.loadings.means.T)[missing]
    assert np.sqrt(np.mean(change**2)) < moved * np.nanstd(X)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_step_with_the_axes_kept_never_lowers_the_bound(share):
    """Whatever the state: after a few iterations, extrapolated, or with axes that fit nothing."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        X, _ = gappy(seed, n=12, p=9, share=share)
        data = data_of(X)
        states = [start(data, 4)]
        for _ in range(3):
            states.append(em_step(data, states[-1]))
        state = em_step(data, extrapolate(data, states[1:], 20.0)[0])
        axes = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        turned = Moments(state.loadings.means, state.loadings.variances, axes)
        odd = em_step(data, replace(state, loadings=turned), turn=False)
        for one in (state, odd):
            bounds = [one.bound]
            for _ in range(6):
                one = em_step(data, one, turn=False)
                bounds.append(one.bound)
            assert np.diff(bounds).min() >= -1e-10 * np.abs(bounds).max()


@pytest.mark.parametrize("shape", [(12, 9, 4), (30, 6, 5), (8, 40, 6)])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_record_of_a_run_never_falls(shape, share):
    n, p, d = shape
    for seed in range(4):
        X, _ = gappy(seed, n, p, share=share)
        state, bounds, _ = run(data_of(X), d, 100, 0.0)
        assert np.diff(bounds).min() >= 0
        assert state.bound == bounds[-1]


def test_a_run_goes_on_where_new_axes_would_lower_the_bound(monkeypatch):
    """Then the axes are kept, and the bound still rises."""
    kept = []

    def watched(data, old, turn=True):
        new = em_step(data, old, turn)
        if not turn:
            kept.append(new.bound - old.bound)
        return new

    monkeypatch.setattr(observed_em, "em_step", watched)
    for seed in range(6):
        run(data_of(gappy(seed, 30, 6, share=0.5)[0]), 5, 100, 1e-6)
    assert max(kept) > 1e-4
