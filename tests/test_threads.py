"""How many threads BLAS has: one in a fit, all in its large products, and afterwards as many as before."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gsppca import GSPPCA
from gsppca._threads import LARGE, _hold, in_block, n_blas_threads, one_blas_thread, threads_for, treating_block
from gsppca.data import as_matrix
from gsppca.data.dense import add_square, mirrored
from gsppca.datasets import make_introductory


def now():
    """Threads of all libraries."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    end = time.monotonic() + 60
    while _hold.owner is not None and time.monotonic() < end:  # another test may have left a thread that still fits
        time.sleep(0.05)
    with threadpool_limits(2, "blas"):
        if now() != {2}:
            pytest.skip("BLAS has no threads here")
        yield
        assert now() == {2}


def test_large_products_have_all_threads():
    with one_blas_thread(large_products=True):
        assert now() == {1}
        assert n_blas_threads() == 2
        with threads_for(LARGE - 1):
            assert now() == {1}
        with threads_for(LARGE):
            assert now() == {2}
        assert now() == {1}
    with threads_for(LARGE):
        assert now() == {2}


def test_blocks_that_share_the_cores_do_not():
    with one_blas_thread(large_products=True), one_blas_thread():
        with threads_for(LARGE):
            assert now() == {1}
        with one_blas_thread(large_products=True), threads_for(LARGE):
            assert now() == {1}


def test_threads_are_given_back_after_an_error():
    with pytest.raises(ZeroDivisionError), one_blas_thread(large_products=True), threads_for(LARGE):
        raise ZeroDivisionError
    assert now() == {2}


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_threads_come_back_after_fits_that_overlap(first_ends_first):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread(), threads_for(LARGE):
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    with one_blas_thread(large_products=True):
        other.start()
        inside.wait(10)
        with threads_for(LARGE):  # the other needs it to be one
            assert now() == {1}
        if not first_ends_first:
            leave.set()
            other.join()
            assert now() == {1}
    leave.set()
    other.join()


def test_a_fit_holds_blas_to_one_thread(monkeypatch):
    seen = []
    squared = np.square

    def looked(*given, **options):
        seen.append(frozenset(now()))
        return squared(*given, **options)

    monkeypatch.setattr(np, "square", looked)
    GSPPCA(3).fit(make_introductory(random_state=0).X)
    assert set(seen) == {frozenset({1})}


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
@pytest.mark.parametrize("method", ["joint", "paper"])
def test_threads_do_not_change_a_bit_of_a_small_fit(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)) @ rng.standard_normal((6, 200)) + rng.standard_normal((150, 200))
    assert X.size * X.shape[1] < LARGE  # the largest product is the Gram matrix
    fits = []
    for count in (1, 2):
        with threadpool_limits(count, "blas"):
            fits.append(GSPPCA(method=method).fit(X))
    one, two = fits
    assert one.components_.tobytes() == two.components_.tobytes()
    assert one.ranking_.tolist() == two.ranking_.tolist()
    assert one.relevance_.tobytes() == two.relevance_.tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_large_products_of_a_matrix_are_shared(order, offset, monkeypatch):
    """Where means are large, blocks are centred before; with them, products are no less shared."""
    rng = np.random.default_rng(0)
    matrix = as_matrix(np.asarray(rng.standard_normal((1200, 900)) + offset, order=order))
    asked: list[float] = []

    def recorded(work):
        asked.append(work)
        return threads_for(work)

    monkeypatch.setattr("gsppca.data.dense.threads_for", recorded)
    scores = matrix.product(rng.standard_normal((20, 900)))
    matrix.transposed_product(scores)
    _ = matrix.gram
    matrix.outer_gram()
    assert max(asked) >= LARGE
    assert sum(asked) >= 1200 * 900 * (900 / 2 + 1200 / 2)


@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_that_share_the_cores_do_not_hold_the_lock(order, monkeypatch):
    """Scipy's `dsyrk` does: threads that treat blocks must not call it. The sums are the same."""
    X = np.asarray(np.random.default_rng(0).standard_normal((50, 20)), order=order)
    sums = np.zeros((2, 20, 20))
    for rows in (X[:30], X[30:]):
        add_square(sums[0], rows)
    monkeypatch.setattr("gsppca.data.dense.dsyrk", lambda *_, **__: pytest.fail("the lock is held"))
    with treating_block():
        for rows in (X[:30], X[30:]):
            add_square(sums[1], rows)
    assert not in_block()
    for total in sums:
        np.testing.assert_allclose(mirrored(total), X.T @ X, atol=1e-12)
