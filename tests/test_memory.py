"""A fit holds less memory than its data: X is never copied, whatever its order, dtype or size of support."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gsppca import GSPPCA


def peak_of_fit(X, **parameters):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        GSPPCA(5, tol=1e-4, **parameters).fit(X)
        return (tracemalloc.get_traced_memory()[1] - before) / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        ((400, 6000), {}),
        ((400, 6000), {"n_features_to_select": 5900}),
        ((400, 6000), {"scale": True}),
        ((100, 30_000), {}),
        ((20_000, 150), {}),
        ((1600, 1600), {}),
        ((1600, 800), {}),
    ],
    ids=str,
)
def test_peak_memory_is_below_that_of_the_data(shape, parameters, order):
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal(shape), order=order)
    X[:, ::10] += rng.standard_normal((shape[0], 5)) @ rng.standard_normal((5, len(range(0, shape[1], 10))))
    assert peak_of_fit(X, **parameters) < 1.0
