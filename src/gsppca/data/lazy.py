"""dask arrays: blocks that workers load for themselves, of which only small sums travel.

1. Every pass is one graph: a task for each block, that needs the block and the small arrays of the pass, and sums of
   `FAN_IN` partial results, and sums of these, in the order of the blocks. It runs on the scheduler in use: the
   cluster of a `distributed.Client` if there is one, otherwise threads.
2. The small arrays are one node of the graph, so that workers hand them to each other; scattered ahead of the graph,
   they would be lost with the worker that holds them. Whatever a lost worker held is computed again from the graph.
3. Plain tasks and not `da.matmul`: that costs twice the time, and does not take blocks of scipy.sparse.
4. Nothing is held on the workers between two passes, except small data, and what the user has persisted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np

from gsppca._optional import optional_import
from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray, IntArray
from gsppca.data.blocks import (
    BlockError,
    BlockRun,
    Blocks,
    Combine,
    NotFiniteError,
    Task,
    combine_all,
    out_of_memory,
    refuse_not_finite,
)
from gsppca.data.entries import aligned

FAN_IN = 4  # of partial results in the memory of a worker at once: each may be some matrices of all columns


class LazyBlocks(Blocks):
    """Row blocks of a dask array.

    Parameters
    ----------
    X : dask.array.Array of shape (n_samples, n_features)
        In blocks of whole rows, dense or scipy.sparse.
    """

    def __init__(self, X: Any):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}. Rows are samples.")
        if len(X.chunks[1]) > 1:
            raise ValueError(
                f"The columns of X are cut in {len(X.chunks[1])} chunks, but blocks must hold whole rows. Give "
                "X.rechunk({1: -1}), or X.rechunk({0: 'auto', 1: -1}) if its blocks would be too large."
            )
        heights = np.array(X.chunks[0], dtype=float)
        if np.isnan(heights).any() or np.isnan(X.shape[1]):
            raise ValueError("The sizes of the chunks of X are not known. Give X.compute_chunk_sizes().")
        if not heights.sum():
            raise ValueError(f"X must have at least one row, got the shape {X.shape}.")
        filled = heights > 0
        super().__init__(np.append(0, np.cumsum(heights[filled])).astype(int), X.shape[1], X.dtype)
        self.source = X
        self.numbers: list[Any] = np.flatnonzero(filled).tolist()  # among all chunks of X, of which some may be empty
        # The graph is optimised once, and not at every pass.
        self._held = False
        self.parts = [part for part, full in zip(X.to_delayed().ravel(), filled, strict=True) if full]

    def block(self, number: int) -> Any:
        return self._compute(self.parts[number])

    def _fold(self, task: Task, combine: Combine) -> Any:
        if self.is_small and not self._held:
            self.parts, self._held = self._run(lambda: list(_dask().persist(*self.parts))), True
        delayed = _dask().delayed
        token = uuid4().hex
        run = delayed(_run_block, pure=False)
        shared = delayed(BlockRun(task), name=f"gsppca-shared-{token}", traverse=False)
        values = [
            run(shared, part, number, first, shape, dask_key_name=f"gsppca-block-{token}-{number}")
            for part, number, first, shape in zip(self.parts, *self._places(), strict=True)
        ]
        together = delayed(combine_all, pure=False)
        while len(values) > 1:
            groups = [values[i : i + FAN_IN] for i in range(0, len(values), FAN_IN)]
            values = [together(combine, group) if len(group) > 1 else group[0] for group in groups]
        total = self._compute(values[0])
        self._tell(self.n_blocks)
        return total

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        edges = np.append(0, np.cumsum(self.source.chunks[0]))
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype)}
        if n_columns is not None:
            shape = {"chunks": (self.source.chunks[0], (n_columns,)), "meta": np.empty((0, 0), dtype)}
        return self.source.map_blocks(
            _run_lazily,
            dtype=dtype,
            function=function,
            edges=edges,
            width=self.shape[1],
            nothing=np.empty((0,) if n_columns is None else (0, n_columns), dtype),
            **shape,
        )

    def _places(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Numbers, first rows and shapes of the blocks."""
        heights = np.diff(self.edges).tolist()
        return self.numbers, self.edges[:-1].tolist(), [(height, self.shape[1]) for height in heights]

    def _compute(self, value: Any) -> Any:
        return self._run(lambda: aligned(_dask().compute(value)[0]))

    def _run(self, function: Callable[[], Any]) -> Any:
        try:
            with one_blas_thread():
                return function()
        except (BlockError, NotFiniteError):
            raise
        except Exception as error:
            message = self._blame(error)
            if message is None:
                raise
            raise BlockError(message) from error

    def _blame(self, error: Exception) -> str | None:
        """Say which block an error comes from; None if from none."""
        if type(error).__name__ == "KilledWorker":
            number = _block_of(error.args[0])
            which = "a block of X"
            if number in self.numbers:
                which = f"block {number} of X ({self.rows_of(self.numbers.index(number))})"
            return (
                f"The workers that treated {which}, or one beside it, died, {error.args[2] + 1} in turn: most often "
                "for lack of memory. Cut X in smaller blocks of rows, X.rechunk({0: fewer_rows}), give workers more "
                f"memory or fewer threads, and look at their logs. ({error})"
            )
        # The error does not say which block it comes from: each is read once more, for nothing but that.
        dask = _dask()
        touch = dask.delayed(_touch, pure=False)
        for position, (number, part) in enumerate(zip(self.numbers, self.parts, strict=True)):
            try:
                dask.compute(touch(part))
            except MemoryError as found:
                return out_of_memory(number, int(self.edges[position]), int(self.edges[position + 1]) - 1, found)
            except Exception as found:
                where = f"Block {number} of X ({self.rows_of(position)})"
                return f"{where} cannot be read: {type(found).__name__}: {found}. Check the source of the array."
        return None


def _dask() -> Any:
    return optional_import("dask", "Data in a dask array", "dask")


def _run_block(run: BlockRun, raw: Any, number: int, first: int, shape: tuple[int, int]) -> Any:
    return run(raw, number, first, shape)


def _run_lazily(
    raw: Any,
    function: Callable[[Any], Any],
    edges: IntArray,
    width: int,
    nothing: FloatArray,
    block_id: tuple[int, ...] = (0,),
) -> Any:
    def checked(block: Any, first: int) -> Any:
        refuse_not_finite(block, first)
        return function(block).astype(nothing.dtype, copy=False)

    number = block_id[0]
    first, last = edges[number : number + 2].tolist()
    if first == last:
        return nothing
    return BlockRun(checked)(raw, number, first, (last - first, width))


def _touch(_: Any) -> None:
    """Need a block, and nothing else."""


def _block_of(key: Any) -> int | None:
    """Return the number of the block that a task treats, from its key."""
    if isinstance(key, tuple) and len(key) > 1 and isinstance(key[1], int):
        return key[1]
    found = re.search(r"gsppca-block-[0-9a-f]+-(\d+)", str(key))
    return int(found[1]) if found else None
