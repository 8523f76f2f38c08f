"""Arrays on disk that are read by slices: zarr arrays, HDF5 datasets, and the X of an h5ad file in backed mode.

A few threads read and treat blocks of rows. BLAS keeps to one thread meanwhile, so that the bits of a result depend on
neither number. At most one block for each thread, and one more, is in memory, or all of them if they are small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np

from gsppca._threads import n_blas_threads, one_blas_thread
from gsppca._typing import IntArray
from gsppca.data.blocks import BlockError, BlockRun, Blocks, Combine, Task, refuse_not_finite, stacked

BLOCK_BYTES = 2**26  # of numbers as they are stored: enough to make reading worth its call


class StoredBlocks(Blocks):
    """Row blocks of an array on disk.

    Parameters
    ----------
    X : zarr.Array, h5py.Dataset or backed sparse dataset of anndata
        Anything with a shape, a dtype, and slices of rows.
    """

    def __init__(self, X: Any):
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, got the shape {tuple(X.shape)}. Rows are samples.")
        if getattr(X, "format", "csr") != "csr":
            raise ValueError(
                f"X is stored by columns ({X.format.upper()}), and each block of rows would read the whole file. Store "
                "it as CSR, or load it with X.to_memory() if it fits."
            )
        super().__init__(_edges(X), X.shape[1], X.dtype)
        self.source = X
        self._held: dict[int, Any] = {}

    def block(self, number: int) -> Any:
        if number not in self._held:
            block = self._read(number)
            if not self.is_small:
                return block
            self._held[number] = block
        return self._held[number]

    def _read(self, number: int) -> Any:
        first, last = self.edges[number : number + 2].tolist()
        try:
            return self.source[first:last]
        except Exception as error:
            raise BlockError(
                f"Block {number} of X ({self.rows_of(number)}) cannot be read: {type(error).__name__}: {error}. Check "
                "the file that holds it."
            ) from error

    def _fold(self, task: Task, combine: Combine) -> Any:
        with closing(self._results(BlockRun(task))) as results:
            total = next(results)
            for value in results:
                total = combine(total, value)
        return total

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        def checked(block: Any, first: int) -> Any:
            refuse_not_finite(block, first)
            return function(block)

        with closing(self._results(BlockRun(checked))) as results:
            return stacked(list(results)).astype(dtype, copy=False)

    def _results(self, run: BlockRun) -> Generator[Any, None, None]:
        """Run a task on all blocks, some at a time; yield the results in the order of the blocks."""

        def result(number: int) -> Any:
            first, last = self.edges[number : number + 2].tolist()
            return run(self.block(number), number, first, (last - first, self.shape[1]))

        n_threads = min(n_blas_threads(), self.n_blocks)
        pool = ThreadPoolExecutor(n_threads)
        pending: deque[Future[Any]] = deque()
        try:
            with one_blas_thread():
                for number in range(self.n_blocks + n_threads):
                    if number < self.n_blocks:
                        pending.append(pool.submit(result, number))
                    if number >= n_threads:
                        yield pending.popleft().result()
                        self._tell(number - n_threads + 1)
        finally:
            pool.shutdown(cancel_futures=True)


def _edges(X: Any) -> IntArray:
    """Cut the rows in blocks of about `BLOCK_BYTES`, of whole chunks where these are not far larger."""
    n = int(X.shape[0])
    if n == 0:
        raise ValueError(f"X must have at least one row, got the shape {tuple(X.shape)}.")
    height = max(1, int(BLOCK_BYTES / _row_bytes(X)))
    chunk = (getattr(X, "shards", None) or getattr(X, "chunks", None) or (1,))[0]
    if chunk <= 8 * height:  # a chunk that is cut is read once for every piece
        height = chunk * max(1, height // chunk)
    return np.append(np.arange(0, n, height), n)


def _row_bytes(X: Any) -> float:
    itemsize = np.dtype(X.dtype).itemsize
    if not hasattr(X, "to_memory"):
        return max(1, X.shape[1] * itemsize)
    return max(1.0, X.group["data"].shape[0] / X.shape[0]) * (itemsize + 4)
