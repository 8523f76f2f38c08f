"""Power sums by bins: moments of clipped columns against clipping them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca.components.clipping import measure_tails
from gsppca.data import as_blocks
from gsppca.data.binned import MOST, nearest_edge, sums_and_bins
from tests.needs import optional


@pytest.fixture
def skewed():
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, (300, 70)) ** 2 * (rng.random((300, 70)) < 0.8)
    X[:, 4] = 7.0
    return X


def fourth_powers(values, mean, unit):
    yield ((values - mean) / unit) ** 4


def in_blocks(X, kind="dense", height=90):
    array = optional("dask.array").from_array(X, chunks=(height, -1))
    return as_blocks(array.map_blocks(sparse.csr_array) if kind == "sparse" else array)


def binned(X, least=0.0, **options):
    """Means, deviations and what the bins know."""
    mean, deviation = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    found = sums_and_bins(in_blocks(X, **options), fourth_powers, mean, deviation, by_row=(), least=least)
    return mean, deviation, found[2]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_sums_are_those_of_clipped_columns(skewed, kind):
    mean, deviation, clipped = binned(skewed, kind=kind)
    rng = np.random.default_rng(1)
    Z = (skewed - mean) / deviation
    columns = np.sort(rng.choice(70, 50, replace=False))
    for _ in range(20):
        low, centre, high = nearest_edge(np.sort(rng.uniform(-MOST, MOST, (3, 50)), axis=0))
        left = np.clip(Z[:, columns], low, high) - centre
        expected = [one.sum(axis=0) for one in (left, np.abs(left), left**2, left**3, left**4)]
        np.testing.assert_allclose(clipped.sums(columns, centre, low, high), expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_light", [0, 120])
def test_tails_are_those_of_data_in_memory(skewed, kind, dtype, n_light):
    """With bins, and where a block without heavy tails has none."""
    rng = np.random.default_rng(2)
    X = np.vstack([rng.standard_normal((n_light, 70)) + 3, skewed]).astype(dtype)
    mean, deviation = X.mean(axis=0, dtype=float), X.std(axis=0, dtype=float)
    deviation[deviation == 0] = 1
    wanted = measure_tails(X, mean, deviation)
    assert wanted.heavy
    blocks = in_blocks(X, kind, height=120)
    tails = measure_tails(blocks, mean, deviation)
    for name in ("low", "high", "mean", "squares", "rows"):
        np.testing.assert_allclose(getattr(tails, name), getattr(wanted, name), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", ["t", "gauss", "lognormal"])
def test_one_pass_knows_all_rounds(monkeypatch, kind):
    monkeypatch.setattr("gsppca.data.blocks.HELD_BYTES", 0)
    rng = np.random.default_rng(3)
    X = {"t": rng.standard_t(3, (600, 40)), "lognormal": np.exp(rng.standard_normal((600, 40)))}.get(kind)
    X = rng.standard_normal((600, 40)) if X is None else X
    blocks = in_blocks(X, height=200)
    tails = measure_tails(blocks, X.mean(axis=0), X.std(axis=0))
    assert tails.heavy == (kind != "gauss")
    assert blocks.n_passes == 1


def test_bins_are_filled_where_tails_are_heavy_and_memory_allows(skewed, monkeypatch):
    assert binned(skewed, least=3.5)[2] is not None
    assert binned(np.random.default_rng(0).standard_normal((300, 70)), least=3.5)[2] is None
    monkeypatch.setattr("gsppca.data.binned.BINS_BYTES", 2**20)
    assert binned(skewed, least=3.5)[2] is None


def test_values_beyond_all_bins_cost_no_digits():
    """Their powers are larger than the others by more than a number has digits."""
    X = np.random.default_rng(0).standard_normal((400, 3))
    X[5] = 1e7
    deviation = np.ones(3)
    sums = sums_and_bins(in_blocks(X), fourth_powers, np.zeros(3), deviation, by_row=(), least=0.0)[2]
    left = np.clip(X, -2.0, 2.0)
    expected = [one.sum(axis=0) for one in (left, np.abs(left), left**2, left**3, left**4)]
    found = sums.sums(np.arange(3), np.zeros(3), np.full(3, -2.0), np.full(3, 2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
