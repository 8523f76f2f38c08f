"""The file of a long fit: only that of the same data is taken, and nothing in it can harm."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gsppca import _checkpoint as module
from gsppca.data import as_matrix
from gsppca.rankings.vem.checkpoint import NUMBERS, Checkpoint, _count
from gsppca.stages import relaxed_vem
from tests.conftest import sparse_factor_data
from tests.needs import optional


@pytest.fixture(autouse=True)
def save_always(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.0)


X, _ = sparse_factor_data(seed=3, n=40, p=25, d=2)


def run(data, path, **options):
    matrix = as_matrix(data)
    return relaxed_vem(matrix, 2, checkpoint=Checkpoint(path, matrix), **options)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of the checkpoint of a finished fit."""
    path = tmp_path_factory.mktemp("checkpoint") / "state.npz"
    with pytest.MonkeyPatch.context() as patch:  # before the fixture of each test
        patch.setattr(module, "EVERY", 0.0)
        run(X, path)
    assert "0_progress" in arrays_of(path.read_bytes())
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, content):
    (tmp_path / "state.npz").write_bytes(content)
    return tmp_path / "state.npz"


def with_same_variances():
    rng = np.random.default_rng(0)
    flipped, one_moved, swapped = X.copy(), X.copy(), X.copy()
    flipped[:, 3] = 2 * X[:, 3].mean() - X[:, 3]
    one_moved[:, 24] = rng.permutation(X[:, 24])
    swapped[[0, 1], 5] = swapped[[1, 0], 5]
    return {
        "every column permuted": np.apply_along_axis(rng.permutation, 0, X),
        "one column permuted": one_moved,
        "one column flipped": flipped,
        "two entries exchanged": swapped,
    }


@pytest.mark.parametrize("other", with_same_variances().values(), ids=with_same_variances())
def test_other_data_of_the_same_variances_is_refused(path, other):
    np.testing.assert_allclose(as_matrix(other).column_squares, as_matrix(X).column_squares)
    with pytest.raises(ValueError, match=r"the same variances, but other covariances\. Delete the file"):
        run(other, path)


@pytest.mark.parametrize("factor", [1e-120, 1.0, 1e120])
def test_the_same_data_in_other_clothes_is_taken(tmp_path, factor):
    dask_array = optional("dask.array")
    from scipy import sparse

    data = factor * X
    first = run(data, tmp_path / "state.npz")
    copies = {
        "Fortran": np.asfortranarray(data),
        "strided": np.repeat(data, 2, axis=1)[:, ::2],
        "sparse": sparse.csr_array(data),
        "chunks": dask_array.from_array(data, chunks=(7, -1)),
        "shifted": data + 100 * factor,
    }
    for name, other in copies.items():
        again = run(other, tmp_path / "state.npz")
        np.testing.assert_array_equal(again.relevance, first.relevance, err_msg=name)


