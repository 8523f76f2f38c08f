"""A fit of data in blocks that died goes on from the passes it has made, and ends as if it had not died."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import gsppca
from gsppca import GSPPCA, GSPPCASelector, Joint
from gsppca import _checkpoint as module
from gsppca.data import as_blocks
from gsppca.data.blocks import Blocks
from gsppca.data.passes import PassFile, UnknownTaskError, digest
from tests.needs import optional

NAMES = ["support_", "ranking_", "relevance_", "inclusion_probability_", "components_", "noise_variance_"]
NAMES += ["core_share_", "predicted_share_", "explained_variance_"]


def data(*, tails=None, n=4300, p=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) if tails is None else rng.standard_t(tails, (n, p))
    X[:, ::3] += rng.standard_normal((n, 2)) @ rng.standard_normal((2, len(range(0, p, 3))))
    return X


KINDS = {
    "Gaussian": data(),
    "heavy tails": data(tails=3),
    "few rows": data(n=60),
    "sparse": sparse.csr_array(np.where(data() > 1, data(), 0.0)),
}


def blocks(X, height=1500):
    da = optional("dask.array")
    if isinstance(X, np.ndarray):
        return as_blocks(da.from_array(X, chunks=(height, -1)))
    return as_blocks(da.from_array(X.toarray(), chunks=(height, -1)).map_blocks(sparse.csr_array))


class DiedError(Exception):
    pass


def die_in(monkeypatch, number):
    """Let a fit die in the middle of its n-th pass over the data."""
    counted = Blocks._counted

    def dying(self, task, combine):
        if type(self).__name__ == "LazyBlocks" and self.n_passes + 1 == number:
            raise DiedError
        return counted(self, task, combine)

    monkeypatch.setattr(Blocks, "_counted", dying)


def same(one, other):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.evidence_path_.log_evidence, other.evidence_path_.log_evidence)


@pytest.fixture(autouse=True)
def save_always(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.npz"


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_died_ends_with_the_same_bits(kind, path, monkeypatch):
    X = KINDS[kind]
    read = blocks(X)
    wanted = GSPPCA(2).fit(read)
    for number in range(2, read.n_passes + 1):
        path.unlink(missing_ok=True)
        with monkeypatch.context() as context:
            die_in(context, number)
            with pytest.raises(DiedError):
                GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(X))
        again = blocks(X)
        same(GSPPCA(2, method=Joint(checkpoint=path)).fit(again), wanted)
        assert again.n_passes == 1 + read.n_passes - (number - 1)


def test_a_finished_fit_reads_the_data_once(path):
    model = GSPPCASelector(2, method=Joint(checkpoint=str(path))).fit(blocks(KINDS["Gaussian"]))
    again = blocks(KINDS["Gaussian"])
    other = clone(model).fit(again)
    assert again.n_passes == 1
    np.testing.assert_array_equal(other.ranking_, model.ranking_)
    assert [file.name for file in path.parent.iterdir()] == ["fit.npz"]


def test_other_parameters_take_what_is_the_same(path):
    """A pass depends on the data and on what is asked: nothing that was found with other parameters can slip in."""
    X = KINDS["heavy tails"]
    GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(X))
    for options in ({"n_components": 3}, {"n_components": 2, "scale": True}, {"n_components": 2, "exclude": [0]}):
        read, fresh = blocks(X), blocks(X)
        same(GSPPCA(method=Joint(checkpoint=path), **options).fit(read), GSPPCA(**options).fit(fresh))
        assert read.n_passes < fresh.n_passes


def swapped(X, column):
    other = X.copy()
    other[[5, 9], column] = other[[9, 5], column]
    return other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X + np.eye(*X.shape), "its data is another, or was cut in other blocks"),
        (lambda X: X[::-1].copy(), "its data is another, or was cut in other blocks"),
        (lambda X: swapped(X, 3), "its data is another, or was cut in other blocks"),
        (lambda X: X[1:], r"its data has the shape \(4300, 20\), and this \(4299, 20\)"),
    ],
    ids=["other entries", "other order of rows", "two entries exchanged", "other shape"],
)
@pytest.mark.parametrize("counts", [False, True])
def test_a_file_of_other_data_is_refused(path, change, message, counts):
    X = np.round(2 * KINDS["Gaussian"]) if counts else KINDS["Gaussian"]  # sums of counts have no rounding
    GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(X))
    with pytest.raises(ValueError, match=rf"is not of this fit: {message}\. Delete the file"):
        GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(change(X)))


def test_what_cannot_work_is_refused(path):
    X = KINDS["Gaussian"]
    with pytest.raises(ValueError, match="checkpoint must be None or a path, got 3"):
        GSPPCA(2, method=Joint(checkpoint=3)).fit(X)
    with pytest.raises(ValueError, match=r"this data is in memory as a whole\. Leave it out"):
        GSPPCA(2, method=Joint(checkpoint=path)).fit(X)
    with pytest.raises(ValueError, match="in a folder that does not exist"):
        GSPPCA(2, method=Joint(checkpoint=path / "missing" / "fit.npz")).fit(blocks(X))


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "fit.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EVERY", 0.0)
        GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(KINDS["few rows"]))
    return path.read_bytes()


def refit(path):
    return GSPPCA(2, method=Joint(checkpoint=path)).fit(blocks(KINDS["few rows"]))


def tampered(change):
    def tamper(path):
        with np.load(path) as file:
            arrays = dict(file)
        change(arrays, next(name for name in arrays if name.startswith("array")))
        np.savez(path, **arrays)

    return tamper


TAMPERED = {
    "a number": lambda arrays, name: arrays.update({name: arrays[name] * 1.5}),
    "a shape": lambda arrays, name: arrays.update({name: arrays[name][:1]}),
    "one less": lambda arrays, name: arrays.pop(name),
    "one more": lambda arrays, name: arrays.update(more=np.ones(3)),
    "a name": lambda arrays, name: arrays.update({"array_x_0": arrays.pop(name)}),
    "the sum": lambda arrays, name: arrays.pop("sum"),
    "the shape": lambda arrays, name: arrays.update(shape=np.array("x")),
    "the format": lambda arrays, name: arrays.update(format=np.array(99)),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_file_is_refused_in_one_line(path, content, what):
    path.write_bytes(content)
    tampered(TAMPERED[what])(path)
    with pytest.raises(ValueError, match=r"is not of this fit: (it is damaged|its (format|data))") as said:
        refit(path)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("place", [0, 100, 5000, -300, -1])
def test_damaged_bytes_are_refused_or_do_no_harm(path, content, place):
    damaged = bytearray(content)
    damaged[place] ^= 255
    path.write_bytes(damaged)
    try:
        found = refit(path)
    except ValueError as error:
        if "is not of this fit" not in str(error):
            raise
    else:
        same(found, GSPPCA(2).fit(blocks(KINDS["few rows"])))


@pytest.mark.parametrize("text", [b"", b"not an archive", pickle.dumps({"format": 1})])
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    with pytest.raises(ValueError, match="is not of this fit: it cannot be read"):
        refit(path)


def test_compressed_files_are_refused(path, content):
    path.write_bytes(content)
    with np.load(path) as file:
        np.savez_compressed(path, **file)
    with pytest.raises(ValueError, match="the arrays are compressed"):
        refit(path)


def test_a_full_disk_does_not_end_the_fit(path, monkeypatch):
    def fail(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.warns(RuntimeWarning, match=r"cannot be written \(No space left on device\)\. The fit goes on") as said:
        found = refit(path)
    assert sum(one.category is RuntimeWarning for one in said) == 1
    same(found, GSPPCA(2).fit(blocks(KINDS["few rows"])))
    assert not list(path.parent.iterdir())


def test_a_model_with_a_checkpoint_is_saved_and_pickled(path):
    model = refit(path)
    assert len(model.evidence_path_.sizes)  # which needs the data, before they part
    loaded = gsppca.load(model.save(path.parent / "model.json"))
    assert loaded.method == Joint()  # nobody else's file is written to
    same(pickle.loads(pickle.dumps(model)), model)
    path.unlink()
    read = blocks(KINDS["few rows"])
    same(loaded.fit(read), model)
    assert not path.exists()


def test_the_next_fit_of_the_same_blocks_forgets_the_file(path):
    read = blocks(KINDS["few rows"])
    GSPPCA(2, method=Joint(checkpoint=path)).fit(read)
    path.unlink()
    GSPPCA(2).fit(read)
    assert not path.exists()


def test_what_has_no_content_is_not_kept(path):
    memory, runs = PassFile(path, (1, 1), np.ones(1)), []
    for _ in range(2):
        memory.recall((lambda block: block, np.add), lambda: runs.append(1))
    assert len(runs) == 2
    for unknown in (object(), np.array([object()]), lambda: 0, {1, 2}):
        with pytest.raises(UnknownTaskError):
            digest(unknown)


def test_digests_tell_contents_apart():
    values = [
        None,
        0,
        0.0,
        False,
        "",
        "0",
        (),
        [],
        {},
        (0,),
        ("a", "b"),
        ("ab",),
        slice(0, 1),
        np.add,
        np.maximum,
        digest,
    ]
    values += [np.zeros(2), np.zeros((2, 1)), np.zeros(2, "f4"), np.zeros(16, "u1"), np.arange(2.0), np.float64(0)]
    values += [functools.partial(digest, 1), functools.partial(digest, 2), Joint(), Joint(noise="own")]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(np.asfortranarray(np.eye(3)[:, ::-1])) == digest(np.ascontiguousarray(np.eye(3)[:, ::-1]))


CODE = """
import sys, time
import numpy as np
import dask.array as da
from gsppca import GSPPCA, Joint, _checkpoint
from gsppca.data import blocks
from gsppca.data.blocks import Blocks

