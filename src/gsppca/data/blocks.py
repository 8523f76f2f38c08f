"""Data that comes in blocks of rows, each read where and when it is needed.

Whatever is asked of such data is a map over its blocks that reduces to a small array. Partial results are combined in
an order that depends on the blocks alone, never on which thread or worker was first: the same data in the same blocks
gives the same bits.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from gsppca._masked import unmasked
from gsppca._typing import FloatArray, IntArray
from gsppca.data.entries import aligned, first_bad_entry, stored_values
from gsppca.data.memory import as_floats
from gsppca.data.passes import PassFile
from gsppca.progress import tell

HELD_BYTES = 2**28  # of all numbers: as many are read once, and held
# Few rows of many columns: a search would hold products of some thousand columns with all, which are as large, and read
# the data dozens of times.
FEW_ROWS, TIMES = 2048, 4  # as many times as many bytes are held then
TELL_EVERY = 0.5  # seconds: short passes within an iteration are nobody's concern

Task = Callable[[Any, int], Any]
Combine = Callable[[Any, Any], Any]


class BlockError(RuntimeError):
    """A block of the data could not be read or treated."""


class NotFiniteError(ValueError):
    """A block of the data holds NaN or infinity."""


class Blocks(ABC):
    """Rows of a matrix in blocks, one after the other.

    Attributes
    ----------
    edges : ndarray of shape (n_blocks + 1,)
        Block i holds the rows from ``edges[i]`` to ``edges[i + 1] - 1``; none is empty.
    shape : tuple of int
        Rows and columns.
    dtype : dtype
        float32 or float64: in what its numbers are treated and shown.
    is_small : bool
        Whether all blocks may be held in memory, where they are read first.
    n_passes : int
        How often all blocks have been read from where they are stored so far.
    fingerprint : ndarray or None
        Numbers that are hardly ever the same for other data, once a first pass has found them.
    memory : PassFile or None
        What keeps the results of passes.
    """

    ndim = 2

    def __init__(self, edges: IntArray, n_features: int, dtype: Any):
        self.edges = edges
        self.shape = (int(edges[-1]), int(n_features))
        dtype = np.dtype(dtype)
        if dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers, got dtype {dtype}. Convert it, for example to float32.")
        dtype = dtype.newbyteorder("=")
        self.dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
        most = HELD_BYTES * (TIMES if self.shape[0] <= FEW_ROWS else 1)
        self.is_small = self.shape[0] * self.shape[1] * dtype.itemsize <= most
        self.n_passes = 0
        self.fingerprint: FloatArray | None = None
        self.memory: PassFile | None = None
        self._told_at = time.monotonic()

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.edges) - 1

    def fold(self, task: Task, combine: Combine = np.add) -> Any:
        """Combine ``task(block, first_row)`` of all blocks, in an order that is fixed, in one pass over the data.

        A task returns an array or a tuple of arrays.
        """
        if self.memory is None:
            return self._counted(task, combine)
        return self.memory.recall((task, combine), lambda: self._counted(task, combine))

    def _counted(self, task: Task, combine: Combine) -> Any:
        self.n_passes += not (self.is_small and self.n_passes)
        return self._fold(task, combine)

    @abstractmethod
    def _fold(self, task: Task, combine: Combine) -> Any:
        """Do what `fold` says."""

    @abstractmethod
    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply a function of some rows to all: a lazy array where the data is one, else an array in memory.

        The function returns as many rows as it gets, `n_columns` wide, or one number for each if that is None.
        """

    @abstractmethod
    def block(self, number: int) -> Any:
        """Return one block, in memory."""

    def rows_of(self, number: int) -> str:
        """Say which rows a block holds."""
        return f"rows {self.edges[number]} to {self.edges[number + 1] - 1}"

    def _tell(self, done: int) -> None:
        """Tell how many blocks of this pass have been read, now and then."""
        if time.monotonic() >= self._told_at + TELL_EVERY:
            tell("reading the data", done, self.n_blocks)
            self._told_at = time.monotonic()

    def is_constant(self) -> bool:
        """Whether every column holds one number only."""
        lowest, highest = self.fold(_extremes, _combine_extremes)
        return bool((lowest == highest).all())


class BlockRun:
    """One block's part of a pass: what is wrong with it is said by its number.

    Parameters
    ----------
    task : callable
        What to do with the block and the number of its first row.
    """

    def __init__(self, task: Task):
        self.task = task

    def __call__(self, raw: Any, number: int, first: int, shape: tuple[int, int]) -> Any:
        """Check the block and run the task."""
        block = ready(raw, number, shape)
        try:
            return self.task(block, first)
        except MemoryError as error:
            raise BlockError(out_of_memory(number, first, first + shape[0] - 1, error)) from error
        except NotFiniteError as error:
            raise NotFiniteError(f"Block {number}: {error}") from None


def ready(raw: Any, number: int, shape: tuple[int, int]) -> Any:
    """Return a block as floats, dense or CSR or CSC; refuse one that is not what was announced."""
    if raw.shape != shape:
        raise BlockError(
            f"Block {number} of X has the shape {raw.shape}, but {shape} was announced. Correct the chunks of X, for a "
            "dask array with X.compute_chunk_sizes(), or the meta of the function that makes its blocks."
        )
    if issparse(raw):
        return as_floats(raw if raw.format in ("csr", "csc") else raw.tocsr())
    return as_floats(aligned(np.asarray(unmasked(raw))))


def refuse_not_finite(block: Any, first: int) -> None:
    """Refuse a block with an entry that is not finite, and name the first one."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(stored_values(block).sum()):
            return
    place = first_bad_entry(block)
    if place is not None:
        row, column = place
        kind = "NaN" if np.isnan(block[row, column]) else "infinity"
        raise NotFiniteError(
            f"Input X contains {kind}: the first one in this block at row {first + row}, column {column}. All values "
            "must be finite. Drop or impute such entries first."
        )


def combine_all(combine: Combine, values: Sequence[Any]) -> Any:
    """Combine some partial results in their order."""
    return reduce(combine, values)


def stacked(parts: Sequence[Any]) -> Any:
    """Put blocks of rows below each other."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def out_of_memory(number: int, first: int, last: int, error: BaseException) -> str:
    """Say which block did not fit, and what to do."""
    return (
        f"Not enough memory for block {number} of X (rows {first} to {last}; {error or type(error).__name__}). "
        "Cut X in smaller blocks of rows, for a dask array with X.rechunk({0: fewer_rows}), or give the workers more "
        "memory."
    )


def _extremes(block: Any, _: int) -> FloatArray:
    if issparse(block):
        return np.array([block.min(axis=0).toarray().ravel(), block.max(axis=0).toarray().ravel()])
    return np.array([block.min(axis=0), block.max(axis=0)])


def _combine_extremes(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.array([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])
