"""Of the variables with some inclusion probability, how many are true? At several temperatures."""

from __future__ import annotations

import numpy as np

from benchmarks.tools import table, write
from gsppca import GSPPCA
from gsppca.core.posterior import inclusion_probability, size_posterior
from gsppca.datasets import make_model_selection

RUNS = 12
SIZES = (40, 66, 100, 200)
RHOS = (0.5, 0.7)
TEMPERATURES = (1.0, 2.0, 4.0, 8.0)
BINS = ((0.05, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 0.999), (0.999, 1.01))
CELLS = {
    "Gaussian noise": ("gaussian", False),
    "Gaussian noise, standardised": ("gaussian", True),
    "Laplacian noise": ("laplacian", False),
}


def main() -> None:
    rows = []
    for name, (noise, scale) in CELLS.items():
        fits = []
        for n in SIZES:
            for rho in RHOS:
                for seed in range(RUNS):
                    data = make_model_selection(n, noise, rho, random_state=seed)
                    model = GSPPCA(10, scale=scale, tol=1e-5).fit(data.X)
                    fits.append((model.evidence_path_, np.argsort(model.ranking_), data.support))
        rows += [[name, f"{temperature:g}", *reliability(fits, temperature)] for temperature in TEMPERATURES]
    write(
        "calibration",
        "Calibration of the inclusion probabilities",
        f"Section 3.3, n = 40, 66, 100, 200, rho = 0.5, 0.7, {RUNS} data sets each; p = 200, 20 relevant, d = 10. "
        "Ranking by VEM, noiseless evidence, uniform prior. Share of true variables among those with a probability in "
        "the range (and their number); mean squared error of the probabilities; how often the central 90 % interval of "
        "the size holds 20.",
        table(
            ["data", "temperature", *(f"{low:g} to {min(high, 1):g}" for low, high in BINS), "error", "90 % interval"],
            rows,
        ),
    )


def reliability(fits: list, temperature: float) -> list[str]:
    probabilities, truth, covered = [], [], []
    for path, order, support in fits:
        posterior = size_posterior(path, np.zeros(len(path.sizes)), temperature=temperature)
        probabilities.append(inclusion_probability(posterior, order, len(support)))
        truth.append(support)
        low, high = posterior.interval(0.9)
        covered.append(low <= support.sum() <= high)
    probability, true = np.concatenate(probabilities), np.concatenate(truth)
    cells = []
    for low, high in BINS:
        inside = (probability >= low) & (probability < high)
        cells.append(f"{true[inside].mean():.2f} ({inside.sum()})" if inside.any() else "")
    return [*cells, f"{np.mean((probability - true) ** 2):.4f}", f"{np.mean(covered):.0%}"]
