"""What factors explain: the 2 x 2 systems against a decomposition without the variable."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.evidence.decompose import Decomposer
from gsppca.evidence.factors import Factors


def factors_of(matrix, support, d):
    decomposition = Decomposer(matrix, d + 2).of(support)
    spectrum = decomposition.spectrum
    noise = (spectrum.leading[d:].sum() + spectrum.rest_sum) / (support.sum() - d)
    return Factors(spectrum.leading[:d], noise, decomposition.projections(d))


@pytest.mark.parametrize("shape", [(40, 12), (20, 60), (8, 700)], ids=str)
@pytest.mark.parametrize("d", [1, 3])
def test_explained_squares_against_matrices_written_out(shape, d):
    """mu_k and T_k of the derivation, member by member, with numpy alone."""
    rng = np.random.default_rng(shape[1] + d)
    n, p = shape
    X = rng.standard_normal(shape) + 2 * rng.standard_normal((n, 1)) * (np.arange(p) < 7)
    X -= X.mean(axis=0)
    support = np.arange(p) < max(10, p // 2)
    squares = (X**2).sum(axis=0)
    active = X[:, support]
    values, axes = np.linalg.eigh(active.T @ active / n)
    noise = values[:-d].sum() / (support.sum() - d)
    W = axes[:, -d:] * np.sqrt(values[-d:] - noise)
    expected = np.empty(p)
    for k in range(p):
        w = W[k] if support[k] else np.zeros(d)
        inverse = np.linalg.inv(W.T @ W + noise * np.eye(d) - np.outer(w, w))
        mu = (active @ W - np.outer(X[:, k], w)) @ inverse
        second = mu.T @ mu + n * noise * inverse
        expected[k] = (mu.T @ X[:, k]) @ np.linalg.solve(second, mu.T @ X[:, k])
    matrix = as_matrix(X)
    actual = factors_of(matrix, support, d).explained(support, squares, n)
    np.testing.assert_allclose(actual, expected, rtol=1e-8)


def test_a_variable_of_its_own_is_not_explained_by_itself():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 10))
    X[:, 0] *= 30  # makes a factor alone
    matrix = as_matrix(X)
    support = np.ones(10, dtype=bool)
    explained = factors_of(matrix, support, 1).explained(support, matrix.column_squares, 60)
    assert explained[0] < 0.4 * matrix.column_squares[0]


def test_shares_stay_between_nothing_and_all():
    X = np.outer(np.arange(6.0), np.arange(1.0, 5.0)) + 1e-9 * np.random.default_rng(0).standard_normal((6, 4))
    matrix = as_matrix(X)
    support = np.ones(4, dtype=bool)
    explained = factors_of(matrix, support, 1).explained(support, matrix.column_squares, 6)
    assert (explained <= matrix.column_squares).all()
    assert (explained >= 0.99 * matrix.column_squares).all()
