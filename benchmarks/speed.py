"""The default and the paper's method against a plain PCA, on real tables of every shape; and two commits compared.

    python -m benchmarks speed                   rewrites benchmarks/results/speed.md
    python -m benchmarks.speed BASE [OTHER]      the same ratios at two commits (the work tree by default), in turn

A ratio is to ``PCA(10, svd_solver="arpack").fit`` on the same matrix in the same round; the table has its median and
quartiles over the rounds. Once with one BLAS thread, so that what else runs disturbs least, and once with as many as
there are cores, as a user has it who sets nothing; the load of the machine stands beside both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.tools import BESIDE, table, write

ROUNDS, DEAR_ROUNDS, DEAR = 5, 3, 2.0  # rounds; fewer where one takes more seconds than this
DEAREST = 15.0  # and one, the first, where one takes more than this
ROOT = Path(__file__).resolve().parents[1]


def tables() -> dict[str, Callable[[], Any]]:
    """Names of the tables that can be had here, and how to get each."""
    folder = Path(os.environ.get("GSPPCA_DATA") or BESIDE)

    def stored(name: str) -> np.ndarray:
        with np.load(folder / name) as file:
            X = np.asarray(file["X"], dtype=np.float64)
        return X[:, np.random.default_rng(0).permutation(X.shape[1])]

    def cells() -> np.ndarray:
        import scanpy

        return np.asarray(scanpy.datasets.pbmc68k_reduced().X, dtype=np.float64)

    def wide(n: int, p: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        return rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) + 2 * rng.standard_normal((n, p))

    def few_of_many(n: int, p: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        X[:, : p // 20] += rng.standard_normal((n, 5)) @ rng.standard_normal((5, p // 20))
        return X

    def words(n: int, p: int) -> sparse.csr_matrix:
        rng = np.random.default_rng(0)
        rates = 0.01 * np.exp(rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) / 2)
        return sparse.csr_matrix((rng.random((n, p)) < rates).astype(np.float64))

    found: dict[str, Callable[[], Any]] = {"digits": lambda: load_digits().data, "pbmc68k_reduced": cells}
    names = {"SCAN-B": "scanb_breast_cancer.npz"} | {
        one: f"ufs/{one}.npz" for one in ("TOX-171", "GLIOMA", "Isolet", "ORL")
    }
    found |= {name: lambda path=path: stored(path) for name, path in names.items() if (folder / path).exists()}
    if (folder / "ufs/BASEHOCK.npz").exists():
        found["BASEHOCK"] = lambda: stored("ufs/BASEHOCK.npz")
        found["BASEHOCK, sparse"] = lambda: sparse.csr_matrix(stored("ufs/BASEHOCK.npz"))
    return found | {
        "simulated, few of many": lambda: few_of_many(5000, 1000),
        "simulated, few of more": lambda: few_of_many(2000, 6000),
        "simulated, words": lambda: words(2500, 3000),
        "simulated, wide": lambda: wide(100, 50_000),
        "simulated, widest": lambda: wide(400, 200_000),
    }


def jobs(X: Any) -> dict[str, Callable[[], object]]:
    """What is timed, the reference first; PCA of scikit-learn takes sparse data with the same solver."""
    from gsppca import GSPPCA
    from gsppca.rules.core_rule import core_of

    fitted = GSPPCA(10).fit(X)._fitted
    return {
        "PCA": lambda: PCA(10, svd_solver="arpack", random_state=0).fit(X),
        "default, 10 components": lambda: GSPPCA(10).fit(X),
        'default, "auto"': lambda: GSPPCA().fit(X),
        "paper's, 10 components": lambda: GSPPCA(10, method="paper").fit(X),
        "core alone, 10 components": lambda: core_of(fitted.frame, fitted.found),
    }


def measure(names: list[str] | None = None) -> list[dict[str, Any]]:
    """Seconds of PCA and ratios to it, round by round, of every table."""
    rows = []
    for name, get in tables().items():
        if names and name not in names:
            continue
        X = get()
        timed = jobs(X)
        seconds: dict[str, list[float]] = {}
        rounds, done = ROUNDS, 0
        while done < rounds + 1:  # the first round warms up, unless it is the only one
            for job, run in timed.items():
                start = time.perf_counter()
                run()
                seconds.setdefault(job, []).append(time.perf_counter() - start)
            done += 1
            dearest = max(one[-1] for one in seconds.values())
            rounds = 0 if dearest > DEAREST else DEAR_ROUNDS if dearest > DEAR else rounds
        first = int(done > 1)
        reference = np.array(seconds.pop("PCA")[first:])
        ratios = {job: (np.array(one[first:]) / reference).tolist() for job, one in seconds.items()}
        rows.append({"table": name, "shape": list(X.shape), "pca": float(np.median(reference)), "ratios": ratios})
        print(name, {job: round(float(np.median(one)), 1) for job, one in ratios.items()}, file=sys.stderr, flush=True)
    return rows


def main() -> None:
    load, pages, cores = os.getloadavg()[0], [], os.cpu_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for threads, title in ((1, "## One BLAS thread"), (cores, f"## As a user has it: {cores} BLAS threads")):
            with threadpool_limits(threads, "blas"):
                pages += [title, _table(measure())]
    write(
        "speed",
        "Times a PCA",
        'Ratio of the whole fit to `PCA(10, svd_solver="arpack").fit` on the same matrix in the same round: median and '
        f"quartiles of {ROUNDS} rounds ({DEAR_ROUNDS} where a fit takes more than {DEAR:.0f} s, one "
        f"where it takes more than {DEAREST:.0f} s). "
        f"Load of the machine before: {load:.1f}, after: {os.getloadavg()[0]:.1f}.",
        *pages,
        "The default is the whole of it: tails, joint search, core with its cross-validation, PCA; the last column has "
        "the core with its cross-validation alone. A PCA of a small table takes longer with several threads than with "
        "one; a fit holds BLAS to one, except for large products. "
        "`python -m benchmarks.speed BASE` compares two commits, with one thread.",
    )


def _table(rows: list[dict[str, Any]]) -> str:
    lines: list[list[object]] = []
    for row in rows:
        cells = []
        for ratios in row["ratios"].values():
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            cells.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
        lines.append([row["table"], " x ".join(map(str, row["shape"])), f"{row['pca']:.3f}", *cells])
    return table(["table", "shape", "PCA, seconds", *rows[0]["ratios"]], lines)


def compare(base: str, other: str | None) -> None:
    """Measure two commits in turn, each in a process of its own, and print the ratio of their ratios."""
    with tempfile.TemporaryDirectory(prefix="gsppca-speed-") as folder:
        places = [_checked_out(base, Path(folder, "base"))]
        places.append(ROOT if other is None else _checked_out(other, Path(folder, "other")))
        try:
            results = [_measured(place) for place in places]
        finally:
            for place in places:
                if place != ROOT:
                    subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", place], check=False)
    known = {row["table"]: row["ratios"] for row in results[0]}
    lines: list[list[object]] = []
    for row in results[1]:
        for job, ratios in row["ratios"].items():
            before, after = np.median(known[row["table"]][job]), np.median(ratios)
            lines.append([row["table"], job, f"{before:.1f}", f"{after:.1f}", f"{after / before:.2f}"])
    print(table(["table", "job", f"times PCA at {base}", f"at {other or 'work tree'}", "ratio"], lines))


def _checked_out(commit: str, place: Path) -> Path:
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", place, commit], check=True)
    return place


def _measured(place: Path) -> list[dict[str, Any]]:
    """The measurement of this file, of the package at another place."""
    code = "import json, warnings; warnings.simplefilter('ignore'); from benchmarks.speed import measure; "
    code += "from threadpoolctl import threadpool_limits; threadpool_limits(1, 'blas'); print(json.dumps(measure()))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(place / "src"), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("python -m benchmarks.speed BASE [OTHER]: names of commits. For the table: python -m benchmarks speed")
    compare(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
