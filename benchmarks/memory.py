"""Peak memory of a fit beyond the data itself."""

from __future__ import annotations

import tracemalloc

import numpy as np

from benchmarks.tools import gene_expression, table, write
from gsppca import GSPPCA, Paper


def peak(X: np.ndarray, d: int, method: object, **parameters: object) -> float:
    """Largest memory of numpy and Python during a fit, as a multiple of X, X not counted."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    GSPPCA(d, method=method, **parameters).fit(X)
    highest = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return highest / X.nbytes


def factors(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """All variables share ten factors: a core is to be found."""
    return rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) + 2 * rng.standard_normal((n, p))


def main() -> None:
    import warnings

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    genes, name = gene_expression()
    cases = [
        (name, genes, {}),
        (name + ", all selected", genes, {"n_features_to_select": genes.shape[1]}),
        (name + ", scale=True", genes, {"scale": True}),
        ("400 x 20,000, ten factors", factors(rng, 400, 20_000), {}),
        ("100 x 50,000, ten factors", factors(rng, 100, 50_000), {}),
        ("400 x 200,000, ten factors", factors(rng, 400, 200_000), {}),
        ("200 x 50,000", rng.standard_normal((200, 50_000)), {}),
        ("50 x 20,000 (5 samples per component)", rng.standard_normal((50, 20_000)), {}),
        ("50,000 x 500", rng.standard_normal((50_000, 500)), {}),
        ("2000 x 1000", rng.standard_normal((2000, 1000)), {}),
        ("3000 x 3000", rng.standard_normal((3000, 3000)), {}),
        ("3000 x 3000, Fortran order", np.asfortranarray(rng.standard_normal((3000, 3000))), {}),
        ("3000 x 3000, float32", rng.standard_normal((3000, 3000)).astype(np.float32), {}),
        ("3000 x 3000, half of the columns constant", rng.standard_normal((3000, 3000)) * (np.arange(3000) % 2), {}),
    ]
    methods = ("joint", Paper(max_iter=20, tol=1e-5))
    rows = [
        [label, f"{X.nbytes / 1e6:.0f}", *(f"{peak(X, 10, method, **parameters):.2f}" for method in methods)]
        for label, X, parameters in cases
    ]
    write(
        "memory",
        "Peak memory of a fit",
        "d = 10. Memory that numpy and Python hold at most during `fit`, beyond X, divided by the size of X (below 1 "
        "wanted). Heavy tails, which genes have, are clipped in a copy; square data needs Gram matrices of its size. "
        "Wide data takes about 8 d numbers for each variable, that is 8 d/n. Other rows are pure noise, but for genes.",
        table(["data", "X (MB)", "default, peak / X", "paper's, peak / X"], rows),
    )
