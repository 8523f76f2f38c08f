"""The factor model that names candidates, against conditioning written out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gsppca.rules.candidates import _simulated


def selection(seed, d, p, weighted):
    """What the factor model asks of a forward selection, with random numbers."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((d, 2 * d))
    cross = rng.standard_normal((d, p)) * np.linspace(3, 1, d)[:, None]
    unexplained = factors @ factors.T
    known = np.einsum("kp,kp->p", cross, np.linalg.solve(unexplained, cross))
    weights = rng.standard_normal((d, p)) / p if weighted else np.zeros((d, p))
    return SimpleNamespace(
        cross=cross,
        variance=known + rng.uniform(0.2, 1.0, p),
        unexplained=unexplained,
        total=float(np.trace(unexplained)),
        shrinkage=0.1,
        ties=np.zeros((1, p)),
        own_of=lambda variables: weights[:, variables],
    )


def literal(forward, top, n_steps):
    """Choose one after the other, by the covariance of the factors given all that were chosen."""
    loadings = np.linalg.solve(forward.unexplained, forward.cross[:, top])
    own = forward.variance[top] - np.einsum("kp,kp->p", forward.cross[:, top], loadings)
    weights, chosen = forward.own_of(top), []
    for _ in range(n_steps):
        P = forward.unexplained
        if chosen:
            known = P @ loadings[:, chosen]
            P = P - known @ np.linalg.solve(np.diag(own[chosen]) + loadings[:, chosen].T @ known, known.T)
        cross, variance = P @ loadings, own + np.einsum("kp,kp->p", loadings, P @ loadings)
        gains = np.sum((cross - variance * weights) ** 2, axis=0) / variance
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
    return chosen


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 4])
def test_choices_are_those_of_conditioning(d, weighted):
    forwards = [selection(seed, d, 40, weighted) for seed in range(3)]
    tops = np.array([np.sort(np.random.default_rng(seed).permutation(40)[:30]) for seed in range(3)])
    found = _simulated(forwards, tops, 12)
    assert found.tolist() == [literal(forward, top, 12) for forward, top in zip(forwards, tops, strict=True)]
