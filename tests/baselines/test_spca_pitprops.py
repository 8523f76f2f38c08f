"""SPCA on the pitprops data, against the loadings that its authors published.

The correlation matrix of 13 variables on 180 props of Corsican pine is from Jeffers, J. N. R. (1967), Two case studies
in the application of principal component analysis, Applied Statistics 16, 225-236. PCA and SPCA loadings and adjusted
variances are from Tables 1 and 3 of Zou, Hastie & Tibshirani (2006), there with ridge 0 and penalties
(.06, .16, .1, .5, .5, .5); they are printed to three decimals and depend on where the authors stopped.
"""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.baselines import spca_from_gram

NAMES = (
    ["topdiam", "length", "moist", "testsg", "ovensg", "ringtop", "ringbut"]
    + ["bowmax", "bowdist", "whorls", "clear", "knots", "diaknot"]
)  # fmt: skip
UPPER = """
1 .954 .364 .342 -.129 .313 .496 .424 .592 .545 .084 -.019 .134
1 .297 .284 -.118 .291 .503 .419 .648 .569 .076 -.036 .144
1 .882 -.148 .153 -.029 -.054 .125 -.081 .162 .220 .126
1 .220 .381 .174 -.059 .137 -.014 .097 .169 .015
1 .364 .296 .004 -.039 .037 -.091 -.145 -.208
1 .813 .090 .211 .274 -.036 .024 -.329
1 .372 .465 .679 -.113 -.232 -.424
1 .482 .557 .061 -.357 -.202
1 .526 .085 -.127 -.076
1 -.319 -.368 -.291
1 .029 .007
1 .184
1
"""
EIGENVALUES = [4.219, 2.378, 1.878, 1.109, 0.910, 0.815]
FIRST_PC = [-0.404, -0.406, -0.124, -0.173, -0.057, -0.284, -0.400, -0.294, -0.357, -0.379, 0.011, 0.115, 0.113]
PENALTIES = [0.06, 0.16, 0.1, 0.5, 0.5, 0.5]
COUNTS = [7, 4, 4, 1, 1, 1]
SPARSE_AXES = [
    {
        "topdiam": -0.477,
        "length": -0.476,
        "ovensg": 0.177,
        "ringbut": -0.250,
        "bowmax": -0.344,
        "bowdist": -0.416,
        "whorls": -0.400,
    },
    {"moist": 0.785, "testsg": 0.620, "bowmax": -0.021, "knots": 0.013},
    {"ovensg": 0.640, "ringtop": 0.589, "ringbut": 0.492, "diaknot": -0.015},
    {"clear": -1.0},
    {"knots": -1.0},
    {"diaknot": 1.0},
]
ADJUSTED_VARIANCE_PERCENT = [28.0, 14.0, 13.3, 7.4, 6.8, 6.2]


@pytest.fixture(scope="module")
def correlation():
    rows = [[float(x) for x in line.split()] for line in UPPER.strip().splitlines()]
    matrix = np.zeros((13, 13))
    for i, row in enumerate(rows):
        matrix[i, i:] = row
        matrix[i:, i] = row
    return matrix


def zou_adjusted_variances(correlation, axes):
    """Squares of the diagonal of R in the QR decomposition of the scores, from their Gram matrix."""
    return np.diag(np.linalg.cholesky(axes @ correlation @ axes.T)) ** 2


def test_the_matrix_is_the_published_one(correlation):
    values, vectors = np.linalg.eigh(correlation)
    np.testing.assert_allclose(values[::-1][:6], EIGENVALUES, atol=6e-4)
    first = vectors[:, -1] * np.sign(vectors[0, -1]) * -1
    np.testing.assert_allclose(first, FIRST_PC, atol=6e-4)


def test_penalties_give_the_published_loadings(correlation):
    fit = spca_from_gram(correlation, penalty=PENALTIES, tol=1e-8, max_iter=5000)
    assert fit.converged
    np.testing.assert_array_equal(np.count_nonzero(fit.loadings, axis=0), COUNTS)
    for axis, published in zip(fit.axes, SPARSE_AXES, strict=True):
        expected = np.array([published.get(name, 0.0) for name in NAMES])
        np.testing.assert_array_equal(axis != 0, expected != 0)
        np.testing.assert_allclose(np.sign(axis @ expected) * axis, expected, atol=0.01)


def test_penalties_give_the_published_variances(correlation):
    fit = spca_from_gram(correlation, penalty=PENALTIES, tol=1e-8, max_iter=5000)
    percent = 100 * zou_adjusted_variances(correlation, fit.axes) / 13
    np.testing.assert_allclose(percent, ADJUSTED_VARIANCE_PERCENT, atol=0.1)


def test_counts_give_nearly_the_same_axes(correlation):
    fit = spca_from_gram(correlation, n_nonzero=COUNTS, tol=1e-6)
    np.testing.assert_array_equal(np.count_nonzero(fit.loadings, axis=0), COUNTS)
    for axis, published in zip(fit.axes, SPARSE_AXES, strict=True):
        expected = np.array([published.get(name, 0.0) for name in NAMES])
        assert abs(axis @ expected) > 0.99 * np.linalg.norm(expected)
