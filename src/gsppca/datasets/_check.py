"""Argument checks and the random generator shared by the data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

# What every simulator accepts as `random_state`.
RandomState = int | np.integer | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None


def as_generator(random_state: RandomState = None) -> np.random.Generator:
    """Return the numpy Generator that `random_state` stands for.

    Parameters
    ----------
    random_state : int, Generator, RandomState, SeedSequence or None
        An integer or a SeedSequence always gives the same stream. A Generator is used as it is, and a
        RandomState gives the seed: both advance, so that a second call draws other numbers. None draws
        fresh entropy.

    Returns
    -------
    numpy.random.Generator
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # Four words seed the new stream: numpy before 2.2 cannot wrap a RandomState.
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if _is_integer(random_state) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state={random_state!r}: expected a non-negative integer, a numpy Generator, RandomState or "
        "SeedSequence, or None; pass for example random_state=0"
    )


def check_count(name: str, value: object, low: int = 1, high: int | None = None, why: str = "") -> int:
    """Return `value` as an int within [low, high], or say what is wrong with it."""
    upper = math.inf if high is None else high
    if _is_integer(value) and low <= value <= upper:
        return int(value)
    allowed = f"at least {low}" if high is None else f"between {low} and {high}"
    raise ValueError(f"{name}={value!r}: expected an integer {allowed}{why}; change {name}")


def check_real(
    name: str, value: object, low: float = 0.0, high: float = math.inf, *, strict: bool = True, why: str = ""
) -> float:
    """Return `value` as a finite float over `low` (or equal, if not strict) and at most `high`."""
    if _is_number(value) and math.isfinite(value):
        number = float(value)
        if (number > low or (not strict and number == low)) and number <= high:
            return number
    allowed = f"{'greater than' if strict else 'at least'} {low:g}"
    if math.isfinite(high):
        allowed += f" and at most {high:g}"
    raise ValueError(f"{name}={value!r}: expected a finite number {allowed}{why}; change {name}")


def check_choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the `allowed` words."""
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(repr(word) for word in allowed)
    raise ValueError(f"{name}={value!r}: expected one of {words}; choose one of them")


def _is_integer(value: object) -> TypeGuard[int]:
    # bool is a subclass of int, but True is never meant as a count.
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _is_number(value: object) -> TypeGuard[float]:
    return _is_integer(value) or isinstance(value, (float, np.floating))
