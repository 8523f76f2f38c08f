"""How many threads BLAS may use: one, but as many as the user allows for a product that is worth it.

A fit is thousands of small products and decompositions, in which threads spend several times the work on waiting for
each other, and a few large ones. So a fit holds BLAS to one thread, and a large product asks for the others.

The number is that of the process. A hold belongs to the thread of Python that began it, which alone changes the number;
fits in other threads go along with it, so that what was there before always comes back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

LARGE = 1e7  # products of two numbers, about half a millisecond: more are shared among threads


class _Hold:
    """Who holds BLAS to one thread, how often, and how many threads there were before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner: int | None = None
        self.depth = self.strict = 0
        self.before: list[int] = []
        self.limits: Any = None

    def begin(self, strict: bool) -> None:
        with self.lock:
            self.strict += strict
            if self.owner is None:
                self.owner, self.before = threading.get_ident(), [one.num_threads for one in _libraries()]
                self.limits = _blas().limit(limits=1, user_api="blas")
            self.depth += self.is_own

    def end(self, strict: bool) -> None:
        with self.lock:
            self.strict -= strict
            self.depth -= self.is_own
            if self.is_own and not self.depth:
                self.limits.restore_original_limits()
                self.owner = None

    @property
    def is_own(self) -> bool:
        return self.owner == threading.get_ident()

    def loosen(self) -> bool:
        """Let BLAS have its threads for a while, unless blocks share them; whether it has more of them now."""
        with self.lock:
            loose = self.is_own and not self.strict and max(self.before, default=1) > 1
            if loose:
                _set(self.before)
        return loose


_hold, _local = _Hold(), threading.local()


@contextmanager
def one_blas_thread(large_products: bool = False) -> Iterator[None]:
    """Hold BLAS to one thread.

    Parameters
    ----------
    large_products : bool, default=False
        Whether large products still have all threads. Not where blocks of data are shared among threads already: more
        would only compete, and the last bits of a sum would depend on their number.
    """
    _hold.begin(not large_products)
    try:
        yield
    finally:
        _hold.end(not large_products)


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Let BLAS have its threads for a product of so many numbers with others, if it is large."""
    loose = work >= LARGE and _hold.loosen()
    try:
        yield
    finally:
        if loose:
            _set([1] * len(_hold.before))


@contextmanager
def treating_block() -> Iterator[None]:
    """Treat a block of data, perhaps beside other threads that treat others."""
    before, _local.in_block = in_block(), True
    try:
        yield
    finally:
        _local.in_block = before


def in_block() -> bool:
    """Whether this thread treats a block of data."""
    return getattr(_local, "in_block", False)


def n_blas_threads() -> int:
    """Return how many threads BLAS may use: the cores, or what the user's environment allows."""
    with _hold.lock:
        return max([one.num_threads for one in _libraries()] if _hold.owner is None else _hold.before, default=1)


def _set(numbers: list[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        library.set_num_threads(number)


def _libraries() -> list[Any]:
    return [one for one in _blas().lib_controllers if one.user_api == "blas"]


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
