"""The relaxed model written out in full, for small data: p matrices S_k, loops, and no shared eigenbasis.

The bound is evaluated at any posterior and parameters, so that each sub-update can be seen to raise it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Full:
    X: np.ndarray  # centred, n x p
    u: np.ndarray
    sigma2: float
    alpha2: float
    mu: np.ndarray  # n x d, score means
    Sigma: np.ndarray  # d x d
    M: np.ndarray  # p x d, loading means
    S: np.ndarray  # p x d x d, loading covariances


def bound(full: Full) -> float:
    """E_q[log p(X, Y, W)] + entropy, term by term, all constants kept."""
    X, u, s2, a2 = full.X, full.u, full.sigma2, full.alpha2
    n, p = X.shape
    d = full.M.shape[1]
    total = 0.0
    for i in range(n):
        yy = full.Sigma + np.outer(full.mu[i], full.mu[i])
        for k in range(p):
            ww = full.S[k] + np.outer(full.M[k], full.M[k])
            square = X[i, k] ** 2 - 2 * X[i, k] * u[k] * full.M[k] @ full.mu[i] + u[k] ** 2 * np.trace(ww @ yy)
            total += -0.5 * np.log(2 * np.pi * s2) - square / (2 * s2)
        total += -0.5 * d * np.log(2 * np.pi) - 0.5 * np.trace(yy)
        total += 0.5 * np.linalg.slogdet(full.Sigma)[1] + 0.5 * d * (1 + np.log(2 * np.pi))
    for k in range(p):
        ww = full.S[k] + np.outer(full.M[k], full.M[k])
        total += 0.5 * d * np.log(a2 / (2 * np.pi)) - 0.5 * a2 * np.trace(ww)
        total += 0.5 * np.linalg.slogdet(full.S[k])[1] + 0.5 * d * (1 + np.log(2 * np.pi))
    return total


def update_scores(full: Full) -> Full:
    d = full.M.shape[1]
    precision = np.eye(d)
    for k, u in enumerate(full.u):
        precision += u**2 / full.sigma2 * (np.outer(full.M[k], full.M[k]) + full.S[k])
    Sigma = np.linalg.inv(precision)
    return replace(full, Sigma=Sigma, mu=full.X @ (full.u[:, None] * full.M) @ Sigma / full.sigma2)


def update_loadings(full: Full) -> Full:
    n, p = full.X.shape
    d = full.M.shape[1]
    M, S = np.zeros((p, d)), np.zeros((p, d, d))
    for k, u in enumerate(full.u):
        S[k] = np.linalg.inv(full.alpha2 * np.eye(d) + u**2 / full.sigma2 * (n * full.Sigma + full.mu.T @ full.mu))
        M[k] = u / full.sigma2 * S[k] @ full.mu.T @ full.X[:, k]
    return replace(full, M=M, S=S)


def _num_den(full: Full):
    n = len(full.X)
    moment = n * full.Sigma + full.mu.T @ full.mu
    num = np.array([full.M[k] @ full.mu.T @ full.X[:, k] for k in range(len(full.u))])
    den = np.array([np.trace((full.S[k] + np.outer(full.M[k], full.M[k])) @ moment) for k in range(len(full.u))])
    return num, den


def update_relevance(full: Full) -> Full:
    num, den = _num_den(full)
    return replace(full, u=np.clip(num / den, 0, 1))


def update_noise(full: Full) -> Full:
    num, den = _num_den(full)
    residual = (full.X**2).sum() - 2 * full.u @ num + full.u**2 @ den
    return replace(full, sigma2=residual / full.X.size)


def update_slab(full: Full) -> Full:
    squares = sum(np.trace(S) + m @ m for S, m in zip(full.S, full.M, strict=True))
    return replace(full, alpha2=full.M.size / squares)


SUB_UPDATES = (update_scores, update_loadings, update_relevance, update_noise, update_slab)


def start(X, loadings, slab_rate, noise_variance) -> Full:
    """u = 1, S_k = I / alpha^2; the scores are those of the first E-step."""
    X = X - X.mean(axis=0)
    p, d = loadings.shape
    S = np.repeat(np.eye(d)[None] / slab_rate**2, p, axis=0)
    full = Full(X, np.ones(p), noise_variance, slab_rate**2, np.zeros((len(X), d)), np.eye(d), loadings, S)
    return update_scores(full)


# Equations 13, 14, 15 in the order in which the paper prints them, after the E-step.
PRINTED_ORDER = (update_scores, update_loadings, update_slab, update_noise, update_relevance)


def algorithm_1(
    X, loadings, slab_rates, noise_variance, *, short_iterations, tol, max_iter
) -> tuple[Full, list[float]]:
    """The first half of Algorithm 1: short runs from every slab rate, then the best to the convergence of its bound."""
    runs = []
    for rate in slab_rates:
        full, bounds = start(X, loadings, rate, noise_variance), []
        for _ in range(short_iterations):
            full, bounds = _iterate(full, bounds)
        runs.append((full, bounds))
    full, bounds = max(runs, key=lambda run: run[1][-1])
    while len(bounds) < max_iter:
        full, bounds = _iterate(full, bounds)
        if bounds[-1] - bounds[-2] <= tol * X.size:
            break
    return full, bounds


def _iterate(full: Full, bounds: list[float]) -> tuple[Full, list[float]]:
    for update in PRINTED_ORDER:
        full = update(full)
    return full, [*bounds, bound(full)]
