"""Gram matrices of sets of variables that overlap: the product of two columns is made once."""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.data.base import Matrix
from gsppca.data.chosen_columns import column_values


class GramPool:
    """Products of some columns of a matrix, of at most as many columns as it has rows; for few rows only.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    """

    def __init__(self, matrix: Matrix):
        self.matrix = matrix
        self._held: BoolArray = np.zeros(matrix.n_features, dtype=bool)
        self._place = np.zeros(matrix.n_features, dtype=np.intp)
        self._products: FloatArray = np.empty((0, 0))

    def gram(self, support: BoolArray, scale: FloatArray) -> FloatArray:
        """Return ``X_S'X_S``, of columns multiplied by `scale`.

        Parameters
        ----------
        support : ndarray of shape (n_features,), bool
            S, of at most as many variables as there are rows.
        scale : ndarray of shape (n_features,)
        """
        if np.count_nonzero(self._held | support) > self.matrix.n_samples:
            self._held[:] = False
        self._add(support & ~self._held)
        places, own = self._place[support], scale[support]
        gram: FloatArray = self._products[places][:, places]
        gram *= own
        gram *= own[:, None]
        return gram

    def _add(self, new: BoolArray) -> None:
        n_held, n_new = int(np.count_nonzero(self._held)), int(np.count_nonzero(new))
        if not n_new:
            return
        room = n_held + n_new
        if room > len(self._products):
            # Twice the room: what is copied stays a small part of what is computed.
            wider = np.zeros((min(2 * room, self.matrix.n_samples),) * 2)
            wider[:n_held, :n_held] = self._products[:n_held, :n_held]
            self._products = wider
        order = np.empty(room, dtype=np.intp)
        order[self._place[self._held]] = np.flatnonzero(self._held)
        order[n_held:] = np.flatnonzero(new)
        self._place[order[n_held:]] = np.arange(n_held, room)
        self._held |= new
        part = self.matrix.columns(self._held)
        products = part.transposed_product(column_values(self.matrix, order[n_held:])) if n_held else part.gram
        columns = products[:, np.searchsorted(np.flatnonzero(self._held), order)]
        self._products[n_held:room, :room] = columns
        self._products[:n_held, n_held:room] = columns[:, :n_held].T
