"""The results of passes over data in blocks, kept in a file: a fit that died does not read the data for them again.

A pass is a function of the data and of what it is asked for. Its result is known by a digest of the task, which holds
all small arrays that go to the blocks: another fit of the same data, with other parameters, finds what both ask for
and nothing else. What was kept is what was computed, to the last bit, and so all that follows from it is the same.

The data is known by what the first pass of every fit finds of each column: its mean, its sum of squares, and its sum
with fixed weights of the rows, which differ, so that rows in another order are other data. The same blocks have the
same bits in all of them; other blocks have not, and their file is refused.
"""

from __future__ import annotations

import functools
import hashlib
import os
import types
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gsppca._checkpoint import StateFile
from gsppca._typing import FloatArray

FORMAT = 1  # to be raised when a task of the same name and arguments comes to return something else

Run = Callable[[], Any]


class UnknownTaskError(TypeError):
    """A task that holds something whose content cannot be told."""


class PassFile:
    """Results of passes over some data, in memory and in a file.

    Parameters
    ----------
    path : path-like
        The file; it need not exist yet, but its folder must.
    shape : tuple of int
        Rows and columns of the data.
    fingerprint : ndarray
        Numbers by which the data is known.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], fingerprint: FloatArray):
        self._file = StateFile(path, FORMAT)
        self._shape, self._data = shape, digest(fingerprint)
        self._used: dict[str, Any] = {}
        self._found = self._read()

    def recall(self, task: Any, run: Run) -> Any:
        """Return the result of a task: that of the file, or of running it."""
        try:
            key = digest(task)
        except UnknownTaskError:
            return run()
        if key not in self._used:
            self._used[key] = self._found.pop(key) if key in self._found else run()
            # Others in the file may be wanted later on the way.
            self._file.write(lambda: self._arrays(self._found | self._used))
        return self._used[key]

    def _arrays(self, results: dict[str, Any]) -> dict[str, Any]:
        arrays: dict[str, Any] = {"shape": list(self._shape), "data": self._data}
        for key, result in results.items():
            parts = result if isinstance(result, tuple) else (result,)
            kind = "tuple" if isinstance(result, tuple) else "array"
            arrays |= {f"{kind}_{key}_{number}": part for number, part in enumerate(parts)}
        return arrays | {"sum": _sum_of(arrays)}

    def _read(self) -> dict[str, Any]:
        arrays = self._file.read()
        if arrays is None:
            return {}
        try:
            shape, data, total = tuple(arrays["shape"].tolist()), str(arrays["data"]), str(arrays.pop("sum"))
        except (KeyError, ValueError) as error:
            raise self._file.refusal(f"it is damaged: {error}") from error
        del arrays["format"]
        if shape != self._shape:
            raise self._file.refusal(f"its data has the shape {shape}, and this {self._shape}")
        if data != self._data:
            raise self._file.refusal("its data is another, or was cut in other blocks")
        if total != _sum_of(arrays):
            raise self._file.refusal("it is damaged: its numbers do not have the sum that is written in it")
        return _unpacked({name: arrays[name] for name in arrays if name not in ("shape", "data")})


def _unpacked(arrays: dict[str, Any]) -> dict[str, Any]:
    """Results by their keys, from arrays by their names."""
    parts: dict[tuple[str, str], dict[int, Any]] = {}
    for name, array in arrays.items():
        kind, key, number = name.split("_")
        parts.setdefault((kind, key), {})[int(number)] = array
    return {
        key: tuple(own[number] for number in range(len(own))) if kind == "tuple" else own[0]
        for (kind, key), own in parts.items()
    }


def _sum_of(arrays: dict[str, Any]) -> str:
    return digest({name: np.asarray(array) for name, array in arrays.items()})


def digest(value: Any) -> str:
    """Return a name of some value: the same for the same content, in whatever process.

    Examples
    --------
    >>> import numpy as np
    >>> digest((np.arange(3), "a")) == digest((np.arange(3), "a")) != digest((np.arange(4), "a"))
    True
    """
    total = hashlib.sha256()
    for part in _content(value):
        total.update(part)
    return total.hexdigest()


def _content(value: Any) -> Iterator[bytes | memoryview]:
    """All bytes that make a value what it is, each part after what kind it is and how long."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise UnknownTaskError(f"an array of {array.dtype}")
        yield f"array {array.dtype.str} {array.shape};".encode()
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    elif value is None or isinstance(value, bool | int | float | str | slice | np.dtype | np.ufunc):
        text = repr(value)
        yield f"{type(value).__name__} {len(text)};{text}".encode()
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)};".encode()
        for one in value:
            yield from _content(one)
    elif isinstance(value, dict):
        yield b"dict;"
        yield from _content(list(value.items()))
    elif isinstance(value, types.FunctionType) and value.__closure__ is None and "<" not in value.__qualname__:
        yield from _content(("function", value.__module__, value.__qualname__))
    elif isinstance(value, functools.partial):
        yield from _content(("partial", value.func, value.args, value.keywords))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _content((type(value).__module__, type(value).__qualname__))
        yield from _content([getattr(value, field.name) for field in fields(value)])
    else:
        raise UnknownTaskError(f"a {type(value).__name__}")
