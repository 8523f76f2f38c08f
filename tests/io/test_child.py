"""The process that reads: started ahead, used once, never left behind."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.io

from gsppca.io import child, read_table
from tests.needs import optional

DATA = np.arange(24.0).reshape(6, 4)


@pytest.fixture
def started(monkeypatch):
    """All children that are started."""
    found = []

    class Noted(child.Child):
        def __init__(self, kind):
            super().__init__(kind)
            found.append(self)

    monkeypatch.setattr(child, "Child", Noted)
    return found


@pytest.fixture
def file(tmp_path):
    scipy.io.mmwrite(tmp_path / "t.mtx", DATA)
    return tmp_path / "t.mtx"


def test_the_child_that_waits_is_the_one_that_reads(started, file):
    with child.reader_started(file):
        (waiting,) = started
        assert waiting.process.poll() is None
        np.testing.assert_array_equal(read_table(file).data, DATA)
        assert waiting.process.returncode == 0
        np.testing.assert_array_equal(read_table(file).data, DATA)  # by another one
    assert len(started) == 2
    assert all(one.process.returncode == 0 and one.said.closed for one in started)


def test_a_child_that_nobody_asks_is_ended(started, file):
    def fail():
        with child.reader_started(file):
            raise ValueError("an option")

    with pytest.raises(ValueError, match="an option"):
        fail()
    (unused,) = started
    assert unused.process.returncode not in (None, 0)
    assert unused.said.closed
    assert not child._waiting


@pytest.mark.parametrize("name", ["t.csv", "t.mtx", "-"])
def test_no_child_for_what_it_will_not_read(started, tmp_path, name):
    """Text is read here; a file that does not exist, nowhere."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with child.reader_started(tmp_path / name):
        assert not started


def test_starting_it_is_light():
    code = "import sys, gsppca.io.child; print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_hiding_what_anndata_does_not_need_is_for_the_child_alone(tmp_path):
    """The same table with dask at hand and without."""
    anndata = optional("anndata")
    adata = anndata.AnnData(DATA)
    adata.obs["kind"] = list("aabbcc")
    adata.layers["half"] = DATA / 2
    adata.write_h5ad(tmp_path / "t.h5ad")
    hidden = {name: sys.modules.get(name) for name in ("dask", "xarray")}
    table = read_table(tmp_path / "t.h5ad", label="kind", layer="half")
    np.testing.assert_array_equal(table.data, anndata.read_h5ad(tmp_path / "t.h5ad").layers["half"])
    assert table.labels == list("aabbcc")
    assert {name: sys.modules.get(name) for name in hidden} == hidden
