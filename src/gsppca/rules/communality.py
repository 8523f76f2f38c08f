"""Leave-one-out communality: how much of each variable the others explain, through d common factors.

The factors of variable k are the leading d left singular vectors U_k of the data *without* column k; its communality
is ``R^2_k = ||U_k' z_k||^2 / ||z_k||^2``. Factors found with the variable explain some of it even if it is noise,
the more the fewer others there are; without it they cannot: for a variable independent of the others, with
exchangeable rows, R^2 has expectation d / (n - 1) exactly, whatever its law, and the adjusted form

    R^2_adj = 1 - (1 - R^2) (n - 1) / (n - 1 - d)

expectation zero. (If it is Gaussian, R^2 has the law Beta(d/2, (n - 1 - d)/2).)

No PCA per variable is needed. Let lam_i be the eigenvalues of ``K = Z Z'`` and c_i the coordinates of z_k on its
eigenvectors. The eigenvalues mu_1 > ... > mu_d of ``K - z_k z_k'`` are the roots of

    1 = sum_i c_i^2 / (lam_i - mu),      lam_{j+1} <= mu_j <= lam_j,

with eigenvectors v_j proportional to c_i / (lam_i - mu_j), and by this very equation

    (v_j' z_k)^2 = 1 / sum_i c_i^2 / (lam_i - mu_j)^2.

1. The coordinates are those of the principal axes, ``c_i = sqrt(lam_i) times the loading of k``: no other pass over
   the data.
2. The roots are found by the rational interpolation of Bunch, Nielsen & Sorensen (1978), for all variables at once:
   after one step it converges from one side, quadratically.
3. On large data only the leading axes are known. The rest of the spectrum counts as one eigenvalue, its mean, which is
   what probabilistic PCA takes it for; exact is what is exact about the leading axes.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray
from gsppca.data.base import Matrix
from gsppca.linalg.spectrum import leading_spectrum

EXACT_ORDER = 512  # smaller side of the data up to which all axes are used
EXACT_LOADINGS = 2**24  # most loadings that this may take
EXTRA_AXES = 20
BLOCK = 2**18  # coordinates treated at a time
LEAST = 1e-20  # share of a variable on an axis, below which its place does not matter
SEPARATION = 1e-14  # of neighbouring eigenvalues, relative to the first
SETTLED = 1e-14
MAX_ROUNDS = 100


def leave_one_out_r2(
    matrix: Matrix, n_components: int, *, adjusted: bool = False, n_axes: int | None = None
) -> FloatArray:
    """Share of each variable's variance that d factors of the other variables explain.

    Parameters
    ----------
    matrix : Matrix
        The centred data, without constant columns. The answer depends on the scale of the columns, since the factors
        do: standardise them to give all the same voice.
    n_components : int
        d, smaller than both the number of samples less one and of features.
    adjusted : bool, default=False
        Whether to subtract what noise would give: expectation 0 instead of ``d / (n - 1)``; it may then be negative.
    n_axes : int, optional
        How many leading axes to use; the rest of the spectrum counts as its mean. All, if the smaller side
        of the data is at most 512, else ``2 d + 20``.

    Returns
    -------
    r2 : ndarray of shape (n_features,)

    Notes
    -----
    Costs the leading `n_axes` eigenpairs, of O(n p n_axes) a pass, and O(p d n_axes) for the roots.
    """
    n, p, d = matrix.n_samples, matrix.n_features, n_components
    rank = min(n - 1, p)
    if n_axes is None:
        exact = rank <= EXACT_ORDER and rank * p <= EXACT_LOADINGS
        n_axes = rank if exact else 2 * d + EXTRA_AXES
    n_axes = min(max(n_axes, d), rank)
    spectrum = leading_spectrum(matrix, n_axes)
    eigenvalues = n * spectrum.eigenvalues
    rest = max(matrix.total_squares - float(eigenvalues.sum()), 0.0)
    # The last node: the mean of the rest of the spectrum, or the null space.
    last = min(rest / (rank - n_axes), eigenvalues[-1]) if rank > n_axes else 0.0
    nodes = _separated(np.append(eigenvalues, last))
    r2 = np.empty(p)
    width = max(1, BLOCK // len(nodes))
    for start in range(0, p, width):
        part = slice(start, start + width)
        squares = matrix.column_squares[part]
        shares = eigenvalues[:, None] * spectrum.axes[:, part] ** 2 / squares
        left = np.maximum(1 - shares.sum(axis=0), 0.0)
        shares = np.maximum(np.vstack([shares, left]), LEAST)
        r2[part] = _explained(shares, nodes[:, None] / squares, d)
    if adjusted:
        r2 = 1 - (1 - r2) * ((n - 1) / max(n - 1 - d, 1))  # with d = n - 1 all is explained
    return r2


def _separated(nodes: FloatArray) -> FloatArray:
    """Descending nodes, moved apart by no more than rounding where they coincide."""
    least = SEPARATION * nodes[0] * np.arange(len(nodes))
    return np.minimum.accumulate(nodes + least) - least - least


def _explained(shares: FloatArray, nodes: FloatArray, d: int) -> FloatArray:
    """Share of each variable on the leading d eigenvectors of ``K - z z'``.

    Parameters
    ----------
    shares : ndarray of shape (n_nodes, n_variables)
        c_i^2 of each variable, in units of its sum of squares.
    nodes : ndarray of shape (n_nodes, n_variables)
        lam_i in the same units, descending.
    d : int
        Less than `n_nodes`.
    """
    total = np.zeros(shares.shape[1])
    for j in range(d):
        gaps = nodes - nodes[j]
        # mu_j = lam_j - delta: the small number is kept, not the difference.
        delta = _root(shares, gaps, j)
        total += 1 / (shares / (gaps + delta) ** 2).sum(axis=0)
    return np.clip(total, 0.0, 1.0)


def _root(shares: FloatArray, gaps: FloatArray, j: int) -> FloatArray:
    """The delta in (0, lam_j - lam_{j+1}) at which ``sum_i c_i^2 / (lam_i - lam_j + delta) = 1``."""
    interval = -gaps[j + 1]
    low, high = 1e-18 * interval, (1 - 1e-15) * interval
    delta = 0.5 * interval
    for _ in range(MAX_ROUNDS):
        upper = shares[: j + 1] / (gaps[: j + 1] + delta)  # poles at and above lam_j
        lower = shares[j + 1 :] / (-gaps[j + 1 :] - delta)  # poles below, as positive terms
        # Each side as a constant and its nearest pole, of the right value and slope.
        a = (upper * (delta / (gaps[: j + 1] + delta))).sum(axis=0) * delta
        b = (lower * ((interval - delta) / (-gaps[j + 1 :] - delta))).sum(axis=0) * (interval - delta)
        constant = 1 - (upper.sum(axis=0) - a / delta) + (lower.sum(axis=0) - b / (interval - delta))
        middle = constant * interval + a + b
        root = np.sqrt(np.maximum(middle * middle - 4 * constant * a * interval, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            new = np.where(middle > 0, 2 * a * interval / (middle + root), (middle - root) / (2 * constant))
        new = np.clip(new, low, high)
        step, delta = np.abs(new - delta), new
        if (step <= SETTLED * delta).all():
            break
    return delta
