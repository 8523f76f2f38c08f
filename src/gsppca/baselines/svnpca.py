"""svnPCA (Ulfarsson & Solo 2008): PPCA with an l1 penalty on the norms of the rows of the loadings."""

from __future__ import annotations

from gsppca.baselines.linalg import FloatArray
from gsppca.baselines.penalised_em import ScoreMoments, l1_levels, l1_rows
from gsppca.baselines.penalised_ppca import PenalisedPPCABaseline


class SvnPCA(PenalisedPPCABaseline):
    """svnPCA with an l1 penalty: rows of the PPCA loadings shrink together, and to zero.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes.
    n_features_to_select : "auto", None, int or float, default="auto"
        "auto" (or None): the penalty with the smallest BIC, which may keep nothing. An integer keeps exactly
        that many variables; a fraction, that share of them.
    n_penalties : int, default=40
        Penalties on the path between the weakest and the strongest variable.
    axes : {"own", "pca"}, default="own"
        "own": left singular vectors of the penalised loadings; "pca": PCA of the selected variables.
    max_iter : int, default=500
        Most EM iterations for one penalty.
    tol : float, default=1e-4
        Relative change of the loadings at which to stop.
    random_state : int, RandomState or None, default=None
        Settles the order of equal columns only.

    Attributes
    ----------
    penalty_ : float
        Penalty h of the model that was kept.

    References
    ----------
    Ulfarsson, M. O. and Solo, V. (2008). Sparse variable PCA using geodesic steepest descent. IEEE
    Transactions on Signal Processing, 56, 5823-5832.

    Ulfarsson, M. O. and Solo, V. (2011). Vector l0 sparse variable PCA. IEEE Transactions on Signal
    Processing, 59, 1949-1958.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import SvnPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 12))
    >>> X[:, [1, 4, 8]] += 3 * rng.normal(size=(60, 1))
    >>> SvnPCA(n_components=1, n_features_to_select=3).fit(X).get_support(indices=True)
    array([1, 4, 8])
    """

    @staticmethod
    def _row_step(moments: ScoreMoments, penalty: float) -> FloatArray:
        return l1_rows(moments, penalty)

    @staticmethod
    def _levels(moments: ScoreMoments) -> FloatArray:
        return l1_levels(moments)
