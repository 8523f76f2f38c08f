"""Axes of parts of the rows from a few passes over the data: nearly those of Gram matrices, and all else exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.rules.by_rows import Iterated
from gsppca.rules.fold_grams import FromGrams
from gsppca.rules.parts import Targets
from tests.needs import optional
from tests.rules.test_core import factor_data

N, P, D = 3000, 60, 4
FOLD = np.arange(N) % 5
CASES = {"plain": (), "included": (3, 50), "own units": ()}


def targets(data, case):
    matrix = as_matrix(data)
    standard = matrix.scaled(1 / np.sqrt(matrix.column_squares / N))
    units = np.linspace(0.5, 2, P) if case == "own units" else np.ones(P)
    return Targets(standard, np.arange(P), ~np.isin(np.arange(P), CASES[case]), units)


def sine(one, other):
    """Of the largest angle between two spans."""
    one, other = (np.linalg.qr(axes.T)[0] for axes in (one, other))
    return np.linalg.norm(one - other @ (other.T @ one), 2)


def after_a_search(own):
    """The same, when a search in other units, on other rows, has left what the rows have in common."""
    other = own.matrix.scaled(np.linspace(0.7, 1.4, own.matrix.n_features))
    other.leading_sums = np.linalg.svd(other.product(np.eye(other.n_features))[::2])[2][:10]
    return own


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("container", ["array", "sparse", "dask"])
@pytest.mark.parametrize("known", [False, True])
def test_parts_are_those_of_gram_matrices(case, container, known):
    """Axes are near the exact ones; all that is said of them is exact, and so are shares of variance."""
    X = factor_data(N, P, d=D, noise=2.0)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    data = X
    if container == "sparse":
        data = sparse.csr_array(X)
    if container == "dask":
        data = optional("dask.array").from_array(X, chunks=(700, P))
    own = targets(data, case)
    way = Iterated(after_a_search(own) if known else own, D)
    exact = list(FromGrams(targets(X, case), D).parts(FOLD))
    parts = list(way.parts(FOLD))
    everything = slice(None)
    np.testing.assert_allclose(way.row_squares, np.sum(way.matrix.product(np.eye(way.matrix.n_features)) ** 2, axis=1))
    np.testing.assert_allclose(way.scores, way.standard.product(parts[0].axes), atol=1e-9)
    for number, (part, wanted) in enumerate(zip(parts, exact, strict=True)):
        assert part.n_rows == wanted.n_rows
        np.testing.assert_allclose(part.variances, wanted.variances, rtol=1e-10)
        assert sine(part.axes, wanted.axes) < 1e-4
        np.testing.assert_allclose(part.score_variances, wanted.score_variances, rtol=1e-7)
        assert part.trace_of_square == pytest.approx(wanted.trace_of_square, rel=0.01)
        signs = np.sign(np.einsum("kp,kp->k", part.axes, wanted.axes))[:, None]
        np.testing.assert_allclose(part.moments(everything) * signs, wanted.moments(everything), atol=5e-4)
        left_out = FOLD == number - 1
        expected = way.standard.product(part.axes)
        np.testing.assert_allclose(way.left_scores[left_out], expected[left_out], atol=1e-9)
        weights = (np.ones(N) if number == 0 else ~left_out) / part.n_rows
        moments = way.standard.transposed_product(expected * weights[:, None])
        np.testing.assert_allclose(part.moments(everything), moments, atol=1e-9)


@pytest.mark.parametrize("fold", [FOLD, None], ids=["folds", "no folds"])
@pytest.mark.parametrize(("known", "most"), [(False, 7), (True, 3)])
def test_all_parts_take_three_passes(fold, known, most):
    """Three after a search; otherwise more, and two for the sums of rows that are begun with."""
    data = optional("dask.array").from_array(factor_data(N, P, d=D, noise=2.0), chunks=(700, P))
    own = targets(data, "included")
    own = after_a_search(own) if known else own
    before = own.standard.X.n_passes
    list(Iterated(own, D).parts(fold))
    assert own.standard.X.n_passes == before + most


def test_the_rest_of_the_eigenvalues_is_told_by_the_lengths_of_rows():
    """Rows of very different lengths, as texts have them, spread the eigenvalues far beyond what equal ones would."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) * np.exp(rng.standard_normal((N, 1)))
    exact, part = (
        next(FromGrams(targets(X, "plain"), D).parts(None)),
        next(Iterated(targets(X, "plain"), D).parts(None)),
    )
    assert part.trace_of_square == pytest.approx(exact.trace_of_square, rel=0.01)
    assert part.shrinkage == pytest.approx(exact.shrinkage, rel=0.05)


def test_axes_beyond_the_rank_are_left_out():
    X = np.random.default_rng(0).standard_normal((N, 3)) @ np.random.default_rng(1).standard_normal((3, P))
    way = Iterated(targets(X, "plain"), D)
    parts = list(way.parts(FOLD))
    assert way.n_components == 3
    assert all(part.axes.shape == (3, P) for part in parts)
