"""The state of a long fit in a small file, from which it goes on after its process died, to the last bit.

The file is a plain npz archive, without pickles. It is written beside its place and then moved there: it is whole at
every moment.
"""

from __future__ import annotations

import json
import math
import os
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gsppca._typing import FloatArray
from gsppca.core.state import RelaxedState
from gsppca.core.vem import Run, Step
from gsppca.data import Matrix

FORMAT = 1
EVERY = 10.0  # seconds between two savings
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
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is in a folder that does not exist. Make the folder first.")
        self._matrix = matrix
        self._settings: dict[str, Any] = {}
        self._saved_at = -math.inf
        self._found = self._read() if self.path.exists() else None
        if self._found is not None and "eigenvalues" in self._found and matrix.known_spectrum is None:
            matrix.known_spectrum = (self._found["eigenvalues"], self._found["axes"], float(self._found["level"]))

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
        before = json.loads(str(self._found["settings"]))
        for name in before.keys() | settings.keys() if before else ():
            one, other = before.get(name), settings.get(name)
            if not _agree(one, other):
                raise ValueError(self._refusal(f"{name} was {one!r} there, and is {other!r} now"))
        return [_unpacked(self._found, number) for number in range(int(self._found["n_runs"]))]

    def save(self, runs: Sequence[Run], *, now: bool = False) -> None:
        """Write the runs, unless the last writing is only seconds old; `now` writes them anyway."""
        if not now and time.monotonic() < self._saved_at + EVERY:
            return
        arrays: dict[str, Any] = {
            "format": FORMAT,
            "shape": [self._matrix.n_samples, self._matrix.n_features],
            "column_squares": self._matrix.column_squares,
            "settings": json.dumps(self._settings),
            "n_runs": len(runs),
        }
        if self._matrix.known_spectrum is not None:
            arrays["eigenvalues"], arrays["axes"], arrays["level"] = self._matrix.known_spectrum
        for number, run in enumerate(runs):
            arrays |= _packed(run, number)
        part = self.path.with_name(self.path.name + ".part")
        with part.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)
        self._saved_at = time.monotonic()

    def _read(self) -> dict[str, Any]:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            recognised = int(found["format"]) == FORMAT
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            raise ValueError(self._refusal(f"it cannot be read: {error}")) from error
        if not recognised:
            raise ValueError(self._refusal(f"its format is {found['format']}, and this version reads {FORMAT}"))
        shape = (self._matrix.n_samples, self._matrix.n_features)
        if tuple(found["shape"]) != shape:
            raise ValueError(
                self._refusal(f"its data has the shape {tuple(found['shape'].tolist())}, and this {shape}")
            )
        if not np.allclose(found["column_squares"], self._matrix.column_squares, rtol=AGREE, atol=0):
            raise ValueError(self._refusal("the columns of its data have other variances"))
        return found

    def _refusal(self, reason: str) -> str:
        return (
            f"checkpoint={str(self.path)!r} is not of this fit: {reason}. Delete the file to begin anew, or give "
            "another name."
        )


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


def _unpacked(arrays: dict[str, FloatArray], number: int) -> Run:
    *numbers, bound, n_iter, converged = arrays[f"{number}_progress"].tolist()
    fields: dict[str, Any] = {name: arrays[f"{number}_{name}"] for name in STATE}
    state = RelaxedState(**fields, **dict(zip(NUMBERS, numbers, strict=True)))
    bounds = arrays[f"{number}_bounds"].tolist()
    return Run(Step(state, bound), bounds, int(n_iter), bool(converged))
