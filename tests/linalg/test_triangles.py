"""Symmetric matrices held by their triangles, against numpy on the whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.linalg.triangles import SMALL, Triangles


@pytest.mark.parametrize("order", [1, 3, SMALL - 1, SMALL, 25])
def test_everything_is_as_of_whole_matrices(order):
    rng = np.random.default_rng(order)
    roots = rng.standard_normal((7, order, 2 * order))
    some, vectors, tri = roots @ roots.transpose(0, 2, 1), rng.standard_normal((7, order)), Triangles(order)
    held = tri.held(some)
    assert held.shape == (7, tri.size)
    np.testing.assert_array_equal(tri.whole(held), (some + some.transpose(0, 2, 1)) / 2)
    np.testing.assert_array_equal(tri.whole(held[0]), tri.whole(held)[0])
    np.testing.assert_array_equal(held[:, tri.diagonal], np.einsum("jaa->ja", some))
    np.testing.assert_array_equal(tri.whole(tri.squares(vectors)), vectors[:, :, None] * vectors[:, None, :])
    np.testing.assert_allclose(
        tri.products(held, tri.squares(vectors)), np.einsum("ja,jab,jb->j", vectors, some, vectors), rtol=1e-12
    )
    before = held.copy()
    inverses, solutions, log_dets = tri.solved(held, vectors)
    np.testing.assert_array_equal(held, before)
    np.testing.assert_allclose(tri.whole(inverses) @ some, np.broadcast_to(np.eye(order), some.shape), atol=1e-8)
    np.testing.assert_allclose(np.einsum("jab,jb->ja", some, solutions), vectors, atol=1e-8)
    np.testing.assert_allclose(log_dets, -np.linalg.slogdet(some)[1], atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_an_error():
    tri = Triangles(SMALL)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        tri.solved(tri.held(-np.eye(SMALL)[None]), np.ones((1, SMALL)))
