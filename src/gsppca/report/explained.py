"""Explained variance along the ranking: what PCA on the first k variables holds, for many k at once.

The number at size k is the share of the total variance of *all* variables that lies in the span of the first
min(d, k, n - 1) principal axes of the k best-ranked ones: the sum of `explained_variance_ratio_` of the model with k
variables. It never falls as k grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gsppca._threads import one_blas_thread
from gsppca._typing import FloatArray, IntArray
from gsppca.data import Matrix
from gsppca.linalg.lanczos import lanczos_pairs
from gsppca.linalg.spectrum import DENSE_EIGEN, leading_spectrum
from gsppca.progress import tell

ALL_SIZES = 200  # up to this many variables, every size is computed
SOME_SIZES = 80  # of more variables, where a Gram matrix of the smaller side can be formed
FEW_SIZES = 16  # and where it cannot: each then takes passes over the data
LARGEST_GRAM = 3000  # its order


def explained_along(
    matrix: Matrix, order: IntArray, components_at: Callable[[int], int], chosen: Sequence[int] = ()
) -> tuple[IntArray, FloatArray]:
    """Return sizes, and the explained variance ratio of PCA on that many of the best-ranked variables.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    order : ndarray of shape (n_features,)
        The variables, the most relevant first.
    components_at : callable
        Number of axes of a number of variables; at most as many as there are variables, or samples minus one.
    chosen : sequence of int, optional
        Sizes that must be among those computed.

    Returns
    -------
    sizes : ndarray of shape (n_sizes,)
        All sizes from 1 to n_features where they are few, else some of them: the smallest, the largest, the chosen ones
        and their neighbours, and others at equal ratios.
    ratios : ndarray of shape (n_sizes,)
        Exact at these sizes. In between, a value lies between its neighbours.
    """
    p = len(order)
    small = min(matrix.n_samples, p) <= LARGEST_GRAM
    sizes = spread_sizes(p, ALL_SIZES if p <= ALL_SIZES else SOME_SIZES if small else FEW_SIZES, chosen)
    if not small:
        values = _by_passes(matrix, order, components_at, sizes)
    elif p <= matrix.n_samples:
        values = _by_columns(matrix, order, components_at, sizes)
    else:
        values = _by_rows(matrix, order, components_at, sizes)
    # The sums never fall; rounding must not show.
    return sizes, np.clip(np.maximum.accumulate(values / matrix.total_squares), 0.0, 1.0)


def spread_sizes(largest: int, count: int, chosen: Sequence[int] = ()) -> IntArray:
    """Return about `count` sizes from 1 to `largest`, at equal ratios, with those `chosen` and their neighbours."""
    if largest <= count:
        return np.arange(1, largest + 1)
    sizes = np.unique(np.geomspace(1, largest, count).round().astype(int))
    near = np.add.outer(np.asarray(chosen, dtype=int), np.arange(-1, 2)).ravel()
    return np.union1d(sizes, near[(near >= 1) & (near <= largest)])


def _by_columns(matrix: Matrix, order: IntArray, components_at: Callable[[int], int], sizes: IntArray) -> FloatArray:
    """One Gram matrix of the variables, of which every size is a corner."""
    most = matrix.n_samples - 1
    first = order[: sizes[-1]]
    part = matrix if len(first) == matrix.n_features else matrix.columns(_mask(first, matrix.n_features))
    places = np.argsort(np.argsort(first))
    gram = part.gram[np.ix_(places, places)]
    return np.array([_top_sum(gram[:size, :size], min(components_at(size), most)) for size in sizes.tolist()])


def _by_rows(matrix: Matrix, order: IntArray, components_at: Callable[[int], int], sizes: IntArray) -> FloatArray:
    """The same up to as many variables as samples; then one of the samples, to which the others are added."""
    n = matrix.n_samples
    small, large = sizes[sizes <= n], sizes[sizes > n]
    values = _by_columns(matrix, order, components_at, small).tolist()
    gram, done = np.zeros((n, n)), 0
    for i, size in enumerate(large.tolist()):
        gram += matrix.columns(_mask(order[done:size], matrix.n_features)).outer_gram()
        done = size
        values.append(_top_sum(gram, min(components_at(size), n - 1)))
        tell("explained variance", i + 1 + len(small), len(sizes))
    return np.array(values)


def _by_passes(matrix: Matrix, order: IntArray, components_at: Callable[[int], int], sizes: IntArray) -> FloatArray:
    """Lanczos iterations on the data for every size."""
    values = []
    for i, size in enumerate(sizes):
        part = matrix.columns(_mask(order[:size], matrix.n_features))
        spectrum = leading_spectrum(part, min(components_at(int(size)), size, matrix.n_samples - 1))
        values.append(float(spectrum.eigenvalues.sum()) * matrix.n_samples)
        tell("explained variance", i + 1, len(sizes))
    return np.array(values)


def _mask(chosen: IntArray, n_features: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(n_features, dtype=bool)
    mask[chosen] = True
    return mask


def _top_sum(gram: FloatArray, count: int) -> float:
    """Sum of the largest eigenvalues of a Gram matrix."""
    order = len(gram)
    if count >= order:
        return float(gram.trace())
    with one_blas_thread():
        if order <= DENSE_EIGEN or 4 * count > order:
            return float(np.linalg.eigvalsh(gram)[-count:].sum())
        return float(lanczos_pairs(np.ascontiguousarray(gram), count, count)[0].sum())
