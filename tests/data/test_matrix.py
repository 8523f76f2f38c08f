"""One law per operation of the data interface, over every container, dtype and view."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import array as array_module
from gsppca.data import as_matrix
from gsppca.data import dense as dense_module
from gsppca.data import sparse as sparse_module
from gsppca.data import stored as stored_module
from tests.needs import optional

SHAPES = [(2, 2), (131, 33), (20, 90)]


def dask_blocks(X, heights, kind=np.asarray):
    """A dask array whose blocks of rows, of these heights in turn, are made of numpy's by `kind`."""
    da = optional("dask.array")
    chunks = [min(heights[i % len(heights)], len(X)) for i in range(len(X))]
    cut = int(np.searchsorted(np.cumsum(chunks), len(X)))
    chunks = [*chunks[:cut], len(X) - sum(chunks[:cut])]
    return da.from_array(X, chunks=(tuple(chunks), (X.shape[1],))).map_blocks(kind, dtype=X.dtype)


def stored(X, kind, path):
    """The same numbers in a file."""
    if kind == "zarr":
        zarr = optional("zarr")
        array = zarr.create_array(store=path / "x.zarr", shape=X.shape, chunks=(40, 300), dtype=X.dtype)
        array[:] = X
        return array
    if kind == "hdf5":
        h5py = optional("h5py")
        with h5py.File(path / "x.h5", "w") as file:
            file.create_dataset("X", data=X, chunks=(min(11, len(X)), min(5, X.shape[1])))
        return h5py.File(path / "x.h5")["X"]
    anndata = optional("anndata")
    anndata.AnnData(sparse.csr_matrix(X) if kind == "h5ad csr" else X).write_h5ad(path / "x.h5ad")
    return anndata.read_h5ad(path / "x.h5ad", backed="r").X


def containers(X, container, tmp_path):
    if container == "dask":
        return dask_blocks(X, [40, 1, 17])
    if container == "dask sparse":
        return dask_blocks(X, [60, 0, 33], sparse.csr_matrix)
    if container in ("zarr", "hdf5", "h5ad", "h5ad csr"):
        return stored(X, container, tmp_path)
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=X.dtype, shape=X.shape)
    mapped[:] = X
    mapped.flush()
    return {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_matrix(X),
    }[container]


def derive(view, matrix, Z):
    """Derive a view of the matrix, and do the same to a plain array."""
    rng = np.random.default_rng(5)
    if view.startswith("scaled"):
        scale = rng.uniform(0.5, 2.0, Z.shape[1])
        matrix, Z = matrix.scaled(scale), Z * scale
    for _ in range(view.count("columns")):
        kept = rng.random(Z.shape[1]) < 0.7
        kept[:2] = True
        matrix, Z = matrix.columns(kept), Z[:, kept]
    return matrix, Z


CONTAINERS = ["C", "F", "memmap", "csr", "csc", "dask", "dask sparse", "zarr", "hdf5", "h5ad", "h5ad csr"]
DTYPES = [np.float64, np.float32]
VIEWS = ["whole", "scaled columns", "columns of columns"]
# Every container with every dtype and view; the shapes take turns, so that every pair of two settings occurs.
CASES = [
    (container, dtype, view, SHAPES[(i + j + k) % 3])
    for i, container in enumerate(CONTAINERS)
    for j, dtype in enumerate(DTYPES)
    for k, view in enumerate(VIEWS)
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1].__name__}-{case[2]}-{case[3]}")
def pair(request, tmp_path, monkeypatch):
    """A matrix made of several blocks, and the centred array it stands for."""
    monkeypatch.setattr(dense_module, "BLOCK_BYTES", 2048)
    monkeypatch.setattr(sparse_module, "BLOCK_BYTES", 2048)
    monkeypatch.setattr(sparse_module, "ENTRY_BLOCK", 100)
    monkeypatch.setattr(stored_module, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(array_module, "RADII_BYTES", 2048)
    monkeypatch.setattr(array_module, "RADII_ROWS", 100)
    container, dtype, view, (n, p) = request.param
    rng = np.random.default_rng(n + p)
    X = (rng.standard_normal((n, p)) * rng.uniform(0.1, 3, p) + rng.standard_normal(p)).astype(dtype)
    X[rng.random((n, p)) < 0.6] = 0.0
    X[0], X[1] = 1.0, -1.0  # no column is constant
    plain = X.astype(np.float64)
    return derive(view, as_matrix(containers(X, container, tmp_path)), plain - plain.mean(axis=0))


def close(actual, wanted):
    # 1e-12 of the largest entry: sums of different orders, and nothing else, may differ.
    np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-12 * max(1.0, np.abs(wanted).max()))


