"""Leading eigenpairs of ``Z'Z``, from whichever side is small; never a full decomposition of the data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray
from gsppca.data.base import KnownImages, Matrix
from gsppca.data.folds import rank_sums
from gsppca.linalg.krylov import FULL_BASIS, block_width, krylov_pairs
from gsppca.linalg.lanczos import lanczos_pairs, operator_pairs
from gsppca.results import Spectrum

DENSE_EIGEN = 160  # below this order, or for many of its pairs, LAPACK is faster than Lanczos


def leading_spectrum(matrix: Matrix, n_axes: int) -> Spectrum:
    """Return the `n_axes` largest eigenvalues of ``Z'Z / n`` and their eigenvectors.

    The Gram matrix of the smaller side is used when it can be formed; otherwise Lanczos iterations need one pass over
    the data each, with blocks of axes where a pass is dear. Signs are those of the solver: `components.axes` fixes them
    where they are shown. The matrix remembers its spectrum, since several stages ask for it.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    n_axes : int
        At most the smaller side of the matrix.
    """
    known = matrix.known_spectrum
    if known is None or len(known[0]) < n_axes:
        matrix.known_spectrum = known = _leading_pairs(matrix, n_axes)
    return Spectrum(known[0][:n_axes], known[1][:n_axes])


def leading_values(matrix: Matrix, levels: FloatArray) -> FloatArray:
    """Return the largest eigenvalues of ``Z'Z / n``, of which those before the first below its level are to be counted.

    Up to the first that does not exceed its level they are accurate; some after it may be left out. Where they take
    passes over the data, they may be too small: as many as there are exceed their levels all the same; what the
    iterations have found is a start for others.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    levels : ndarray of shape (n_values,), descending
        For one eigenvalue after the other.
    """
    n, p, count = matrix.n_samples, matrix.n_features, len(levels)
    gram = None
    if matrix.prefers_gram or matrix.gram_is_known:
        gram = matrix.gram
    elif matrix.outer_gram_is_known:
        gram = matrix.outer_gram()
    # Where samples and variables are both many, what the iterations below leave is of more use.
    products = matrix.outer_products() if gram is not None or n < p else None

    def enough(values: FloatArray) -> int | None:
        return 0 if np.any(values <= n * levels[: len(values)]) else None

    with one_blas_thread():
        if products is not None and not _is_small(min(n, p), count):
            return operator_pairs(products.product, products.diagonal, count, count, enough)[0][::-1] / n
        if gram is not None and not _is_small(len(gram), count):
            return lanczos_pairs(gram, count, count, enough)[0][::-1] / n
    if matrix.known_spectrum is not None or not _takes_passes(matrix):
        return leading_spectrum(matrix, count).eigenvalues
    start = matrix.leading_sums
    start = rank_sums(matrix, block_width(count)) if start is None else start
    seen: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=FULL_BASIS)

    def product(block: FloatArray) -> FloatArray:
        seen.append((block, matrix.gram_product(block)))
        return seen[-1][1].copy()  # for the iterations to overwrite

    values, axes = krylov_pairs(product, p, count, n * levels, start)
    blocks, images = zip(*seen, strict=True)
    matrix.leading_sums = axes[: block_width(count)]
    matrix.known_images = KnownImages(np.concatenate(blocks), np.concatenate(images), len(seen))
    return np.maximum(values, 0.0) / n


def _takes_passes(matrix: Matrix) -> bool:
    few = matrix.prefers_gram or matrix.gram_is_known or matrix.prefers_outer_gram or matrix.outer_gram_is_known
    return not few


def _leading_pairs(matrix: Matrix, n_axes: int) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, descending, and eigenvectors as rows."""
    n = matrix.n_samples
    if matrix.prefers_gram or matrix.gram_is_known:
        values, vectors = top_pairs(matrix.gram, n_axes)
        return np.maximum(values, 0.0) / n, np.ascontiguousarray(vectors.T)
    if matrix.prefers_outer_gram or matrix.outer_gram_is_known:
        return _from_samples(matrix, *top_pairs(matrix.outer_gram(), n_axes))
    if matrix.single_products_are_cheap:
        if n < matrix.n_features:
            return _from_samples(matrix, *_lanczos(lambda v: _outer_product(matrix, v), n, n_axes))
        values, vectors = _lanczos(lambda v: matrix.gram_product(v[None])[0], matrix.n_features, n_axes)
        return np.maximum(values, 0.0) / n, np.ascontiguousarray(vectors.T)
    values, axes = krylov_pairs(matrix.gram_product, matrix.n_features, n_axes, start=matrix.leading_sums)
    return np.maximum(values, 0.0) / n, axes


def _from_samples(matrix: Matrix, values: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the pairs of ``Z'Z / n``, given those of ``Z Z'``."""
    axes = matrix.transposed_product(np.ascontiguousarray(vectors))
    with one_blas_thread():
        return np.maximum(values, 0.0) / matrix.n_samples, _orthonormal_rows(axes)


def _outer_product(matrix: Matrix, vector: FloatArray) -> FloatArray:
    return matrix.product(matrix.transposed_product(vector[:, None]))[:, 0]


def _lanczos(product: Callable[[FloatArray], FloatArray], order: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric operator, descending, and their eigenvectors as columns."""
    operator = LinearOperator((order, order), matvec=lambda v: product(v.ravel()), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(order)  # does not show: the pairs are accurate to rounding
    values, vectors = eigsh(operator, count, v0=start)
    return values[::-1], vectors[:, ::-1]


def top_pairs(gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and their eigenvectors as columns."""
    order = len(gram)
    with one_blas_thread():
        if _is_small(order, count):
            values, vectors = eigh(gram, subset_by_index=[order - count, order - 1])
            if len(values) < count:  # LAPACK misses some where many are equal
                values, vectors = np.linalg.eigh(gram)
                values, vectors = values[-count:], vectors[:, -count:]
        else:
            values, vectors, _ = lanczos_pairs(np.ascontiguousarray(gram), count)
    return values[::-1], vectors[:, ::-1]


def _is_small(order: int, count: int) -> bool:
    return order <= DENSE_EIGEN or 4 * count > order


def _orthonormal_rows(axes: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the rows, in their order; a row that vanishes is completed arbitrarily."""
    basis, triangle = np.linalg.qr(axes.T)
    return np.ascontiguousarray(basis.T * np.where(triangle.diagonal() < 0, -1.0, 1.0)[:, None])
