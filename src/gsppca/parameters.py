"""Small objects that hold the parameters of one step: `Paper`, `Joint`, `Core` and their like.

They are frozen dataclasses that scikit-learn can look into: ``clone``, ``get_params(deep=True)`` and, through the
estimator that holds them, ``set_params(method__tol=1e-4)`` and grid searches work.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any, Self


class InitSignature:
    """The signature of a class is that of its ``__init__``, although ``__new__`` looks at the names first."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        signature = inspect.signature(owner.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def check_names(owner: type, given: Iterable[str]) -> None:
    """Refuse a parameter that a class does not have, and name the nearest that it has."""
    known = [name for name in inspect.signature(owner.__init__).parameters if name != "self"]  # type: ignore[misc]
    for name in given:
        if name not in known:
            raise TypeError(unknown_parameter(owner.__name__, name, known))


def unknown_parameter(owner: str, name: str, known: list[str]) -> str:
    """Say that `owner` has no parameter of this name, and which one may have been meant."""
    near = [one for one in known if name.startswith(one) or one.startswith(name)]
    near = near or difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"{owner} has no parameter {name!r}.{meant} It has {', '.join(known)}."


class Parameters:
    """Base of the frozen dataclasses that hold parameters."""

    __signature__ = InitSignature()

    def __new__(cls, *_: Any, **given: Any) -> Self:  # noqa: D102
        check_names(cls, given)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them; `deep` changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def check(self) -> None:
        """Refuse values that no data could make right."""

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if field.default is MISSING or not _same(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