_checkpoint.EVERY = 0.0
blocks.HELD_BYTES = 0
counted = Blocks._counted

def slow(self, task, combine):
    time.sleep(0.3)
    return counted(self, task, combine)

Blocks._counted = slow
X = da.from_array(np.load(sys.argv[1] + "/X.npy"), chunks=(1500, -1))
if len(sys.argv) > 2:
    from distributed import Client
    client = Client(sys.argv[2])
GSPPCA(2, method=Joint(checkpoint=sys.argv[1] + "/fit.npz")).fit(X)
"""


def kill_a_fit(folder, X, *address):
    """Let another process, maybe a client of a cluster, fit X; kill it when its file holds two passes at least."""
    np.save(folder / "X.npy", X)
    process = subprocess.Popen([sys.executable, "-c", CODE, str(folder), *address])
    deadline, saved = time.monotonic() + 120, 0
    while time.monotonic() < deadline and process.poll() is None and saved < 2:
        if (folder / "fit.npz").exists():
            with np.load(folder / "fit.npz") as file:
                saved = len({name.split("_")[1] for name in file.files if "_" in name})
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert saved >= 2


def ends_as_if_it_had_not_died(folder, X):
    """This process goes on where the one that was killed had come to."""
    read, fresh = blocks(X), blocks(X)
    same(GSPPCA(2, method=Joint(checkpoint=folder / "fit.npz")).fit(read), GSPPCA(2).fit(fresh))
    assert read.n_passes < fresh.n_passes


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_process_that_is_killed_resumes(tmp_path):
    optional("dask.array")
    kill_a_fit(tmp_path, KINDS["heavy tails"])
    ends_as_if_it_had_not_died(tmp_path, KINDS["heavy tails"])
