"""Data in blocks of rows: the same model as data in memory, in few passes, and errors that name the block."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from gsppca import (
    GSPPCA,
    GSPPCASelector,
    Paper,
    estimate_n_components,
    estimate_noise_variance,
    evidence_path,
    relaxed_vem,
)
from gsppca.data import BlockError, as_blocks, as_matrix, lazy
from gsppca.data import stored as stored_module
from gsppca.data.chunked import BlockTask
from gsppca.progress import listening
from tests.data.test_matrix import dask_blocks, stored
from tests.needs import optional

da = optional("dask.array")

# Rare counts: some of these tables are too small for statistically supported structure.
pytestmark = pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")

CONTAINERS = {
    "dask": lambda X, _: dask_blocks(X, [70]),
    "dask, one block": lambda X, _: dask_blocks(X, [len(X)]),
    "dask, uneven": lambda X, _: dask_blocks(X, [1, 50, 0, 13]),
    "dask, CSR": lambda X, _: dask_blocks(X, [40], sparse.csr_matrix),
    "dask, CSC arrays": lambda X, _: dask_blocks(X, [40], sparse.csc_array),
    "dask, COO": lambda X, _: dask_blocks(X, [70], sparse.coo_array),
    "zarr": lambda X, path: stored(X, "zarr", path),
    "hdf5": lambda X, path: stored(X, "hdf5", path),
    "h5ad": lambda X, path: stored(X, "h5ad", path),
    "h5ad csr": lambda X, path: stored(X, "h5ad csr", path),
}


PAPER = {"method": Paper(tol=1e-4)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(stored_module, "BLOCK_BYTES", 2**15)


def counts(n, p, seed=0, q=10, density=0.1):
    """Sparse counts with a common factor on some columns, and a column that is constant."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(density, (n, p)).astype(float)
    places = rng.permutation(p)[:q]
    X[:, places] += rng.poisson(3 * density * rng.gamma(1.0, 1.0, (n, 1)) * np.ones(q))
    X[:, 3] = 0.0
    return X


def in_memory(values):
    values = values.compute() if hasattr(values, "compute") else values
    return values.toarray() if sparse.issparse(values) else np.asarray(values)  # noqa: TID251


WAYS = [
    ((300, 40), {}),  # uses Z'Z
    ((60, 90), {"scale": True}),  # one or two blocks: may use ZZ'
    ((300, 40), PAPER),
    ((60, 90), PAPER | {"scale": True}),
    ((700, 650), {"method": Paper(noise_variance="ml", tol=1e-4)}),  # products only
    ((300, 40), {"method": Paper(scale_ranking=True, tol=1e-4), "n_components": "auto"}),
    (
        (160, 600),
        {
            "method": Paper(init="random", noise_variance="profile", tol=1e-4),
            "random_state": 0,
            "n_features_to_select": 9,
        },
    ),
]
# A chessboard: each container is fitted in every second way, each way on every second container.
PLACES = [(i, j) for i in range(len(CONTAINERS)) for j in range(len(WAYS)) if (i + j) % 2 == 0]


@cache  # for all containers
def dense_fit(shape, **parameters):
    X = counts(*shape)
    return X, GSPPCA(**parameters).fit(X)


@pytest.mark.parametrize(
    ("container", "shape", "parameters"), [(list(CONTAINERS)[i], *WAYS[j]) for i, j in PLACES], ids=str
)
def test_every_fitted_attribute_is_that_of_data_in_memory(container, shape, parameters, tmp_path):
    parameters = {"n_components": 2, **parameters}
    X, dense = dense_fit(shape, **parameters)
    other = GSPPCA(**parameters).fit(CONTAINERS[container](X, tmp_path))
    compared = 0
    for name, wanted in vars(dense).items():
        if name.endswith("_") and isinstance(wanted, np.ndarray | float | int):
            unit = np.abs(wanted).max() if np.size(wanted) else 1.0
            np.testing.assert_allclose(getattr(other, name), wanted, rtol=1e-8, atol=1e-8 * unit, err_msg=name)
            compared += 1
    assert compared >= 12
    for name in ("log_evidence", "slab_rates", "inactive_variances"):
        wanted = getattr(dense.evidence_path_, name)
        unit = np.abs(wanted[np.isfinite(wanted)]).max()
        np.testing.assert_allclose(
            getattr(other.evidence_path_, name), wanted, rtol=1e-8, atol=1e-10 * unit, err_msg=name
        )
    assert not other.support_[3]


