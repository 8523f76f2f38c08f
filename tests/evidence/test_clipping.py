"""The tail rule: moments decide, and every container is treated alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kurtosis

from gsppca.components.clipping import clip_tails, measure_tails
from gsppca.data import as_blocks, as_matrix
from gsppca.data.clipped import clip_columns, column_sums
from tests.needs import optional


def deviations(matrix):
    """Standard deviations of the columns, one for those that are constant."""
    varying = matrix.column_squares > 0
    return np.where(varying, np.sqrt(matrix.column_squares / matrix.n_samples), 1.0)


def tails_of(X, **options):
    matrix = as_matrix(X)
    return measure_tails(matrix.X, matrix.mean, deviations(matrix), **options)


def centred(X):
    """What a matrix makes of a container, written out."""
    matrix = as_matrix(X)
    return matrix.product(np.eye(matrix.n_features))


@pytest.fixture
def heavy():
    rng = np.random.default_rng(0)
    X = rng.standard_t(2.5, (60, 9)) * (rng.random((60, 9)) < 0.7)
    X[:, 3] += 5  # zero lies outside the bounds
    return X


def containers(X):
    array = optional("dask.array")
    return [sparse.csr_matrix(X), sparse.csc_array(X), as_blocks(array.from_array(X, chunks=(17, -1)))]


def test_the_excess_is_the_mean_kurtosis(heavy):
    assert tails_of(heavy).excess == pytest.approx(kurtosis(heavy).mean())


def test_containers_agree(heavy):
    known = tails_of(heavy)
    assert known.heavy
    expected = centred(clip_tails(heavy, known))
    for X in containers(heavy):
        tails = tails_of(X)
        np.testing.assert_allclose(tails.low, known.low, rtol=1e-12)
        np.testing.assert_allclose(tails.high, known.high, rtol=1e-12)
        np.testing.assert_array_equal(tails.rare, known.rare)
        assert tails.temperature == pytest.approx(known.temperature, rel=1e-12)
        np.testing.assert_allclose(centred(clip_tails(X, tails)), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_those_of_the_clipped_columns(heavy, dtype):
    """Of a column that clipping makes constant, too, and where zero lies outside the bounds."""
    heavy[:, 5] = np.arange(60) == 8
    for X in [heavy.astype(dtype), *containers(heavy.astype(dtype))]:
        tails = tails_of(X)
        expected = as_matrix(clip_tails(X, tails))
        np.testing.assert_allclose(tails.mean, expected.mean, atol=1e-6 if dtype == np.float32 else 1e-12)
        np.testing.assert_allclose(tails.squares, expected.column_squares, rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_sparse_data_stays_sparse(heavy):
    X = sparse.csr_matrix(np.where(np.abs(heavy) > 1, heavy, 0.0))
    clipped = clip_columns(X, np.full(9, -1.5), np.full(9, 2.0))
    assert clipped.nnz == X.nnz
    assert clipped.format == "csr"
    np.testing.assert_allclose(clipped.toarray(), np.clip(X.toarray(), -1.5, 2.0))


def test_bounds_are_consistent_with_the_clipped_column(heavy):
    """Three standard deviations of what is left, by its mean absolute deviation."""
    tails = tails_of(heavy)
    left = clip_tails(heavy, tails)
    reach = 3 * np.sqrt(np.pi / 2) * np.abs(left - left.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose((tails.high - tails.low) / 2, reach, rtol=0.1)


def test_one_gross_outlier_is_cut_down():
    X = np.random.default_rng(1).standard_normal((50, 6))
    X[7, 2] = 1e6
    tails = tails_of(X)
    assert tails.heavy
    assert tails.high[2] < 30
    np.testing.assert_array_equal(clip_tails(X, tails)[:7, :2], X[:7, :2].clip(tails.low[:2], tails.high[:2]))


@pytest.mark.parametrize("shape", [(30, 5), (50, 200), (100, 1000)], ids=str)
def test_gaussian_columns_are_left_alone(shape):
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal(shape)
        tails = tails_of(X)
        assert not tails.heavy
        assert tails.temperature == 1
        assert not tails.rare.any()
        assert clip_tails(X, tails) is X


def test_clipping_can_be_asked_for():
    X = np.random.default_rng(0).standard_normal((50, 6))
    tails = tails_of(X, always=True)
    assert tails.heavy
    np.testing.assert_allclose(tails.high - tails.low, 6, rtol=0.3)


def test_rare_events_are_not_judged_and_counts_are_hot():
    rng = np.random.default_rng(0)
    rare = (np.arange(100)[:, None] < 3) * np.ones(4)
    counts = rng.poisson(0.15, (100, 30))
    tails = tails_of(np.hstack([rng.permuted(rare, axis=0), counts]).astype(float))
    np.testing.assert_array_equal(np.flatnonzero(tails.rare)[:4], np.arange(4))
    assert tails.temperature > 1.5


def test_scale_shift_and_order_are_nothing(heavy):
    tails = tails_of(heavy)
    rng = np.random.default_rng(0)
    columns = rng.permutation(9)
    other = tails_of(3 * heavy[rng.permutation(60)][:, columns] - 7)
    np.testing.assert_allclose(other.high, 3 * tails.high[columns] - 7, rtol=1e-9)
    assert other.temperature == pytest.approx(tails.temperature)


def test_constant_columns_count_for_nothing(heavy):
    wide = np.column_stack([heavy, np.full(60, 0.1)])
    assert tails_of(wide).excess == pytest.approx(tails_of(heavy).excess)
    assert tails_of(wide).rare[-1]


def _squares(values, weight):
    return np.stack([values * weight, values**2])


def test_column_sums(heavy):
    weight = np.arange(9.0)
    expected = np.stack([(heavy * weight).sum(axis=0), (heavy**2).sum(axis=0)])
    for X in [heavy, heavy.astype(np.float32), *containers(heavy)]:
        np.testing.assert_allclose(column_sums(X, _squares, weight), expected, rtol=1e-5)


def test_the_excess_is_the_mean_kurtosis_whatever_the_centre():
    """Moments are taken around a given centre, which need not be the mean: scipy's kurtosis is the oracle."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(200), rng.exponential(size=200), rng.uniform(size=200) ** 3])
    wanted = kurtosis(X, axis=0).mean()
    for away in (0.0, 0.7, -1.5):
        found = measure_tails(X, X.mean(axis=0) + away * X.std(axis=0), X.std(axis=0))
        assert found.excess == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(4000, 1), (4000, 3), (60, 1)])
