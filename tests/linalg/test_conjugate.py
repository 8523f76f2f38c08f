"""Conjugate gradients: the solutions of LAPACK, and the ascent of every system."""

from __future__ import annotations

import numpy as np

from gsppca.linalg import conjugate
from gsppca.linalg.conjugate import conjugate_gradients


def systems(seed=0, n=6, d=4):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n, d, d))
    return roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d), rng.standard_normal((n, d)), rng.standard_normal((n, d))


def improve(A, b, x):
    return conjugate_gradients(
        x, b - np.einsum("iab,ib->ia", A, x), lambda v: np.einsum("iab,ib->ia", A, v), lambda v: v / np.arange(1, 5)
    )


def test_as_many_steps_as_unknowns_solve(monkeypatch):
    monkeypatch.setattr(conjugate, "GOOD", 0.0)
    monkeypatch.setattr(conjugate, "MOST", 4)
    A, b, x = systems()
    np.testing.assert_allclose(improve(A, b, x), np.linalg.solve(A, b[:, :, None])[:, :, 0], rtol=1e-7)


def test_every_system_gains_with_every_step(monkeypatch):
    A, b, x = systems(1)
    values = []
    for most in range(5):
        monkeypatch.setattr(conjugate, "MOST", most)
        monkeypatch.setattr(conjugate, "GOOD", 0.0)
        y = improve(A, b, x)
        values.append(np.einsum("ia,ia->i", b, y) - 0.5 * np.einsum("ia,iab,ib->i", y, A, y))
    assert np.diff(values, axis=0).min() > 0


def test_a_solution_stays_and_little_residual_is_left():
    A, b, x = systems(2)
    solution = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    np.testing.assert_allclose(improve(A, b, solution), solution, rtol=1e-12)
    np.testing.assert_array_equal(improve(A, 0 * b, 0 * x), 0)

    def left(x):
        r = b - np.einsum("iab,ib->ia", A, x)
        return np.sum(r**2 / np.arange(1, 5))

    assert left(improve(A, b, x)) <= conjugate.GOOD * left(x)
