"""The state of the variational EM in a small file, from which it goes on after its process died, to the last bit.

The EM and the spectrum depend on the data through Z'Z alone. The file knows its data again by the diagonal of that
matrix and by its product with one fixed vector, which costs one pass over the data, or none where Z'Z is formed anyway.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gsppca._checkpoint import StateFile
from gsppca._typing import FloatArray
from gsppca.data import Matrix
from gsppca.rankings.vem.em import Run
from gsppca.rankings.vem.update import Step
from gsppca.results import RelaxedState

FORMAT = 1
AGREE = 1e-9  # sums over the same data in other blocks differ by their rounding

STATE = ("relevance", "loading_mean", "weighted_loading_cov", "explained")
NUMBERS = ("slab_rate", "noise_variance")


class Checkpoint:
    """A file that holds the state of one fit.

    Opening it gives the matrix back its spectrum, if the file has it.

    Parameters
    ----------
    path : path-like
        The file; it need not exist yet, but its folder must.
    matrix : Matrix
        The data of the fit.
    """

    def __init__(self, path: str | os.PathLike[str], matrix: Matrix):
        self._file = StateFile(path, FORMAT)
        self._matrix = matrix
        self._projection = _projection(matrix)
        self._settings: dict[str, Any] = {}
        self._found = self._read()
        if self._found is not None and "eigenvalues" in self._found and matrix.known_spectrum is None:
            matrix.known_spectrum = (self._found["eigenvalues"], self._found["axes"])

    def runs(self, **settings: Any) -> list[Run]:
        """Return how far the runs of the variational EM had come; refuse a file of another fit.

        Parameters
        ----------
        **settings : int, float, str, bool or None
            All that the runs depend on besides the data.
        """
        self._settings = settings
        if self._found is None:
            return []
        before = self._found["settings"]
        for name in before.keys() | settings.keys() if before else ():
            one, other = before.get(name), settings.get(name)
            if not _agree(one, other):
                raise self._file.refusal(f"{name} was {one!r} there, and is {other!r} now")
        return list(self._found["runs"])

    def save(self, runs: Sequence[Run], *, now: bool = False) -> None:
        """Write the runs, unless the last writing is only seconds old; `now` writes them anyway.

        A file that cannot be written is a warning, once, and tried again later.
        """
        self._file.write(lambda: self._arrays(runs), now=now)

    def _arrays(self, runs: Sequence[Run]) -> dict[str, Any]:
        arrays: dict[str, Any] = {
            "shape": [self._matrix.n_samples, self._matrix.n_features],
            "column_squares": self._matrix.column_squares,
            "projection": self._projection,
            "settings": json.dumps(self._settings),
            "n_runs": len(runs),
        }
        if self._matrix.known_spectrum is not None:
            arrays["eigenvalues"], arrays["axes"] = self._matrix.known_spectrum
        for number, run in enumerate(runs):
            arrays |= _packed(run, number)
        return arrays

    def _read(self) -> dict[str, Any] | None:
        """Read the file and check all of it: what a wrong array would do to a fit shows only at its end."""
        matrix = self._matrix
        shape = (matrix.n_samples, matrix.n_features)
        found = self._file.read()
        if found is None:
            return None
        try:
            there = tuple(int(number) for number in found["shape"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._file.refusal(f"it cannot be read: {error}") from error
        if there != shape:
            raise self._file.refusal(f"its data has the shape {there}, and this {shape}")
        try:
            squares, projection = (_floats(found, name, (shape[1],)) for name in ("column_squares", "projection"))
            same_squares = np.allclose(squares, matrix.column_squares, rtol=AGREE, atol=0)
            same_products = bool(np.all(np.abs(projection - self._projection) <= AGREE * _product_scale(matrix)))
            found["runs"] = [_unpacked(found, number, shape[1]) for number in range(_count(found["n_runs"]))]
            found["settings"] = _settings(found["settings"])
            _check_spectrum(found, shape)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._file.refusal(f"it is damaged: {error}") from error
        if not same_squares:
            raise self._file.refusal("the columns of its data have other variances")
        if not same_products:
            raise self._file.refusal("the columns of its data have the same variances, but other covariances")
        return found


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=AGREE)
    return bool(one == other)


def _packed(run: Run, number: int) -> dict[str, FloatArray]:
    """Arrays of a run, by names that begin with its number."""
    state = run.step.state
    numbers = [getattr(state, name) for name in NUMBERS]
    progress = np.array([*numbers, run.step.bound, run.n_iter, run.converged], dtype=np.float64)
    arrays = {name: getattr(state, name) for name in STATE} | {"bounds": np.array(run.bounds), "progress": progress}
    return {f"{number}_{name}": value for name, value in arrays.items()}


def _unpacked(arrays: dict[str, Any], number: int, n_features: int) -> Run:
    """The run of a number; ValueError if it is not one of this width."""
    *numbers, bound, n_iter, converged = _floats(arrays, f"{number}_progress", (len(NUMBERS) + 3,)).tolist()
    d = len(_floats(arrays, f"{number}_loading_mean", (None, n_features)))
    shapes = {"loading_mean": (d, n_features), "weighted_loading_cov": (d, d)}
    fields: dict[str, Any] = {
        name: _floats(arrays, f"{number}_{name}", shapes.get(name, (n_features,))) for name in STATE
    }
    u, variances = fields["relevance"], np.diagonal(fields["weighted_loading_cov"])
    fine = min(numbers) > 0 and n_iter >= 0 and converged in (0, 1)
    if not (fine and ((u >= 0) & (u <= 1)).all() and (variances >= 0).all()):
        raise ValueError(f"the numbers of run {number} are out of range")
    state = RelaxedState(**fields, **dict(zip(NUMBERS, numbers, strict=True)))
    bounds = _floats(arrays, f"{number}_bounds", (None,)).tolist()
    return Run(Step(state, bound), bounds, int(n_iter), bool(converged))


def _floats(arrays: dict[str, Any], name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """An array of finite float64 of a shape; None stands for any length."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} is not an array of {shape} finite numbers")
    return array


def _count(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= 1000:
        raise ValueError(f"n_runs is {number}")
    return number


def _settings(value: Any) -> dict[str, Any]:
    settings = json.loads(str(value))
    if not isinstance(settings, dict):
        raise ValueError("settings is not an object")
    return settings


def _check_spectrum(found: dict[str, Any], shape: tuple[int, int]) -> None:
    if "eigenvalues" in found:
        count = len(_floats(found, "eigenvalues", (None,)))
        _floats(found, "axes", (count, shape[1]))


def _projection(matrix: Matrix) -> FloatArray:
    """Z'Z times a fixed vector, shape (n_features,)."""
    return matrix.gram_product(_fixed_vector(matrix)[None])[0]


def _fixed_vector(matrix: Matrix) -> FloatArray:
    """A vector without structure, the same in all versions of numpy, which weighs all columns alike."""
    signs = np.sin(np.arange(1.0, matrix.n_features + 1) ** 2)
    return signs / np.sqrt(np.where(matrix.column_squares > 0, matrix.column_squares, 1.0))


def _product_scale(matrix: Matrix) -> FloatArray:
    """The size that the entries of the projection would have if the columns were not related, for a tolerance."""
    return np.sqrt(matrix.column_squares * matrix.n_features)
