"""Sparse data: the same model as the dense data, without ever being dense."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from gsppca import (
    GSPPCA,
    GSPPCASelector,
    Paper,
    estimate_n_components,
    estimate_noise_variance,
    evidence_path,
    relaxed_vem,
)

# Rare counts: some of these tables are too small for statistically supported structure.
pytestmark = pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")


def counts(n, p, seed=0, q=10, density=0.1):
    """Sparse counts with a common factor on some columns."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(density, (n, p)).astype(float)
    places = rng.permutation(p)[:q]
    X[:, places] += rng.poisson(3 * density * rng.gamma(1.0, 1.0, (n, 1)) * np.ones(q))
    return X


JOINT, PAPER = {}, {"method": "paper"}
CONTAINERS = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]


SHAPES = [(60, 90), (300, 40), (700, 650), (30, 600)]
OPTIONS = [PAPER, PAPER | {"scale": True}, {"method": Paper(noise_variance="bias_corrected")}]
# CSR and CSC differ in the code, arrays and matrices only in their class: all shapes in one of each.
CASES = [(container, *shape, options) for container in CONTAINERS[1:3] for shape in SHAPES for options in OPTIONS]
CASES += [(container, 60, 90, options) for container in CONTAINERS[::3] for options in OPTIONS]
# The joint evidence takes longer: every container on small data, all shapes in one.
CASES += [(container, 60, 90, JOINT) for container in CONTAINERS]
CASES += [(sparse.csr_array, *shape, options) for shape in SHAPES[1:] for options in (JOINT, JOINT | {"scale": True})]


@cache  # for all containers
def dense_fit(n, p, **parameters):
    X = counts(n, p)
    column = np.arange(p)  # no two equal, scaled or not: of these, rounding would say which comes first
    X[column % n, column], X[(column + 1) % n, column] = 2 + column / p, 1
    X[:, 3] = 0.0
    return X, GSPPCA(2, **parameters).fit(X)


@pytest.mark.parametrize(("container", "n", "p", "parameters"), CASES)
def test_every_fitted_attribute_is_that_of_the_dense_data(container, n, p, parameters):
    if parameters.get("method") == Paper(noise_variance="bias_corrected") and n < p / 2:
        parameters = {"method": Paper(noise_variance="ml")}
    X, dense = dense_fit(n, p, **parameters)
    other = GSPPCA(2, **parameters).fit(container(X))
    for name in vars(dense):
        if name.endswith("_") and isinstance(getattr(dense, name), np.ndarray | float | int):
            wanted = getattr(dense, name)
            unit = np.abs(wanted).max() if np.size(wanted) else 1.0
            np.testing.assert_allclose(getattr(other, name), wanted, rtol=1e-8, atol=1e-8 * unit, err_msg=name)
    path = other.evidence_path_
    wanted = dense.evidence_path_.log_evidence
    unit = np.abs(wanted[np.isfinite(wanted)]).max()  # -inf where columns are the same
    np.testing.assert_allclose(path.log_evidence, wanted, rtol=1e-10, atol=1e-10 * unit)
    np.testing.assert_allclose(path.slab_rates, dense.evidence_path_.slab_rates, rtol=1e-8)
    np.testing.assert_allclose(other.transform(container(X)), dense.transform(X), atol=1e-8)
    np.testing.assert_allclose(other.score_samples(container(X)), dense.score_samples(X), rtol=1e-8)
    assert not other.support_[3]


def test_the_stages_take_sparse_data():
    X = counts(60, 30)
    S = sparse.csr_array(X)
    assert estimate_n_components(S) == estimate_n_components(X)
    for method in ("median", "ml"):
        np.testing.assert_allclose(estimate_noise_variance(S, 2, method), estimate_noise_variance(X, 2, method))
    np.testing.assert_allclose(relaxed_vem(S, 2).relevance, relaxed_vem(X, 2).relevance, atol=1e-7)
    order = np.arange(30)
    one, other = evidence_path(S, order, 2, "profile"), evidence_path(X, order, 2, "profile")
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-11)


def test_the_selector_keeps_sparse_data_sparse():
    X = sparse.csr_matrix(counts(100, 40))
    selector = GSPPCASelector(1).fit(X)
    chosen = selector.transform(X)
    assert sparse.issparse(chosen)  # noqa: TID251
    assert chosen.shape == (100, selector.n_selected_)


def test_float32_and_the_input_are_left_alone():
    X = sparse.csr_matrix(counts(100, 40).astype(np.float32))
    before = X.copy()
    model = GSPPCA(1).fit(X)
    assert model.transform(X).dtype == np.float32
    assert (X != before).nnz == 0


def test_the_first_bad_entry_of_sparse_data_is_named():
    X = counts(30, 8, q=4)
    X[7, 2] = X[3, 5] = np.nan
    for container in (sparse.csr_matrix, sparse.csc_matrix):
        with pytest.raises(ValueError, match=r"contains NaN: the first one at row 3, column 5\."):
            GSPPCA(1).fit(container(X))


@pytest.mark.parametrize(
    ("n", "p", "parameters"), [(5000, 4000, {"method": Paper(max_iter=8, tol=1e-3)}), (60_000, 400, {})]
)
@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_data_is_never_densified(n, p, parameters):
    rng = np.random.default_rng(0)
    X = sparse.random(n, p, density=0.02, format="csr", random_state=rng)
    dense_bytes = 8 * n * p
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        GSPPCA(3, **parameters).fit(X)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < dense_bytes / 4
