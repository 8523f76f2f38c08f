"""The answer is a function of the data: layout, order of rows and columns, container and rounding change nothing.

Tested on real tables where they are found (tests/real_data.py), on tables that come with scikit-learn, and on small
ones that are awkward on purpose.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_linnerud, load_wine

from gsppca import GSPPCA
from tests.needs import optional
from tests.real_data import real_table

SMALL = ("lung_small", "colon", "GLIOMA", "nir_gasoline")
LARGE = (
    *("lymphoma", "Yale", "ORL", "warpPIE10P", "TOX-171", "Isolet", "madelon"),
    *("scanb_breast_cancer", "vdx_subset", "mnist_sevens"),
)
SHIPPED = {
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data[:400],
}


def rare_words(rng):
    """Columns of equal means and variances that differ in the rows where they are not zero."""
    X = (rng.random((60, 40)) < 0.06).astype(float)
    X[:, :6] = rng.poisson(np.exp(rng.normal(0.5, 1, (60, 1))), (60, 6))
    return X


def copies(rng):
    X = rng.normal(size=(50, 12))
    X[:, :5] += 1.5 * rng.normal(size=(50, 1))
    return np.hstack([X, X[:, [0, 0, 3, 7, 11]]])


def answers(rng):
    """A questionnaire: few values, many ties."""
    shared = rng.normal(size=(80, 2)) @ (rng.normal(size=(2, 14)) * (np.arange(14) < 7))
    return np.clip(np.round(3 + shared + rng.normal(size=(80, 14))), 1, 5)


def halves(rng, n=80, p=20):
    """Columns that are one in half of the rows: rows that differ have the same length, and many the same sum."""
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + rng.normal(size=(n, p))
    return (np.median(X, axis=0) < X).astype(float)


def low_rank(rng, n=40, p=25, rank=3):
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))


AWKWARD = {
    "rare words": rare_words,
    "copies": copies,
    "answers": answers,
    "halves": halves,
    "halves of many rows": lambda rng: halves(rng, 4200, 12),
    "counts": lambda rng: rng.poisson(np.exp(rng.normal(0, 1, (50, 1)) + rng.normal(-1, 1, 30))).astype(float),
    "exact low rank": low_rank,
    "wide low rank": lambda rng: low_rank(rng, 30, 60, 4),
    "two samples": lambda rng: rng.normal(size=(2, 6)),
    "three samples": lambda rng: rng.normal(size=(3, 6)),
    "diabetes in raw units": lambda rng: load_diabetes(scaled=False).data,
    "linnerud": lambda rng: np.hstack([load_linnerud().data, load_linnerud().target]),
}


def fit(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GSPPCA(**parameters).fit(X)


def copies_of(X):
    """The number of the first column that each column is a copy of."""
    X = X.toarray() if sparse.issparse(X) else X  # noqa: TID251
    first: dict[bytes, int] = {}
    return np.array([first.setdefault((column + 0.0).tobytes(), j) for j, column in enumerate(X.T)])


def assert_same(found, wanted, kind, columns=slice(None)):
    """Copies of a column may change places with each other."""
    one = np.lexsort((found.ranking_, kind[columns]))
    other = np.lexsort((wanted.ranking_, kind))
    for name in ("ranking_", "relevant_", "support_", "role_"):
        np.testing.assert_array_equal(getattr(found, name)[one], getattr(wanted, name)[other], err_msg=name)
    assert found.n_components_ == wanted.n_components_
    np.testing.assert_allclose(found.inclusion_probability_[one], wanted.inclusion_probability_[other], atol=1e-7)
    np.testing.assert_allclose(found.core_share_, wanted.core_share_, rtol=1e-7)
    path, wanted_path = found.evidence_path_, wanted.evidence_path_
    np.testing.assert_array_equal(path.sizes, wanted_path.sizes)
    np.testing.assert_allclose(path.log_evidence, wanted_path.log_evidence, rtol=1e-9, atol=1e-7)


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


def check(X, changes, **parameters):
    wanted, kind = fit(X, **parameters), copies_of(X)
    for what, (other, columns) in changes.items():
        try:
            assert_same(fit(other, **parameters), wanted, kind, columns)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error


def all_at_once(X):
    """Other rows, columns, layout and rounding together: who looks at one of them differs here too."""
    rng = np.random.default_rng(1)
    rows, columns = (rng.permutation(length) for length in X.shape)
    jitter = 1 + 1e-12 * rng.standard_normal(X.shape)
    return {"all at once": (np.asfortranarray((X * jitter)[rows][:, columns]), columns)}


@pytest.mark.parametrize("name", SHIPPED)
def test_tables_that_come_with_scikit_learn(name):
    X = SHIPPED[name]()
    check(X, changes_of(X), scale=name != "digits")


@pytest.mark.parametrize("name", SHIPPED)
def test_tables_that_come_with_scikit_learn_by_the_method_of_the_paper(name):
    X = SHIPPED[name]()
    check(X, all_at_once(X), method="paper", scale=name != "digits")


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables(name):
    X = AWKWARD[name](np.random.default_rng(5))
    changes = changes_of(X)
    if name not in ("rare words", "copies", "three samples"):  # blocks of rows take longer than all other changes
        del changes["dask"]
    check(X, changes)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables_scaled_with_one_component(name):
    X = AWKWARD[name](np.random.default_rng(5))
    check(X, all_at_once(X), scale=True, n_components=1)


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_real_tables(name):
    X = real_table(name)
    check(X, all_at_once(X))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_real_tables_one_change_at_a_time(name):
    X = real_table(name)
    changes = changes_of(X)
    if X.size > 2_000_000:
        del changes["dask"]
    check(X, changes)


@pytest.mark.parametrize("name", [*SMALL, "TOX-171"])
def test_real_tables_with_ten_components(name):
    X = real_table(name)
    check(X, all_at_once(X), n_components=10)


@pytest.mark.parametrize(("d", "every"), [(5, 3), pytest.param("auto", 1, marks=pytest.mark.nightly)])
def test_rare_words_of_a_real_table(d, every):
    """Many words occur equally often, in other texts; some always together."""
    X = sparse.csr_array(real_table("BASEHOCK")[::every])
    rng = np.random.default_rng(0)
    rows, columns = (rng.permutation(length) for length in X.shape)
    check(X, {"permuted": (X[rows][:, columns], columns)}, n_components=d)
