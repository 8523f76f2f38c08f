"""How many threads BLAS may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread.

    In small decompositions threads spend ten times the work on waiting for each other; and where blocks of data are
    shared among threads already, more would only compete, and the last bits of a sum would depend on their number.
    """
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def n_blas_threads() -> int:
    """Return how many threads BLAS would use now: the cores, or what the user's environment allows."""
    return max((library["num_threads"] for library in _blas().info() if library["user_api"] == "blas"), default=1)