def test_tails_are_heavy_beyond_half_or_four_errors(n, p):
    """A mixture of few wide and many narrow values, whose kurtosis is set by how wide they are."""
    error = np.sqrt(24 / (n * p))
    limit = max(0.5, 4 * error)
    column = np.random.default_rng(1).standard_normal(n)
    seen = set()
    for wide in np.linspace(1, 4, 61):
        X = np.column_stack([np.where(np.arange(n) % 10 == 0, wide, 1.0) * column] * p)
        tails = measure_tails(X, X.mean(axis=0), X.std(axis=0))
        assert tails.heavy == (tails.excess > limit)
        seen.add(tails.heavy)
    assert seen == {False, True}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("n_held", "n_passes"), [(0, 10), (2, 1), (50, 1)])
def test_the_last_rounds_are_those_of_columns_in_memory(monkeypatch, kind, n_held, n_passes):
    """Once few columns are left, one pass brings them into memory: the rounds are the same, and the passes fewer."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, (400, 60)) * (rng.random((400, 60)) < 0.9)
    X[:, ::5] = rng.poisson(0.02, (400, 12))
    X[:, 10] = 0
    X[7, 10] = 1
    wanted = tails_of(X)
    array = optional("dask.array").from_array(X, chunks=(90, -1))
    blocks = as_blocks(array if kind == "dense" else array.map_blocks(sparse.csr_array))
    monkeypatch.setattr("gsppca.data.blocks.HELD_BYTES", n_held * X[:, 0].nbytes)
    matrix = as_matrix(blocks)
    before = blocks.n_passes
    tails = measure_tails(matrix.X, matrix.mean, deviations(matrix))
    assert blocks.n_passes - before == 1 + n_passes
    for name in ("low", "high", "mean", "squares"):
        np.testing.assert_allclose(getattr(tails, name), getattr(wanted, name), rtol=1e-12, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(tails.rare, wanted.rare)
