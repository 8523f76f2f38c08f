"""A fit that died goes on from its file, and ends as if it had not died."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.base import clone

from gsppca import GSPPCA, GSPPCASelector, Paper
from gsppca import _checkpoint as checkpoint_module
from tests.conftest import sparse_factor_data

NAMES = ["relevance_", "ranking_", "support_", "components_", "noise_variance_", "n_iter_"]


class DiedError(Exception):
    pass


def die_after(monkeypatch, n_products):
    """Let a fit die in the middle of its n-th product with the data."""
    from gsppca.data.base import Matrix

    product, count = Matrix.gram_product, [0]

    def counted(self, axes):
        count[0] += 1
        if count[0] > n_products:
            raise DiedError
        return product(self, axes)

    monkeypatch.setattr(Matrix, "gram_product", counted)
    return count


def same(one, other, *, rounded=()):
    """The same bits, except for what is named: there the last digits may differ."""
    for name in NAMES:
        found, wanted = getattr(one, name), getattr(other, name)
        if name in rounded:
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13, err_msg=name)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=name)
    np.testing.assert_array_equal(one.evidence_path_.log_evidence, other.evidence_path_.log_evidence)


# A fit whose file is complete never forms Z'Z of all columns: the final PCA takes the Gram matrix of the selected
# columns alone, not a part of the whole one, and the two may differ in the last digits.
FINISHED = {"rounded": ("components_",)}


@pytest.fixture(autouse=True)
def save_always(monkeypatch):
    monkeypatch.setattr(checkpoint_module, "EVERY", 0.0)


@functools.cache
def fit_that_lived(**parameters):
    return GSPPCA(3, method=Paper(tol=1e-12, **parameters), random_state=3).fit(sparse_factor_data(0, n=100, p=40)[0])


@pytest.mark.parametrize("parameters", [{}, {"init": "random"}, {"scale_ranking": True}], ids=str)
@pytest.mark.parametrize("n_products", [2, 6, 9, 10, 11, 17])
def test_a_fit_that_died_ends_with_the_same_bits(factor_data, tmp_path, monkeypatch, parameters, n_products):
    X, _ = factor_data(0, n=100, p=40)
    wanted = fit_that_lived(**parameters)
    model = GSPPCA(3, method=Paper(tol=1e-12, checkpoint=tmp_path / "state.npz", **parameters), random_state=3)
    with monkeypatch.context() as context:
        die_after(context, n_products + 1)  # the first one is for the file to know its data by
        with pytest.raises(DiedError):
            model.fit(X)
    with monkeypatch.context() as context:
        count = die_after(context, 10_000)
        resumed = model.fit(X)
    same(resumed, wanted)
    # What was saved is not done again: five iterations of the starts, then those up to the last cycle of three.
    if n_products > 5:
        assert count[0] <= wanted.n_iter_ - n_products + 4


def test_a_finished_fit_costs_no_iteration(factor_data, tmp_path, monkeypatch):
    X, _ = factor_data(0)
    model = GSPPCA(2, method=Paper(checkpoint=str(tmp_path / "state.npz"))).fit(X)
    count = die_after(monkeypatch, 1)
    again = clone(model).fit(X)
    assert count[0] == 1  # for the file to know its data by
    same(again, model, **FINISHED)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]


def test_the_spectrum_is_not_computed_again(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 650))
    X[:, ::9] += rng.standard_normal((700, 2)) @ rng.standard_normal((2, len(range(0, 650, 9))))
    path = tmp_path / "state.npz"
    wanted = GSPPCA(method=Paper(checkpoint=path, noise_variance="ml")).fit(X)
    monkeypatch.setattr(
        "gsppca.linalg.spectrum.krylov_pairs", lambda product, p, *_: pytest.fail(f"again, of order {p}")
    )
    again = GSPPCA(method=Paper(checkpoint=path, noise_variance="ml")).fit(X)
    same(again, wanted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method__tol": 1e-3}, "tol was 1e-06 there, and is 0.001 now"),
        ({"n_components": 3}, "n_components was 2 there, and is 3 now"),
        ({"method__init": "random"}, "init was 'svd' there, and is 'random' now"),
        ({"scale": True}, "the columns of its data have other variances"),
        ({"method__scale_ranking": True}, "total_squares was|noise_variance was"),
    ],
    ids=str,
)
def test_a_file_of_another_fit_is_refused(factor_data, tmp_path, change, message):
    X, _ = factor_data(0)
    model = GSPPCA(2, method=Paper(checkpoint=tmp_path / "state.npz")).fit(X)
    with pytest.raises(ValueError, match=rf"(?s)is not of this fit: .*({message}).*Delete the file"):
        model.set_params(**change).fit(X)


def test_files_that_are_no_checkpoint_are_refused(factor_data, tmp_path):
    X, _ = factor_data(0)
    model = GSPPCASelector(2, method=Paper(checkpoint=tmp_path / "state.npz")).fit(X)
    with pytest.raises(ValueError, match=r"the columns of its data have other variances"):
        model.fit(X + np.eye(len(X), X.shape[1]))
    with pytest.raises(ValueError, match=r"its data has the shape \(40, 25\), and this \(39, 25\)"):
        model.fit(X[1:])
    (tmp_path / "text").write_text("not an archive")
    with pytest.raises(ValueError, match="it cannot be read"):
        GSPPCA(2, method=Paper(checkpoint=tmp_path / "text")).fit(X)
    with pytest.raises(ValueError, match="in a folder that does not exist"):
        GSPPCA(2, method=Paper(checkpoint=tmp_path / "missing" / "state.npz")).fit(X)
    with pytest.raises(ValueError, match="checkpoint must be None or a path, got 3"):
        GSPPCA(2, method=Paper(checkpoint=3)).fit(X)


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_process_that_is_killed_resumes(factor_data, tmp_path):
    X, _ = factor_data(1, n=80, p=60)
    np.save(tmp_path / "X.npy", X)
    code = textwrap.dedent(
        """
        import sys, time
        import numpy as np
        from gsppca import GSPPCA, Paper
        from gsppca import _checkpoint as checkpoint
        from gsppca.data.base import Matrix
        checkpoint.EVERY = 0.0
        product = Matrix.gram_product
        def slow(self, axes):
            time.sleep(float(sys.argv[2]))
            return product(self, axes)
        Matrix.gram_product = slow
        model = GSPPCA(3, method=Paper(tol=1e-9, checkpoint=sys.argv[1] + "/state.npz"))
        model.fit(np.load(sys.argv[1] + "/X.npy"))
        fit = model.relaxed_
        np.savez(sys.argv[1] + "/result.npz", relevance=fit.relevance, bounds=fit.bounds, n_iter=fit.n_iter)
        """
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    process = subprocess.Popen([*command, "0.03"])
    deadline = time.monotonic() + 120
    saved = 0
    while time.monotonic() < deadline and process.poll() is None and saved < 4:
        try:
            with np.load(tmp_path / "state.npz") as file:
                saved = len(file["0_bounds"]) - 4 if int(file["n_runs"]) else 0
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "result.npz").exists()
    subprocess.run([*command, "0"], check=True)
    with np.load(tmp_path / "result.npz") as found:
        wanted = GSPPCA(3, method=Paper(tol=1e-9)).fit(X)
        np.testing.assert_array_equal(found["bounds"], wanted.relaxed_.bounds)
        np.testing.assert_array_equal(found["relevance"], wanted.relevance_)
        assert found["n_iter"] == wanted.n_iter_


def test_a_model_with_a_checkpoint_is_saved_and_pickled(factor_data, tmp_path):
    import pickle

    import gsppca

    X, _ = factor_data(0)
    model = GSPPCA(2, method=Paper(checkpoint=tmp_path / "state.npz")).fit(X)
    loaded = gsppca.load(model.save(tmp_path / "model.json"))
    assert loaded.method == Paper()  # nobody else's file is written to
    same(loaded, model)
    same(pickle.loads(pickle.dumps(model)), model)
    same(loaded.fit(X), model, **FINISHED)
