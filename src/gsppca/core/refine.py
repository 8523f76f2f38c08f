"""Re-ranking given a support, by what its factors explain of every variable.

A ranking is made before anything is known of the support. Once one is found, PPCA on it gives factors that the
variables outside had no part in; every variable is ranked again by the sum of squares that these factors explain. A
member must not explain itself: its factors are those of the other members, the same loadings without its row.

With loadings W (rows w_k) and noise s on the support, M = W'W + s I, B = X_v W: the factors without k are

    mu_k = (B - x_k w_k') M_k^-1,  M_k = M - w_k w_k',  second moment  T_k = mu_k'mu_k + n s M_k^-1,

and they explain (mu_k'x_k)' T_k^-1 (mu_k'x_k) of x_k'x_k. For the others w_k = 0, and T = n I in the eigenbasis.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray, IntArray
from gsppca.core.spectrum import leading_spectrum
from gsppca.data.base import Matrix

BLOCK = 1024  # members at once: some d x d matrices for each


def explained_given_support(matrix: Matrix, members: IntArray, n_components: int) -> FloatArray:
    """Sum of squares of each variable that the factors of a support explain, its own part left out.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    members : ndarray of shape (size,)
        Indices of the support; more than `n_components`.
    n_components : int
        Number of factors.

    Returns
    -------
    explained : ndarray of shape (n_features,)
    """
    n, d = matrix.n_samples, n_components
    members = np.sort(members)
    support = np.zeros(matrix.n_features, dtype=bool)
    support[members] = True
    active = matrix.columns(support)
    spectrum = leading_spectrum(active, d)
    # In units of the mean variance: third powers of the data, which B'B would be, overflow.
    unit = active.total_squares / (n * len(members))
    eigenvalues = spectrum.eigenvalues / unit
    noise = max((len(members) - float(eigenvalues.sum())) / (len(members) - d), np.finfo(float).tiny)
    lengths = np.maximum(eigenvalues - noise, 0.0)
    loadings = spectrum.axes * np.sqrt(lengths)[:, None]  # W', (d, size)
    wide = np.zeros((d, matrix.n_features))
    wide[:, support] = loadings
    products = matrix.gram_product(wide) / unit  # B'X, (d, p)
    # Outside: mu = B / (l + s) has second moment n.
    explained = ((products / (lengths + noise)[:, None]) ** 2).sum(axis=0) / n
    own = products[:, support]
    moment = own @ loadings.T  # B'B
    precision = np.diag(lengths + noise)
    squares = active.column_squares / unit
    explained[support] = np.concatenate(
        [
            _without_themselves(loadings[:, some].T, own[:, some].T, squares[some], moment, precision, n * noise)
            for some in (slice(start, start + BLOCK) for start in range(0, len(members), BLOCK))
        ]
    )
    return explained * unit


def _without_themselves(
    w: FloatArray, products: FloatArray, squares: FloatArray, moment: FloatArray, precision: FloatArray, noise: float
) -> FloatArray:
    """What the factors of the other members explain of each; rows w_k of W and x_k'B of `products`, and n s."""
    column, row, b = w[:, :, None], w[:, None, :], products[:, :, None]
    inverse = np.linalg.inv(precision - column * row)
    crossed = column * products[:, None, :]
    others = moment - crossed - crossed.transpose(0, 2, 1) + squares[:, None, None] * column * row
    second = inverse @ others @ inverse + noise * inverse
    response = inverse @ (b - squares[:, None, None] * column)
    explained: FloatArray = (response * np.linalg.solve(second, response)).sum(axis=(1, 2))
    return explained
