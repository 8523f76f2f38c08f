"""A fit holds less memory than its data: X is never copied, whatever its order, dtype or size of support.

The joint evidence holds a Gram matrix of the smaller side besides, which for square data is as large as the data.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gsppca import GSPPCA, Paper

JOINT, PAPER = {}, {"method": Paper(tol=1e-4)}


def peak_of_fit(X, d=5, **parameters):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        GSPPCA(d, **parameters).fit(X)
        return (tracemalloc.get_traced_memory()[1] - before) / X.nbytes
    finally:
        tracemalloc.stop()


# Both orders of memory in the wide and the tall shape; elsewhere they take turns.
@pytest.mark.parametrize(
    ("shape", "parameters", "order"),
    [
        ((400, 6000), JOINT, "C"),
        ((400, 6000), JOINT | {"n_features_to_select": 5900}, "F"),
        ((20_000, 150), JOINT, "C"),
        ((400, 6000), PAPER, "C"),
        ((400, 6000), PAPER, "F"),
        ((400, 6000), PAPER | {"n_features_to_select": 5900}, "C"),
        ((400, 6000), PAPER | {"scale": True}, "F"),
        ((100, 20_000), PAPER, "C"),
        ((20_000, 150), PAPER, "C"),
        ((20_000, 150), PAPER, "F"),
        ((1200, 1200), PAPER, "F"),
        ((1600, 800), PAPER, "C"),
    ],
    ids=str,
)
def test_peak_memory_is_below_that_of_the_data(shape, parameters, order):
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal(shape), order=order)
    X[:, ::10] += rng.standard_normal((shape[0], 5)) @ rng.standard_normal((5, len(range(0, shape[1], 10))))
    assert peak_of_fit(X, **parameters) < 1.0


@pytest.mark.parametrize("parameters", [JOINT | {"n_features_to_select": "core"}, PAPER], ids=str)
def test_ten_samples_per_component_are_enough(parameters):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 10)) @ rng.standard_normal((10, 40_000)) + rng.standard_normal((100, 40_000))
    assert peak_of_fit(X, d=10, **parameters) < 1.0
