"""Many rows: the evidence of a few nodes is that of all rows, and chooses the same size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from gsppca import evidence_path, log_kv


def full_evidence(squared, inactive, k, d, p, variance):
    """Theorem 2 with a sum over all rows, at the best slab rate."""
    n, nu, radii = len(squared), (k - d) / 2, np.sqrt(squared)

    def value(log_rate):
        rows = log_kv(nu, np.exp(log_rate) * radii) - nu * np.log(radii)
        constant = (1 - (k + d) / 2) * np.log(2) - gammaln(d / 2) - k / 2 * np.log(np.pi) + (k + d) / 2 * log_rate
        return rows.sum() + n * constant

    start = 0.5 * np.log(d * k / squared.mean())
    best = minimize_scalar(
        lambda t: -value(t), bounds=(start - 1, start + 1), method="bounded", options={"xatol": 1e-9}
    )
    return -best.fun - inactive / (2 * variance) - n * (p - k) / 2 * np.log(2 * np.pi * variance)


@pytest.mark.parametrize("law", ["gaussian", "heavy tails"])
def test_the_evidence_of_many_rows_is_that_of_all(law):
    n, p, d, q = 40_000, 60, 3, 20
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    scores = rng.standard_normal((n, d)) if law == "gaussian" else rng.standard_t(3, (n, d))
    X[:, :q] += scores @ rng.standard_normal((d, q))
    order = np.argsort(-X.var(axis=0))
    Z = X - X.mean(axis=0)
    sizes = np.array([1, 3, 10, 18, 19, 20, 21, 60])
    path = evidence_path(X, order, d, 1.0, sizes)
    squares = np.cumsum(Z[:, order] ** 2, axis=1)
    columns = (Z**2).sum(axis=0)[order]
    wanted = [full_evidence(squares[:, k - 1], columns[k:].sum(), k, d, p, 1.0) for k in sizes]
    np.testing.assert_allclose(path.log_evidence, wanted, rtol=1e-11)
    assert path.log_evidence.argmax() == np.argmax(wanted)
