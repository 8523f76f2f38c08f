"""How time grows with n, p and d: exponents of the parts of the fit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.tools import exponent, table, write
from gsppca import GSPPCA, evidence_path, relaxed_vem
from gsppca.data import as_matrix

ITERATIONS = 10


def simulated(n: int, p: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    relevant = rng.permutation(p)[: p // 10]
    X = rng.standard_normal((n, p))
    X[:, relevant] += rng.standard_normal((n, d)) @ rng.standard_normal((d, len(relevant)))
    return X


def median(job: Callable[[], object], repeats: int) -> float:
    job()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure(n: int, p: int, d: int) -> list[float]:
    X = simulated(n, p, d)
    repeats = 5 if X.size < 2e6 else 3
    matrix = as_matrix(X)
    order = np.argsort(-matrix.column_squares)
    rate = np.sqrt(d / (matrix.total_squares / X.size))
    start = {"slab_rate": rate, "init": "random", "random_state": 0, "tol": 0, "accelerate": False}
    relaxed_vem(matrix, d, max_iter=1, **start)  # forms what is formed once
    longer = median(lambda: relaxed_vem(matrix, d, max_iter=ITERATIONS + 5, **start), repeats)
    shorter = median(lambda: relaxed_vem(matrix, d, max_iter=5, **start), repeats)
    path = median(lambda: evidence_path(matrix, order, d, 1.0), repeats)
    fit = median(lambda: GSPPCA(d, method="paper").fit(X), repeats)
    return [1e3 * max(longer - shorter, 1e-6) / ITERATIONS, path, fit]


def sweep(name: str, shapes: list[tuple[int, int, int]], which: int) -> str:
    values = [measure(*shape) for shape in shapes]
    rows: list[list[object]] = [
        [*shape, f"{step:.2f}", f"{path:.3f}", f"{fit:.3f}"]
        for shape, (step, path, fit) in zip(shapes, values, strict=True)
    ]
    x = [float(shape[which]) for shape in shapes]
    slopes = [exponent(x, [row[i] for row in values]) for i in range(3)]
    rows.append([f"exponent of {name}", "", "", *(f"{slope:.2f}" for slope in slopes)])
    return table(["n", "p", "d", "EM iteration (ms)", "path, all sizes (s)", "whole fit (s)"], rows)


def main() -> None:
    write(
        "scaling",
        "Time over n, p and d",
        "Simulated data, a tenth of the variables relevant; medians. The whole fit also depends on how many iterations "
        "the variational EM takes on the data. With p <= n/4 an iteration uses the Gram matrix, not n.",
        "## p, at n = 200",
        sweep("p", [(200, p, 10) for p in (500, 1500, 5000, 15_000, 50_000)], 1),
        "## n, at p = 500",
        sweep("n", [(n, 500, 10) for n in (200, 600, 2000, 6000, 20_000, 50_000)], 0),
        "## d, at n = 400, p = 5000",
        sweep("d", [(400, 5000, d) for d in (5, 10, 20, 40)], 2),
    )
