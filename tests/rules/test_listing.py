"""Pools of some of many variables: what is looked at, what is listed, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.rules import listing, task
from gsppca.rules.core import core_order, find_core
from gsppca.rules.forward import Forward
from gsppca.rules.pool import Pool
from gsppca.rules.task import Task
from gsppca.rules.training import FromGrams, FromOuterGram
from tests.needs import optional
from tests.rules.test_core import factor_data, rv, same, sparse_truth

NONE = np.empty(0, dtype=np.intp)


@pytest.fixture
def small_lists(monkeypatch):
    """Pools of about a hundred variables."""
    monkeypatch.setattr(task, "COMPLETE", 80)
    for name, count in (("BY_GAIN", 16), ("BY_AGREEMENT", 16), ("BY_COMPONENT", 12)):
        monkeypatch.setattr(listing, name, count)


def fit(X, d=4, **options):
    return find_core(as_matrix(X), options.pop("relevant", np.ones(X.shape[1], dtype=bool)), d, **options)


@pytest.mark.parametrize("way", [FromGrams, FromOuterGram])
@pytest.mark.parametrize("units", [1.0, np.linspace(0.5, 2, 90)], ids=["standardised", "own units"])
def test_a_look_at_all_variables_is_exact(way, units, monkeypatch):
    """Gains by regressions, agreement by RV coefficients, for every variable and every selection."""
    monkeypatch.setattr(task, "decompose", way)
    X = factor_data(150, 90, noise=1.5) * units
    work = Task(as_matrix(X), np.ones(90, dtype=bool), 3, NONE, NONE, None, bool(np.all(units == 1)))
    fold = np.random.default_rng(0).integers(0, 4, 150)
    forwards = work.selections(fold)
    work.advance(forwards, slice(0, 5), 4)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scale = np.ones(90) if np.all(units == 1) else X.std(axis=0)
    for number, (forward, found) in enumerate(zip(forwards, work.outlooks(forwards), strict=True), start=-1):
        own = Z[fold != number]
        shrunken = (1 - forward.shrinkage) * own.T @ own / len(own) + forward.shrinkage * np.eye(90)
        axes = np.linalg.eigh((own * scale).T @ (own * scale))[1][:, ::-1][:, :3] * scale[:, None]
        cross, chosen = shrunken @ axes, forward.order
        others = np.setdiff1d(np.arange(90), chosen)

        def explained(some, shrunken=shrunken, cross=cross):
            return np.vdot(cross[some], np.linalg.solve(shrunken[np.ix_(some, some)], cross[some]))

        gains = [explained([*chosen, k]) - explained(chosen) for k in others]
        np.testing.assert_allclose(found.gains[others], gains, rtol=1e-7)
        agreement = [rv(own[:, [*chosen, k]] * scale[[*chosen, k]], own @ axes) for k in others]
        np.testing.assert_allclose(found.agreement[others], agreement, rtol=1e-9)


@pytest.mark.parametrize("shape", [(80, 400), (900, 300)])
def test_choices_from_lists_are_nearly_those_from_all(shape, small_lists, monkeypatch):
    X = factor_data(*shape, d=6, noise=2.0)
    listed = fit(X, d=6)
    monkeypatch.setattr(task, "COMPLETE", shape[1])
    complete = fit(X, d=6)
    for size in (6, 20, 40):
        assert listed.share_path.promised[: size + 1][-1] >= 0.985 * complete.share_path.promised[: size + 1][-1]
        assert listed.share_path.share[: size + 1][-1] >= complete.share_path.share[: size + 1][-1] - 0.03
    np.testing.assert_array_equal(listed.order[0], complete.order[0])
    assert sorted(listed.order) == list(range(shape[1]))


def test_pools_hold_a_part_of_the_variables(small_lists, monkeypatch):
    sizes = []

    def noted(self, forwards, variables, *others):
        sizes.append((len(variables), len(forwards[0].order)))
        made(self, forwards, variables, *others)

    made = Pool.__init__
    monkeypatch.setattr(Pool, "__init__", noted)
    fit(factor_data(80, 400))
    assert [done for _, done in sizes[:2]] == [0, task.LOOK_AGAIN]
    assert all(80 <= size < 300 for size, _ in sizes)


def test_order_rounding_and_containers_do_not_matter(small_lists):
    X = np.where(np.abs(X := factor_data(80, 200)) < 0.5, 0.0, X)
    found, rng = fit(X), np.random.default_rng(1)
    rows, columns = rng.permutation(80), rng.permutation(200)
    same(found, fit(X[rows][:, columns]), columns)
    same(found, fit(X * (1 + 1e-12 * rng.standard_normal(X.shape))))
    for container in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
        same(found, fit(container(X)))
    da = optional("dask.array")
    same(found, fit(da.from_array(X, chunks=(17, 200))))


def test_many_rows_that_are_not_held_give_the_same(small_lists, monkeypatch):
    """Both sides are large: axes by iteration, products of a pool by Gram matrices of the folds."""
    X = factor_data(300, 200)
    by_rows = fit(X)
    monkeypatch.setattr("gsppca.rules.training.MANY_ROWS", 100)
    monkeypatch.setattr(task, "decompose", FromOuterGram)
    same(by_rows, fit(X))


def test_copies_that_are_not_in_the_pool_wait_too(small_lists):
    X = factor_data(60, 100)
    X = np.hstack([X, -3 * X + 1, 0.1 * X])
    found = fit(X)
    assert len(set(found.order[:100] % 100)) == 100
    assert sorted(found.order) == list(range(300))


def test_a_pool_of_copies_is_made_anew(small_lists):
    """One column a hundred times, and others that are weaker: the copies fill the first lists."""
    X = factor_data(60, 130, d=1, noise=0.7)
    X[:, 30:] = X[:, [int(np.argmax(np.abs(np.corrcoef(X.T)).sum(axis=0)))]]
    order = core_order(as_matrix(X), np.ones(130, dtype=bool), 1, n_steps=30).order
    assert len(np.unique(X[:, order], axis=1).T) == 30


def test_included_excluded_and_relevance(small_lists):
    X = factor_data(60, 200)
    found = fit(X, include=np.array([150, 7]), exclude=np.arange(10, 60))
    assert set(found.order[:2]) == {150, 7}
    assert not set(found.order) & set(range(10, 60))
    X, relevant = sparse_truth(n=66, p=500, q=100, n_false=100)
    relevance = np.linspace(1, 0, 500)
    order = fit(X, d=5, relevant=relevant, relevance=relevance).order
    n_head = int(np.flatnonzero(np.diff(order) < 0)[-1]) + 1  # after that, by relevance alone
    assert n_head < 100
    np.testing.assert_array_equal(
        order, np.append(order[:n_head], np.setdiff1d(np.flatnonzero(relevant), order[:n_head]))
    )


def test_gains_alone_are_the_relevance_by_default():
    X = factor_data(50, 30)
    work = Task(as_matrix(X), np.ones(30, dtype=bool), 2, NONE, NONE, None, True)
    (forward,) = work.selections(None)
    (found,) = work.outlooks([forward])
    assert isinstance(forward, Forward)
    np.testing.assert_allclose(forward.relevance, found.gains)