@pytest.mark.parametrize("container", ["dask, CSR", "hdf5"])
def test_the_joint_evidence_of_many_variables(container, tmp_path):
    """Products only, as there is no Gram matrix: the same support and evidence."""
    X = counts(560, 530)
    dense, other = (GSPPCA(2, n_features_to_select=12).fit(Z) for Z in (X, CONTAINERS[container](X, tmp_path)))
    np.testing.assert_array_equal(other.support_, dense.support_)
    np.testing.assert_allclose(other.evidence_path_.log_evidence, dense.evidence_path_.log_evidence, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool])
@pytest.mark.parametrize("container", ["dask", "dask, CSR", "zarr", "hdf5"])
def test_other_dtypes(container, dtype, tmp_path):
    X = np.minimum(counts(300, 40), 255).astype(dtype)
    dense, other = GSPPCA(2).fit(X), GSPPCA(2).fit(CONTAINERS[container](X, tmp_path))
    np.testing.assert_allclose(other.relevance_, dense.relevance_, rtol=1e-8)
    assert other.components_.dtype == dense.components_.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_allclose(other.components_, dense.components_, atol=1e-6 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("scale", [False, True])
def test_what_a_model_does_with_new_data(container, scale, tmp_path):
    X, new = counts(200, 30), counts(120, 30, seed=1)
    model, blocks = GSPPCA(2, scale=scale).fit(X), CONTAINERS[container](new, tmp_path)
    lazy = "dask" in container
    scores = model.transform(blocks)
    assert isinstance(scores, da.Array if lazy else np.ndarray)
    assert scores.shape == (120, model.n_components_)
    np.testing.assert_allclose(in_memory(scores), model.transform(new), atol=1e-12)
    back = model.inverse_transform(scores)
    assert isinstance(back, da.Array if lazy else np.ndarray)
    assert back.shape == new.shape
    np.testing.assert_allclose(in_memory(back), model.inverse_transform(model.transform(new)), atol=1e-12)
    densities = model.score_samples(blocks)
    assert isinstance(densities, da.Array if lazy else np.ndarray)
    assert densities.shape == (120,)
    np.testing.assert_allclose(in_memory(densities), model.score_samples(new), rtol=1e-10)
    assert isinstance(model.score(blocks), float)
    np.testing.assert_allclose(model.score(blocks), model.score(new))
    if not scale:  # a fit of scaled blocks: test_every_fitted_attribute_is_that_of_data_in_memory
        fitted = GSPPCA(2).fit_transform(blocks)
        np.testing.assert_allclose(in_memory(fitted), GSPPCA(2).fit_transform(new), atol=1e-8)


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_selector_takes_and_gives_blocks(container, tmp_path):
    X = counts(200, 30)
    blocks = CONTAINERS[container](X, tmp_path)
    selector = GSPPCASelector(1).fit(blocks)
    np.testing.assert_array_equal(selector.support_, GSPPCASelector(1).fit(X).support_)
    chosen = selector.transform(blocks)
    assert isinstance(chosen, da.Array) == ("dask" in container)
    assert chosen.shape == (200, selector.n_selected_)
    np.testing.assert_array_equal(in_memory(chosen), X[:, selector.support_])
    wide = selector.inverse_transform(chosen)
    np.testing.assert_array_equal(in_memory(wide), np.where(selector.support_, X, 0.0))
    if "dask" in container:
        with pytest.raises(ValueError, match=rf"X has 30 columns, but {selector.n_selected_} are selected"):
            selector.inverse_transform(blocks)


def test_choosing_another_size_needs_no_new_fit(tmp_path):
    X = counts(200, 30)
    for container in ("dask", "zarr"):
        blocks = CONTAINERS[container](X, tmp_path)
        model = GSPPCA(2).fit(blocks)
        wanted = GSPPCA(2).fit(X).choose(6)
        np.testing.assert_allclose(model.choose(6).components_, wanted.components_, atol=1e-9)
        np.testing.assert_allclose(model.choose(6, blocks).components_, wanted.components_, atol=1e-9)


def test_the_stages_take_blocks(tmp_path):
    X = counts(200, 30)
    for container in ("dask", "hdf5"):
        blocks = CONTAINERS[container](X, tmp_path)
        assert estimate_n_components(blocks) == estimate_n_components(X)
        np.testing.assert_allclose(estimate_noise_variance(blocks, 2, "ml"), estimate_noise_variance(X, 2, "ml"))
        np.testing.assert_allclose(relaxed_vem(blocks, 2).relevance, relaxed_vem(X, 2).relevance, atol=1e-9)
        order = np.r_[:3, 4:30, 3]
        found, wanted = (evidence_path(data, order, 2, "profile").log_evidence for data in (blocks, X))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("container", ["dask", "zarr", "h5ad csr"])
def test_the_same_blocks_give_the_same_bits(container, tmp_path, monkeypatch):
    """Whatever the number of threads, and whichever is first."""
    import dask

    X = CONTAINERS[container](counts(700, 550) + (container != "h5ad csr"), tmp_path)
    models = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(stored_module, "n_blas_threads", lambda n=n_threads: n)
        with dask.config.set(num_workers=n_threads):
            models.append(GSPPCA(2, method=Paper(tol=1e-3)).fit(X))
    for model in models[1:]:
        for name in ("relevance_", "components_", "mean_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(models[0], name), err_msg=name)
        np.testing.assert_array_equal(model.evidence_path_.log_evidence, models[0].evidence_path_.log_evidence)


def misaligned(X):
    """The same numbers, one byte off, as messages between workers bring them."""
    if not isinstance(X, np.ndarray) or not X.size:
        return X
    moved = np.empty(X.nbytes + 1, dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape)
    moved[:] = X
    assert not moved.flags.aligned
    return moved


@pytest.mark.parametrize("shape", [(300, 520), (300, 30)])  # passes over the data, and a Gram matrix
def test_arrays_that_have_travelled_give_the_same_bits(shape, monkeypatch):
    """numpy has loops of its own, which round differently, for what BLAS does not take."""
    X = np.random.default_rng(0).standard_normal(shape)
    X[:, ::10] += X[:, :1]
    wanted = GSPPCA(2, **PAPER).fit(dask_blocks(X, [50]))
    dask, run_block = optional("dask"), lazy._run_block
    displaced = []

    class Travelled:
        delayed = staticmethod(dask.delayed)

        @staticmethod
        def compute(*values):
            return tuple(misaligned(value) for value in dask.compute(*values))

    def run_elsewhere(run, raw, *places):
        task = run.task
        if isinstance(task, BlockTask):
            displaced.append(1)
            task = replace(
                task,
                arguments=tuple(map(misaligned, task.arguments)),
                mean=misaligned(task.mean),
                mean_squares=misaligned(task.mean_squares),
            )
        return misaligned(run_block(type(run)(task), misaligned(raw), *places))

    monkeypatch.setattr(lazy, "_dask", Travelled)
    monkeypatch.setattr(lazy, "_run_block", run_elsewhere)
    found = GSPPCA(2, **PAPER).fit(dask_blocks(X, [50]))
    assert displaced
    for name in ("relevance_", "components_", "mean_", "ranking_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_array_equal(found.relaxed_.bounds, wanted.relaxed_.bounds)
    np.testing.assert_array_equal(found.evidence_path_.log_evidence, wanted.evidence_path_.log_evidence)


def passes_of(X, monkeypatch, **parameters):
    """Passes over the data in a fit."""
    blocks = as_blocks(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GSPPCA(**parameters).fit(blocks)
    return blocks.n_passes, model


def test_few_variables_take_four_passes(monkeypatch):
    """Moments, Gram matrix, extremes of the radii and their moments: no more, whatever the iterations."""
    n_passes, model = passes_of(dask_blocks(counts(400, 40), [100]), monkeypatch, n_components=2, **PAPER)
    assert n_passes == 4
    assert model.n_iter_ > 5


def test_a_random_start_needs_no_spectrum(monkeypatch):
    """Moments, one pass for each iteration and start together, two for the evidence, one for the final PCA."""
    monkeypatch.setattr("gsppca.stages.leading_spectrum", lambda *_: pytest.fail("a spectrum for the start"))
    X = dask_blocks(counts(700, 650), [100])
    n_passes, model = passes_of(X, monkeypatch, n_components=2, method=Paper(init="random"), random_state=0)
    assert n_passes <= 1 + model.n_iter_ + 2 + 1


def test_the_axes_of_many_variables_take_few_passes():
    """Not one pass for each product of a vector: a block of axes goes through the data together."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1300, 1100))
    Z[:, :50] += 2 * rng.standard_normal((1300, 5)) @ rng.standard_normal((5, 50))
    blocks = as_blocks(dask_blocks(Z, [200]))
    assert not as_matrix(blocks).prefers_gram
    before = blocks.n_passes
    assert estimate_n_components(blocks) == 5
    assert blocks.n_passes - before <= 14


def test_data_on_disk_is_not_loaded_as_a_whole(tmp_path, monkeypatch):
    zarr = optional("zarr")
    monkeypatch.setattr(stored_module, "BLOCK_BYTES", 2**19)
    monkeypatch.setattr(stored_module, "n_blas_threads", lambda: 1)
    rng = np.random.default_rng(0)
    array = zarr.create_array(store=tmp_path / "x.zarr", shape=(20_000, 100), chunks=(1000, 100), dtype="f8")
    for first in range(0, 20_000, 1000):
        array[first : first + 1000] = rng.standard_normal((1000, 100)) + rng.standard_normal((1000, 1))
    model = GSPPCA(1, method=Paper(tol=1e-4)).fit(array)  # what is imported on the way is no data
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model.fit(array)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 8 * 20_000 * 100 / 2


def test_reading_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("gsppca.data.blocks.TELL_EVERY", 0.0)
    events = []
    X = CONTAINERS["hdf5"](counts(300, 40), tmp_path)
    with listening(events.append):
        GSPPCA(2, **PAPER).fit(X)
    reads = [event for event in events if event.step == "reading the data"]
    n_blocks = as_blocks(X).n_blocks
    assert n_blocks > 1
    assert [event.done for event in reads] == list(range(1, n_blocks + 1)) * 4
    assert {event.total for event in reads} == {n_blocks}


# Errors name the block, and what to do.


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_bad_entry_is_named_with_its_block(container, value, kind, tmp_path):
    X = counts(200, 30)
    good = X.copy()
    X[150, 7] = X[150, 3] = value
    blocks = CONTAINERS[container](X, tmp_path)
    ends = np.cumsum(blocks.chunks[0]) if "dask" in container else as_blocks(blocks).edges[1:]
    number = int(np.searchsorted(ends, 150, side="right"))
    message = rf"Block {number}: Input X contains {kind}: the first one in this block at row 150, column 3\."
    with pytest.raises(ValueError, match=message):
        GSPPCA(2).fit(blocks)
    model = GSPPCA(2).fit(good)
    with pytest.raises(ValueError, match=message):
        in_memory(model.transform(blocks))


def failing(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 2:
        raise OSError("the disk is gone")
    return block


def test_a_block_that_cannot_be_read_is_named():
    X = da.from_array(counts(200, 30), chunks=(50, 30)).map_blocks(failing, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(BlockError, match=r"Block 2 of X \(rows 100 to 149\) cannot be read: OSError: the disk is gone"):
        GSPPCA(2).fit(X)


def test_a_stored_block_that_cannot_be_read_is_named(tmp_path):
    zarr = optional("zarr")
    array = zarr.create_array(store=tmp_path / "x.zarr", shape=(200, 30), chunks=(50, 30), dtype="f8")
    array[:] = counts(200, 30)
    chunk = next(path for path in (tmp_path / "x.zarr").rglob("*") if path.parts[-2:] == ("2", "0"))
    chunk.write_bytes(b"broken")
    with pytest.raises(BlockError, match=r"Block 1 of X \(rows 100 to 199\) cannot be read: "):
        GSPPCA(2).fit(array)


def hungry(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 1:
        raise MemoryError("no room")
    return block


def test_a_block_without_memory_is_named(monkeypatch):
    X = da.from_array(counts(200, 30), chunks=(50, 30))
    with pytest.raises(BlockError, match=r"Not enough memory for block 1 of X \(rows 50 to 99; no room\)\. .*rechunk"):
        GSPPCA(2).fit(X.map_blocks(hungry, dtype=float, meta=np.empty((0, 0))))

    def no_room(self, axes):
        raise MemoryError("no room")

    monkeypatch.setattr("gsppca.data.chunked._gram", no_room)
    with pytest.raises(BlockError, match=r"Not enough memory for block \d of X .*rechunk"):
        GSPPCA(2).fit(X)


def test_errors_that_are_not_of_a_block_pass(monkeypatch):
    def wrong(part, rows):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gsppca.data.chunked._gram", wrong)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        GSPPCA(2).fit(dask_blocks(counts(200, 30), [50]))


def test_what_is_not_in_blocks_of_rows_is_refused_with_the_remedy(tmp_path):
    X = counts(200, 30)
    with pytest.raises(ValueError, match=r"cut in 3 chunks.*X\.rechunk\(\{1: -1\}\)"):
        GSPPCA(2).fit(da.from_array(X, chunks=(50, 10)))
    rows = da.from_array(X, chunks=(50, 30))
    unknown = rows[rows[:, 0] >= 0]
    with pytest.raises(ValueError, match=r"X\.compute_chunk_sizes\(\)"):
        GSPPCA(2).fit(unknown)
    GSPPCA(2).fit(unknown.compute_chunk_sizes())
    with pytest.raises(ValueError, match="two dimensions"):
        GSPPCA(2).fit(rows[:, 0])
    with pytest.raises(ValueError, match="real numbers, got dtype complex128"):
        GSPPCA(2).fit(rows.astype(complex))
    with pytest.raises(ValueError, match="at least 2 rows and 2 columns, got 1 x 30"):
        GSPPCA(2).fit(rows[:1])
    with pytest.raises(ValueError, match="at least one row"):
        GSPPCA(2).fit(rows[:0])
    with pytest.raises(ValueError, match="30 features"):
        GSPPCA(2).fit(rows).transform(rows[:, :20])
    with pytest.raises(TypeError, match="must be a dask array, got dask's Delayed"):
        GSPPCA(2).fit(rows.to_delayed()[0, 0])
    wrong = da.map_blocks(lambda block: block[:-1], rows, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(BlockError, match=r"Block \d of X has the shape \(49, 30\), but \(50, 30\) was announced"):
        GSPPCA(2).fit(wrong)


def test_files_stored_by_columns_are_refused_with_the_remedy(tmp_path):
    anndata = optional("anndata")
    anndata.AnnData(sparse.csc_matrix(counts(200, 30))).write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(ValueError, match=r"stored by columns \(CSC\).*to_memory"):
        GSPPCA(2).fit(anndata.read_h5ad(tmp_path / "x.h5ad", backed="r").X)


def test_values_whose_squares_vanish_are_refused():
    with pytest.raises(ValueError, match="too small"):
        GSPPCA(2).fit(dask_blocks(counts(200, 30) * 1e-200, [50]))
    with pytest.raises(ValueError, match="at least 2 columns that vary"):
        GSPPCA(2).fit(dask_blocks(np.ones((200, 30)) / 3, [50]))
    with pytest.raises(ValueError, match="too large"):
        GSPPCA(2).fit(dask_blocks(counts(200, 30) * 1e200, [50]))
