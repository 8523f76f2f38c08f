"""Data beyond memory: out of core, on worker processes, sparse; each proof by itself, with the default method.

    python -m benchmarks.scale --only million

runs one of them and puts its section into ``results/scale.md``; the others stay as they are. Without ``--only`` all
run, one after the other. ``GSPPCA_BENCH_SHARE=0.1`` makes a trial run on a tenth of the rows, which prints its section
and writes nothing. Files are made in the temporary folder, 8 GB at most, and deleted at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import tempfile
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import distributed
import numpy as np
from scipy import sparse

from benchmarks.tools import RESULTS, machine, table
from gsppca import GSPPCA
from gsppca.data import as_blocks, as_matrix

SHARE = float(os.environ.get("GSPPCA_BENCH_SHARE", "1"))
D = 5
WORKERS = {"threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": None}


@dataclass(frozen=True)
class File:
    """Rows of a factor model as plain float32 numbers on disk.

    A tenth of the columns carry the factors, in random places, or another share of them, as strongly as `strength`.
    """

    path: Path
    n: int
    p: int
    share: float = 0.1
    n_factors: int = D
    strength: float = 2.0

    @property
    def support(self) -> np.ndarray:
        support = np.zeros(self.p, dtype=bool)
        support[np.random.default_rng(0).permutation(self.p)[: round(self.share * self.p)]] = True
        return support

    def generate(self) -> File:
        rng, columns = np.random.default_rng(1), np.flatnonzero(self.support)
        loadings = self.strength * rng.standard_normal((self.n_factors, len(columns)), dtype=np.float32)
        with self.path.open("wb") as file:
            for first in range(0, self.n, 10_000):
                height = min(10_000, self.n - first)
                X = rng.standard_normal((height, self.p), dtype=np.float32)
                X[:, columns] += rng.standard_normal((height, self.n_factors), dtype=np.float32) @ loadings
                X += 3.0
                X.tofile(file)
        return self

    def read(self, first: int, last: int) -> np.ndarray:
        shape = (last - first, self.p)
        count = shape[0] * shape[1]
        return np.fromfile(self.path, np.float32, count=count, offset=4 * first * self.p).reshape(shape)

    def blocks(self, n: int, n_blocks: int) -> da.Array:
        """The first n rows as a dask array whose blocks the workers read for themselves."""
        edges = np.linspace(0, n, n_blocks + 1).astype(int)
        chunks = (tuple(np.diff(edges).tolist()), (self.p,))
        read = partial(read_block, self, edges)
        return da.map_blocks(read, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def read_block(file: File, edges: np.ndarray, block_id: tuple[int, ...] = (0, 0)) -> np.ndarray:
    return file.read(*edges[block_id[0] : block_id[0] + 2].tolist())


@dataclass
class Outcome:
    """What one fit took."""

    seconds: float
    n_passes: int
    f_score: float  # of the relevant variables
    core: int  # size of the core
    cpu: float = 0.0  # seconds of all processes: hardly disturbed by what else the machine does
    peak: float = 0.0  # GB, of the largest worker
    busy: float = 0.0  # share of the workers' time in our numpy code
    reading: float = 0.0  # share in reading blocks
    sent: float = 0.0  # MB of results that left the workers, per pass


@contextmanager
def cluster(n_workers: int) -> Iterator[distributed.Client]:
    with distributed.LocalCluster(n_workers=n_workers, **WORKERS) as made, distributed.Client(made) as client:
        client.wait_for_workers(n_workers)
        yield client


def cpu_time() -> float:
    return time.process_time()


def peak_memory() -> float:
    """Most GB that this process has held; what `getrusage` says would hold for what had started it, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return int(re.findall(r"VmHWM:\s*(\d+)", status.read_text())[0]) / 1e6


def f_score(found: np.ndarray, wanted: np.ndarray) -> float:
    return 200.0 * float((found & wanted).sum()) / float(found.sum() + wanted.sum())


