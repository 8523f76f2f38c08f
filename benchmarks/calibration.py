"""Of the variables with some inclusion probability, how many are true? In every kind of data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.tools import table, write
from gsppca import GSPPCA, Paper
from gsppca.datasets import make_model_selection, make_noise_range

RUNS = 12
SAMPLES = (40, 66, 100, 200)
BINS = ((0.05, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 0.999), (0.999, 1.01))
Maker = Callable[[int, int], Any]
KINDS: dict[str, Maker] = {
    "section 3.2, SNR 0.1": lambda n, seed: make_noise_range(0.1, n, random_state=seed),
    "section 3.2, SNR 0.5": lambda n, seed: make_noise_range(0.5, n, random_state=seed),
    **{
        f"section 3.3, {noise} noise, rho {rho}": lambda n, seed, noise=noise, rho=rho: make_model_selection(
            n, noise, rho, random_state=seed
        )
        for noise in ("gaussian", "laplacian", "student")
        for rho in (0.5, 0.7)
    },
}
METHODS = {
    "joint": "joint",
    "paper, temperature 4": Paper(),
    "paper, temperature 1": Paper(temperature=1.0),
}


def main() -> None:
    rows = []
    for name, make in KINDS.items():
        for standardised in (False, True):
            simulated = [make(n, seed) for n in SAMPLES for seed in range(RUNS)]
            tables = [data.X / data.X.std(axis=0) if standardised else data.X for data in simulated]
            truth = np.concatenate([data.support for data in simulated])
            for label, method in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = [GSPPCA(10, method=method).fit(X).inclusion_probability_ for X in tables]
                kind = f"{name}, {'standardised' if standardised else 'raw'}"
                rows.append([label, kind, *reliability(np.concatenate(found), truth)])
    write(
        "calibration",
        "Calibration of the inclusion probabilities",
        f"n = 40, 66, 100 and 200, {RUNS} data sets each; p = 200, 20 relevant, d = 10. Share of true variables among "
        "those with a probability in the range (and their number), the mean squared error of the probabilities, and "
        "the sum of the probabilities relative to the number of true variables.",
        table(["method", "data", *(f"{low:g} to {min(high, 1):g}" for low, high in BINS), "error", "sum"], rows),
    )


def reliability(probability: np.ndarray, true: np.ndarray) -> list[str]:
    cells = []
    for low, high in BINS:
        inside = (probability >= low) & (probability < high)
        cells.append(f"{true[inside].mean():.2f} ({inside.sum()})" if inside.any() else "")
    return [*cells, f"{np.mean((probability - true) ** 2):.4f}", f"{probability.sum() / true.sum():.2f}"]
