"""Log likelihood of rows under the fitted model: PPCA on the support, Gaussian noise on the rest."""

from __future__ import annotations

import numpy as np

from gsppca._typing import FloatArray


def log_likelihood(
    scores: FloatArray,
    active_squares: FloatArray,
    inactive_squares: FloatArray,
    variances: FloatArray,
    n_active: int,
    active_noise: float,
    n_inactive: int,
    inactive_noise: float,
) -> FloatArray:
    """Log density of centred rows.

    On the support the covariance has the eigenvalues `variances` along the components and `active_noise` across them;
    outside it is ``inactive_noise`` times the identity.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_axes)
        Coordinates on the components.
    active_squares, inactive_squares : ndarray of shape (n_rows,)
        Sums of squares on and off the support.
    variances : ndarray of shape (n_axes,)
        Variances along the components, positive.
    n_active, n_inactive : int
        Numbers of variables on and off the support.
    active_noise, inactive_noise : float
        Noise variances, positive wherever there is a dimension that they rule.
    """
    n_across = n_active - len(variances)
    log_det = np.log(variances).sum()
    quadratic = (scores**2 / variances).sum(axis=1)
    if n_across:
        # Rounding may leave a little less than nothing across the components.
        quadratic += np.maximum(active_squares - (scores**2).sum(axis=1), 0.0) / active_noise
        log_det += n_across * np.log(active_noise)
    if n_inactive:
        quadratic += inactive_squares / inactive_noise
        log_det += n_inactive * np.log(inactive_noise)
    return -0.5 * (quadratic + log_det + (n_active + n_inactive) * np.log(2 * np.pi))
