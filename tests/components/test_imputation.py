"""Missing entries: what the model expects of them, by literal loops and by Gaussian conditioning, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from gsppca import GSPPCA
from gsppca.components import observed_em
from gsppca.components.imputation import impute
from gsppca.components.observed_em import Observed, advance, loading_covs, missing_variance, run, start
from gsppca.datasets import make_noise_range
from gsppca.linalg.triangles import Triangles


def gappy(seed=0, n=40, p=12, d=2, share=0.15, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, p)) + noise * rng.standard_normal((n, p)) + 3
    missing = rng.random((n, p)) < share
    missing[np.arange(n), rng.integers(p, size=n)] = False
    missing[:2] = False
    return X, np.where(missing, np.nan, X), missing


def literal_iteration(X, offset, loadings, covs, slabs, noise):
    """One round of the updates of the module's head, entry by entry; and its bound by the definition."""
    n, p = X.shape
    d = loadings.shape[1]
    seen = ~np.isnan(X)
    scores, score_covs = np.zeros((n, d)), np.zeros((n, d, d))
    for i in range(n):
        precision, pull = np.eye(d), np.zeros(d)
        for j in np.flatnonzero(seen[i]):
            precision += (np.outer(loadings[j], loadings[j]) + covs[j]) / noise
            pull += loadings[j] * (X[i, j] - offset[j]) / noise
        score_covs[i] = np.linalg.inv(precision)
        scores[i] = score_covs[i] @ pull
    loadings, covs, slabs = loadings.copy(), covs.copy(), slabs.copy()
    for j in range(p):
        precision, pull = np.eye(d) / slabs[j], np.zeros(d)
        for i in np.flatnonzero(seen[:, j]):
            precision += (np.outer(scores[i], scores[i]) + score_covs[i]) / noise
            pull += scores[i] * (X[i, j] - offset[j]) / noise
        covs[j] = np.linalg.inv(precision)
        loadings[j] = covs[j] @ pull
        slabs[j] = (loadings[j] @ loadings[j] + np.trace(covs[j])) / d
    offset = np.array(
        [np.mean([X[i, j] - loadings[j] @ scores[i] for i in np.flatnonzero(seen[:, j])]) for j in range(p)]
    )
    residual = 0.0
    for i, j in np.argwhere(seen):
        second = np.outer(scores[i], scores[i]) + score_covs[i]
        rest = X[i, j] - offset[j]
        residual += rest**2 - 2 * rest * loadings[j] @ scores[i]
        residual += np.trace((np.outer(loadings[j], loadings[j]) + covs[j]) @ second)
    noise = residual / seen.sum()
    bound = -0.5 * seen.sum() * np.log(2 * np.pi * noise) - residual / (2 * noise)
    for i in range(n):
        bound += 0.5 * (np.linalg.slogdet(score_covs[i])[1] + d - np.trace(score_covs[i]) - scores[i] @ scores[i])
    for j in range(p):
        square = loadings[j] @ loadings[j] + np.trace(covs[j])
        bound += 0.5 * (np.linalg.slogdet(covs[j])[1] + d - square / slabs[j] - d * np.log(slabs[j]))
    return offset, loadings, covs, slabs, noise, scores, score_covs, bound


def observed(X):
    """Data of the EM: columns about the means of what is observed, in one unit."""
    missing = np.isnan(X)
    centred = np.where(missing, 0.0, X - np.nanmean(X, axis=0))
    return Observed(centred / np.sqrt((centred**2).sum() / (~missing).sum()), missing)


