"""The noise path: equivariance, its end, its row step, exact zeros."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.datasets import make_noise_range
from gsppca.rankings.noise_path import _record_deaths, noise_path, row_variances


@pytest.fixture(scope="module")
def data():
    return make_noise_range(0.5, 66, random_state=3)


def test_the_relevant_variables_die_last(data):
    assert data.support[np.argsort(-noise_path(as_matrix(data.X), 10).score)[:20]].all()


def test_scaling_permuting_and_rotating_rows_change_nothing(data):
    rng = np.random.default_rng(0)
    base = noise_path(as_matrix(data.X), 10).score
    np.testing.assert_allclose(noise_path(as_matrix(1e3 * data.X), 10).score, base + 2 * np.log(1e3), atol=1e-9)
    order = rng.permutation(200)
    np.testing.assert_allclose(noise_path(as_matrix(data.X[:, order]), 10).score, base[order], atol=1e-9)
    centred = data.X - data.X.mean(axis=0)
    # A rotation that leaves the mean at zero: in the space orthogonal to the ones.
    basis = np.linalg.qr(np.column_stack([np.ones(66), rng.normal(size=(66, 65))]))[0][:, 1:]
    turn = basis @ np.linalg.qr(rng.normal(size=(65, 65)))[0] @ basis.T
    np.testing.assert_allclose(noise_path(as_matrix(turn @ centred), 10).score, base, atol=1e-8)


def test_no_ties(data):
    for X in (data.X, (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)):
        assert len(np.unique(noise_path(as_matrix(X), 10).score)) == 200


def test_it_ends_before_the_noise_reaches_the_largest_column(data):
    matrix = as_matrix(data.X)
    path = noise_path(matrix, 10)
    assert path.levels[-1] <= matrix.column_squares.max() * np.exp(0.1)
    assert not path.relevance[-1].any()
    np.testing.assert_allclose(np.diff(np.log(path.levels)), 0.1)


def test_deaths_are_where_the_margin_crosses_zero():
    """Between two levels by a straight line; a variable that was never alive by the law that margins fall with."""
    level, step, before = 5.0, 0.4, np.array([7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
    previous = np.array([np.inf, np.inf, np.inf, 2.0, 1.0, -1.0])
    margin = np.array([-0.5, 0.0, 3.0, -6.0, 0.5, -3.0])
    score = before.copy()
    _record_deaths(score, previous, margin, level, step)
    # A quarter of the way from the level before, at 4.6, to this one.
    np.testing.assert_allclose(score, [4.5, 5.0, 9.0, 4.7, 11.0, 12.0])


@pytest.mark.parametrize("step", [0.05, 0.1, 0.4])
def test_progress_counts_levels_up_to_no_more_than_announced(data, step):
    told = []
    path = noise_path(as_matrix(data.X), 10, step=step, progress=lambda *event: told.append(event))
    done, most, alive = map(np.array, zip(*told, strict=True))
    np.testing.assert_array_equal(done, np.arange(1, len(path.levels)))  # at the last one nothing is alive
    assert (most == most[0]).all()
    assert len(path.levels) <= most[0] < 2 * len(path.levels)
    np.testing.assert_array_equal(alive, (path.relevance[:-1] > 0).sum(axis=1))


def test_dead_is_exactly_zero_and_scores_are_where_the_zeros_begin(data):
    path = noise_path(as_matrix(data.X), 10)
    assert (path.relevance == 0).sum() > 1000
    alive_last = np.array([np.flatnonzero(column)[-1] if column.any() else -1 for column in path.relevance.T])
    lived = alive_last >= 0
    lower = np.log(path.levels)[alive_last[lived]]
    assert (path.score[lived] >= lower - 1e-12).all()
    assert (path.score[lived] <= lower + 0.1 + 1e-12).all()


def test_the_step_hardly_matters(data):
    orders = [np.argsort(-noise_path(as_matrix(data.X), 10, step=step).score)[:20] for step in (0.1, 0.05, 0.02)]
    assert len(set(orders[0]) & set(orders[1])) >= 19
    assert len(set(orders[0]) & set(orders[2])) >= 19


def row_bound(a, z, g):
    return 0.5 * (a * z / (1 + a * g) - np.log1p(a * g)).sum(axis=0)


def test_the_row_step_maximises_its_bound():
    rng = np.random.default_rng(1)
    g = rng.uniform(0.5, 50, size=4)
    response = rng.normal(size=(4, 30)) * 12
    z = response**2
    live = z.sum(axis=0) > g.sum()
    assert live.any()
    found = row_variances(np.ones(30), response, g, 500)
    grid = np.geomspace(1e-8, 1e4, 20_000)
    for k in np.flatnonzero(live):
        best = max(row_bound(a, z[:, k], g) for a in grid[::20])
        assert row_bound(found[k], z[:, k], g) >= best - 1e-6


def test_the_row_step_never_lowers_its_bound():
    rng = np.random.default_rng(2)
    g, response = rng.uniform(0.5, 50, size=4), rng.normal(size=(4, 30)) * 12
    a = rng.uniform(0.01, 10, size=30)
    for _ in range(20):
        following = row_variances(a, response, g, 1)
        before, after = (row_bound(v, response**2, g[:, None]) for v in (a, following))
        assert (after >= before - 1e-12).all()
        a = following


def test_components_that_explain_everything_are_no_obstacle():
    X = np.random.default_rng(3).normal(size=(30, 2)) @ np.random.default_rng(4).normal(size=(2, 12))
    assert np.isfinite(noise_path(as_matrix(X), 4).score).all()
