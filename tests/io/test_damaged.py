"""Damaged and malicious files: one line that names the file; no crash, no hang, nothing run."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gsppca
from gsppca.io import ReadOptions, TableError, isolated, read_table
from gsppca.io.formats import detect_format
from gsppca.io.read import read_here
from tests.needs import optional

DAMAGED = Path(__file__).parents[1] / "fixtures" / "damaged"
DATA = np.random.default_rng(0).normal(size=(6, 4)).round(3)


def refusal(path):
    """What is said about a file that cannot be read."""
    with pytest.raises(TableError, match=path.name) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_library_that_hangs_is_stopped(monkeypatch):
    """HDF5 is busy with this file for some seconds, or for ever: that depends on its version and on the machine."""
    optional("anndata")
    monkeypatch.setattr(isolated, "SECONDS", 8.0)
    start = time.monotonic()
    said = refusal(DAMAGED / "hangs.h5ad")
    assert "has not ended after 8.0 s" in said or "not a readable h5ad" in said
    assert time.monotonic() < start + 30
    monkeypatch.setattr(isolated, "SECONDS", 0.5)  # less than its library takes to be imported
    assert "has not ended after 0.5 s" in refusal(DAMAGED / "hangs.h5ad")


def test_the_limit_can_be_set(monkeypatch):
    monkeypatch.setenv(isolated.LIMIT, "0.01")
    assert "set GSPPCA_READ_SECONDS to a larger number" in refusal(DAMAGED / "hangs.h5ad")


def test_a_library_that_crashes_takes_nobody_along():
    optional("anndata")
    assert "crashed on it (signal 11)" in refusal(DAMAGED / "crashes.h5ad")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("harm", ["zero byte", "cut off in a number", "cut off", "a hole"])
def test_damaged_matrix_market_files(tmp_path, harm, packed):
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, DATA)
    content = bytearray(buffer.getvalue())
    if harm == "zero byte":
        content[len(content) // 2] = 0
    elif harm == "cut off in a number":
        del content[content.rindex(b"E") + 1 :]
    elif harm == "cut off":
        del content[content.rindex(b"\n", 0, -1) + 1 :]
    else:
        del content[content.rindex(b"\n", 0, -1) :]
        content += b"\n\n\n"
    path = tmp_path / ("t.mtx.gz" if packed else "t.mtx")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert "mtx file" in refusal(path)


def as_arguments(path, **options):
    kind, compression = detect_format(path)
    return path, kind, compression, ReadOptions(**options), True


def assert_same_table(one, other):
    for name in ("feature_names", "sample_names", "labels", "path", "format", "notes", "positions", "text"):
        assert getattr(one, name) == getattr(other, name), name
    assert sp.issparse(one.data) == sp.issparse(other.data)  # noqa: TID251
    assert one.data.dtype == other.data.dtype
    dense = [table.data.toarray() if sp.issparse(table.data) else table.data for table in (one, other)]  # noqa: TID251
    np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize("kind", ["dense", "sparse", "ten x", "h5ad"])
def test_the_child_reads_what_this_process_would(tmp_path, kind):
    path, options = tmp_path / "m.mtx", {}
    if kind == "h5ad":
        anndata, pd = optional("anndata"), optional("pandas")
        path, options = tmp_path / "a.h5ad", {"label": "kind"}
        obs = pd.DataFrame({"kind": ["x", "y"] * 3}, index=[f"gène {i}" for i in range(6)])
        anndata.AnnData(DATA.astype(np.float32), obs=obs).write_h5ad(path)
    else:
        scipy.io.mmwrite(path, DATA.T if kind == "ten x" else DATA if kind == "dense" else sp.coo_array(DATA))
    if kind == "ten x":
        (tmp_path / "genes.tsv").write_text("".join(f"ENS{i}\tA\n" for i in range(4)))
        (tmp_path / "barcodes.tsv").write_text("".join(f"s{i}\n" for i in range(6)))
    arguments = as_arguments(path, **options)
    found = isolated.read_isolated(*arguments)
    assert_same_table(found, read_here(*arguments))
    if not sp.issparse(found.data):  # noqa: TID251
        found.data[0, 0] = 1.0  # an array like others


@pytest.mark.parametrize(
    ("name", "content", "options", "kind"),
    [
        ("t.mtx", b"%%MatrixMarket nonsense\n", {}, TableError),
        ("t.mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n", {"drop": ("a",)}, TableError),
    ],
)
def test_errors_of_the_child_are_those_of_this_process(tmp_path, name, content, options, kind):
    arguments = (tmp_path / name, "mtx", None, ReadOptions(**options), True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(kind) as here:
        read_here(*arguments)
    with pytest.raises(kind) as there:
        isolated.read_isolated(*arguments)
    assert str(here.value) == str(there.value)


def test_what_the_child_does_not_have_is_named(tmp_path, monkeypatch):
    """The part of the child, in this process."""
    monkeypatch.setitem(sys.modules, "anndata", None)
    request: dict[str, Any] = {"path": str(DAMAGED / "hangs.h5ad"), "kind": "h5ad", "compression": None, "strict": True}
    request |= {"options": asdict(ReadOptions()), "folder": str(tmp_path)}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    isolated.main()
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["error"] == "ImportError"
    assert "pip install" in answer["arguments"][0]


def test_nothing_is_imported_from_the_current_folder(tmp_path, monkeypatch):
    """A stranger's folder of data may hold a scipy.py."""
    scipy.io.mmwrite(tmp_path / "t.mtx", DATA)
    for name in ("scipy", "numpy", "json", "gsppca"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('exploded').touch()")
    monkeypatch.chdir(tmp_path)
    assert read_table("t.mtx").shape == (6, 4)
    assert not (tmp_path / "exploded").exists()


def test_an_interruption_ends_the_child(tmp_path, monkeypatch):
    children = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__([sys.executable, "-c", "import time; time.sleep(600)"], **options)
            children.append(self)

        def communicate(self, *arguments, **options):
            raise KeyboardInterrupt

    monkeypatch.setattr(isolated.subprocess, "Popen", Interrupted)
    scipy.io.mmwrite(tmp_path / "t.mtx", DATA)
    with pytest.raises(KeyboardInterrupt):
        read_table(tmp_path / "t.mtx")
    assert children[0].wait(10) is not None


def arrays_of(folder):
    np.save(folder / "t.npy", DATA)
    np.savez(folder / "t.npz", X=DATA, feature_names=list("abcd"))
    np.savez_compressed(folder / "packed.npz", X=DATA)
    sp.save_npz(folder / "sparse.npz", sp.csr_array(DATA))
    return sorted(folder.iterdir())


def texts_of(folder):
    text = "a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in DATA.tolist())
    (folder / "t.csv").write_text(text)
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "t.mtx.gz").write_bytes(gzip.compress(b"not a matrix"))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("files_of", [arrays_of, texts_of])
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_arrays_and_texts_are_refused_in_one_line(tmp_path, files_of, data):
    if files_of is texts_of:
        optional("pyarrow")
    path = data.draw(st.sampled_from(files_of(tmp_path)))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(content) - 1)))
        if data.draw(st.booleans()):
            content[place : place + 1] = data.draw(st.binary(max_size=9))
        else:
            del content[place:]
    path.write_bytes(content)
    if path.suffixes[0] == ".mtx":
        return  # a child each: they have tests of their own
    try:
        read_table(path)
    except TableError as error:
        assert path.name in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    except MemoryError:
        pass  # an array that says it is larger than the memory


