"""When the core replaces the relevant variables."""

from __future__ import annotations

from types import SimpleNamespace

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


def test_the_switch_is_where_it_is_said_to_be():
    """More than half of all; or ten times the core, and a typical related variable, not one of the core, is faint."""

    def decided(n_relevant, size, related, p=100):
        fit = SimpleNamespace(core=np.arange(size), size=size, predicted=np.full(p, 0.9))
        fit.predicted[size:n_relevant] = related
        return prefers_core(fit, np.arange(p) < n_relevant)

    assert not decided(50, 40, 0.1)
    assert decided(51, 40, 0.9)
    assert not decided(19, 2, 0.1)
    assert decided(20, 2, 0.1)
    assert not decided(20, 2, 0.3)
    assert not decided(20, 2, 0.2)
    assert decided(10, 1, [0.1] * 5 + [0.3] * 4)
    assert not decided(10, 1, [0.1] * 4 + [0.3] * 5)
