"""Pools of some of many variables: what is looked at, what is listed, and what must not matter."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.rules import listing, task
from gsppca.rules.by_rows import FromOuterGram, values_are_fewer
from gsppca.rules.core import core_order, find_core
from gsppca.rules.fold_grams import FromGrams
from gsppca.rules.pool import Pool
from gsppca.rules.remaining import Remaining
from gsppca.rules.shares import describe_moments
from gsppca.rules.task import Task
from tests.needs import optional
from tests.rules.test_core import factor_data, same, sparse_truth

NONE = np.empty(0, dtype=np.intp)


@pytest.fixture
def small_lists(monkeypatch):
    """Pools of about a hundred variables."""
    monkeypatch.setattr(task, "COMPLETE", 80)
    for name, count in (("BY_GAIN", 40), ("BY_AGREEMENT", 20), ("BY_COMPONENT", 24)):
        monkeypatch.setattr(listing, name, count)


def fit(X, d=4, **options):
    return find_core(as_matrix(X), options.pop("relevant", np.ones(X.shape[1], dtype=bool)), d, **options)


@pytest.mark.parametrize("way", [FromGrams, FromOuterGram])
@pytest.mark.parametrize("units", [1.0, np.linspace(0.5, 2, 90)], ids=["standardised", "own units"])
def test_what_all_variables_would_add_is_exact(way, units, monkeypatch):
    """By one regression for every variable."""
    monkeypatch.setattr(task, "decompose", way)
    X = factor_data(150, 90, noise=1.5) * units
    work = Task(as_matrix(X), np.ones(90, dtype=bool), 3, NONE, NONE, None, bool(np.all(units == 1)))
    fold = np.arange(150) % 4
    together = work.selections(fold)
    together.advance(4)
    alone = together.of(slice(0, 1))
    (forward,), remaining = alone.forwards, Remaining(alone.pool, work.places)
    moments = work.decomposition.moments(remaining.chosen[:3], remaining.chosen[3:], fold)
    describe_moments(moments, also=remaining.add)
    Z, scale = (X - X.mean(axis=0)) / X.std(axis=0), np.ones(90) if np.all(units == 1) else X.std(axis=0)
    shrunken = (1 - forward.shrinkage) * Z.T @ Z / 150 + forward.shrinkage * np.eye(90)
    cross = shrunken @ (np.linalg.eigh((Z * scale).T @ (Z * scale))[1][:, ::-1][:, :3] * scale[:, None])

    def explained(some):
        return np.vdot(cross[some], np.linalg.solve(shrunken[np.ix_(some, some)], cross[some]))

    others = np.setdiff1d(np.arange(90), forward.order)
    gains = [explained([*forward.order, k]) - explained(forward.order) for k in others]
    np.testing.assert_allclose(remaining.gains[others], gains, rtol=1e-7)


def test_later_lists_look_at_what_was_near_the_first(monkeypatch):
    for name, count in (("BY_GAIN", 9), ("BY_COMPONENT", 6), ("NEAR", 2)):
        monkeypatch.setattr(listing, name, count)
    work = Task(as_matrix(factor_data(150, 90)), np.ones(90, dtype=bool), 3, NONE, NONE, None, True)
    selections, ties = work.selections(None), np.zeros((1, 90))
    (forward,) = selections.forwards
    first = set(np.flatnonzero(listing.listed(forward, ties, 20)))
    cross, variance = forward.cross(slice(None)), forward.variance(slice(None))
    wanted = [(np.sum(cross**2, axis=0) / variance, 9), *((row**2 / variance, 2) for row in cross)]
    near = {k for values, count in wanted for k in np.argsort(-values)[: 2 * count].tolist()}
    assert set(forward.near[0]) == near > first
    selections.advance(5)
    later = set(np.flatnonzero(listing.listed(forward, ties, 20))) - set(forward.order)
    assert later <= near
    # Where lists hold many copies, all variables are looked at again.
    assert not set(np.flatnonzero(listing.listed(forward, ties, 20, times=2))) - set(forward.order) <= near


def test_lists_are_those_of_a_factor_model(monkeypatch):
    """Conditioning written out, in a model whose covariances are those that the scores explain."""
    for name, count in (("BY_GAIN", 9), ("BY_AGREEMENT", 7), ("BY_COMPONENT", 6)):
        monkeypatch.setattr(listing, name, count)
    X = factor_data(150, 90, noise=0.5)
    work = Task(as_matrix(X), np.ones(90, dtype=bool), 3, NONE, NONE, None, True)
    selections = work.selections(None)
    selections.advance(5)
    (forward,) = selections.forwards
    forward.promised, forward.settled = True, False
    found = np.flatnonzero(listing.listed(forward, np.zeros((1, 90)), 20))
    cross, variance, chosen = forward.cross(slice(None)), forward.variance(slice(None)), forward.order
    loadings, left = np.linalg.solve(forward.covariance, cross), forward.unexplained
    residual = left @ loadings
    rest = variance - np.sum(cross * loadings, axis=0) + np.sum(loadings * residual, axis=0)
    moments = forward.part.moments(slice(None))
    factors = np.linalg.solve(moments @ forward.part.axes.T, moments)
    model, own = moments.T @ factors, forward.part.variances
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    known = np.square(Z[:, chosen].T @ Z[:, chosen] / 150).sum()  # of those chosen, which is exact
    squares = known + 2 * np.square(model[chosen]).sum(axis=0) + own**2
    rvs = (np.sum(moments[:, chosen] ** 2) + np.sum(moments**2, axis=0)) / np.sqrt(squares)
    wanted = [(np.sum(residual**2, axis=0) / rest, 9), (rvs, 7), *((row**2 / rest, 2) for row in residual)]
    allowed = np.setdiff1d(np.arange(90), chosen)
    expected = [allowed[np.argsort(-values[allowed])[:count]] for values, count in wanted]
    np.testing.assert_array_equal(found, np.unique(np.concatenate([chosen, *expected])))


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

    def noted(self, forwards, numbers, lists, *others):
        sizes.append((lists[0].sum(), len(forwards[0].order)))
        made(self, forwards, numbers, lists, *others)

    made = Pool.__init__
    monkeypatch.setattr(Pool, "__init__", noted)
    fit(factor_data(80, 400, noise=2.0))
    assert [done for _, done in sizes[:3]] == [0, *task.LOOKS[:2]]
    assert all(40 <= size < 200 for size, _ in sizes[:3])


def test_what_other_selections_list_does_not_matter(small_lists):
    """A selection chooses from its own list: without the others, it makes the same choices."""
    X = factor_data(80, 400)
    places = np.ones(400, dtype=bool)
    together, alone = (Task(as_matrix(X), places, 4, NONE, NONE, None, True) for _ in range(2))
    several, single = together.selections(np.arange(80) % 5), alone.selections(None)
    several.advance(40)
    single.advance(40)
    assert single.forwards[0].order == several.forwards[0].order


@pytest.mark.parametrize("complete", [80, 400])
@pytest.mark.parametrize("way", [FromGrams, FromOuterGram])
def test_some_selections_may_go_on_without_the_others(small_lists, way, complete, monkeypatch):
    """They make the choices, and the errors, that they would have made together."""
    monkeypatch.setattr(task, "COMPLETE", complete)
    monkeypatch.setattr(task, "decompose", way)
    X, places = factor_data(120, 300, noise=2.0), np.ones(300, dtype=bool)
    works = [Task(as_matrix(X), places, 4, NONE, NONE, None, True) for _ in range(2)]
    together, apart = (work.selections(np.arange(120) % 5) for work in works)
    together.advance(30)
    apart.advance(17)
    first, others = apart.of(slice(0, 1)), apart.of(slice(1, 6))
    first.advance(13)
    others.advance(13)
    assert [one.order for one in first.forwards + others.forwards] == [one.order for one in together.forwards]
    np.testing.assert_allclose(others.pool.errors(), together.pool.errors(), rtol=1e-9)
    np.testing.assert_allclose(first.pool.choices(0)[1], together.pool.choices(0)[1], rtol=1e-9, atol=1e-12)


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


def test_values_and_products_by_fold_give_the_same(small_lists, monkeypatch):
    X = factor_data(300, 200)
    by_grams = fit(X)
    monkeypatch.setattr(task, "decompose", FromOuterGram)
    for values in (False, True):
        monkeypatch.setattr("gsppca.rules.by_rows.values_are_fewer", lambda *_, values=values: values)
        same(by_grams, fit(X))


def test_copies_that_are_not_in_the_pool_wait_too(small_lists):
    X = factor_data(60, 100)
    X = np.hstack([X, -3 * X + 1, 0.1 * X])
    found = fit(X)
    assert len(set(found.order[:100] % 100)) == 100
    assert sorted(found.order) == list(range(300))


def test_a_pool_of_copies_is_made_anew(small_lists):
    """One column a hundred times, and others that are weaker: the copies fill the first lists."""
    X, _ = many_copies()
    order = core_order(as_matrix(X), np.ones(130, dtype=bool), 1, n_steps=30).order
    assert len(np.unique(X[:, order], axis=1).T) == 30


def test_lists_grow_where_nearly_all_are_copies(small_lists, monkeypatch):
    """Columns of zeros and ones on a few rows: there are few that differ, and hundreds of each."""
    n_pools = 0

    def counted(*given):
        nonlocal n_pools
        n_pools += 1
        return Pool(*given)

    monkeypatch.setattr(task, "Pool", counted)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((8, 2)) @ rng.standard_normal((2, 3000)) > 0.3).astype(float)
    X = X[:, X.std(axis=0) > 0]
    order = fit(X, d=2, relevance=rng.permutation(X.shape[1]).astype(float)).order
    assert sorted(order) == list(range(X.shape[1]))
    assert n_pools < 60
    first = np.abs(X - X[0])[:, order[:10]]  # a column and its mirror image are copies
    assert len(np.unique(first, axis=1).T) == 10


def many_copies():
    X = factor_data(60, 130, d=1, noise=0.7)
    X[:, 30:] = X[:, [int(np.argmax(np.abs(np.corrcoef(X.T)).sum(axis=0)))]]
    return X, {"d": 1}


@pytest.mark.parametrize(
    "made",
    [
        lambda: (factor_data(60, 400, noise=2.0), {}),
        lambda: (factor_data(60, 400) * np.linspace(1, 3, 400), {"standardise": False}),
        lambda: (factor_data(60, 400), {"include": np.array([3, 390]), "relevant": np.arange(400) > 9}),
        many_copies,
        lambda: (sparse_truth(n=66, p=500, q=100)[0], {"d": 5, "relevant": sparse_truth(n=66, p=500, q=100)[1]}),
    ],
    ids=["plain", "own units", "included", "copies", "most is noise"],
)
@pytest.mark.parametrize("together", [1, 2])
def test_parts_held_for_some_variables_give_the_same(small_lists, made, together, monkeypatch):
    """Where axes of all parts would take much memory, a few are made at a time, and only what lists look at is kept."""
    X, options = made()
    monkeypatch.setattr(listing, "NEAR", 2)
    expected = fit(X, **options)
    asked = []

    def few(_, count):
        asked.append(count)
        return together

    monkeypatch.setattr(FromOuterGram, "_n_together", few)
    found = fit(X, **options)
    assert asked == [6]
    same(expected, found)


@pytest.mark.parametrize("seed", range(8))
def test_few_columns_that_many_repeat(seed, monkeypatch):
    """Lists together, or each, may hold all variables, or nothing that can be chosen: every table comes to an end."""
    for module, name, count in (
        (task, "COMPLETE", 30),
        (listing, "BY_GAIN", 12),
        (listing, "BY_AGREEMENT", 8),
        (listing, "BY_COMPONENT", 8),
        (listing, "NEAR", 1 + seed % 3),
    ):
        monkeypatch.setattr(module, name, count)
    rng = np.random.default_rng(seed)
    n_different, p, d = int(rng.integers(3, 40)), int(rng.integers(40, 200)), int(rng.integers(1, 5))
    X = factor_data(int(rng.integers(12, 90)), n_different, d=d, noise=2.0, seed=seed)
    X = X[:, rng.integers(0, n_different, p)]
    found = fit(X, d=d)
    assert sorted(found.order) == list(range(p))
    noise = rng.standard_normal((20, 45))  # each of the lists holds others
    assert sorted(fit(noise, d=d).order) == list(range(45))
    monkeypatch.setattr(FromOuterGram, "_n_together", lambda *_: 2)
    same(found, fit(X, d=d))


def test_axes_of_some_parts_at_a_time_where_all_would_take_much_memory():
    few = FromOuterGram.__new__(FromOuterGram)
    few.n_components = 10
    for shape, count in {(400, 5000): 6, (100, 50_000): 1, (400, 200_000): 5, (20, 2_000_000): 1}.items():
        few.matrix = SimpleNamespace(n_samples=shape[0], n_features=shape[1], passes_are_dear=False)
        assert few._n_together(6) == count
    few.matrix.passes_are_dear = True
    assert few._n_together(6) == 6


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


@pytest.mark.parametrize("values", [True, False], ids=["values", "products by fold"])
@pytest.mark.parametrize(("most_held", "few"), [(0, False), (350, True)])
def test_one_pass_brings_what_later_pools_ask_for(small_lists, monkeypatch, values, most_held, few):
    """The same core, whatever is held."""
    monkeypatch.setattr(task, "decompose", FromOuterGram)
    monkeypatch.setattr("gsppca.rules.by_rows.MOST_HELD", most_held)
    monkeypatch.setattr("gsppca.rules.by_rows.HELD_BYTES", 0)
    monkeypatch.setattr("gsppca.rules.by_rows.values_are_fewer", lambda *_: values)
    X, reads = factor_data(150, 400), []
    X += np.random.default_rng(7).standard_normal(X.shape) * np.linspace(0, 20, 400)  # so that not all are alike
    products = FromOuterGram._products

    def counted(self, variables):
        reads.append(len(variables))
        return products(self, variables)

    monkeypatch.setattr(FromOuterGram, "_products", counted)
    expected = fit(X)
    n_pools = len(reads)
    reads.clear()
    same(expected, fit(optional("dask.array").from_array(X, chunks=(40, -1))))
    assert n_pools > 3
    assert len(reads) == (1 if few else n_pools)
    assert max(reads) <= 350


@pytest.mark.parametrize(
    ("n", "k", "values"),
    [(10**6, 1300, False), (5000, 900, False), (900, 1300, True), (5000, 5500, True), (6000, 5000, True)],
)
def test_pools_of_many_rows_hold_no_values(n, k, values):
    """A million rows of 1,300 columns would take 10 GB; their products by fold take 70 MB."""
    assert values_are_fewer(n, k) == values
