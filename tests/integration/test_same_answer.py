"""The answer is a function of the data: layout, order of rows and columns, container and rounding change nothing.

Tested on real tables where they are found (tests/real_data.py), and on tables that come with scikit-learn.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from gsppca import GSPPCA
from tests.needs import optional
from tests.real_data import real_table

SMALL = ("lung_small", "colon", "GLIOMA", "nir_gasoline")
LARGE = ("lymphoma", "Yale", "ORL", "warpPIE10P", "TOX-171", "Isolet", "madelon", "scanb_breast_cancer")
SHIPPED = {
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data[:400],
}


def fit(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GSPPCA(**parameters).fit(X)


def assert_same(found, wanted, columns=slice(None)):
    np.testing.assert_array_equal(found.relevant_, wanted.relevant_[columns])
    np.testing.assert_array_equal(found.support_, wanted.support_[columns])
    np.testing.assert_array_equal(found.role_, wanted.role_[columns])
    kept = wanted.support_[columns]
    np.testing.assert_array_equal(found.ranking_[kept], wanted.ranking_[columns][kept])
    np.testing.assert_allclose(found.inclusion_probability_, wanted.inclusion_probability_[columns], atol=1e-7)
    np.testing.assert_allclose(found.core_share_, wanted.core_share_, rtol=1e-7)


def changes_of(X):
    """The same data in other clothes: what is fitted, and the order of its columns."""
    rng = np.random.default_rng(0)
    n, p = X.shape
    rows, columns = rng.permutation(n), rng.permutation(p)
    return {
        "Fortran order": (np.asfortranarray(X), slice(None)),
        "strided": (np.repeat(X, 2, axis=1)[:, ::2], slice(None)),
        "rows permuted": (X[rows], slice(None)),
        "columns permuted": (X[:, columns], columns),
        "rounding": (X * (1 + 1e-12 * rng.standard_normal(X.shape)), slice(None)),
        "sparse": (sparse.csr_array(X), slice(None)),
        "dask": (optional("dask.array").from_array(X, chunks=(max(n // 3, 1), p)), slice(None)),
    }


@pytest.mark.parametrize("method", ["joint", "paper"])
@pytest.mark.parametrize("name", SHIPPED)
def test_tables_that_come_with_scikit_learn(name, method):
    X = SHIPPED[name]()
    wanted = fit(X, method=method, scale=name != "digits")
    for what, (other, columns) in changes_of(X).items():
        try:
            assert_same(fit(other, method=method, scale=name != "digits"), wanted, columns)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_real_tables(name):
    X = real_table(name)
    wanted = fit(X)
    for what, (other, columns) in changes_of(X).items():
        if what == "dask" and X.size > 2_000_000:
            continue
        try:
            assert_same(fit(other), wanted, columns)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error
