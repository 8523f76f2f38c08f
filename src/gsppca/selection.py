"""What the fit works on, and what it finds, before a size is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.core.impute import Imputation
from gsppca.core.state import EvidencePath, NoisePath, RelaxedFit
from gsppca.data import Matrix, as_matrix
from gsppca.robust import clipped_columns
from gsppca.validation import check_magnitude, check_varying


@dataclass(frozen=True)
class Frame:
    """The data as the stages see it, and how to get back to the columns of X.

    Constant columns carry nothing: the stages run on the others, as if they were not there.

    Attributes
    ----------
    source : array
        The validated X itself, by reference.
    data : Matrix
        Columns that vary, centred, standardised if ``scale=True``: for the evidence and the final PCA.
    judged : Matrix
        The same for the evidence: with columns clipped if ``robust=True``.
    ranked : Matrix
        The same for the ranking: standardised if ``scale="ranking"`` too.
    varying : ndarray of shape (n_all_features,)
        Which columns of X vary.
    mean : ndarray of shape (n_all_features,)
        Means of the columns of X.
    scale : ndarray of shape (n_all_features,) or None
        What the columns of `data` were divided by.
    dtype : dtype
        Of X, kept by what is shown in its units.
    """

    source: Any
    data: Matrix
    judged: Matrix
    ranked: Matrix
    varying: BoolArray
    mean: FloatArray
    scale: FloatArray | None
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any, scale: bool | str, robust: bool = False) -> Frame:
        """Frame validated data; `scale` and `robust` as in `GSPPCA`."""
        everything = as_matrix(X)
        check_magnitude(X, everything.column_squares)
        varying = check_varying(everything.column_squares)
        data = everything if varying.all() else everything.columns(varying)
        deviations = np.sqrt(data.column_squares / data.n_samples)
        divisors = None
        if scale is True:
            divisors = np.ones(len(varying))
            divisors[varying] = deviations
        judged = data
        if robust:
            clipped = as_matrix(clipped_columns(X))
            judged = clipped if varying.all() else clipped.columns(varying)
            check_varying(judged.column_squares, least=judged.n_features)
        spreads = np.sqrt(judged.column_squares / judged.n_samples)
        ranked = judged.scaled(1 / spreads) if scale else judged
        if scale is True:
            data, judged = data.scaled(1 / deviations) if robust else ranked, ranked
        return cls(X, data, judged, ranked, varying, everything.mean, divisors, X.dtype)

    def widen(self, values: FloatArray, elsewhere: float = 0.0) -> FloatArray:
        """Put values of the varying columns, along the last axis, at their places among all columns."""
        wide = np.full((*values.shape[:-1], len(self.varying)), elsewhere)
        wide[..., self.varying] = values
        return wide


@dataclass(frozen=True)
class Selection:
    """The result of the line up to the choice of a size.

    Attributes
    ----------
    frame : Frame or None
        The data; None once the model has left the memory it was fitted in.
    n_components : int
        Dimension of the latent space.
    relaxed : RelaxedFit or None
        The run of the variational EM, if that ranked the variables.
    order : ndarray of shape (n_varying,)
        The varying columns, the most relevant first.
    path : EvidencePath
        Evidence of the nested supports.
    column_squares : ndarray of shape (n_varying,)
        Sums of squares of the columns, by which the data is known again.
    relevance : ndarray of shape (n_varying,) or None
        How relevant each varying column is; None stands for that of `relaxed`.
    ranked_by : str
        Which ranking the evidence preferred.
    n_iter : int
        Its passes over the data; zero stands for the iterations of `relaxed`.
    noise_path : NoisePath or None
        Relevances along rising noise, if that ranked the variables.
    imputation : Imputation or None
        What filled the missing entries, with ``missing="impute"``.
    """

    frame: Frame | None
    n_components: int
    relaxed: RelaxedFit | None
    order: IntArray
    path: EvidencePath
    column_squares: FloatArray
    relevance: FloatArray | None = None
    ranked_by: str = "vem"
    n_iter: int = 0
    noise_path: NoisePath | None = None
    imputation: Imputation | None = None
