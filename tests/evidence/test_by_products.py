"""Many variables and many samples: what few passes over the data give is what a Gram matrix of all gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gsppca import GSPPCA
from gsppca.data import Matrix, as_blocks, as_matrix
from gsppca.data.chosen_columns import column_products
from gsppca.data.folds import rank_sums
from gsppca.evidence import by_products, decompose
from gsppca.evidence.decompose import Decomposer
from gsppca.evidence.search import find_support
from gsppca.rules import task
from gsppca.stages import count_leading
from tests.needs import optional

LIMIT, HELD = 40, 32
MOST_PASSES = 20  # of a whole fit with a dense truth


def factor_data(n=300, p=120, q=20, d=3, *, strength=1.5, own=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    places = rng.permutation(p)[:q]
    X[:, places] += strength * rng.standard_normal((n, d)) @ rng.standard_normal((d, q))
    return X * np.exp(rng.standard_normal(p)) if own else X


def force(monkeypatch):
    """Take this way for data that is small enough for the other ones."""
    monkeypatch.setattr(decompose, "LARGEST_GRAM", LIMIT)
    monkeypatch.setattr(decompose, "SMALL_GRAM", LIMIT)
    monkeypatch.setattr(by_products, "MOST_HELD", HELD)


def both_ways(monkeypatch, X, n_leading=5):
    exact = Decomposer(as_matrix(X), n_leading)
    force(monkeypatch)
    fast = Decomposer(as_matrix(X), n_leading)
    assert exact.by_products is None
    assert fast.by_products is not None
    return exact, fast


def test_small_supports_are_exact(monkeypatch):
    exact, fast = both_ways(monkeypatch, factor_data())
    rng = np.random.default_rng(0)
    for size in (2, 10, HELD):
        support = np.zeros(120, dtype=bool)
        support[rng.permutation(120)[:size]] = True
        one, other = exact.of(support), fast.of(support)
        np.testing.assert_allclose(other.spectrum.leading, one.spectrum.leading, rtol=1e-10)
        found, wanted = (np.abs(way.projections(2)) for way in (other, one))
        np.testing.assert_allclose(found, wanted, atol=1e-8 * wanted.max())


@pytest.mark.parametrize("size", [HELD + 1, 80, 120])
def test_large_supports_are_exact_where_factors_stand_out(monkeypatch, size):
    """Inside the bulk of the noise, values are too small, never too large."""
    X = factor_data(q=60)
    exact, fast = both_ways(monkeypatch, X)
    support = np.zeros(120, dtype=bool)
    support[np.argsort(-X.std(axis=0))[:size]] = True
    one, other = exact.of(support), fast.of(support)
    np.testing.assert_allclose(other.spectrum.leading[:3], one.spectrum.leading[:3], rtol=1e-10)
    behind = other.spectrum.leading[3:] / one.spectrum.leading[3:5]
    assert (behind <= 1 + 1e-10).all()
    assert (behind > 0.95).all()
    found, wanted = (np.abs(way.projections(3)) for way in (other, one))
    np.testing.assert_allclose(found, wanted, atol=1e-5 * wanted.max())


def test_products_with_axes_are_known_in_other_units(monkeypatch):
    force(monkeypatch)
    matrix = as_matrix(factor_data(q=60))
    Decomposer(matrix, 5).of(np.ones(120, dtype=bool))
    scaled = matrix.scaled(np.linspace(0.5, 2, 120))
    for one in (matrix, scaled, scaled.scaled(np.linspace(3, 1, 120))):
        known = by_products._known_images(one)
        assert known is not None
        wanted = one.gram_product(known.axes)
        np.testing.assert_allclose(known.images, wanted, atol=1e-10 * np.abs(wanted).max())
    assert by_products._known_images(matrix.columns(np.arange(120) > 0)) is None


def in_blocks(X):
    return as_matrix(as_blocks(optional("dask.array").from_array(X, chunks=(70, -1))))


@pytest.mark.parametrize("q", [20, 100])
def test_a_search_goes_on_from_the_axes_that_counted_the_components(monkeypatch, q):
    """Their products are known: one pass more is enough."""
    X, everything = factor_data(q=q), np.ones(120, dtype=bool)
    exact = Decomposer(as_matrix(X), 5).of(everything)
    force(monkeypatch)
    monkeypatch.setattr(Matrix, "prefers_gram", False)
    monkeypatch.setattr(Matrix, "prefers_outer_gram", False)
    counted = in_blocks(X)
    assert count_leading(counted, 4) == 3
    n_counting = counted.X.n_passes
    found = Decomposer(counted, 5).of(everything)
    assert counted.X.n_passes <= n_counting + 1
    np.testing.assert_allclose(found.spectrum.leading[:3], exact.spectrum.leading[:3], rtol=1e-10)
    one, other = (np.abs(way.projections(3)) for way in (found, exact))
    np.testing.assert_allclose(one, other, atol=1e-5 * other.max())


def test_other_units_take_few_passes_more(monkeypatch):
    X, everything, scale = factor_data(q=60), np.ones(120, dtype=bool), np.linspace(0.5, 2, 120)
    exact = Decomposer(as_matrix(X * scale), 5).of(everything)
    force(monkeypatch)
    monkeypatch.setattr(Matrix, "prefers_gram", False)
    matrix = in_blocks(X)
    before = Decomposer(matrix, 5)
    before.of(everything)
    n_passes = matrix.X.n_passes
    found = before.scaled(matrix.scaled(scale), scale).of(everything)
    assert matrix.X.n_passes <= n_passes + by_products.MOST_PASSES - by_products.N_KNOWN
    np.testing.assert_allclose(found.spectrum.leading[:3], exact.spectrum.leading[:3], rtol=1e-10)
    one, other = (np.abs(way.projections(3)) for way in (found, exact))
    np.testing.assert_allclose(one, other, atol=1e-5 * other.max())


def test_a_larger_support_after_a_smaller_one_is_exact(monkeypatch):
    X = factor_data(q=60)
    exact, fast = both_ways(monkeypatch, X)
    monkeypatch.setattr(Matrix, "prefers_gram", False)
    for size in (80, 120):
        support = np.arange(120) < size
        one, other = exact.of(support), fast.of(support)
        np.testing.assert_allclose(other.spectrum.leading[:3], one.spectrum.leading[:3], rtol=1e-10)
        found, wanted = (np.abs(way.projections(3)) for way in (other, one))
        np.testing.assert_allclose(found, wanted, atol=1e-5 * wanted.max())


def test_iterations_that_do_not_settle_are_not_repeated(monkeypatch):
    """Eigenvalues that fall slowly: one pass brings the products of all columns, and large supports take no other."""
    force(monkeypatch)
    monkeypatch.setattr(Matrix, "prefers_gram", False)
    rng, p = np.random.default_rng(0), 400
    X = rng.standard_normal((500, p)) * np.arange(1, p + 1) ** -0.3 @ np.linalg.qr(rng.standard_normal((p, p)))[0]
    supports = [np.arange(p) < size for size in (p, HELD, 380, 350)]
    n_passes, found = [], []
    matrix = in_blocks(X)
    fast, in_memory = Decomposer(matrix, 5), Decomposer(as_matrix(X), 5)
    for support in supports:
        before = matrix.X.n_passes
        found.append(fast.of(support))
        n_passes.append(matrix.X.n_passes - before)
    assert n_passes == [2 + by_products.MOST_PASSES, 1, 1, 0]
    assert matrix.known_images is not None
    assert not matrix.known_images.settled
    before = matrix.X.n_passes
    scale = np.linspace(0.5, 2, p)
    found.append(fast.scaled(matrix.scaled(scale), scale).of(supports[0]))
    assert matrix.X.n_passes == before
    wanted = [in_memory.of(support) for support in supports]
    wanted.append(in_memory.scaled(in_memory.matrix.scaled(scale), scale).of(supports[0]))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.spectrum.leading, other.spectrum.leading, rtol=1e-9)
        np.testing.assert_allclose(np.abs(one.projections(2)), np.abs(other.projections(2)), rtol=1e-5, atol=1e-5)


CASES = {
    "sparse truth": {},
    "weak": {"strength": 0.5},
    "own units": {"own": True},
    "dense truth": {"q": 100},
    "dense truth, own units": {"q": 110, "own": True},
    "square": {"n": 130},
    "noise": {"strength": 0.0},
    "one factor": {"d": 1, "q": 8},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_same(monkeypatch, case, seed):
    """The same variables and components; units of own noise may come from another support on the way."""
    options = CASES[case]
    X = factor_data(seed=seed, **options)
    own = options.get("own", False)
    exact = find_support(as_matrix(X), 4, own_noise=own)
    force(monkeypatch)
    found = find_support(as_matrix(X), 4, own_noise=own)
    assert found.supported == exact.supported
    if exact.supported:
        np.testing.assert_array_equal(found.support, exact.support)
        assert found.n_components == exact.n_components
        assert found.log_evidence == pytest.approx(exact.log_evidence, rel=0.01 if own else 1e-8)


@pytest.mark.parametrize("case", ["sparse truth", "weak", "dense truth", "own units"])
def test_order_and_container_do_not_matter(monkeypatch, case):
    force(monkeypatch)
    X, own = factor_data(**CASES[case]), CASES[case].get("own", False)
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    expected = find_support(as_matrix(X), 4, own_noise=own)
    back = np.argsort(columns)
    others: dict[str, Any] = {
        "order": (X[rows][:, columns], back),
        "signs": (X * np.where(np.arange(X.shape[1]) % 3, 1.0, -1.0), slice(None)),
        "rounding": (X * (1 + 1e-12 * rng.standard_normal(X.shape)), slice(None)),
        "columns": (np.asfortranarray(X), slice(None)),
        "sparse": (sparse.csr_array(X), slice(None)),
        "blocks": (optional("dask.array").from_array(X, chunks=(70, -1)), slice(None)),
    }
    for name, (data, places) in others.items():
        found = find_support(as_matrix(data), 4, own_noise=own)
        np.testing.assert_array_equal(found.support[places], expected.support, err_msg=name)
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9), name
        np.testing.assert_allclose(found.log_odds[places], expected.log_odds, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("own", [False, True])
def test_a_whole_fit_reads_the_data_at_most_seven_times(monkeypatch, own):
    force(monkeypatch)
    X = factor_data(4200, 120, own=own)
    blocks = as_blocks(optional("dask.array").from_array(X, chunks=(1100, -1)))
    model = GSPPCA(3).fit(blocks)
    assert blocks.n_passes <= 7
    np.testing.assert_array_equal(model.relevant_, GSPPCA(3).fit(X).relevant_)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("n_components", ["auto", 12])
def test_a_dense_truth_of_many_factors_is_read_few_times(monkeypatch, own, n_components):
    """More components than a block of axes has; no Gram matrix of all columns, in the search or in the core."""
    force(monkeypatch)
    monkeypatch.setattr(Matrix, "prefers_gram", False)
    monkeypatch.setattr(task, "LARGEST_GRAM", LIMIT)
    monkeypatch.setattr(task, "LARGEST_ORDER", LIMIT)
    X = factor_data(4200, 120, q=120, d=12, own=own, strength=1.0)
    blocks = as_blocks(optional("dask.array").from_array(X, chunks=(1100, -1)))
    model = GSPPCA(n_components, n_features_to_select="relevant").fit(blocks)
    assert blocks.n_passes <= MOST_PASSES
    assert model.n_components_ == 12
    assert model.relevant_.all()


def test_where_noise_ends():
    equal = by_products.end_of_bulk(np.full(500, 3.0), 800)
    assert equal == pytest.approx(3 * (1 + np.sqrt(500 / 800)) ** 2, rel=1e-3)
    rng = np.random.default_rng(0)
    squares = np.exp(0.3 * rng.standard_normal(600))
    largest = []
    for _ in range(5):
        Z = rng.standard_normal((800, 600)) * np.sqrt(squares)
        largest.append(np.linalg.eigvalsh(Z.T @ Z / 800)[-1])
    assert by_products.end_of_bulk(squares, 800) == pytest.approx(np.mean(largest), rel=0.04)


def test_sums_of_rows_are_known_in_all_units_and_columns():
    X = factor_data()
    matrix, kept, scale = as_matrix(X), np.arange(120) % 4 > 0, np.linspace(1, 2, 120)
    part = matrix.scaled(scale).columns(kept)
    assert part.leading_sums is None
    weights = np.random.default_rng(0).standard_normal((300, 2))
    part.leading_sums = part.transposed_product(weights)
    np.testing.assert_allclose(matrix.leading_sums[:, kept], matrix.transposed_product(weights)[:, kept], rtol=1e-9)
    assert not matrix.leading_sums[:, ~kept].any()
    other = matrix.columns(kept).scaled(scale[kept] ** 2)
    np.testing.assert_allclose(other.leading_sums, other.transposed_product(weights), rtol=1e-9)


def test_a_gram_matrix_serves_all_units_and_fewer_columns(monkeypatch):
    X, kept, scale = factor_data(), np.arange(120) % 4 > 0, np.linspace(0, 2, 120)
    matrix = as_matrix(X)
    part = matrix.columns(kept).scaled(scale[kept])
    part.remember_gram(part._gram())
    fewer = kept & (np.arange(120) % 5 > 0)
    fewer[0] = False
    other = matrix.scaled(scale**2).columns(fewer)
    expected = other._gram()
    monkeypatch.setattr(type(matrix), "_gram", lambda self: pytest.fail("a pass over the data"))
    assert other.gram_is_known
    np.testing.assert_allclose(other.gram, expected, rtol=1e-10, atol=1e-10)
    for beyond in (matrix, matrix.columns(np.arange(120) < 2)):  # a column that is not there, or was multiplied by zero
        assert not beyond.gram_is_known


def test_products_of_columns():
    X = np.where(np.abs(factor_data()) > 1, factor_data(), 0.0)
    Z = (X - X.mean(axis=0)) * np.linspace(1, 2, 120)
    kept, chosen = np.arange(120) % 4 > 0, np.array([3, 50, 7])
    blocks = optional("dask.array").from_array(X, chunks=(70, -1))
    for data in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X), blocks):
        matrix = as_matrix(data).scaled(np.linspace(1, 2, 120))
        np.testing.assert_allclose(column_products(matrix, chosen), Z[:, chosen].T @ Z, atol=1e-9)
        part = column_products(matrix.columns(kept), chosen)
        np.testing.assert_allclose(part, Z[:, kept][:, chosen].T @ Z[:, kept], atol=1e-9)


def test_sums_by_rank_follow_the_columns_and_not_the_rows():
    X = factor_data()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(300), rng.permutation(120)
    np.testing.assert_allclose(rank_sums(as_matrix(X[rows][:, columns]), 4), rank_sums(as_matrix(X), 4)[:, columns])
