"""What every loader returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data matrix with names, labels and a word on where it comes from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data.
    feature_names : ndarray of str, shape (n_features,)
        Names of the columns.
    source : str
        What the data are and where they come from, for captions and reports.
    labels : mapping of str to ndarray of length n_samples
        What is known of the rows and never used to select variables. Missing: NaN, or an empty string.
    sample_names : ndarray of str, shape (n_samples,)
        Names of the rows.
    mean : ndarray of shape (n_features,), optional
        What was subtracted from the columns; None if the data are as in the file.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.datasets import Dataset
    >>> data = Dataset(np.eye(2), np.array(["a", "b"]), "two unit vectors", {"kind": np.array([0, 1])})
    >>> data.X.shape, data.source
    ((2, 2), 'two unit vectors')
    """

    X: NDArray[np.float64]
    feature_names: NDArray[np.str_]
    source: str
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    sample_names: NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=str))
    mean: NDArray[np.float64] | None = None
