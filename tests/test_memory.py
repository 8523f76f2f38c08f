"""A fit holds less memory than its data: X is never copied, whatever its order, dtype or size of support.

The joint evidence holds a Gram matrix of the smaller side besides, which for square data is as large as the data.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gsppca import GSPPCA

JOINT, PAPER = {"evidence": "joint"}, {"evidence": "noiseless"}


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
        ((400, 6000), JOINT),
        ((400, 6000), JOINT | {"n_features_to_select": 5900}),
        ((20_000, 150), JOINT),
        ((400, 6000), PAPER),
        ((400, 6000), PAPER | {"n_features_to_select": 5900}),
        ((400, 6000), PAPER | {"scale": True}),
        ((100, 30_000), PAPER),
        ((20_000, 150), PAPER),
        ((1600, 1600), PAPER),
        ((1600, 800), PAPER),
    ],
    ids=str,
)
def test_peak_memory_is_below_that_of_the_data(shape, parameters, order):
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal(shape), order=order)
    X[:, ::10] += rng.standard_normal((shape[0], 5)) @ rng.standard_normal((5, len(range(0, shape[1], 10))))
    assert peak_of_fit(X, **parameters) < 1.0
