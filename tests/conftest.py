"""Fixtures that several rooms share."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from gsppca._threads import _hold
from tests import needs
from tests.tiers import nightly_cases, slow_tests

AUTHORS = Path(__file__).parent / "reference" / "authors"


def pytest_addoption(parser):
    parser.addoption(
        "--require",
        action="append",
        default=[],
        choices=needs.KINDS,
        help="fail, instead of skip, the tests for which this is missing",
    )


def pytest_configure(config):
    needs.required.update(config.getoption("--require"))


def pytest_collection_modifyitems(items):
    slow, nightly = slow_tests(), nightly_cases()
    for item in items:
        test, bracket, case = item.nodeid.partition("[")
        if test in slow:
            item.add_marker(pytest.mark.slow)
        if any(test == name and part in bracket + case for name, part in nightly):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(autouse=True, scope="session")
def no_blocks_are_held():
    """Data of tests is small: it is treated as large data is, except where a test lets its blocks be held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gsppca.data.blocks.HELD_BYTES", 0)
        yield


@pytest.fixture(autouse=True)
def no_hold_is_left():
    """What holds BLAS to one thread lets go of it, whatever happened; other threads may still be at work."""
    yield
    assert _hold.owner != threading.get_ident()


@pytest.fixture(params=["intro", "one_axis", "tall", "wide"])
def authors(request):
    """Data and results of the authors' program (tests/reference/authors)."""
    with np.load(AUTHORS / f"{request.param}.npz") as file:
        return {name: file[name][()] for name in file.files}


def sparse_factor_data(seed=0, n=40, p=25, d=3, q=8, noise=0.3):
    """Rows of a globally sparse factor model, columns shuffled; X and the support."""
    rng = np.random.default_rng(seed)
    support = np.zeros(p, dtype=bool)
    support[rng.permutation(p)[:q]] = True
    loadings = np.where(support[:, None], rng.standard_normal((p, d)), 0.0)
    X = rng.standard_normal((n, d)) @ loadings.T + noise * rng.standard_normal((n, p)) + rng.standard_normal(p)
    return X, support


@pytest.fixture
def factor_data():
    return sparse_factor_data
