"""Spectra of supports against singular value decompositions, whatever was decomposed before."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.evidence.decompose import Decomposer

LEADING = 5


@pytest.mark.parametrize("shape", [(40, 300), (150, 900), (300, 200), (200, 390)])
@pytest.mark.parametrize("n_leading", [LEADING, 40])
def test_a_support_is_the_same_whatever_was_decomposed_before(shape, n_leading):
    """Gram matrices come from those of other supports, where few variables differ."""
    rng = np.random.default_rng(0)
    n, p = shape
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal(shape)
    X -= X.mean(axis=0)
    matrix = as_matrix(X)
    decomposer = Decomposer(matrix, n_leading)
    support = np.ones(p, dtype=bool)
    for changed in (0.0, 0.01, 0.1, 0.5, 0.01, 0.01, 0.9, 0.1):
        support = support ^ (rng.random(p) < changed)
        found = decomposer.of(support)
        left, singular, _ = np.linalg.svd(X[:, support], full_matrices=False)
        exact = singular**2 / n
        spectrum = found.spectrum
        np.testing.assert_allclose(spectrum.leading[:LEADING], exact[:LEADING], rtol=1e-10)
        np.testing.assert_allclose(spectrum.leading.sum() + spectrum.rest_sum, exact.sum(), rtol=1e-10)
        squares = (spectrum.leading**2).sum() + spectrum.rest_squares
        np.testing.assert_allclose(squares, (exact**2).sum(), rtol=1e-10)
        np.testing.assert_allclose(np.abs(found.projections(3)), np.abs(left[:, :3].T @ X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape", [(150, 900), (900, 300)])
def test_no_more_pairs_than_are_enough(shape):
    """What is known of fewer is the same; those of noise, which take the most iterations, are left out."""
    rng = np.random.default_rng(1)
    n, p = shape
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal(shape)
    everything = np.ones(p, dtype=bool)
    whole = Decomposer(as_matrix(X), 24).of(everything)
    decomposer = Decomposer(as_matrix(X), 24)
    for wanted in (3, 1):
        some = decomposer.of(everything, lambda spectrum, wanted=wanted: wanted if len(spectrum.leading) > 4 else None)
        count = len(some.spectrum.leading)
        assert whole.whole
        assert not some.whole
        assert 4 < count < 24 == len(whole.spectrum.leading)
        np.testing.assert_allclose(some.spectrum.leading, whole.spectrum.leading[:count], rtol=1e-9)
        assert some.spectrum.rest_sum == pytest.approx(whole.spectrum.leading[count:].sum() + whole.spectrum.rest_sum)
        np.testing.assert_allclose(
            np.abs(some.projections(wanted)), np.abs(whole.projections(wanted)), rtol=1e-7, atol=1e-8
        )
