"""Matrices with many equal eigenvalues, of which LAPACK may find too few when it is asked for some."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.linalg import lanczos, spectrum


def categories(n, p, seed):
    """One column for each of many categories: rows that differ are all equally far from each other."""
    return np.eye(p)[np.random.default_rng(seed).integers(0, p, n)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "p"), [(15, 300), (28, 300), (64, 200), (80, 300)])
@pytest.mark.parametrize("count", [1, 6])
def test_all_that_are_asked_for_are_found(n, p, seed, count):
    X = categories(n, p, seed)
    Z = X[:, X.std(axis=0) > 0]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    values, vectors = spectrum.top_pairs(Z @ Z.T, count)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(Z @ Z.T)[::-1][:count], rtol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(Z @ (Z.T @ vectors), vectors * values, atol=1e-8 * values[0])


def test_a_driver_that_finds_too_few(monkeypatch):
    """Whatever LAPACK leaves out, of a matrix or of the tridiagonal one of Lanczos, is found in another way."""
    A = np.diag(np.linspace(1, 2, 200)) + 0.01
    eigh, stemr = spectrum.eigh, lanczos.dstemr

    def too_few(*given, **options):
        values, vectors = eigh(*given, **options)
        return (values[1:], vectors[:, 1:]) if "subset_by_index" in options else (values, vectors)

    def one_less(*given):
        found, *others = stemr(*given)
        return found - 1, *others

    monkeypatch.setattr(spectrum, "eigh", too_few)
    monkeypatch.setattr(lanczos, "dstemr", one_less)
    for order in (200, 100):  # by Lanczos, and in full
        part = A[-order:, -order:]
        values, _ = spectrum.top_pairs(part, 5)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(part)[::-1][:5], rtol=1e-10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"n_components": 3}, {"robust": True}], ids=str)
@pytest.mark.parametrize(
    ("n", "p", "seed"), [(30, 1300, 21), (15, 2300, 14), (41, 1024, 16), (15, 60, 11), (80, 300, 3)]
)
def test_categories_are_fitted(n, p, seed, options):
    """They have no structure, and columns that are not judged may leave fewer than there are components."""
    model = GSPPCA(**options).fit(categories(n, p, seed))
    assert not model.supported_
    assert -100 < model.core_share_ <= 1
