"""Checks of parameters: every error names the argument, what is allowed, the value got and the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether `value` is an integer, numpy's included; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether `value` is an integer or a float, numpy's included; True and False are not."""
    return is_integer(value) or isinstance(value, float | np.floating)


def check_choice(name: str, value: Any, allowed: Sequence[str], otherwise: str = "") -> None:
    """Refuse a string that is not among those allowed; `otherwise` says what else is."""
    if isinstance(value, str) and value in allowed:
        return
    options = ", ".join(map(repr, allowed)) + (f", or {otherwise}" if otherwise else "")
    raise ValueError(_message(name, value, f"one of {options}"))


def check_count(name: str, value: Any, low: int, high: int | None = None, advice: str = "", otherwise: str = "") -> int:
    """Return an integer from `low` to `high`, or refuse it with some advice; `otherwise` says what else is allowed."""
    if is_integer(value) and value >= low and (high is None or value <= high):
        return int(value)
    allowed = f"an integer, at least {low}" if high is None else f"an integer from {low} to {high}"
    raise ValueError(_message(name, value, allowed, advice, otherwise))


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    finite: bool = True,
    advice: str = "",
    otherwise: str = "",
) -> float:
    """Return a number from `low` to `high`, or refuse it with some advice.

    Parameters
    ----------
    name, value : str, object
        The argument.
    low, high : float
        Limits, both allowed.
    open_low : bool, default=False
        Whether `low` itself is refused.
    finite : bool, default=True
        Whether infinity is refused where `high` is infinite.
    advice : str, default=""
        The next step.
    otherwise : str, default=""
        What else is allowed, checked by the caller.
    """
    if is_number(value):
        number = float(value)
        above = number > low if open_low else number >= low
        if above and number <= high and (math.isfinite(number) or not finite):
            return number
    kind = "finite number" if finite else "number"
    if high < math.inf:
        allowed = f"a number above {low:g} and at most {high:g}" if open_low else f"a number from {low:g} to {high:g}"
    elif open_low:
        allowed = f"a positive {kind}" if low == 0 else f"a {kind} above {low:g}"
    else:
        allowed = f"a {kind}, at least {low:g}"
    raise ValueError(_message(name, value, allowed, advice, otherwise))


def _message(name: str, value: Any, allowed: str, advice: str = "", otherwise: str = "") -> str:
    allowed = f"{otherwise} or {allowed}" if otherwise else allowed
    return f"{name} must be {allowed}, got {value!r}. {advice or f'Set {name} to such a value.'}"
