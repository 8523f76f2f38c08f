"""The evidence of all sizes against plain EM iterations at the same shape."""

from __future__ import annotations

import numpy as np

from benchmarks.tools import gene_expression, side_by_side, table, write
from gsppca import evidence_path, relaxed_vem
from gsppca.data import as_matrix

ITERATIONS = 50


def main() -> None:
    X, name = gene_expression()
    matrix = as_matrix(X)
    order = np.argsort(-relaxed_vem(matrix, 10).relevance, kind="stable")
    variance = float(np.median(matrix.column_squares)) / matrix.n_samples
    rate = np.sqrt(10 / (matrix.total_squares / X.size))
    seconds = side_by_side(
        {
            "path": lambda: evidence_path(matrix, order, 10, variance),
            "em": lambda: relaxed_vem(matrix, 10, slab_rate=rate, max_iter=ITERATIONS, tol=0, accelerate=False),
        },
        repeats=15,
    )
    per_value = seconds["path"] / X.size * 1e9
    write(
        "path",
        "The evidence path against EM iterations",
        f"Data: {name}, d = 10. Median of 15 runs in turn.",
        table(
            ["job", "seconds"],
            [
                [f"evidence of all {X.shape[1]} sizes", f"{seconds['path']:.3f}"],
                [f"{ITERATIONS} plain EM iterations", f"{seconds['em']:.3f}"],
                ["ratio (at most 1 wanted)", f"{seconds['path'] / seconds['em']:.2f}"],
            ],
        ),
        f"{per_value:.0f} ns per row and size, all included.",
    )
