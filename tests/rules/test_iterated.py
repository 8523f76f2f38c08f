"""Axes of parts of the rows from three passes over the data: nearly those of Gram matrices, and all else exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.rules.by_rows import Iterated
from gsppca.rules.parts import Targets
from gsppca.rules.training import FromGrams
from tests.needs import optional
from tests.rules.test_core import factor_data

N, P, D = 3000, 60, 4
FOLD = np.arange(N) % 5
CASES = {"plain": (), "included": (3, 50), "own units": ()}


def targets(data, case):
    matrix = as_matrix(data)
    standard = matrix.scaled(1 / np.sqrt(matrix.column_squares / N))
    units = np.linspace(0.5, 2, P) if case == "own units" else np.ones(P)
    return Targets(standard, ~np.isin(np.arange(P), CASES[case]), units)


def sine(one, other):
    """Of the largest angle between two spans."""
    one, other = (np.linalg.qr(axes.T)[0] for axes in (one, other))
    return np.linalg.norm(one - other @ (other.T @ one), 2)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("container", ["array", "sparse", "dask"])
def test_parts_are_those_of_gram_matrices(case, container):
    """Those of all rows are exact; axes without a fold are thirty times as near as the ones they begin with."""
    X = factor_data(N, P, d=D, noise=2.0)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    data = X
    if container == "sparse":
        data = sparse.csr_array(X)
    if container == "dask":
        data = optional("dask.array").from_array(X, chunks=(700, P))
    way = Iterated(targets(data, case), D)
    exact = list(FromGrams(targets(X, case), D).parts(FOLD))
    parts = list(way.parts(FOLD))
    everything = slice(None)
    np.testing.assert_allclose(way.row_squares, np.sum(way.matrix.product(np.eye(way.matrix.n_features)) ** 2, axis=1))
    np.testing.assert_allclose(way.scores, way.matrix.product(way.start), atol=1e-9)
    for number, (part, wanted) in enumerate(zip(parts, exact, strict=True)):
        assert part.n_rows == wanted.n_rows
        np.testing.assert_allclose(part.variances, wanted.variances, rtol=1e-10)
        assert sine(part.axes, wanted.axes) < (0.03 * sine(parts[0].axes, wanted.axes) if number else 1e-9)
        signs = np.sign(np.einsum("kp,kp->k", part.axes, wanted.axes))[:, None]
        np.testing.assert_allclose(part.moments(everything) * signs, wanted.moments(everything), atol=5e-4)
        left_out = FOLD == number - 1
        expected = way.standard.product(part.axes)
        np.testing.assert_allclose(way.left_scores[left_out], expected[left_out], atol=1e-9)
        weights = (np.ones(N) if number == 0 else ~left_out) / part.n_rows
        moments = way.standard.transposed_product(expected * weights[:, None])
        np.testing.assert_allclose(part.moments(everything), moments, atol=1e-9)


@pytest.mark.parametrize(("fold", "most"), [(FOLD, 3), (None, 1)], ids=["folds", "no folds"])
def test_all_parts_take_three_passes(fold, most):
    data = optional("dask.array").from_array(factor_data(N, P, d=D, noise=2.0), chunks=(700, P))
    way = Iterated(targets(data, "included"), D)
    blocks = way.standard.X
    before = blocks.n_passes
    list(way.parts(fold))
    assert blocks.n_passes == before + most
