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
    rest = active.total_squares / n - float(spectrum.eigenvalues.sum())
    noise = max(rest / (len(members) - d), np.finfo(float).tiny)
    lengths = np.maximum(spectrum.eigenvalues - noise, 0.0)
    loadings = spectrum.axes * np.sqrt(lengths)[:, None]  # W', (d, size)
    wide = np.zeros((d, matrix.n_features))
    wide[:, support] = loadings
    products = matrix.gram_product(wide)  # B'X, (d, p)
    # Outside: mu = B / (l + s) has second moment n.
    explained = ((products / (lengths + noise)[:, None]) ** 2).sum(axis=0) / n
    own = products[:, support]
    moment = own @ loadings.T  # B'B
    precision = np.diag(lengths + noise)
    explained[support] = [
        _without_itself(loadings[:, k], own[:, k], active.column_squares[k], moment, precision, n * noise)
        for k in range(len(members))
    ]
    return explained


def _without_itself(
    w: FloatArray, product: FloatArray, squares: float, moment: FloatArray, precision: FloatArray, scaled_noise: float
) -> float:
    """What the factors of the other members explain of one; `product` is B'x_k."""
    inverse = np.linalg.inv(precision - np.outer(w, w))
    others = moment - np.outer(w, product) - np.outer(product, w) + squares * np.outer(w, w)
    second = inverse @ others @ inverse + scaled_noise * inverse
    response = inverse @ (product - squares * w)
    return float(response @ np.linalg.solve(second, response))
