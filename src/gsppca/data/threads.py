"""Row blocks over the cores: one Python thread per core, BLAS held to one thread inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

T = TypeVar("T")
S = TypeVar("S")

_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("gsppca_pool", default=None)


@contextmanager
def block_threads() -> Iterator[None]:
    """Share one pool of threads among all block maps inside the ``with``.

    There are as many threads as BLAS is allowed, so that OMP_NUM_THREADS, joblib's workers and
    ``threadpool_limits`` are respected. BLAS itself is held to one thread: two levels of threads would
    fight for the same cores, and products of thin blocks gain little from its own.
    """
    if _pool.get() is not None:
        yield
        return
    n_threads = max((info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"), default=1)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        token = _pool.set(pool)
        try:
            yield
        finally:
            _pool.reset(token)


def map_blocks(function: Callable[[S], T], blocks: Sequence[S]) -> Iterator[T]:
    """Apply `function` to every block, results in the order of the blocks."""
    pool = _pool.get()
    return map(function, blocks) if pool is None or len(blocks) == 1 else pool.map(function, blocks)
