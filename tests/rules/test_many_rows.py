"""Many rows: dealt out along their lengths, and everything from one Gram matrix of each fold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca import GSPPCA
from gsppca.data import as_blocks, as_matrix
from gsppca.data.folds import MANY_ROWS, sums_and_squares
from gsppca.rules import task
from gsppca.rules.by_rows import FromOuterGram
from gsppca.rules.core import find_core
from gsppca.rules.fold_grams import FromGrams
from tests.needs import optional

N, P, D = MANY_ROWS + 104, 24, 3


def factor_data(*, tails=None, own=False, q=9):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) if tails is None else rng.standard_t(tails, (N, P))
    X[:, ::-1][:, :q] += rng.standard_normal((N, D)) @ (1.5 * rng.standard_normal((D, q)))
    return 3 + (X * np.exp(rng.standard_normal(P)) if own else X)


X = factor_data()
FOUND = np.arange(P) >= P - 9
WAYS = {
    "all": {},
    "some": {"relevant": FOUND},
    "own units": {"relevant": FOUND, "standardise": False},
    "included": {"relevant": FOUND, "include": np.array([2])},
}


def core(data, **options):
    options = dict(options)
    return find_core(as_matrix(data), options.pop("relevant", np.ones(P, dtype=bool)), D, **options)


def partition(fold):
    return sorted(np.flatnonzero(fold == number).tolist() for number in range(5))


def numbers(found):
    path, description = found.share_path, found.description
    names = ("represented_by", "correlation", "variance_share", "component_shares", "components_share", "predicted")
    return {
        "order": found.order,
        "size": found.size,
        "share": path.share,
        "equal": path.equal_share,
        "shrinkage": found.shrinkage,
    } | {name: getattr(description, name) for name in names}


def agree(one, other, **tolerances):
    expected = numbers(other)
    for name, value in numbers(one).items():
        np.testing.assert_allclose(value, expected[name], rtol=0, atol=tolerances.get(name, 1e-10), err_msg=name)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_what_scores_and_rows_give(way, monkeypatch):
    """With the same folds, only the shrinkage of the description is approximate: its effect is in the sixth digit."""
    found = core(X, **WAYS[way])
    monkeypatch.setattr(task, "FromGrams", FromOuterGram)
    agree(found, core(X, **WAYS[way]), predicted=1e-5)


@pytest.mark.parametrize("tails", [None, 5], ids=["Gaussian", "t of 5"])
def test_fourth_powers_of_lengths_on_the_chosen(tails, monkeypatch):
    """Gaussian rows have elliptical contours, and independent t distributions have not."""
    seen = []

    def noted(self, *given):
        seen.append((self, given))
        return np.ones(5)

    monkeypatch.setattr(FromGrams, "_fourths", noted)
    data = factor_data(tails=tails)
    found = core(data, relevant=FOUND)
    monkeypatch.undo()
    way, given = seen[0]
    Z = (data - data.mean(axis=0)) / data.std(axis=0)
    squares = np.sum(Z[:, found.core] ** 2, axis=1) ** 2
    exact = np.bincount(found.fold, weights=squares)
    np.testing.assert_allclose(way._fourths(*given), exact, rtol=0.02 if tails is None else 0.06)


def test_folds_do_not_depend_on_order_or_rounding():
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(N), rng.permutation(P)
    fold = core(X).fold
    expected = partition(fold)
    assert np.bincount(fold).tolist() == [N // 5 + (number < N % 5) for number in range(5)]
    for other in (X[rows], X[:, columns][rows], (X * (1 + 1e-12 * rng.standard_normal(X.shape)))[rows], -X[rows]):
        back = np.empty(N, dtype=int)
        back[rows] = core(other).fold
        assert partition(back) == expected


@pytest.mark.parametrize("own", [False, True])
def test_lengths_that_come_with_the_tails_are_those_of_standardised_rows(own):
    data = factor_data(own=own)
    data[np.random.default_rng(2).random(data.shape) < 0.5] = 0.0
    expected = sums_and_squares(as_matrix((data - data.mean(axis=0)) / data.std(axis=0)))
    blocks = optional("dask.array").from_array(data, chunks=(1000, P))
    for container in (data, sparse.csr_array(data), sparse.csc_array(data), blocks):
        rows = GSPPCA(D).fit(container)._fitted.frame.rows
        np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["dask", "dask sparse", "zarr"])
@pytest.mark.parametrize("n_components", [D, "auto"])
@pytest.mark.parametrize("own", [False, True], ids=["common units", "own units"])
def test_a_whole_fit_reads_the_data_four_times(kind, n_components, own, tmp_path):
    """Moments; tails and lengths of rows; the Gram matrix; products of the relevant variables by fold."""
    data = factor_data(own=own)
    if kind == "zarr":
        zarr = optional("zarr")
        stored = zarr.open_array(tmp_path / "x.zarr", mode="w", shape=data.shape, chunks=(700, P), dtype="f8")
        stored[:] = data
        blocks = as_blocks(stored)
    else:
        blocks = optional("dask.array").from_array(data, chunks=(1000, P))
        blocks = as_blocks(blocks.map_blocks(sparse.csr_array) if kind == "dask sparse" else blocks)
    model = GSPPCA(n_components).fit(blocks)
    assert blocks.n_passes == 4
    in_memory = GSPPCA(n_components).fit(data)
    for name in ("support_", "role_", "ranking_", "relevance_", "core_share_", "predicted_share_", "components_"):
        one, other = getattr(model, name), getattr(in_memory, name)
        if np.asarray(other).dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_heavy_tails_take_no_pass_more():
    """All rounds of clipping are known from the pass that measures the tails."""
    data = factor_data() + np.random.default_rng(4).standard_t(3, (N, P))
    blocks = as_blocks(optional("dask.array").from_array(data, chunks=(1000, P)))
    model = GSPPCA(D).fit(blocks)
    assert model._fitted.frame.tails.heavy
    assert blocks.n_passes == 4
    np.testing.assert_allclose(model.components_, GSPPCA(D).fit(data).components_, atol=1e-9)
