"""Checks of data: every error says what is wrong, where, what is allowed and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from gsppca._typing import BoolArray, FloatArray

ROW_BLOCK = 1024


def check_data(estimator: Any, X: Any, *, reset: bool) -> npt.NDArray[Any]:
    """Return X as a finite two-dimensional float array, float32 kept; remember or compare its columns.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose number and names of features are set (`reset`) or compared.
    X : array-like of shape (n_samples, n_features)
        Dense numeric data.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
        ensure_min_features=2 if reset else 1,
    )
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def check_finite(X: npt.NDArray[Any], names: Sequence[str] | None = None) -> None:
    """Refuse data with an entry that is not finite, and name the first one."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    for start in range(0, len(X), ROW_BLOCK):
        bad = np.argwhere(~np.isfinite(X[start : start + ROW_BLOCK]))
        if len(bad):
            row, column = start + bad[0][0], bad[0][1]
            name = "" if names is None else f" ({names[column]!r})"
            kind = "NaN" if np.isnan(X[row, column]) else "infinity"
            raise ValueError(
                f"Input X contains {kind}: the first one at row {row}, column {column}{name}. All values must be "
                "finite. Drop or impute such entries first, for example with sklearn.impute.SimpleImputer."
            )


def check_magnitude(X: npt.NDArray[Any], column_squares: FloatArray) -> None:
    """Refuse data whose variances its dtype cannot hold."""
    info = np.finfo(X.dtype)
    largest = float(column_squares.max()) / len(X)
    if not largest < 1e-3 * float(info.max):
        raise ValueError(_magnitude_message("large", X.dtype))
    vanishes = largest == 0 and bool((X != X[:1]).any())  # squares below the smallest number are zero
    if vanishes or 0 < largest <= 1e16 * float(info.tiny):
        raise ValueError(_magnitude_message("small", X.dtype))


def _magnitude_message(what: str, dtype: np.dtype[Any]) -> str:
    return (
        f"The values of X are too {what}: their variances cannot be held in {np.dtype(dtype).name}. "
        "Multiply X by a constant that brings the values near 1; the selection does not depend on it."
    )


def check_varying(column_squares: FloatArray) -> BoolArray:
    """Return which columns vary; refuse data in which fewer than two do."""
    varying = np.asarray(column_squares > 0)
    count = int(varying.sum())
    if count < 2:
        raise ValueError(
            f"X must have at least 2 columns that vary, got {count} of {len(varying)}: all others are constant. "
            "Constant columns carry no structure. Check that rows are samples and columns are variables."
        )
    return varying
