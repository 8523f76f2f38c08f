"""An array that grows by blocks of rows, in little more memory than it ends with."""

from __future__ import annotations

from typing import Any

import numpy as np

_SPARE = 1.02  # a guess of the number of rows is a little too low as often as too high


class RowBuffer:
    """Blocks of rows, one after the other, in one array.

    The array is enlarged in place (realloc moves pages, not bytes, where the system can): a list of blocks, joined in
    the end, would need twice the memory.

    Parameters
    ----------
    n_columns : int
        Width of all blocks.
    dtype : dtype
        Of the array.
    n_rows : int, default=0
        Number of rows, where it is known.
    """

    def __init__(self, n_columns: int, dtype: Any, n_rows: int = 0):
        self._array = np.empty((n_rows, n_columns), dtype=dtype)
        self.n_rows = 0

    def append(self, block: Any, share: float) -> None:
        """Add rows; `share` says which part of all rows has come with these, as far as one can tell."""
        end = self.n_rows + len(block)
        if end > len(self._array):
            expected = int(_SPARE * end / share) + 1 if share > 0 else 0
            # The share is read ahead of the rows: some more each time.
            self._resize(max(end + end // 32, min(expected, 4 * end + 1024)))
        self._array[self.n_rows : end] = block
        self.n_rows = end

    def finish(self) -> Any:
        """Return the array, cut to the rows it has."""
        self._resize(self.n_rows)
        return self._array

    def _resize(self, n_rows: int) -> None:
        if n_rows != len(self._array):
            self._array.resize((n_rows, self._array.shape[1]), refcheck=False)
