"""Block Lanczos: the eigenpairs of LAPACK, in few products, whatever the spectrum."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.linalg import krylov
from gsppca.linalg.krylov import krylov_pairs

SPECTRA = {
    "decaying": lambda p: 1.0 / np.arange(1, p + 1) ** 2,
    "a gap": lambda p: np.r_[np.full(5, 10.0) + np.arange(5), np.linspace(1, 0, p - 5)],
    "ties": lambda p: np.r_[np.full(7, 3.0), np.ones(p - 7)],
    "low rank": lambda p: np.r_[np.arange(4.0, 0, -1), np.zeros(p - 4)],
    "flat": lambda p: np.ones(p),
    "bulk": lambda p: np.sort(np.random.default_rng(0).uniform(0, 1, p))[::-1],
}


def operator(p, values):
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((p, p)))[0]
    matrix = (basis * values) @ basis.T
    calls = []

    def product(axes):
        calls.append(len(axes))
        return axes @ matrix

    return product, matrix, calls


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize(("p", "n_axes"), [(300, 5), (300, 40), (9, 3), (3, 2), (2, 1)])
@pytest.mark.parametrize("full", [12, 2])
def test_pairs_are_those_of_lapack(spectrum, p, n_axes, full, monkeypatch):
    monkeypatch.setattr(krylov, "FULL_BASIS", full)
    values = np.sort(SPECTRA[spectrum](max(p, 8))[:p])[::-1]
    product, matrix, _ = operator(p, values)
    found, axes = krylov_pairs(product, p, n_axes)
    np.testing.assert_allclose(found, values[:n_axes], atol=1e-12 * values[0])
    np.testing.assert_allclose(axes @ axes.T, np.eye(n_axes), atol=1e-12)
    np.testing.assert_allclose(axes @ matrix, found[:, None] * axes, atol=1e-11 * values[0])


def test_a_block_goes_through_the_data_together():
    product, _, calls = operator(400, SPECTRA["a gap"](400))
    krylov_pairs(product, 400, 5)
    assert len(calls) <= 10


def test_pairs_below_their_level_are_left_out_and_cost_nothing():
    """Inside a bulk, accurate pairs take many products; that they are inside takes few."""
    p = 600
    values = np.r_[[9.0, 8.0, 7.0], np.linspace(1, 0.5, p - 3)]
    product, matrix, calls = operator(p, values)
    found, axes = krylov_pairs(product, p, 30, np.full(30, 1.1))
    np.testing.assert_allclose(found, [9, 8, 7], rtol=1e-12)
    np.testing.assert_allclose(axes @ matrix, found[:, None] * axes, atol=1e-11)
    few = len(calls)
    calls.clear()
    krylov_pairs(product, p, 30)
    assert few <= len(calls) / 2
    calls.clear()
    # A value above its level after one that is not does not count.
    levels = np.array([5.0, 8.5, 5.0, *np.full(27, 1.1)])
    np.testing.assert_allclose(krylov_pairs(product, p, 30, levels)[0], [9.0], rtol=1e-12)
    assert len(krylov_pairs(product, p, 30, np.full(30, 10.0))[0]) == 0
