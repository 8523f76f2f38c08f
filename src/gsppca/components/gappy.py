"""Centred data with gaps: one array to which iterations write what they expect of the gaps, and sums over the gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gsppca._typing import BoolArray, FloatArray, IntArray

PRODUCTS = 2**18  # entries of a product of scores and loadings formed at a time


class Gappy:
    """Centred data with gaps.

    Parameters
    ----------
    centred : ndarray of shape (n_samples, n_features)
        In rows (C order), zero in the gaps and with means of zero over the observed entries; is written to.
    missing : ndarray of bool of shape (n_samples, n_features)
    """

    def __init__(self, centred: FloatArray, missing: BoolArray):
        self.filled = centred
        self.places: IntArray = np.flatnonzero(missing)
        self.by_row: Any = sparse.csr_array(missing.astype(np.float64))
        self.by_column: Any = self.by_row.T.tocsr()
        self.columns: IntArray = self.by_row.indices  # of the gaps, row by row
        self.observed: IntArray = len(missing) - np.diff(self.by_column.indptr)  # entries of each column
        self.n_observed = int(self.observed.sum())
        self.column_sums: FloatArray = centred.sum(axis=0)  # zero but for rounding
        self.total = float(np.vdot(centred, centred))

    def fill(self, offset: FloatArray, expected: FloatArray) -> None:
        """Write the expectations of the gaps."""
        self.filled.reshape(-1)[self.places] = offset[self.columns] + expected

    def products(self, scores: FloatArray, loadings: FloatArray) -> FloatArray:
        """w_j' z_i for all gaps, some rows at a time: gathering vectors for each gap takes longer."""
        n, p = self.filled.shape
        height, starts, found = max(1, PRODUCTS // p), self.by_row.indptr, np.empty(len(self.places))
        for first in range(0, n, height):
            last = min(first + height, n)
            part = slice(starts[first], starts[last])
            found[part] = (scores[first:last] @ loadings.T).reshape(-1)[self.places[part] - first * p]
        return found

    def score_sums(self, scores: FloatArray, loadings: FloatArray) -> FloatArray:
        """Sums of w_j w_j' z_i over the gaps of each row."""
        return np.asarray(self._weighted(self.products(scores, loadings)) @ loadings)

    def loading_sums(self, loadings: FloatArray, scores: FloatArray) -> FloatArray:
        """Sums of z_i z_i' w_j over the gaps of each column."""
        return np.asarray(self._weighted(self.products(scores, loadings)).T @ scores)

    def _weighted(self, values: FloatArray) -> Any:
        return sparse.csr_array((values, self.columns, self.by_row.indptr), shape=self.by_row.shape)
