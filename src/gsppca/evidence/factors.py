"""What the factors of a support explain of every variable, no variable explaining itself.

PPCA on the support S, with the eigenvalues lam_i and eigenvectors u_i of ``X_S'X_S / n`` and d components, has the
noise s = the mean of the other eigenvalues, l_i = lam_i - s, and the loadings W = U diag(l)^(1/2). The unit scores
y_i = X_S u_i / sqrt(n lam_i) and their products with all variables, t_ik = y_i'x_k, are all that is needed of the data:

* A variable outside has had no part in the factors. They explain E_k = sum_i (l_i / lam_i) t_ik^2 of it.
* A member must not explain itself: its factors are those of the others, with the same loadings but its own row w_k,

      mu_k = (B - x_k w_k') M_k^-1,   B = X_S W,   M_k = W'W + s I - w_k w_k',

  of second moment T_k = mu_k'mu_k + n s M_k^-1; they explain (mu_k'x_k)' T_k^-1 (mu_k'x_k). Since U are eigenvectors,
  W'W + s I = diag(lam) =: L, B'B = n diag(l lam), B'x_k = n L w_k, and with a = L^-1 w, q = |x_k|^2 / n,

      E_k / n = v' [I - a w' - w a' + (q - s) a a']^-1 v,      v = w - q a:

  a rank two change of the identity, so that a 2 x 2 system in a'a, a'w and w'w remains for each member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray


@dataclass(frozen=True)
class Factors:
    """The factors of a support.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_factors,)
        The largest eigenvalues of ``X_S'X_S / n``, descending.
    noise : float
        Mean of the other eigenvalues, those that are zero included.
    projections : ndarray of shape (n_factors, n_features)
        Products of the unit scores with all variables.
    """

    eigenvalues: FloatArray
    noise: float
    projections: FloatArray

    def explained(self, members: BoolArray, column_squares: FloatArray, n_samples: int) -> FloatArray:
        """Sum of squares of each variable that the factors explain, for members those of the other members.

        Parameters
        ----------
        members : ndarray of shape (n_features,)
            The support.
        column_squares : ndarray of shape (n_features,)
            Sums of squares of the variables.
        n_samples : int
        """
        lam = self.eigenvalues
        kept = np.maximum(1 - self.noise / lam, 0.0)  # l / lam
        # All that is needed of the projections are sums of their squares, with weights: one product. The squared
        # entries of the eigenvectors are u_ik = t_ik^2 / (n lam_i), and w_ik^2 = kept_i lam_i u_ik.
        of_members = np.array([kept / lam, kept, kept * lam, 1 - kept, lam, np.ones_like(lam)]) / (n_samples * lam)
        sums = np.vstack([kept, of_members]) @ self.projections**2
        explained: FloatArray = sums[0].copy()
        variances = column_squares[members] / n_samples
        explained[members] = n_samples * _without_itself(sums[1:, members], variances, self.noise)
        return np.clip(explained, 0.0, column_squares)


def _without_itself(sums: FloatArray, q: FloatArray, noise: float) -> FloatArray:
    """Solve the 2 x 2 systems by Sherman, Morrison & Woodbury.

    `sums` are, over the factors, those of kept u / lam, kept u, kept lam u, (1 - kept) u, lam u and u; with them
    v'a = a'w - q a'a, v'w = w'w - q a'w and v'v = v'w - q v'a.
    """
    aa, aw, ww, left, own, inside = sums
    va, vw = aw - q * aa, ww - q * aw
    vv = vw - q * va
    outside = np.maximum(1 - inside, 0.0)
    side = outside + left  # 1 - a'w
    corner = noise * outside - np.maximum(q - own, 0.0)  # w'w + s - q
    # Negative for a positive definite matrix; zero if the others leave nothing of a factor.
    determinant = np.minimum(aa * corner - side**2, -np.finfo(float).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        explained = vv - (va**2 * corner + 2 * va * vw * side + vw**2 * aa) / determinant
    return np.where(np.isnan(explained), 0.0, explained)