def fit(X: Any, support: np.ndarray, n_components: int = D) -> Outcome:
    blocks = as_blocks(X)
    source = X if blocks is None else blocks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), cpu_time()
        model = GSPPCA(n_components).fit(source)
        seconds, cpu = time.perf_counter() - start, cpu_time() - cpu
    passes = 0 if blocks is None else blocks.n_passes
    return Outcome(seconds, passes, f_score(model.relevant_, support), int(model.core_.sum()), cpu)


def fit_on(n_workers: int, X: da.Array, support: np.ndarray, n_components: int = D) -> Outcome:
    with cluster(n_workers) as client:
        with distributed.get_task_stream(client=client) as stream:
            before = sum(client.run(cpu_time).values())
            outcome = fit(X, support, n_components)
            outcome.cpu += sum(client.run(cpu_time).values()) - before
        outcome.peak = max(client.run(peak_memory).values())
    times = {"ours": 0.0, "reading": 0.0}
    for task in stream.data:
        spent = sum(part["stop"] - part["start"] for part in task["startstops"] if part["action"] == "compute")
        times["ours" if str(task["key"]).startswith(("gsppca", "combine_all")) else "reading"] += spent
        outcome.sent += task.get("nbytes", 0) / 1e6 if str(task["key"]).startswith("gsppca-block") else 0.0
    outcome.busy = times["ours"] / (n_workers * outcome.seconds)
    outcome.reading = times["reading"] / (n_workers * outcome.seconds)
    outcome.sent /= max(outcome.n_passes, 1)
    return outcome


def row(label: str, n: int, outcome: Outcome, n_workers: int | str) -> list[object]:
    return [
        label,
        n_workers,
        f"{outcome.seconds:.0f}",
        f"{1e6 * outcome.seconds / n:.0f}",
        f"{outcome.cpu:.0f}",
        f"{1e6 * outcome.cpu / n:.0f}",
        outcome.n_passes or "",
        f"{outcome.f_score:.1f}",
        outcome.core,
        f"{outcome.peak:.2f}" if outcome.peak else "",
        f"{100 * outcome.busy:.0f} %" if outcome.busy else "",
        f"{100 * outcome.reading:.0f} %" if outcome.busy else "",
        f"{100 * (1 - outcome.busy - outcome.reading):.0f} %" if outcome.busy else "",
    ]


HEADER = [
    "data",
    "workers",
    "seconds",
    "µs per row",
    "CPU seconds",
    "CPU µs per row",
    "passes",
    "F",
    "core",
    "peak GB per worker",
    "in numpy",
    "reading",
    "outside",
]


def million(folder: Path) -> tuple[str, str]:
    """A million rows, and fewer of them: does the time per row stay the same?"""
    n = int(1_000_000 * SHARE)
    file = File(folder / "tall.f32", n, 2000).generate()
    rows = []
    for share in (1.0, 0.5, 0.25, 0.125):
        count = int(n * share)
        outcome = fit_on(2, file.blocks(count, max(2, round(64 * share))), file.support)
        rows.append(row(f"{count:,} x {file.p:,}", count, outcome, 2))
        report(rows[-1])
    return (
        "float32, 8 GB on disk; worker processes with 3 GB each, one thread each. F is that of the relevant variables, "
        "200 of which carry five factors.",
        table(HEADER, rows),
    )


def wide(folder: Path) -> tuple[str, str]:
    """Too many variables for a Gram matrix of all."""
    n = int(100_000 * SHARE)
    file = File(folder / "wide.f32", n, 6000).generate()
    outcome = fit_on(2, file.blocks(n, 32), file.support)
    rows = [row(f"{n:,} x {file.p:,}", n, outcome, 2)]
    report(rows[-1])
    per_pass, sent = outcome.seconds / outcome.n_passes, outcome.sent / 32
    return (
        f"float32, 2.4 GB on disk. {per_pass:.1f} s a pass on average; a block returns {sent:.1f} MB on average.",
        table(HEADER, rows),
    )


