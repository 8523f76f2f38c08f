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


def test_counting_costs_less_than_accurate_pairs():
    """Values above their levels are there for sure; that the next one is inside a bulk takes few products."""
    p = 600
    values = np.r_[[9.0, 8.0, 7.0], np.linspace(1, 0.5, p - 3)]
    product, _, calls = operator(p, values)

    def count(levels):
        found, axes = krylov_pairs(product, p, 30, levels)
        assert (found <= values[: len(found)] * (1 + 1e-12)).all()
        np.testing.assert_allclose(axes @ axes.T, np.eye(len(found)), atol=1e-12)
        return int((found > levels[: len(found)]).argmin())

    assert count(np.full(30, 1.1)) == 3
    few = len(calls)
    calls.clear()
    krylov_pairs(product, p, 30)
    assert few <= len(calls) / 2
    # A value above its level after one that is not does not count.
    assert count(np.array([5.0, 8.5, 5.0, *np.full(27, 1.1)])) == 1
    assert count(np.full(30, 10.0)) == 0


def test_a_weak_pair_above_the_bulk_is_counted():
    """It rises above its level late, when others have long settled: what still rises is waited for."""
    p = 1000
    values = np.r_[50.0, 1.12, np.linspace(1, 0.2, p - 2)]
    product, _, _ = operator(p, values)
    found, _ = krylov_pairs(product, p, 30, np.full(30, 1.05))
    assert (found > 1.05).sum() == 2


def test_a_start_saves_products_and_does_not_show():
    product, _, calls = operator(400, SPECTRA["a gap"](400))
    values, axes = krylov_pairs(product, 400, 5)
    many = len(calls)
    calls.clear()
    rng = np.random.default_rng(2)
    again, same = krylov_pairs(product, 400, 5, start=axes + 1e-6 * rng.standard_normal((5, 400)))
    assert len(calls) < many
    np.testing.assert_allclose(again, values, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(same * axes, axis=1)), 1, rtol=1e-10)