def test_packed_files_that_are_damaged_at_once(tmp_path):
    """Looking at the first bytes alone, to know the format."""
    whole = bytearray(gzip.compress(b"%%MatrixMarket matrix array real general\n1 1\n1\n"))
    for place in range(10, len(whole)):
        damaged = whole.copy()
        damaged[place] ^= 0xFF
        (tmp_path / "t.mtx.gz").write_bytes(damaged)
        try:
            detect_format(tmp_path / "t.mtx.gz")
        except TableError as error:
            assert "t.mtx.gz" in str(error)  # noqa: PT017


class Bomb:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize("name", ["t.npy", "t.npz", "sparse.npz"])
def test_pickles_in_arrays_are_not_opened(tmp_path, name):
    trace, path = tmp_path / "exploded", tmp_path / name
    bomb = np.array([[Bomb(trace)]], dtype=object)
    if name == "t.npy":
        np.save(path, bomb, allow_pickle=True)
    else:
        np.savez(
            path, X=DATA, feature_names=bomb, **({"format": bomb, "shape": 1, "data": 1} if "s" in name[:1] else {})
        )
    assert any(words in refusal(path) for words in ("allow_pickle", "Python objects"))
    assert not trace.exists()
    loaded = np.load(path, allow_pickle=True)
    if name != "t.npy":
        with loaded:
            loaded["feature_names"]
    assert trace.exists()  # the bomb works: it would have been noticed


def test_the_command_line_never_says_that_this_should_not_happen(tmp_path):
    (tmp_path / "long.csv").write_text("a,b\n" + "x" * 200_000 + ",2\n3,4\n")
    (tmp_path / "quoted.csv").write_text('a,b\n"' + "x\n" * 100_000 + '",2\n3,4\n')
    (tmp_path / "open.csv").write_text('a,b\n"1,2\n3,4\n')
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order'")
    (tmp_path / "zip.npz").write_bytes(b"PK\x03\x04" + bytes(40))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:40])
    from gsppca.cli import main

    for path in sorted(tmp_path.iterdir()):
        with pytest.MonkeyPatch.context() as patch:
            said = io.StringIO()
            patch.setattr(sys, "stderr", said)
            assert main(["fit", str(path), "-q"]) == 1
            assert said.getvalue().count("\n") <= 3  # one line, and the command to use instead
        assert "should not happen" not in said.getvalue()
        assert len(said.getvalue()) < 1000  # cells are shown in part


def test_a_word_for_missing_is_short(tmp_path):
    """pyarrow crashes on a long one."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "x" * 200_000 + ",2\n3,4\n")
    with pytest.raises(TableError, match=r"--na x+\.\.\. has 200000 characters, 100 are allowed"):
        read_table(path, na=("x" * 200_000,))


def test_a_child_that_is_asked_from_a_script_finds_the_package(tmp_path):
    """Even when the package is found by sys.path alone, as in a notebook."""
    scipy.io.mmwrite(tmp_path / "t.mtx", DATA)
    root = str(Path(gsppca.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); import gsppca.io; print(gsppca.io.read_table('t.mtx').shape)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "(6, 4)", done.stderr