def test_data_in_blocks_is_read_once_more_at_most(tmp_path):
    dask_array = optional("dask.array")
    from gsppca.data import as_blocks

    wide = np.random.default_rng(0).standard_normal((30, 700))
    matrix = as_matrix(as_blocks(dask_array.from_array(wide, chunks=(10, -1))))
    before = matrix.X.n_passes
    Checkpoint(tmp_path / "state.npz", matrix)
    assert matrix.X.n_passes == before + 1


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    wanted = run(X, tmp_path / "other.npz", tol=1e-8)

    def fail(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.warns(RuntimeWarning, match=r"cannot be written \(No space left on device\)\. The fit goes on") as said:
        found = run(X, tmp_path / "state.npz", tol=1e-8)
    assert len(said) == 1
    np.testing.assert_array_equal(found.relevance, wanted.relevance)
    assert [file.name for file in tmp_path.iterdir()] == ["other.npz"]


def test_a_disk_that_is_full_for_a_while_is_tried_again(tmp_path, monkeypatch):
    real, calls = Path.write_bytes, []

    def fail_at_first(self, content):
        calls.append(self)
        if len(calls) < 3:
            raise OSError(28, "No space left on device")
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", fail_at_first)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        run(X, tmp_path / "state.npz", tol=1e-8)
    assert len(Checkpoint(tmp_path / "state.npz", as_matrix(X))._found["runs"]) > 0


def arrays_of(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def packed(arrays, compressed=False):
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def opened(path):
    """Open a file and go on from it: an error that the user understands, or a fit."""
    try:
        run(X, path)
    except ValueError as error:
        assert "is not of this fit" in str(error)  # noqa: PT017
        return str(error)
    return None


TAMPERED = {
    "removed": lambda arrays, name: arrays.pop(name),
    "text": lambda arrays, name: arrays.update({name: np.array("text")}),
    "nothing": lambda arrays, name: arrays.update({name: np.empty(0)}),
    "cut": lambda arrays, name: arrays.update({name: np.ravel(arrays[name])[:-1]}),
    "longer": lambda arrays, name: arrays.update({name: np.append(np.ravel(arrays[name]), arrays[name].ravel()[:1])}),
    "nan": lambda arrays, name: arrays.update({name: np.full(np.shape(arrays[name]), np.nan)}),
    "negative": lambda arrays, name: arrays.update({name: np.full(np.shape(arrays[name]), -1.0)}),
    "huge": lambda arrays, name: arrays.update({name: np.array(10**18)}),
    "complex": lambda arrays, name: arrays.update({name: np.full(np.shape(arrays[name]), 1j)}),
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_tampered_arrays_are_refused_or_do_no_harm(path, content, change):
    refused = 0
    for name in arrays_of(content):
        arrays = arrays_of(content)
        change(arrays, name)
        path.write_bytes(packed(arrays))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused += opened(path) is not None
    assert refused > len(arrays) / 3


def test_the_numbers_of_a_run_have_limits(path, content):
    """Rates and variances are positive, iterations are counted from 0, and a run has converged or not."""
    places = {name: -5 + k for k, name in enumerate((*NUMBERS, "bound", "n_iter", "converged"))}
    assert len(NUMBERS) == 2
    for name, value, fine in [
        *((number, value, False) for number in NUMBERS for value in (0.0, -1.0)),
        ("n_iter", 0.0, True),
        ("n_iter", -1.0, False),
        ("converged", 0.0, True),
        ("converged", 0.5, False),
        ("converged", 2.0, False),
    ]:
        arrays = arrays_of(content)
        arrays["0_progress"][places[name]] = value
        path.write_bytes(packed(arrays))
        assert (opened(path) is None) == fine, (name, value)
    for name, value, fine in [
        ("relevance", 0.0, True),
        ("relevance", 1.0, True),
        ("relevance", -1e-3, False),
        ("relevance", 1.001, False),
        ("weighted_loading_cov", -1e-3, False),
    ]:
        arrays = arrays_of(content)
        arrays[f"0_{name}"].flat[0] = value
        path.write_bytes(packed(arrays))
        assert (opened(path) is None) == fine, (name, value)


def test_as_many_runs_as_a_fit_may_have():
    assert [_count(np.array(number)) for number in (0, 3, 1000)] == [0, 3, 1000]
    for number in (-1, 1001, 10**9):
        with pytest.raises(ValueError, match=f"n_runs is {number}"):
            _count(np.array(number))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_other_variances_are_seen_in_any_unit(tmp_path, unit):
    run(unit * X, tmp_path / "state.npz")
    other = unit * X
    other[:, 4] *= 1.001
    with pytest.raises(ValueError, match="the columns of its data have other variances"):
        run(other, tmp_path / "state.npz")


def test_files_of_other_versions_know_their_data(content):
    """The digest is part of the format: the same formula must be used by whoever reads it."""
    Z = X - X.mean(axis=0)
    weights = np.sin(np.arange(1, Z.shape[1] + 1) ** 2.0) / np.sqrt((Z**2).sum(axis=0))
    arrays = arrays_of(content)
    np.testing.assert_allclose(arrays["projection"], Z.T @ (Z @ weights), rtol=1e-10)
    np.testing.assert_allclose(arrays["column_squares"], (Z**2).sum(axis=0), rtol=1e-12)
    assert int(arrays["format"]) == 1
    assert arrays["shape"].tolist() == list(X.shape)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_are_refused_or_do_no_harm(path, content, data):
    damaged = bytearray(content)
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        damaged[place] ^= data.draw(st.integers(1, 255))
    else:
        del damaged[place:]
    path.write_bytes(damaged)
    opened(path)


class Bomb:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (self.trace,))


def test_pickles_are_not_opened(path, content, tmp_path):
    trace = tmp_path / "exploded"
    path.write_bytes(packed(arrays_of(content) | {"settings": np.array([Bomb(trace)], dtype=object)}))
    assert "allow_pickle" in opened(path)
    assert not trace.exists()
    with np.load(path, allow_pickle=True) as file:
        file["settings"]
    assert trace.exists()


def test_compressed_files_are_refused(path, content):
    path.write_bytes(packed(arrays_of(content), compressed=True))
    assert "the arrays are compressed" in opened(path)


@pytest.mark.parametrize("text", [b"", b"not an archive", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    assert "it cannot be read" in opened(path)


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "state.npz").mkdir()
    assert "it cannot be read" in opened(tmp_path / "state.npz")
