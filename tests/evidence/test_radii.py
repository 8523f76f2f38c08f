"""Compressed row norms: sums over nodes equal sums over rows, for every function that the evidence sums."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import evidence_path, kv_ratio, log_kv
from gsppca.data import as_matrix
from gsppca.evidence.radii import CLASSES, _chebyshev_sums, _ellipse, _log_sums, compress_radii, intervals, squared_at

LAWS = ["gaussian", "cauchy", "one tiny row", "one huge row", "equal norms", "sparse counts"]


def rows_of(law, n, p):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 3, p)
    if law == "cauchy":
        X *= np.abs(rng.standard_cauchy((n, 1)))
    elif law == "one tiny row":
        X[0] *= 1e-6
    elif law == "one huge row":
        X[0] *= 1e5
    elif law == "equal norms":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif law == "sparse counts":
        X = rng.poisson(0.05, (n, p)).astype(float)
    return X - X.mean(axis=0) if law != "one tiny row" else X - np.r_[[np.zeros(p)], [X[1:].mean(axis=0)] * (n - 1)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "rows"), [(1, 4096), (5, 30), (30, 4096), (30, 30)])
def test_sums_over_nodes_are_sums_over_rows(law, d, rows, monkeypatch):
    n, p = 100, 400
    monkeypatch.setattr("gsppca.data.array.RADII_ROWS", rows)
    matrix = as_matrix(rows_of(law, n, p))
    Z = matrix._centred(slice(None)).copy()
    order = np.argsort(-matrix.column_squares)
    sizes = np.unique(np.r_[1:20, np.geomspace(20, p, 25).astype(int)])
    squared = np.cumsum(Z[:, order] ** 2, axis=1)[:, sizes - 1].T
    mean = squared.mean(axis=1)
    floors, stand_ins = 1e-16 * mean, mean / 3
    squared = np.where(squared <= floors[:, None], stand_ins[:, None], squared)
    radii = compress_radii(matrix, order, sizes, d, floors, stand_ins)
    np.testing.assert_allclose(radii.log_sums, np.log(squared).sum(axis=1), rtol=1e-11, atol=1e-9)
    seen = []
    for group in radii.groups():
        seen += group.positions.tolist()
        nu = (sizes[group.positions, None] - d) / 2
        np.testing.assert_allclose(group.weights.sum(axis=1), n, rtol=1e-11)
        geometric = np.exp(np.log(squared[group.positions]).mean(axis=1))
        start, largest = (np.sqrt(d * sizes[group.positions] / one) for one in (mean[group.positions], geometric))
        for rates in (0.6 * start, start, np.sqrt(start * largest), largest):
            rate = rates[:, None]
            t_rows, t_nodes = rate * np.sqrt(squared[group.positions]), rate * np.sqrt(group.squared)
            for function in (
                lambda t, nu=nu: log_kv(nu, t) + np.abs(nu) * np.log(t),
                lambda t, nu=nu: t * kv_ratio(nu, t),
            ):
                exact = function(t_rows).sum(axis=1)
                size = np.abs(function(t_rows)).sum(axis=1)
                found = (group.weights * function(t_nodes)).sum(axis=1)
                np.testing.assert_array_less(np.abs(found - exact), 3e-12 * size + 1e-12)
    assert sorted(seen) == list(range(len(sizes)))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 5, 30])
def test_the_slab_rate_is_bounded_by_the_geometric_mean(law, d):
    """The singularity of the sums is where the largest slab rate has it: no other rate is ever asked for."""
    matrix = as_matrix(rows_of(law, 100, 400))
    order, sizes = np.argsort(-matrix.column_squares), np.arange(d + 1, 401)
    path = evidence_path(matrix, order, d, 1.0, sizes)
    squared = np.cumsum(matrix._centred(slice(None))[:, order] ** 2, axis=1)[:, sizes - 1]
    assert squared.min() > 1e-16 * squared.mean(axis=0).max()  # no row counts as another norm
    largest = np.sqrt(d * sizes / np.exp(np.log(squared).mean(axis=0)))
    assert (path.slab_rates <= largest * (1 + 1e-9)).all()


def test_an_ellipse_is_known_by_its_point_on_the_axis():
    """Half-axes (rho + 1/rho) / 2 and (rho - 1/rho) / 2: the first one is the point, rho their sum."""
    rho = np.geomspace(1, 1e6, 50)
    np.testing.assert_allclose(_ellipse((rho + 1 / rho) / 2), rho, rtol=1e-7)  # rounding of z near 1, where z' = 0


@pytest.mark.parametrize("count", CLASSES)
def test_chebyshev_sums(count):
    y = np.random.default_rng(0).uniform(-1, 1, (7, 30))
    y[0, :2] = -1, 1
    wanted = np.cos(np.multiply.outer(np.arange(count), np.arccos(y))).sum(axis=2).T
    np.testing.assert_allclose(_chebyshev_sums(y.copy(), int(count)), wanted, atol=1e-10)


def test_few_nodes_serve_many_rows():
    matrix = as_matrix(rows_of("gaussian", 500, 3000))
    sizes = np.arange(1, 3001)
    radii = compress_radii(matrix, np.argsort(-matrix.column_squares), sizes, 10, np.zeros(3000), np.ones(3000))
    nodes = sum(group.squared.size for group in radii.groups())
    assert nodes < 12 * len(sizes)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("spread", [1.0, 30.0, 250.0])
def test_sums_of_logarithms(n, spread):
    """Products of some norms at a time do not overflow, however far the norms are apart."""
    squared = np.exp(np.random.default_rng(0).uniform(-spread, spread, (5, n)))
    found = _log_sums(squared.copy(), squared.min(axis=1), squared.max(axis=1))
    np.testing.assert_allclose(found, np.log(squared).sum(axis=1), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 1e-3, 5.0, 1e9, np.inf])
def test_an_interval_reaches_from_the_smallest_norm_to_the_largest(shift):
    lowest, highest, shifts = np.array([0.5]), np.array([40.0]), np.array([shift])
    ends = squared_at(np.array([-1.0, 1.0]), *intervals(lowest, highest, shifts), shifts)
    np.testing.assert_allclose(ends, [[0.5, 40.0]], rtol=1e-12, atol=1e-15 * (0 if np.isinf(shift) else shift))


def test_word_counts_need_few_nodes():
    """Rows of very different length, most of them short: in s or log s alone it would be 96 nodes."""
    X = np.random.default_rng(0).poisson(np.geomspace(0.0005, 0.2, 1000)[:, None], (1000, 800)).astype(float)
    matrix = as_matrix(X[:, X.any(axis=0)])
    sizes = np.arange(100, matrix.n_features + 1)
    order, floors = np.argsort(-matrix.column_squares), np.zeros(len(sizes))
    assert np.mean(compress_radii(matrix, order, sizes, 10, floors, floors + 1).counts) < 32
