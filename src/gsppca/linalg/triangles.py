"""Many small symmetric matrices, held by their lower triangles: half the memory, and half the work of sums."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from gsppca._typing import FloatArray

SMALL = 12  # order below which a call of LAPACK for each matrix takes longer than all the work it saves


class Triangles:
    """Symmetric matrices of one order, each a row with the entries of its lower triangle.

    Parameters
    ----------
    order : int
    """

    def __init__(self, order: int):
        self.order = order
        self.rows, self.columns = np.tril_indices(order)
        self.size = len(self.rows)
        self.diagonal = np.flatnonzero(self.rows == self.columns)
        self.weights = np.where(self.rows == self.columns, 1.0, 2.0)  # how often an entry occurs in the matrix
        self._flat = self.rows * order + self.columns
        self._place = np.empty((order, order), dtype=np.intp)
        self._place[self.rows, self.columns] = self._place[self.columns, self.rows] = np.arange(self.size)

    def held(self, matrices: FloatArray) -> FloatArray:
        """The triangles of some matrices."""
        return np.take(matrices.reshape(-1, self.order**2), self._flat, axis=1)

    def whole(self, triangles: FloatArray) -> FloatArray:
        """The matrices of some triangles."""
        return np.take(triangles, self._place, axis=-1)

    def squares(self, vectors: FloatArray) -> FloatArray:
        """``v v'`` of each row."""
        return np.take(vectors, self.rows, axis=1) * np.take(vectors, self.columns, axis=1)

    def products(self, some: FloatArray, others: FloatArray) -> FloatArray:
        """Sums of the products of the entries of two matrices, for each pair."""
        return np.einsum("jt,jt->j", some * self.weights, others)

    def solved(self, triangles: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Inverses of positive definite matrices, their products with vectors, and the logs of their own determinants.

        Parameters
        ----------
        triangles : ndarray of shape (n_matrices, size)
        vectors : ndarray of shape (n_matrices, order)
        """
        if self.order < SMALL:
            matrices = np.linalg.inv(self.whole(triangles))
            log_dets = np.linalg.slogdet(matrices)[1]
            return self.held(matrices), np.einsum("jab,jb->ja", matrices, vectors), log_dets
        matrices = np.empty((len(triangles), self.order, self.order))
        matrices.reshape(-1, self.order**2)[:, self._flat] = triangles
        diagonals, solutions = np.empty_like(vectors), vectors.copy()
        for matrix, diagonal, solution in zip(matrices, diagonals, solutions, strict=True):
            # The lower triangle in the order of C is the upper one in that of Fortran: LAPACK works in its place.
            factor, failed = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError("a matrix is not positive definite")
            diagonal[:] = factor.diagonal()
            lapack.dpotrs(factor, solution, lower=0, overwrite_b=1)
            lapack.dpotri(factor, lower=0, overwrite_c=1)
        return self.held(matrices), solutions, -2 * np.log(diagonals).sum(axis=1)
