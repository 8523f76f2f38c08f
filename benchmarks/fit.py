"""The whole fit against a plain PCA on the same matrix, and where its time goes."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA, MiniBatchSparsePCA

from benchmarks.tools import gene_expression, side_by_side, table, write
from gsppca import GSPPCA, evidence_path, relaxed_vem
from gsppca.components.axes import principal_axes
from gsppca.data import as_matrix
from gsppca.linalg.spectrum import leading_spectrum


def main() -> None:
    X, name = gene_expression()
    d = 10
    model = GSPPCA(d, method="paper").fit(X)
    seconds = side_by_side(
        {
            "`PCA(10, svd_solver='arpack')`": lambda: PCA(d, svd_solver="arpack").fit(X),
            "`PCA(10, svd_solver='randomized')`": lambda: PCA(d, svd_solver="randomized").fit(X),
            "`GSPPCA(10)`": lambda: GSPPCA(d, method="paper").fit(X),
        },
        repeats=15,
    )
    # Much slower, so fewer runs; it selects nothing.
    mini = {"`MiniBatchSparsePCA(10)`, no selection": lambda: MiniBatchSparsePCA(d, random_state=0).fit(X)}
    seconds |= side_by_side(mini, repeats=3)
    reference = seconds["`PCA(10, svd_solver='arpack')`"]
    rows = [[job, f"{value:.3f}", f"{value / reference:.1f}"] for job, value in seconds.items()]

    order = np.argsort(model.ranking_)
    stages = side_by_side(
        {
            "centre, column variances": lambda: as_matrix(X),
            "top 10 eigenpairs": lambda: leading_spectrum(as_matrix(X), d),
            "relaxed VEM with its start": lambda: relaxed_vem(X, d),
            "evidence of all 5156 sizes": lambda: evidence_path(X, order, d, model.noise_variance_),
            "PCA on the support": lambda: principal_axes(as_matrix(X), model.support_, d),
        },
        repeats=15,
    )
    centring = stages["centre, column variances"]
    parts = []
    for job, value in stages.items():
        parts.append([job, f"{value if job.startswith('centre') else value - centring:.3f}"])
    write(
        "fit",
        "The whole fit against PCA",
        f"Data: {name}. Median of 15 runs in turn. The fit: start grid, variational EM to the default tolerance "
        f"({model.n_iter_} iterations), the evidence of all {len(model.evidence_path_.sizes)} sizes, PCA on the "
        f"{model.n_selected_} selected variables.",
        table(["job", "seconds", "times PCA (arpack)"], rows),
        "Its stages, each called alone (the time of centring subtracted where it is part of the call; the VEM includes "
        "the eigenpairs):",
        table(["stage", "seconds"], parts),
    )
