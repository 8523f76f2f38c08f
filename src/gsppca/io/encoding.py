"""The words of the saved format: values to JSON, with arrays set aside for an npz file, and back.

| value | JSON |
|---|---|
| None, bool, int, finite float, str | itself |
| infinite or NaN float | ``{"float": "inf"}`` |
| array of bool, int, float, complex or text | ``{"array": key}``, stored once however often it occurs |
| numpy scalar | ``{"scalar": key}`` |
| array of Python strings | ``{"strings": [...]}`` |
| list, tuple, dict with text keys | ``{"list": [...]}``, ``{"tuple": [...]}``, ``{"dict": {...}}`` |
| one of our dataclasses | ``{"record": name, "fields": {...}}`` |
"""

from __future__ import annotations

import math
import os
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from gsppca._npz import npz_arrays, npz_bytes

_NUMERIC = "biufcU"
# Parameters that name a place on the machine of whoever made the model: not stored, and not believed when loaded.
LOCAL = ("checkpoint",)


class Encoder:
    """Encodes values, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._keys: dict[int, str] = {}

    def encode(self, name: str, value: Any) -> Any:
        """Return what JSON can hold; `name` says where the value comes from, for keys of arrays and for errors."""
        if name.rpartition(".")[2] in LOCAL:
            return None
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, os.PathLike):
            return os.fspath(value)  # text means the same wherever a path is taken
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.kind in _NUMERIC:
            return {"scalar": self._store(name, np.asarray(value))}
        if isinstance(value, np.ndarray):
            return self._array(name, value)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.encode(f"{name}.{i}", item) for i, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.encode(f"{name}.{key}", item) for key, item in value.items()}}
        record = type(value).__name__
        if is_dataclass(value) and _records().get(record) is type(value):
            # One by one: `asdict` would copy all arrays, and lose that some are the same.
            content = {field.name: getattr(value, field.name) for field in fields(value)}
            return {
                "record": record,
                "fields": {key: self.encode(f"{name}.{key}", item) for key, item in content.items()},
            }
        raise ValueError(
            f"{name} is a {type(value).__name__}, which the saved format has no word for: it knows numbers, text, "
            f"arrays of them and our own records. Set {name} to one of these before saving, or use skops or joblib."
        )

    def arrays_as_bytes(self) -> bytes:
        """Return the arrays as an npz file."""
        return npz_bytes(self.arrays)

    def _array(self, name: str, value: np.ndarray[Any, Any]) -> Any:
        if value.dtype.kind in _NUMERIC:
            return {"array": self._store(name, value)}
        if value.dtype == object and value.ndim == 1 and all(isinstance(item, str) for item in value):
            return {"strings": [str(item) for item in value]}
        raise ValueError(f"{name} is an array of dtype {value.dtype}, which the saved format has no word for.")

    def _store(self, name: str, value: np.ndarray[Any, Any]) -> str:
        key = self._keys.get(id(value))
        if key is None:
            key = self._keys[id(value)] = name.lstrip("_")
            self.arrays[key] = value
        return key


class Decoder:
    """Turns JSON back into values, with the arrays of an npz file."""

    def __init__(self, content: bytes):
        self.arrays = npz_arrays(content)

    def decode(self, value: Any) -> Any:
        """Return the value that some JSON stands for."""
        if value is None or isinstance(value, bool | str | int | float):
            return value
        if not isinstance(value, dict) or not value:
            raise ValueError(f"{value!r} is no word of the format")
        word, content = next(iter(value.items()))
        match word:
            case "float":
                return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
            case "array":
                return self.arrays[content]
            case "scalar":
                return self.arrays[content][()]
            case "strings":
                if not all(isinstance(item, str) for item in content):
                    raise ValueError("'strings' holds something else")
                return np.array(content, dtype=object)
            case "list":
                return [self.decode(item) for item in content]
            case "tuple":
                return tuple(self.decode(item) for item in content)
            case "dict":
                return {key: self.decode(item) for key, item in content.items()}
            case "record":
                return self._record(content, value["fields"])
        raise ValueError(f"{word!r} is no word of the format")

    def _record(self, name: str, content: dict[str, Any]) -> Any:
        kind = _records()[name]
        known = {field.name: field for field in fields(kind)}
        absent = [key for key, field in known.items() if key not in content and _required(field)]
        unknown = [key for key in content if key not in known]
        if absent or unknown:
            raise ValueError(f"{name} lacks {absent} and has {unknown} that it does not know")
        return kind(**{key: self.decode(item) for key, item in content.items() if key not in LOCAL})


def _required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _records() -> dict[str, type]:
    """Our dataclasses that a fitted model may hold, by name."""
    from gsppca import methods, results, rules
    from gsppca.components.imputation import Imputation
    from gsppca.procedure import Fitted
    from gsppca.rules import core, shares

    homes = (results, core, shares, methods, rules)
    found = [
        value for home in homes for value in vars(home).values() if isinstance(value, type) and is_dataclass(value)
    ]
    return {kind.__name__: kind for kind in [*found, Imputation, Fitted]}
