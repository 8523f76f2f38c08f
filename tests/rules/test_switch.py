"""When the core replaces the relevant variables."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.rules.core import find_core
from gsppca.rules.switch import prefers_core


def decide(X, relevant, d):
    return prefers_core(find_core(as_matrix(X), relevant, d), relevant)


def sparse_truth(n, p, q, d, loading, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, :q] += rng.standard_normal((n, d)) @ rng.standard_normal((d, q)) * np.broadcast_to(loading, q)
    return X, np.arange(p) < q


@pytest.mark.parametrize(("n", "p", "q", "d"), [(66, 500, 100, 10), (66, 200, 20, 10), (60, 300, 100, 1)])
def test_a_sparse_truth_is_kept_whole(n, p, q, d):
    assert not decide(*sparse_truth(n, p, q, d, 1.0), d=d)


def test_dense_data_gets_its_core():
    assert decide(*sparse_truth(100, 60, 40, 3, 1.0), d=3)


def test_a_long_tail_gets_its_core():
    """Few strong variables and hundreds of faint ones, all of them relevant."""
    loading = np.where(np.arange(400) < 60, 1.5, 0.1)
    assert decide(*sparse_truth(1000, 1000, 400, 3, loading), d=3)
    assert not decide(*sparse_truth(1000, 1000, 400, 3, 0.8), d=3)