def test_every_pair_of_settings_occurs():
    for one, other in combinations(range(4), 2):
        seen = {(str(case[one]), str(case[other])) for case in CASES}
        assert len(seen) == len({str(case[one]) for case in CASES}) * len({str(case[other]) for case in CASES})


def test_shape_and_column_squares(pair):
    matrix, Z = pair
    assert (matrix.n_samples, matrix.n_features) == Z.shape
    close(matrix.column_squares, (Z**2).sum(axis=0))
    close(matrix.total_squares, (Z**2).sum())


def test_products(pair):
    matrix, Z = pair
    axes = np.random.default_rng(1).standard_normal((3, Z.shape[1]))
    scores = np.random.default_rng(2).standard_normal((Z.shape[0], 3))
    close(matrix.product(axes), Z @ axes.T)
    close(matrix.transposed_product(scores), scores.T @ Z)
    close(matrix.gram_product(axes), axes @ Z.T @ Z)
    close(matrix._gram_product(axes), axes @ Z.T @ Z)


def test_grams(pair):
    matrix, Z = pair
    close(matrix.gram, Z.T @ Z)
    close(matrix.outer_gram(), Z @ Z.T)


def test_outer_products_of_most_columns_are_those_of_all_less_a_few(pair, monkeypatch):
    matrix, Z = pair
    few = np.arange(Z.shape[1]) % 4 == 1
    scale = np.linspace(0.5, 3.0, Z.shape[1])
    scaled = matrix.scaled(scale)
    scaled.remember_outer_gram()
    seen, direct = [], type(matrix)._outer_gram

    def counted(self):
        seen.append(self.n_features)
        return direct(self)

    monkeypatch.setattr(type(matrix), "_outer_gram", counted)
    close(scaled.outer_gram(), (Z * scale) @ (Z * scale).T)
    assert not seen
    close(scaled.columns(~few).outer_gram(), (Z * scale)[:, ~few] @ (Z * scale)[:, ~few].T)
    assert seen == [few.sum()]
    # In other scales, or of the smaller part, nothing is gained.
    for other, values in ((matrix, Z), (scaled.columns(few), (Z * scale)[:, few])):
        assert not other.outer_gram_is_known
        seen.clear()
        close(other.outer_gram(), values @ values.T)
        assert seen == [values.shape[1]]


def test_columns_and_scales_reuse_a_gram_that_is_there(pair, monkeypatch):
    matrix, Z = pair
    close(matrix.gram, Z.T @ Z)
    kept = np.arange(Z.shape[1]) % 3 != 1
    scale = np.linspace(0.5, 3.0, kept.sum())
    monkeypatch.setattr(type(matrix), "_gram", lambda _: pytest.fail("a new pass over the data"))
    part = matrix.columns(kept)
    close(part.scaled(scale).gram, (Z[:, kept] * scale).T @ (Z[:, kept] * scale))
    close(part.gram, Z[:, kept].T @ Z[:, kept])


def test_scales_of_few_columns_share_one_gram(monkeypatch):
    Z = np.random.default_rng(0).standard_normal((60, 5))
    matrix, made = as_matrix(Z), []
    form = type(matrix)._gram

    def counted(self):
        made.append(self)
        return form(self)

    monkeypatch.setattr(type(matrix), "_gram", counted)
    for scale in (1.0, 2.0):
        close(matrix.scaled(np.full(5, scale)).gram, scale**2 * np.cov(Z.T, bias=True) * 60)
    assert len(made) == 1


@pytest.mark.parametrize("height", [1, 2, 3, 4, 8, 9, 15, 16, 17, 50])
def test_cumulative_sums_of_rows(height):
    rows = np.random.default_rng(0).integers(0, 100, (height, 3)).astype(float)  # whole numbers: no rounding
    expected = rows.cumsum(axis=0)
    array_module._cumulate(rows)
    np.testing.assert_array_equal(rows, expected)


