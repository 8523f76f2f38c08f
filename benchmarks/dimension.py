"""How many components: the joint evidence, which chooses dimension and variables together, against other rules."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import gammaln

from benchmarks.tools import table, write
from gsppca import GSPPCA, NoStructureWarning, estimate_n_components
from gsppca.datasets import make_noise_range

RUNS = 20
DIMENSIONS = (1, 3, 5, 10, 20)
SHAPES = ((60, 200), (200, 200), (400, 100))
MOST = 40


def spectrum(X: np.ndarray) -> np.ndarray:
    """Eigenvalues of X'X/n that are not zero."""
    Z = X - X.mean(axis=0)
    return np.linalg.svd(Z, compute_uv=False)[: min(len(X) - 1, X.shape[1])] ** 2 / len(X)


def minka(X: np.ndarray) -> int:
    """Laplace evidence of PPCA (Minka 2001), with the zero eigenvalues of n < p counted as noise."""
    lam, n, p = spectrum(X), len(X), X.shape[1]
    scores = []
    for d in range(1, min(MOST, len(lam) - 1)):
        noise = lam[d:].sum() / (p - d)
        value = -n / 2 * (np.log(lam[:d]).sum() + (p - d) * np.log(noise))
        value += (p * d - d * (d + 1) / 2 + d) / 2 * np.log(2 * np.pi) - d / 2 * np.log(n)
        value -= d * np.log(2) - sum(gammaln((p - i) / 2) - (p - i) / 2 * np.log(np.pi) for i in range(d))
        full = np.concatenate([lam, np.zeros(p - len(lam))])
        shown = np.concatenate([lam[:d], np.full(p - d, noise)])
        for i in range(d):
            j = np.arange(i + 1, p)
            value -= 0.5 * np.log(n * (1 / shown[j] - 1 / shown[i]) * (full[i] - full[j]) + 1e-300).sum()
        scores.append(value)
    return int(np.argmax(scores)) + 1


def cross_validation(X: np.ndarray) -> int:
    """Generalised cross-validation (Josse & Husson 2012)."""
    lam, n, p = spectrum(X), len(X), X.shape[1]
    d = np.arange(0, min(MOST, len(lam) - 1))
    rest = n * (lam.sum() - np.concatenate([[0], np.cumsum(lam)])[d])
    free = n * p - p - n * d - p * d + d**2 + d
    return int(d[np.argmin(n * p * rest / free**2.0)])


def hard_threshold(X: np.ndarray) -> int:
    """Optimal hard threshold for unknown noise (Gavish & Donoho 2014)."""
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    ratio = min(X.shape) / max(X.shape)
    cut = (0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43) * np.median(values)
    return int((values > cut).sum())


def spacing(X: np.ndarray) -> int:
    """First spacings that noise could have (Passemier & Yao 2012), their level by simulation of noise."""
    lam, n, p = spectrum(X), len(X), X.shape[1]
    rng = np.random.default_rng(0)
    noise = np.median((X - X.mean(axis=0)).var(axis=0))
    draws = [spectrum(rng.standard_normal((n, p))) for _ in range(20)]
    level = noise * np.quantile([-np.diff(draw[:2])[0] for draw in draws], 0.95)
    gaps = -np.diff(lam)
    small = np.flatnonzero((gaps[:-1] < level) & (gaps[1:] < level))
    return int(small[0]) if len(small) else len(gaps)


def parallel_analysis(X: np.ndarray) -> int:
    """Eigenvalues above the 95 % quantile of those of permuted columns, in turn (Horn 1965)."""
    lam, rng = spectrum(X), np.random.default_rng(0)
    null = np.quantile([spectrum(rng.permuted(X, axis=0)) for _ in range(20)], 0.95, axis=0)
    below = np.flatnonzero(lam <= null)
    return int(below[0]) if len(below) else len(lam)


def ours(X: np.ndarray) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoStructureWarning)
        return int(GSPPCA().fit(X).n_latent_)


RULES = {
    "joint evidence": ours,
    "Johnstone in turn (noiseless auto)": estimate_n_components,
    "Minka": minka,
    "GCV": cross_validation,
    "hard threshold": hard_threshold,
    "Passemier & Yao": spacing,
    "parallel analysis": parallel_analysis,
}


def main() -> None:
    rows = []
    for n, p in SHAPES:
        for d in DIMENSIONS:
            found: dict[str, list[int]] = {name: [] for name in RULES}
            for seed in range(RUNS):
                # 40 relevant variables, each with twice as much signal as noise.
                data = make_noise_range(80 / p, n, p, d, 40, random_state=seed)
                for name, rule in RULES.items():
                    found[name].append(rule(data.X))
            exact = [f"{100 * np.mean(np.array(v) == d):.0f} ({np.mean(v):.1f})" for v in found.values()]
            rows.append([f"{n} x {p}", d, *exact])
    write(
        "dimension",
        "How many components",
        f"Percent of {RUNS} data sets in which the number is exact (and its mean). 40 relevant variables of p, each "
        "with twice as much signal as noise. The joint evidence chooses variables and dimension together; the others "
        "see all variables.",
        table(["n x p", "true d", *RULES], rows),
    )
