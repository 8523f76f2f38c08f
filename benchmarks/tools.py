"""What the benchmarks share: data, timing side by side, and tables."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "results"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def gene_expression() -> tuple[np.ndarray, str]:
    """SCAN-B (400 x 5156) if it is found, else a synthetic matrix of its shape; and its name."""
    from gsppca.datasets import load_scanb

    folder = os.environ.get("GSPPCA_DATA") or (str(BESIDE) if BESIDE.is_dir() else None)
    if folder is not None:
        X = np.asarray(load_scanb(directory=folder).X, dtype=np.float64)
        return X[:, np.random.default_rng(0).permutation(X.shape[1])], "SCAN-B, 400 x 5156"
    rng = np.random.default_rng(0)
    weights = rng.gamma(1.0, 1.0, (10, 5156)) * rng.standard_normal((10, 5156))
    X = rng.standard_normal((400, 10)) @ weights + rng.gamma(2.0, 0.5, 5156) * rng.standard_normal((400, 5156))
    return X, "synthetic, 400 x 5156 (SCAN-B was not found)"


def side_by_side(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each job, all jobs run in turn in every repeat, so that they share what disturbs them."""
    for job in jobs.values():
        job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def exponent(x: list[float], y: list[float]) -> float:
    """Slope of log y over log x, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def machine() -> str:
    threads = max((info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"), default=1)
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {threads} BLAS thread(s); Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write(name: str, title: str, *parts: str) -> None:
    """Write a page of results, in one go."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([f"# {title}", f"`python -m benchmarks {name}` on {machine()}", *parts]) + "\n"
    temporary = RESULTS / f".{name}.md"
    temporary.write_text(text)
    temporary.replace(RESULTS / f"{name}.md")
    print(text)
