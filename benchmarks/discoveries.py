"""Permutation knockoffs, one draw and several combined by e-values: realised false discovery rate and power."""

from __future__ import annotations

import numpy as np

from benchmarks.tools import table, write
from gsppca.data.shadows import add_shadows
from gsppca.rules.knockoffs import draw_e_values, e_bh, knockoff_threshold, pair_statistics

RUNS = 40
FDR, N_DRAWS = 0.1, 5
N, P, D = 80, 200, 3
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def communality(X: np.ndarray) -> np.ndarray:
    """Share of each column on the leading axes: a simple score, any will do."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    axes = np.linalg.eigh(Z @ Z.T)[1][:, -D:]
    return ((axes.T @ Z) ** 2).sum(axis=0)


def main() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for relevant in (0, 12, 20, 40, 80):
        found = []
        truth = np.arange(P) < relevant
        for _ in range(RUNS):
            X = rng.standard_normal((N, P))
            X[:, :relevant] += 0.8 * rng.standard_normal((N, D)) @ rng.standard_normal((D, relevant))
            draws = []
            for _ in range(N_DRAWS):
                doubled = add_shadows(X, rng)
                draws.append(pair_statistics(*doubled.split(communality(doubled.X))))
            chosen = [draws[0] >= knockoff_threshold(draws[0], FDR)]
            for share in SHARES:
                e_values = [draw_e_values(w, knockoff_threshold(w, share * FDR)) for w in draws]
                chosen.append(e_bh(np.mean(e_values, axis=0), FDR))
            found.append([[(s & ~truth).sum() / max(1, s.sum()), s[truth].mean() if relevant else 0] for s in chosen])
        rows.append([relevant, *(f"{100 * a:.0f} / {100 * b:.0f}" for a, b in np.mean(found, axis=0))])
    write(
        "discoveries",
        "False discoveries: one draw, and five combined by e-values",
        f"Realised false discovery rate / power, in percent, at a target of {100 * FDR:.0f} %, {RUNS} data sets a row: "
        f"n = {N}, p = {P}, {D} factors; scores are communalities. With several draws, each filters at a share of the "
        "target.",
        table(["relevant", "one draw", *(f"five, share {share}" for share in SHARES)], rows),
    )
