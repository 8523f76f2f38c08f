"""Leading eigenpairs by Lanczos iterations against a full decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.linalg.gram_pool import GramPool
from gsppca.linalg.lanczos import lanczos_pairs


def _spectrum(values):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (turn * values) @ turn.T


SPECTRA = {
    "noise": np.linspace(1.0, 2.0, 300),
    "factors": np.concatenate([np.linspace(0.9, 1.1, 280), np.geomspace(2, 1e4, 20)]),
    "low rank": np.concatenate([np.zeros(290), np.arange(1.0, 11.0)]),
    "one value": np.ones(300),
    "pairs": np.repeat(np.linspace(1.0, 3.0, 150), 2),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("count", [1, 8, 40])
def test_pairs_are_those_of_a_full_decomposition(name, count):
    """Values to rounding; residuals certify the vectors, which may be turned among equal values."""
    matrix = _spectrum(SPECTRA[name])
    values, vectors, _ = lanczos_pairs(matrix, count)
    largest = SPECTRA[name].max()
    np.testing.assert_allclose(values, np.sort(SPECTRA[name])[-count:], atol=1e-11 * largest)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-10 * largest)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-11)


def test_values_alone_are_as_accurate():
    """The error of a value is of the order of the square of its vector's."""
    matrix = _spectrum(SPECTRA["noise"])
    values, _, _ = lanczos_pairs(matrix, 8, n_values=8)
    np.testing.assert_allclose(values, SPECTRA["noise"][-8:], rtol=1e-10)


@pytest.mark.parametrize("n_above", [0, 3, 12])
def test_values_are_accurate_down_to_the_first_below_its_level(n_above):
    """And no further: those inside the noise take the most steps."""
    values = SPECTRA["factors"][::-1]
    level = 0.0 if n_above == 12 else (values[n_above - 1] if n_above else 2e4) * 0.99
    enough = lambda found: 0 if (found <= level).any() else None  # noqa: E731
    found = lanczos_pairs(_spectrum(SPECTRA["factors"]), 12, 12, enough)[0][::-1]
    assert n_above < len(found) or n_above == 12
    np.testing.assert_allclose(found, values[: len(found)], rtol=1e-10)
    assert np.count_nonzero(found > level) == n_above


@pytest.mark.parametrize("look", [0, 5, 60])
@pytest.mark.parametrize("wanted", [0, 4, 6])
@pytest.mark.parametrize("name", ["factors", "noise"])
def test_as_many_pairs_as_are_enough(name, wanted, look):
    """Values that were given, vectors that were wanted; and not the steps that the others would take."""
    matrix, most = _spectrum(SPECTRA[name]), 24
    values, vectors, n_steps = lanczos_pairs(matrix, most, 2, lambda found: wanted if len(found) >= 6 else None, look)
    assert 6 <= len(values) < most
    assert vectors.shape == (300, wanted)
    np.testing.assert_allclose(values, np.sort(SPECTRA[name])[-len(values) :], rtol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values[len(values) - wanted :], atol=1e-11 * values[-1])
    assert look <= n_steps < lanczos_pairs(matrix, most, 2).n_steps
    whole = lanczos_pairs(matrix, most, 2, lambda found: None, look)
    assert len(whole.values) == most
    assert whole.vectors.shape == (300, most - 2)


def test_memory_order_does_not_show():
    """C- and Fortran-ordered matrices are read by halves alike."""
    matrix = _spectrum(SPECTRA["factors"])
    np.testing.assert_array_equal(lanczos_pairs(matrix, 5)[0], lanczos_pairs(np.asfortranarray(matrix.T), 5)[0])


def test_a_pool_gives_the_gram_matrix_of_any_support():
    """Grown, emptied when it is full, and in other units."""
    from gsppca.data import as_matrix

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 80)) + 3
    Z = X - X.mean(axis=0)
    pool, scale = GramPool(as_matrix(X)), rng.random(80) + 0.5
    for size in (5, 8, 3, 12, 30, 2, 29):
        support = np.zeros(80, dtype=bool)
        support[rng.choice(80, size, replace=False)] = True
        own = (Z * scale)[:, support]
        np.testing.assert_allclose(pool.gram(support, scale), own.T @ own, atol=1e-10)
        own = Z[:, support]
        np.testing.assert_allclose(pool.gram(support, np.ones(80)), own.T @ own, atol=1e-10)