def all_relevant(folder: Path) -> tuple[str, str]:
    """Thousands of relevant variables, each mostly noise, of which a core has hundreds to choose from."""
    rows = []
    for n, p in ((1_000_000, 2000), (300_000, 6000)):
        file = File(folder / "relevant.f32", int(n * SHARE), p, share=0.9, n_factors=20, strength=0.1).generate()
        outcome = fit_on(2, file.blocks(file.n, 64), file.support, file.n_factors)
        rows.append(row(f"{file.n:,} x {p:,}", file.n, outcome, 2))
        report(rows[-1])
    return (
        "float32, 8 and 7.2 GB on disk; 90 % of the columns carry 20 weak factors, which explain a sixth of their "
        "variance.",
        table(HEADER, rows),
    )


def against_numpy(folder: Path) -> tuple[str, str]:
    """The same data in memory and in blocks."""
    n = int(200_000 * SHARE)
    file = File(folder / "memory.f32", n, 2000).generate()
    X = file.read(0, n)
    lazy = da.from_array(X, chunks=(n // 32, -1), name=False)
    jobs: list[tuple[str, Callable[[], Outcome], int | str]] = [
        ("numpy array", lambda: fit(X, file.support), ""),
        ("dask array of it, threads", lambda: fit(lazy, file.support), ""),
        ("dask array from disk, processes", lambda: fit_on(2, file.blocks(n, 32), file.support), 2),
    ]
    rows: list[list[object]] = []
    best: dict[str, np.ndarray] = {}
    for _ in range(2):
        for label, job, n_workers in jobs:
            outcome = job()
            rows.append(row(label, n, outcome, n_workers))
            report(rows[-1])
            best[label] = np.fmin(best.get(label, np.inf), [outcome.seconds, outcome.cpu])
    relative = {label: values / best["numpy array"] for label, values in best.items()}
    ratios = [f"{label}: {wall:.2f} ({cpu:.2f} in CPU)" for label, (wall, cpu) in relative.items()]
    return f"{n:,} x 2,000 float32. The better of two runs, relative to numpy: {'; '.join(ratios)}.", table(
        HEADER, rows
    )


def tiny_block(block_id: tuple[int, ...] = (0, 0)) -> np.ndarray:
    return np.random.default_rng(block_id[0]).standard_normal((20, 600))


def scheduling(folder: Path) -> tuple[str, str]:
    """What a block costs when there is nothing to do with it."""
    rows: list[list[object]] = []
    with cluster(2) as client:
        for n_blocks in (50, 200, 800):
            chunks = ((20,) * n_blocks, (600,))
            matrix = as_matrix(da.map_blocks(tiny_block, chunks=chunks, dtype=float, meta=np.empty((0, 0))))
            before = sum(client.run(cpu_time).values())
            start, cpu = time.perf_counter(), cpu_time()
            for _ in range(3):
                matrix._gram_product(np.ones((2, 600)))
            wall, ours = time.perf_counter() - start, cpu_time() - cpu
            workers = sum(client.run(cpu_time).values()) - before
            rows.append([n_blocks, *(f"{1e3 * value / 3 / n_blocks:.2f}" for value in (wall, ours, workers))])
            report(rows[-1])
    return (
        "Milliseconds for a block and a pass, blocks of 20 x 600, on two workers.",
        table(["blocks", "wall", "CPU, client and scheduler", "CPU, workers"], rows),
    )


def sparse_counts(n: int, p: int, q: int = 500, density: float = 0.05) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts, of which a twentieth is not zero; common factors on q columns in random places."""
    rng = np.random.default_rng(0)
    places = rng.permutation(p)[:q]
    support = np.zeros(p, dtype=bool)
    support[places] = True
    loadings = rng.gamma(1.0, 1.0, (D, q))
    parts = []
    for _ in range(0, n, 5000):
        part = sparse.random(5000, p, density, "csr", np.float32, rng, lambda size: rng.poisson(0.5, size) + 1)
        factors = rng.gamma(0.5, 1.0, (5000, D)) @ loadings
        signal = sparse.csc_matrix(rng.poisson(0.2 * factors).astype(np.float32))
        spread = sparse.csc_matrix((np.ones(q, np.float32), (np.arange(q), places)), shape=(q, p))
        parts.append((part + signal @ spread).tocsr())
    return sparse.vstack(parts, format="csr")[:n], support


def in_memory_sparse(folder: Path) -> tuple[str, str]:
    """A sparse matrix in memory."""
    n = int(100_000 * SHARE)
    X, support = sparse_counts(n, 20_000)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    outcome = fit(X, support)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    rows = [row(f"CSR, {n:,} x 20,000", n, outcome, "")]
    report(rows[-1])
    return (
        f"Counts, {100 * X.nnz / n / 20_000:.0f} % not zero, float32. The matrix takes {size / 1e9:.2f} GB; a fit at "
        f"most {peak / 1e9:.2f} GB beyond it.",
        table(HEADER, rows),
    )


def report(cells: list[object]) -> None:
    print(*cells, f"(load {os.getloadavg()[0]:.1f})", flush=True)


@dataclass(frozen=True)
class Proof:
    """One section of the page, and about how long it takes on two idle cores."""

    heading: str
    run: Callable[[Path], tuple[str, str]]
    minutes: int


PROOFS = {
    "million": Proof("A million rows on disk", million, 12),
    "wide": Proof("Too many columns for a Gram matrix of all", wide, 8),
    "relevant": Proof("Thousands of relevant variables", all_relevant, 20),
    "numpy": Proof("In memory against blocks", against_numpy, 8),
    "sparse": Proof("A sparse matrix of 100,000 rows and 20,000 columns", in_memory_sparse, 12),
    "blocks": Proof("What a block costs by itself", scheduling, 1),
}


@contextmanager
def watched_load() -> Iterator[list[float]]:
    """Collect the load of the machine while something runs."""
    loads: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        loads.append(os.getloadavg()[0])
        while not stop.wait(5):
            loads.append(os.getloadavg()[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield loads
    finally:
        stop.set()
        watcher.join()


def section(name: str) -> str:
    """Run a proof, and return its section of the page."""
    proof = PROOFS[name]
    with tempfile.TemporaryDirectory(prefix="gsppca-") as folder, watched_load() as loads:
        text, rows = proof.run(Path(folder))
    load = f"load of the machine {np.median(loads):.1f} (median), {max(loads):.1f} (most)"
    how = f"`python -m benchmarks.scale --only {name}` on {machine()}; {load}."
    return "\n\n".join([f"## {proof.heading}", how, text, rows]) + "\n"


def merged(page: str, new: dict[str, str]) -> str:
    """Return the page with some sections replaced or added, in the order of the proofs."""
    known = {part.partition("\n")[0]: part for part in re.split(r"(?m)^## ", page)[1:]}
    known |= {PROOFS[name].heading: text.removeprefix("## ") for name, text in new.items()}
    sections = [known[proof.heading].strip() for proof in PROOFS.values() if proof.heading in known]
    return "\n\n".join(["# Data of any size", *(f"## {text}" for text in sections)]) + "\n"


def main(names: tuple[str, ...] = tuple(PROOFS)) -> None:
    path = RESULTS / "scale.md"
    for name in names:
        print(f"[{name}] about {PROOFS[name].minutes} minutes on two idle cores", flush=True)
        text = section(name)
        print(text)
        if SHARE == 1:
            path.write_text(merged(path.read_text() if path.exists() else "", {name: text}))


if __name__ == "__main__":  # worker processes import this module too
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=PROOFS, help="one of the proofs; several times for several")
    main(tuple(parser.parse_args().only or PROOFS))