def test_radii(pair):
    """Of all sizes, of some, of the last and of one."""
    matrix, Z = pair
    p = Z.shape[1]
    order = np.random.default_rng(3).permutation(p)

    def moments(squared, part):
        assert squared.shape[0] == part.stop - part.start
        return np.array([squared.sum(axis=1), np.sqrt(squared).sum(axis=1)])

    for sizes in (np.arange(1, p + 1), np.unique(np.r_[1, np.arange(2, p + 1, 3)]), np.array([p]), np.array([2])):
        radii = np.cumsum(Z[:, order] ** 2, axis=1)[:, sizes - 1]
        close(matrix.reduce_radii(moments, order, sizes), [radii.sum(axis=0), np.sqrt(radii).sum(axis=0)])


@pytest.mark.parametrize("shift", [0.0, 1e2, 1e5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_the_data_itself_keep_the_digits(shift, order):
    """Means are corrected for where that is harmless, and removed from blocks where it is not."""
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal((300, 40)) + shift, order=order)
    matrix, Z = as_matrix(X), X - X.mean(axis=0)
    Z -= Z.mean(axis=0)
    assert matrix._direct == (shift < 1e3)
    axes, scores = rng.standard_normal((3, 40)), rng.standard_normal((300, 3))
    for found, wanted in (
        (matrix.product(axes), Z @ axes.T),
        (matrix.transposed_product(scores), scores.T @ Z),
        (matrix._gram_product(axes), axes @ Z.T @ Z),
    ):
        np.testing.assert_allclose(found, wanted, atol=2e-12 * np.abs(wanted).max())


def test_a_fit_may_run_in_several_threads(factor_data):
    """The buffers belong to threads: fits of different data at the same time do not disturb each other."""
    data = [factor_data(seed, n=300, p=60)[0].astype(np.float32) for seed in range(4)]
    axes = np.random.default_rng(0).standard_normal((3, 60))

    def products(X):
        return [as_matrix(X)._gram_product(axes) for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(products, data))
    for X, found in zip(data, together, strict=True):
        wanted = as_matrix(X)._gram_product(axes)
        assert all(np.array_equal(one, wanted) for one in found)


def test_the_data_is_neither_copied_nor_written_to():
    X = np.random.default_rng(0).standard_normal((50, 20))
    before = X.copy()
    X.flags.writeable = False
    matrix = as_matrix(X)
    assert matrix.X is X
    assert matrix.columns(np.arange(20) < 5).X is X
    matrix.gram_product(np.ones((1, 20)))
    assert np.array_equal(X, before)


def test_a_large_mean_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    near, far = as_matrix(X), as_matrix(X + 2.0**30)
    # What is lost is the rounding of the data itself, 2^30 eps, and no more.
    np.testing.assert_allclose(far.column_squares, near.column_squares, rtol=1e-6)
    np.testing.assert_allclose(far.mean - 2.0**30, near.mean, atol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_means_are_exact_to_the_last_digit(order):
    X = np.array(1e9 / 3 + np.random.default_rng(0).standard_normal((20_000, 3)), order=order)
    exact = np.array([math.fsum(column) for column in X.T]) / len(X)
    np.testing.assert_allclose(as_matrix(X).mean, exact, rtol=2e-16)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e-7, 1e8 / 3, -1e30])
def test_constant_columns_have_no_squares(value, dtype):
    X = np.full((97, 3), value, dtype=dtype)
    X[:, 1] = np.random.default_rng(0).standard_normal(97)
    squares = as_matrix(X).column_squares
    assert squares[0] == squares[2] == 0
    assert squares[1] > 0


def test_small_variation_on_a_large_mean_is_kept():
    X = np.tile([1e6, 0.0], (50, 1)) + 1e-6 * np.random.default_rng(0).standard_normal((50, 2))
    assert (as_matrix(X).column_squares > 0).all()


def test_integers_and_booleans_are_numbers():
    X = np.random.default_rng(0).integers(0, 2, (40, 5))
    for kind in (np.int64, np.uint8, bool):
        np.testing.assert_allclose(as_matrix(X.astype(kind)).column_squares, as_matrix(X.astype(float)).column_squares)


def test_other_sparse_formats_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"CSR or CSC format, got COO\. Convert it with X\.tocsr\(\)"):
        as_matrix(sparse.coo_array(np.eye(3)))


def test_duplicate_entries_are_one():
    doubled = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0, 5.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 3, 4])), shape=(3, 2)
    )
    assert not doubled.has_canonical_format
    np.testing.assert_allclose(as_matrix(doubled).mean, [1.0, 3.0])


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((3, 3), complex), [["a", "b"]]])
def test_what_is_no_matrix_is_refused(X):
    with pytest.raises(ValueError, match="X must be a two-dimensional array of real numbers"):
        as_matrix(X)
