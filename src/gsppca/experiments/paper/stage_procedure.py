"""The paper's procedure made of its stages, with any options of `gsppca.relaxed_vem`: other starts, Algorithm 1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gsppca.experiments.methods import register_method

# Section 2.7 and Algorithm 1 to the letter; tests/rankings/test_literal_algorithm.py compares it with loops.
LITERAL: dict[str, Any] = {
    "slab_unit": "absolute",
    "short_iterations": 4,
    "accelerate": False,
    "noise_first": True,
    "max_iter": 5000,
}


class StageProcedure:
    """Rank by the relaxed model, choose the size by the noiseless evidence, the noise being the median variance.

    Parameters
    ----------
    n_components : int
        Dimension of the latent space.
    size : int or None
        Variables to select; None for the evidence's choice.
    seed : int
        For a random start.
    **options
        Of `gsppca.relaxed_vem`.

    Attributes
    ----------
    support_, n_iter_, collapsed_, converged_
        What was selected, and how the variational EM went.
    """

    def __init__(self, n_components: int, size: int | None, seed: int, **options: Any) -> None:
        self.n_components, self.size = n_components, size
        self.options = {"random_state": seed} | options

    def fit(self, X: Any) -> StageProcedure:
        """Select variables of X."""
        from gsppca import estimate_noise_variance, evidence_path, relaxed_vem
        from gsppca.data import as_matrix
        from gsppca.rankings.order import rank_variables

        matrix = as_matrix(X)
        noise = estimate_noise_variance(matrix, self.n_components)
        relaxed = relaxed_vem(matrix, self.n_components, noise_variance=noise, **self.options)
        order = rank_variables(relaxed.relevance, relaxed.explained, matrix.column_squares)
        size = self.size
        if size is None:
            path = evidence_path(matrix, order, self.n_components, noise)
            size = int(path.sizes[path.log_evidence.argmax()])
        self.support_ = np.zeros(matrix.n_features, dtype=bool)
        self.support_[order[:size]] = True
        self.n_iter_, self.collapsed_, self.converged_ = relaxed.n_iter, relaxed.collapsed, relaxed.converged
        return self


AbsoluteGrid = partial(StageProcedure, slab_unit="absolute")
DataGrid = partial(StageProcedure, slab_rate=(0.5, 1.0, 2.0), slab_unit="data")
Literal = partial(StageProcedure, **LITERAL)
RandomStart = partial(StageProcedure, init="random")

register_method("gsppca-absolute-grid", AbsoluteGrid, "GSPPCA, grid of alpha absolute")
register_method("gsppca-data-grid", DataGrid, "GSPPCA, alpha by the variance of the data")
register_method("gsppca-literal", Literal, "Algorithm 1 to the letter")
register_method("gsppca-random-start", RandomStart, "GSPPCA, random start")
STARTS = ("gsppca-absolute-grid", "gsppca-data-grid", "gsppca-literal", "gsppca-random-start")
