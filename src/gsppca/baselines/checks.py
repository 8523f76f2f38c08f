"""Checks of parameters: each error names the argument, the value got, what is allowed and what to do."""

from __future__ import annotations

import numbers
from typing import Any


def is_integer(value: Any) -> bool:
    """Whether the value is an integer, numpy's included and booleans not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int) -> None:
    """Refuse anything but an integer of at least `least`."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name}={value!r}: must be an integer of at least {least}; set {name} to one.")


def check_number(name: str, value: Any, low: float, high: float = float("inf"), *, open_low: bool = False) -> None:
    """Refuse anything but a number from `low` to `high`; `open_low` leaves out `low` itself."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or (open_low and value == low):
        least = f"above {low:g}" if open_low else f"from {low:g}"
        raise ValueError(f"{name}={value!r}: must be a number {least} up to {high:g}; set {name} to one.")


def check_n_components(n_components: Any, n_samples: int, n_features: int) -> None:
    """Refuse a number of axes that the data cannot hold."""
    most = min(n_samples, n_features)
    if not is_integer(n_components) or not 1 <= n_components <= most:
        raise ValueError(
            f"n_components={n_components!r}: must be an integer from 1 to {most}, the smaller of "
            f"n_samples = {n_samples} and n_features = {n_features}; choose another or give more data."
        )


def selected_size(n_features_to_select: Any, n_features: int) -> int | None:
    """Translate `n_features_to_select` into a number of variables; None means the method's own rule."""
    wanted = n_features_to_select
    if wanted is None or (isinstance(wanted, str) and wanted == "auto"):
        return None
    if is_integer(wanted) and 1 <= wanted <= n_features:
        return int(wanted)
    is_fraction = isinstance(wanted, numbers.Real) and not isinstance(wanted, numbers.Integral)
    if is_fraction and 0 < wanted <= 1:
        return max(1, round(float(wanted) * n_features))
    raise ValueError(
        f"n_features_to_select={wanted!r}: must be an integer from 1 to n_features = {n_features}, a fraction "
        'in (0, 1], or "auto" for the rule of the method; choose one of these.'
    )
