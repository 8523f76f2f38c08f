"""How often pure noise is called supported: many laws, from 30 x 5 to 100 x 5000, raw and standardised columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.tools import table, write
from gsppca import GSPPCASelector

SMALL = ((30, 5), (30, 8), (50, 20))
LARGE = ((40, 200), (100, 1000), (100, 5000))
RUNS = {(30, 5): 200, (30, 8): 200, (50, 20): 100, (40, 200): 40, (100, 1000): 20, (100, 5000): 10}

Law = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
LAWS: dict[str, Law] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "Gaussian, other units": lambda rng, shape: rng.standard_normal(shape) * np.exp(rng.standard_normal(shape[1])),
    "uniform": lambda rng, shape: rng.random(shape),
    "Laplacian": lambda rng, shape: rng.laplace(size=shape),
    "Student, 3 degrees": lambda rng, shape: rng.standard_t(3, shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "log-normal": lambda rng, shape: np.exp(rng.standard_normal(shape)),
    "discretised, -2 to 2": lambda rng, shape: np.clip(np.round(rng.standard_normal(shape)), -2, 2),
    "Poisson, rate 1": lambda rng, shape: rng.poisson(1.0, shape),
    "Poisson, rate 0.1": lambda rng, shape: rng.poisson(0.1, shape),
    "negative binomial, mean 1": lambda rng, shape: rng.negative_binomial(0.3, 0.3 / 1.3, shape),
    "sparse, 2 % ones": lambda rng, shape: rng.random(shape) < 0.02,
    "Poisson, mixed rates": lambda rng, shape: rng.poisson(np.exp(rng.normal(-1.5, 1.5, shape[1])), shape),
}


def is_supported(X: np.ndarray) -> bool:
    """Whether the default finds structure in X."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GSPPCASelector().fit(X).supported_


def main() -> None:
    rows: list[list[object]] = []
    for number, (name, draw) in enumerate(LAWS.items()):
        for scale in ("raw", "standardised"):
            shares = []
            for shape in (*SMALL, *LARGE):
                found = 0
                for seed in range(RUNS[shape]):
                    X = draw(np.random.default_rng([seed, number, *shape]), shape).astype(float)
                    X = X[:, X.std(axis=0) > 0]
                    if X.shape[1] < 2:
                        continue
                    found += is_supported((X - X.mean(axis=0)) / X.std(axis=0) if scale == "standardised" else X)
                shares.append(f"{100 * found / RUNS[shape]:.1f}")
            rows.append([name, scale, *shares])
    header = [f"{n} x {p} ({RUNS[n, p]} sets)" for n, p in (*SMALL, *LARGE)]
    write(
        "noise",
        "Noise that is called supported",
        "Share of data sets of pure noise in which `GSPPCASelector()` finds structure, in per cent; at most 5 wanted.",
        table(["noise", "columns", *header], rows),
    )
