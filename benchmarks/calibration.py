"""Of the variables with some inclusion probability, how many are true? At several temperatures."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

from benchmarks.tools import table, write
from gsppca import GSPPCA, NoStructureWarning
from gsppca.core.posterior import inclusion_probability, size_posterior
from gsppca.core.size import log_size_prior
from gsppca.core.units import share_units
from gsppca.datasets import make_model_selection

RUNS = 12
SIZES = (40, 66, 100, 200)
RHOS = (0.5, 0.7)
TEMPERATURES = (1.0, 1.5, 2.0, 4.0, 8.0)
BINS = ((0.05, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 0.999), (0.999, 1.01))
CELLS = {
    "Gaussian noise": ("gaussian", False),
    "Gaussian noise, standardised": ("gaussian", True),
    "Laplacian noise": ("laplacian", False),
}
EVIDENCES = ("noiseless", "joint")


def main() -> None:
    rows = []
    for evidence, (name, (noise, scale)) in product(EVIDENCES, CELLS.items()):
        fits = []
        for n in SIZES:
            for rho in RHOS:
                for seed in range(RUNS):
                    data = make_model_selection(n, noise, rho, random_state=seed)
                    X = data.X / data.X.std(axis=0) if scale else data.X
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", NoStructureWarning)
                        model = GSPPCA(10, evidence=evidence, tol=1e-5).fit(X)
                    path = model.evidence_path_
                    prior = np.zeros(len(path.sizes))
                    if evidence == "joint":
                        own = not share_units(X.var(axis=0), n)
                        prior = log_size_prior("search", path.sizes, n, X.shape[1], own)
                    fits.append((path, prior, np.argsort(model.ranking_), data.support))
        rows += [[evidence, name, f"{temperature:g}", *reliability(fits, temperature)] for temperature in TEMPERATURES]
    write(
        "calibration",
        "Calibration of the inclusion probabilities",
        f"Section 3.3, n = 40, 66, 100, 200, rho = 0.5, 0.7, {RUNS} data sets each; p = 200, 20 relevant, d = 10. "
        "Noiseless evidence with its ranking and prior (VEM, uniform), joint evidence with its own. Share of true "
        "variables among those with a probability in the range (and their number); mean squared error of the "
        "probabilities; how often the central 90 % interval of the size holds 20.",
        table(
            [
                "evidence",
                "data",
                "temperature",
                *(f"{low:g} to {min(high, 1):g}" for low, high in BINS),
                "error",
                "90 % interval",
            ],
            rows,
        ),
    )


def reliability(fits: list, temperature: float) -> list[str]:
    probabilities, truth, covered = [], [], []
    for path, prior, order, support in fits:
        posterior = size_posterior(path, prior, temperature=temperature)
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