@pytest.mark.parametrize("d", [2, 13])  # below and above the order from which LAPACK is called for each matrix
def test_the_updates_are_the_literal_ones(d, monkeypatch):
    """From the state after three iterations, a fourth without moves, and in blocks."""
    monkeypatch.setattr(observed_em, "BLOCK", 300)
    _, X, _ = gappy(n=30, p=17)
    data, tri = observed(X), Triangles(d)
    state = run(data, d, 3, 0)[0]
    after = advance(data, state, bold=False, turn=False)
    holed = np.where(np.isnan(X), np.nan, data.centred)
    start = (state.offset, state.loadings, tri.whole(loading_covs(data, state)), state.slabs, state.noise)
    offset, loadings, covs, slabs, noise, scores, score_covs, bound = literal_iteration(holed, *start)
    np.testing.assert_allclose(after.offset, offset, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(after.loadings, loadings, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(tri.whole(loading_covs(data, after)), covs, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(after.scores.means, scores, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(tri.whole(after.scores.covs), score_covs, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(after.slabs, slabs, rtol=1e-9)
    np.testing.assert_allclose(after.noise, noise, rtol=1e-10)
    np.testing.assert_allclose(after.bound, bound, rtol=1e-10)
    variance = np.zeros(17)
    for i, j in np.argwhere(np.isnan(X)):
        second = np.outer(scores[i], scores[i]) + score_covs[i]
        around = np.trace((np.outer(loadings[j], loadings[j]) + covs[j]) @ second) - (loadings[j] @ scores[i]) ** 2
        variance[j] += around + noise
    np.testing.assert_allclose(missing_variance(data, after, loading_covs(data, after)), variance, rtol=1e-8)


@pytest.mark.parametrize("standardise", [False, True])
def test_what_is_handed_back_is_in_the_units_of_the_data(standardise):
    _, X, missing = gappy(n=30, p=9)
    fitted = impute(X, 2, standardise=standardise)
    scale = fitted.scale
    spread = scale if standardise else np.full(9, scale[0])
    np.testing.assert_allclose(scale, np.nanstd(X, axis=0) if standardise else spread, rtol=1e-10)
    np.testing.assert_allclose(fitted.fill(X), fitted.X, atol=0.01)
    counts = missing.sum(axis=0)
    assert (fitted.missing_variance >= counts * fitted.noise_variance * scale**2).all()
    assert (fitted.missing_variance <= 1.2 * counts * np.nanvar(X, axis=0)).all()


@pytest.mark.parametrize("shape", [(40, 12, 2), (15, 60, 3), (60, 10, 8)])
def test_the_moves_change_no_fixed_point(shape):
    """EM as in the head of the module, without end, ends where the EM that goes further does."""
    n, p, d = shape
    _, X, missing = gappy(3, n, p, 2)
    data = observed(X)
    fast, bounds, converged = run(data, d, 5000, 1e-12)
    assert converged
    slow = fast  # a fixed point of one stays one of the other
    for _ in range(20):
        slow = advance(data, slow, bold=False, turn=False)
    np.testing.assert_allclose(slow.bound, bounds[-1], rtol=0, atol=1e-8 * n * p)
    ends, again = ((one.scores.means @ one.loadings.T + one.offset)[missing] for one in (fast, slow))
    np.testing.assert_allclose(again, ends, atol=1e-3)
    plain = start(data, d)
    for _ in range(3000):
        plain = advance(data, plain, bold=False, turn=False)
    assert plain.bound <= bounds[-1] + 1e-7 * n * p
    np.testing.assert_allclose((plain.scores.means @ plain.loadings.T + plain.offset)[missing], ends, atol=0.02)
    assert len(bounds) < 3000


def test_each_move_raises_the_bound():
    """The turn always; slabs only sometimes do not, and are taken back."""
    data = observed(gappy(4, 30, 25, 3)[1])
    state = run(data, 6, 2, 0)[0]
    for _ in range(10):
        plain = advance(data, state, bold=False, turn=False).bound
        turned = advance(data, state, bold=False).bound
        bold = advance(data, state).bound
        assert state.bound < plain <= turned + 1e-9 * abs(turned)
        assert bold > state.bound
        state = advance(data, state)


def test_a_bold_iteration_that_falls_is_taken_again(monkeypatch):
    data = observed(gappy(4)[1])
    wanted = [state.bound for state in _plain_path(data, 2, 12)]
    monkeypatch.setattr(observed_em, "_bolder", lambda a, *_: np.full(len(a), 1e-9))
    np.testing.assert_allclose(run(data, 2, 12, -1.0)[1][1:], wanted[1:], rtol=1e-10)


def _plain_path(data, d, n_iter):
    state = start(data, d)
    for _ in range(n_iter):
        state = advance(data, state, bold=False)
        yield state


@pytest.mark.parametrize("shape", [(40, 12, 2), (15, 60, 3), (60, 10, 8)])
@pytest.mark.parametrize("standardise", [False, True])
def test_the_bound_never_falls_and_settles(shape, standardise):
    n, p, d = shape
    _, X, _ = gappy(1, n, p, 2)
    fitted = impute(X, d, standardise=standardise, max_iter=3000)
    assert fitted.converged
    assert np.diff(fitted.bounds).min() >= -1e-9 * np.abs(fitted.bounds).max()
    assert len(fitted.bounds) > 5


def test_the_expectation_is_the_gaussian_conditional_mean():
    """Of the fitted covariance W W' + t I, to which the spread of the loadings adds little on many rows."""
    X, holes, missing = gappy(2, n=600, p=8)
    fitted = impute(holes, 2)
    W = fitted.loadings * fitted.scale[:, None]
    covariance = W @ W.T + np.diag(fitted.noise_variance * fitted.scale**2)
    for i in np.flatnonzero(missing.any(axis=1))[:20]:
        gap, seen = missing[i], ~missing[i]
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], X[i, seen] - fitted.mean[seen])
        wanted = fitted.mean[gap] + covariance[np.ix_(gap, seen)] @ gain
        np.testing.assert_allclose(fitted.X[i, gap], wanted, atol=0.02)
    error = np.sqrt(np.mean((fitted.X - X)[missing] ** 2))
    assert error < 0.5  # the noise has 0.3, the columns about 1.5
    np.testing.assert_allclose(fitted.noise_variance * fitted.scale[0] ** 2, 0.09, rtol=0.1)


def test_without_gaps_the_data_is_unchanged():
    X, _, _ = gappy()
    fitted = impute(X, 2)
    assert fitted.X is X
    assert fitted.inflated() is X
    assert not len(fitted.bounds)


def test_observed_entries_stay_and_gaps_are_filled():
    _, X, missing = gappy()
    original = X.copy()
    fitted = impute(X, 2)
    np.testing.assert_array_equal(X, original)
    np.testing.assert_array_equal(fitted.X[~missing], X[~missing])
    assert np.isfinite(fitted.X).all()
    assert impute(X.astype(np.float32), 2).X.dtype == np.float32


def test_inflated_columns_have_the_expected_sum_of_squares():
    X, holes, _ = gappy(4, n=400, share=0.3, noise=1.0)
    fitted = impute(holes, 2)
    inflated = fitted.inflated()
    np.testing.assert_allclose(inflated.mean(axis=0), fitted.X.mean(axis=0), rtol=1e-10)
    wanted = 400 * fitted.X.var(axis=0) + fitted.missing_variance
    np.testing.assert_allclose(400 * inflated.var(axis=0), wanted, rtol=1e-10)
    # Which is about that of the complete data, while the expectations alone fall short of it.
    ratio = inflated.var(axis=0) / X.var(axis=0)
    assert abs(ratio.mean() - 1) < 0.03
    assert (fitted.X.var(axis=0) / X.var(axis=0)).mean() < 0.95


@pytest.mark.parametrize("standardise", [False, True])
def test_permutations_and_units(standardise):
    _, X, _ = gappy(5)
    wanted = impute(X, 3, standardise=standardise).X
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(12)
    moved = impute(X[np.ix_(rows, columns)], 3, standardise=standardise).X
    np.testing.assert_allclose(moved, wanted[np.ix_(rows, columns)], atol=1e-6)
    for factor in (1e-40, 1e40):
        np.testing.assert_allclose(impute(factor * X, 3, standardise=standardise).X / factor, wanted, atol=1e-6)
    np.testing.assert_allclose(impute(X + 100, 3, standardise=standardise).X - 100, wanted, atol=1e-6)
    if standardise:
        scale = np.geomspace(1e-3, 1e3, 12)
        np.testing.assert_allclose(impute(X * scale, 3, standardise=True).X / scale, wanted, atol=1e-6)


def test_other_rows_are_filled_alike():
    _, X, missing = gappy(6, n=80)
    fitted = impute(X, 2, max_iter=5000, tol=1e-12)
    np.testing.assert_allclose(fitted.fill(X), fitted.X, atol=1e-5)
    whole = np.nan_to_num(X)
    assert fitted.fill(whole) is whole
    nothing = np.full((1, 12), np.nan)
    np.testing.assert_allclose(fitted.fill(nothing)[0], fitted.mean)
    # A row is filled by itself, whatever comes with it.
    np.testing.assert_allclose(fitted.fill(X[3:5]), fitted.fill(X)[3:5], rtol=1e-12)
    assert missing[3:5].any()


def test_empty_rows_and_columns_are_refused():
    _, X, _ = gappy()
    X[:, 5] = np.nan
    with pytest.raises(ValueError, match=r"Every column of X must have an observed entry, got 1 column.* index 5"):
        impute(X, 2)
    _, X, _ = gappy()
    X[[7, 9]] = np.nan
    with pytest.raises(ValueError, match=r"Every row .* got 2 row\(s\) .* index 7"):
        impute(X, 2)


def test_constant_and_barely_observed_columns_do_no_harm():
    _, X, _ = gappy()
    X[:, 3] = 2.0
    X[5, 3] = np.nan
    X[1:, 4] = np.nan
    for standardise in (False, True):
        filled = impute(X, 2, standardise=standardise).X
        np.testing.assert_allclose(filled[5, 3], 2.0, atol=1e-6)
        assert np.isfinite(filled).all()


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e-300])
def test_constant_columns_change_nothing(standardise, value):
    _, X, _ = gappy(8)
    wanted = impute(X, 2, standardise=standardise)
    constants = np.full((40, 30), value)
    constants[3:9, ::2] = np.nan
    wide = np.hstack([constants[:, :7], X, constants[:, 7:]])
    for data in (wide, np.asfortranarray(wide)):
        found = impute(data, 2, standardise=standardise)
        np.testing.assert_allclose(found.X[:, 7:19], wanted.X, rtol=1e-10)
        np.testing.assert_array_equal(np.delete(found.X, np.s_[7:19], axis=1), value)
        np.testing.assert_allclose(found.bounds, wanted.bounds, rtol=1e-10)
        np.testing.assert_allclose(found.missing_variance[7:19], wanted.missing_variance, rtol=1e-8)
        assert not np.delete(found.missing_variance, np.s_[7:19]).any()
        np.testing.assert_allclose(found.fill(wide)[:, 7:19], wanted.fill(X), rtol=1e-8)
        np.testing.assert_array_equal(found.fill(wide)[:, :7], value)


def test_columns_that_are_all_constant_are_filled():
    X = np.full((5, 3), 4.0)
    X[1, 2] = np.nan
    found = impute(X, 1)
    np.testing.assert_array_equal(found.X, 4.0)
    np.testing.assert_array_equal(found.inflated(), 4.0)


@pytest.mark.parametrize("law", ["completely at random", "at random"])
def test_a_tenth_of_the_entries_missing_hardly_changes_the_selection(law):
    """Section 3.2, n = 66: mean F-score within 3 points of that of the complete data."""
    scores = []
    for seed in range(2):
        data = make_noise_range(snr=0.5, n_samples=66, random_state=seed)
        chance = np.full(data.X.shape, 0.1)
        if law == "at random":  # more gaps where the first, observed column is large
            chance *= 2 / (1 + np.exp(-2 * (data.X[:, :1] - data.X[:, 0].mean()) / data.X[:, 0].std()))
            chance[:, 0] = 0
        holes = np.where(np.random.default_rng(seed).random(data.X.shape) < chance, np.nan, data.X)
        for X in (data.X, impute(holes, 10).inflated()):
            support = GSPPCA(10).fit(X).support_
            scores.append(2 * (support & data.support).sum() / (support.sum() + 20))
    complete, imputed = np.reshape(scores, (2, 2)).mean(axis=0)
    assert imputed > complete - 0.03


FEW = [(2, 0.1), (3, 0.1), (5, 0.1), (8, 0.03), (8, 0.1)]  # components, and the share of entries that are missing


@pytest.mark.parametrize(
    ("load", "d", "share"),
    [
        *((load, d, share) for load in (load_breast_cancer, load_wine, load_diabetes) for d, share in FEW),
        *((load_breast_cancer, d, 0.03) for d in (12, 20)),
        (load_wine, 12, 0.03),
    ],
)
def test_the_order_in_memory_does_not_show_where_units_differ(load, d, share):
    """Variances of these columns differ by up to ten orders of magnitude: iterations must not amplify rounding."""
    X = load().data
    rng = np.random.default_rng(1)
    X = np.where(rng.random(X.shape) < share, np.nan, X)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one, other = impute(X, d).X, impute(np.asfortranarray(X), d).X
    moved = np.empty_like(X)
    moved[np.ix_(rows, columns)] = impute(X[np.ix_(rows, columns)], d).X
    for found in (other, moved):
        assert np.max(np.abs(one - found) / np.nanstd(X, axis=0)) < 1e-6


@pytest.mark.parametrize("d", [5, 8, 12])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_raw_units_end_near_the_optimum(load, d):
    """Saddles, where the largest columns are explained and the others still hidden by the noise, are no ends."""
    X = load().data
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.03, np.nan, X)
    found, wanted = impute(X, d), impute(X, d, max_iter=1500, tol=1e-8)
    assert wanted.bounds[-1] - found.bounds[-1] < 1e-3 * np.isfinite(X).sum()
