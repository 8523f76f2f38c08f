"""A cluster of worker processes: the same bits whoever dies, errors that name the block, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from gsppca import GSPPCA, Paper
from gsppca.data import BlockError
from gsppca.data.lazy import LazyBlocks
from tests.needs import optional
from tests.test_pass_file import KINDS, ends_as_if_it_had_not_died, kill_a_fit

distributed = optional("distributed")
da = optional("dask.array")

# What a dying cluster says on its way down is not ours to judge.
# They kill processes and wait for their replacement: run by `make cluster`, in one process, one at a time.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.cluster, pytest.mark.timeout(300)]

PAPER = Paper(tol=1e-3)


def make_block(number, height, p, seconds, block_id=None):
    """A block of rows that a worker makes for itself, slowly."""
    time.sleep(seconds)
    number = block_id[0] if block_id else number
    rng = np.random.default_rng(number)
    X = rng.standard_normal((height, p))
    X[:, ::10] += rng.standard_normal((height, 2)) @ np.random.default_rng(0).standard_normal((2, len(range(0, p, 10))))
    return X


def blocks_of(n_blocks=6, height=100, p=1030, seconds=0.0):
    """More columns than a Gram matrix is formed for: the fit goes through the data again and again."""
    return da.map_blocks(
        make_block,
        0,
        height,
        p,
        seconds,
        chunks=((height,) * n_blocks, (p,)),
        dtype=float,
        meta=np.empty((0, 0)),
    )


def start():
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)


@pytest.fixture(scope="module")
def clusters():
    """The cluster that the tests share: a new one costs each of its workers several seconds of imports."""
    running = [start()]
    yield running
    for cluster in running:
        with suppress(Exception):  # a cluster may stumble over the workers that it was about to replace
            cluster.close()


@pytest.fixture
def cluster(clusters):
    """A client of two living workers; of another cluster, if dask has not replaced a worker that a test killed."""
    client = distributed.Client(clusters[-1])
    try:
        client.wait_for_workers(2, timeout=60)
    except TimeoutError:
        client.close()
        clusters.append(start())
        client = distributed.Client(clusters[-1])
    with client:
        yield client


def same_bits(one, other):
    np.testing.assert_array_equal(one.relaxed_.bounds, other.relaxed_.bounds)
    for name in ("relevance_", "components_", "mean_", "support_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.evidence_path_.log_evidence, other.evidence_path_.log_evidence)


@pytest.mark.parametrize("persisted", [False, True])
def test_a_killed_worker_changes_no_bit(cluster, persisted, monkeypatch):
    X = blocks_of(n_blocks=4, seconds=0.02)
    wanted = GSPPCA(2, method=PAPER).fit(X.persist() if persisted else X)
    in_memory = GSPPCA(2, method=PAPER).fit(X.compute())
    np.testing.assert_allclose(wanted.relevance_, in_memory.relevance_, atol=1e-9)
    pid = next(iter(cluster.run(os.getpid).values()))
    fold, n_passes = LazyBlocks._fold, []

    def killing(self, *arguments):
        n_passes.append(len(n_passes))
        if len(n_passes) == 8:
            threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()
        return fold(self, *arguments)

    monkeypatch.setattr(LazyBlocks, "_fold", killing)
    model = GSPPCA(2, method=PAPER).fit(X.persist() if persisted else X)
    assert len(n_passes) > 10
    assert pid not in cluster.run(os.getpid).values()
    same_bits(model, wanted)


def test_transform_is_lazy_and_runs_on_the_workers(cluster):
    X = blocks_of(p=60)
    model = GSPPCA(2, method="paper").fit(X)
    scores = model.transform(X)
    np.testing.assert_allclose(scores.compute(), model.transform(X.compute()), atol=1e-12)


def eat(block, block_id=None):
    if block_id == (3, 0):
        os.kill(os.getpid(), signal.SIGKILL)  # as a worker ends that takes more memory than it may
    return block


def test_workers_without_memory_give_an_error_that_names_the_block(cluster):
    scheduler = cluster.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 1
    X = blocks_of(p=60).map_blocks(eat, dtype=float, meta=np.empty((0, 0)))
    try:
        with pytest.raises(BlockError, match=r"or one beside it, died, 2 in turn: .*rechunk") as error:
            GSPPCA(2, method="paper").fit(X)
        # Which of the blocks kills a worker twice is chance; its rows are not.
        block, first, last = re.search(r"block (\d) of X \(rows (\d+) to (\d+)\)", str(error.value)).groups()
        assert (int(first), int(last)) == (100 * int(block), 100 * int(block) + 99)
    finally:
        scheduler.allowed_failures = allowed


def broken(block, block_id=None):
    if block_id == (4, 0):
        raise OSError("the disk is gone")
    return block


def test_a_block_that_a_worker_cannot_read_is_named(cluster):
    X = blocks_of(p=60)
    with pytest.raises(BlockError, match=r"Block 4 of X \(rows 400 to 499\) cannot be read: OSError: the disk is gone"):
        GSPPCA(2, method="paper").fit(X.map_blocks(broken, dtype=float, meta=np.empty((0, 0))))
    spoilt = X.map_blocks(lambda block: np.where(block > 4, np.nan, block), dtype=float)
    with pytest.raises(ValueError, match=r"Block \d: Input X contains NaN: the first one in this block at row \d+"):
        GSPPCA(2, method="paper").fit(spoilt)


def with_tests():
    """The environment of a process that imports what this file defines."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}


def wait_until(happens, seconds=60):
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, f"waited {seconds} s for nothing"
        time.sleep(0.05)


def test_a_dead_client_of_a_cluster_leaves_no_task(cluster):
    """The scheduler forgets what nobody waits for."""
    scheduler = cluster.cluster.scheduler
    code = textwrap.dedent(
        f"""
        from distributed import Client
        from gsppca import GSPPCA, Paper
        from tests.test_distributed import blocks_of
        with Client("{cluster.cluster.scheduler_address}"):
            print("begun", flush=True)
            GSPPCA(2, method=Paper(tol=0)).fit(blocks_of(seconds=0.05))
        """
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=with_tests())
    try:
        assert process.stdout.readline() == "begun\n"
        wait_until(lambda: scheduler.tasks)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    wait_until(lambda: not scheduler.tasks)


def test_a_client_that_is_killed_resumes(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("gsppca._checkpoint.EVERY", 0.0)
    X = KINDS["heavy tails"]
    kill_a_fit(tmp_path, X, cluster.cluster.scheduler_address)
    ends_as_if_it_had_not_died(tmp_path, X)


def test_the_number_of_workers_changes_no_bit(cluster):
    two = GSPPCA(2, method=PAPER).fit(blocks_of(n_blocks=4))
    cluster.cluster.scale(1)
    cluster.sync(cluster.cluster._correct_state)
    one = GSPPCA(2, method=PAPER).fit(blocks_of(n_blocks=4))
    cluster.cluster.scale(2)
    same_bits(one, two)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_killed_client_leaves_nothing_running(tmp_path):
    code = textwrap.dedent(
        """
        import os
        from distributed import Client, LocalCluster
        from gsppca import GSPPCA, Paper
        from tests.test_distributed import blocks_of

        if __name__ == "__main__":
            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
                with Client(cluster) as client:
                    print(*client.run(os.getpid).values(), flush=True)
                    GSPPCA(2, method=Paper(tol=0)).fit(blocks_of(seconds=0.05))
        """
    )
    script = tmp_path / "client.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=with_tests())
    try:
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(is_running, pids))
        time.sleep(2)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    wait_until(lambda: not any(map(is_running, pids)))
