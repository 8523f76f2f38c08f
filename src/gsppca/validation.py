"""Checks of data: every error says what is wrong, where, what is allowed and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from gsppca._masked import unmasked
from gsppca._typing import BoolArray, FloatArray
from gsppca.data import Blocks, as_blocks
from gsppca.data.entries import first_bad_entry, is_constant, native, stored_values

# What the types of columns are called in pandas and polars, in lower case.
_NUMBERS = ("float", "int", "uint", "bool", "decimal", "double", "sparse", "null")
_NEVER = ("complex", "date", "duration", "interval", "period", "time")  # though some would turn into numbers
_IN_WORDS = {"category": "categories", "Categorical": "categories", "object": "text or other objects", "str": "text"}


def check_data(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a finite two-dimensional float array, CSR or CSC matrix, or blocks; remember or compare its columns.

    Data in blocks is not read here: that its entries are finite is checked where each block is first used.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose number and names of features are set (`reset`) or compared.
    X : array-like of shape (n_samples, n_features)
        Numeric data, dense, sparse or in blocks; float32 is kept. Masked entries are missing.
    """
    check_frame(X)
    X = native(unmasked(X))
    blocks = as_blocks(X)
    if blocks is not None:
        check_shape(blocks, *((2, 2) if reset else (1, 1)))
        validate_data(estimator, blocks, reset=reset, skip_check_array=True)
        return blocks
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=["csr", "csc"],
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
        ensure_min_features=2 if reset else 1,
    )
    names = getattr(estimator, "feature_names_in_", None)
    check_finite(X, names, gaps=getattr(estimator, "missing", "error") == "impute")
    return X


def check_frame(X: Any) -> None:
    """Refuse a data frame with a column that is no number, and name it: before its values are taken for numbers.

    Parameters
    ----------
    X : Any
        Only what has `columns` and `dtypes`, as frames of pandas and polars do, is looked at.
    """
    if type(X).__name__ == "LazyFrame":
        raise ValueError(
            f"X is a lazy frame of polars, with the column {X.collect_schema().names()[0]!r} and others that are not "
            "computed yet. Give X.collect()."
        )
    if type(X).__module__.partition(".")[0] not in ("pandas", "polars") or not hasattr(X, "columns"):
        return
    types = list(X.dtypes)
    suspect = {dtype for dtype in set(types) if not _is_plain(dtype)}
    for place, dtype in enumerate(types):
        if dtype not in suspect:
            continue
        name = X.columns[place]
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]  # names may occur twice in pandas
        if str(dtype).lower().startswith(_NEVER) or not _is_numeric(column):
            value = " ".join(repr(next(iter(column), None)).split())
            raise ValueError(
                f"Column {place} of X ({name!r}) holds {_IN_WORDS.get(str(dtype), dtype)}, not numbers: the first one "
                f"is {value if len(value) <= 60 else value[:57] + '...'}. Leave the column out, or turn it into "
                "numbers first."
            )


def _is_plain(dtype: Any) -> bool:
    """Whether all values of a type are numbers."""
    name = str(dtype).lower()
    return name.startswith(_NUMBERS) and not name.startswith(_NEVER)


def _is_numeric(column: Any) -> bool:
    """Whether the values of a column without a numeric type, such as None and 1.5, are numbers all the same."""
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def check_shape(X: Any, n_rows: int, n_columns: int) -> None:
    """Refuse data with too few rows or columns."""
    if X.shape[0] < n_rows or X.shape[1] < n_columns:
        raise ValueError(
            f"X must have at least {n_rows} rows and {n_columns} columns, got {X.shape[0]} x {X.shape[1]}. "
            "Rows are samples."
        )


def check_finite(X: Any, names: Sequence[str] | None = None, *, gaps: bool = False) -> None:
    """Refuse data with an entry that is not finite, and name the first one; with `gaps`, dense data may hold NaN."""
    if gaps and isinstance(X, np.ndarray):
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.where(np.isnan(X), 0, X) if np.isnan(X.sum()) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(stored_values(X).sum()):
            return
    place = first_bad_entry(X)
    if place is not None:
        row, column = place
        name = "" if names is None else f" ({names[column]!r})"
        kind = "infinity" if np.isinf(X[row, column]) else "NaN"  # or a masked entry
        option = "Drop"
        if kind == "NaN":
            option = "Set missing='impute' if they are missing at random, or drop"
            if issparse(X):
                option = "Only dense data can be imputed: give X.toarray() with missing='impute', or drop"
        raise ValueError(
            f"Input X contains {kind}: the first one at row {row}, column {column}{name}. All values must be "
            f"finite. {option} or impute such entries first, for example with sklearn.impute.SimpleImputer."
        )


def check_magnitude(X: Any, column_squares: FloatArray) -> None:
    """Refuse data whose variances its dtype cannot hold."""
    info = np.finfo(X.dtype if X.dtype.kind == "f" else np.float64)
    with np.errstate(over="ignore"):
        total = float(column_squares.sum())
    largest = float(column_squares.max()) / X.shape[0]
    if not (total < 1e-3 * float(np.finfo(np.float64).max) and largest < 1e-3 * float(info.max)):
        raise ValueError(_magnitude_message("large", X.dtype))
    # Squares below the smallest number are zero, of values that are not.
    vanishes = largest == 0 and not (X.is_constant() if isinstance(X, Blocks) else is_constant(X))
    # float32 data is treated in float64: only its results must be held.
    least = max(1e16 * float(np.finfo(np.float64).tiny), 1e4 * float(info.tiny) if X.dtype == np.float32 else 0.0)
    if vanishes or 0 < largest <= least:
        raise ValueError(_magnitude_message("small", X.dtype))


def _magnitude_message(what: str, dtype: np.dtype[Any]) -> str:
    return (
        f"The values of X are too {what}: their variances cannot be held in {np.dtype(dtype).name}. "
        "Multiply X by a constant that brings the values near 1; the selection does not depend on it."
    )


def check_varying(column_squares: FloatArray, least: int = 2) -> BoolArray:
    """Return which columns vary; refuse data in which too few do."""
    varying = np.asarray(column_squares > 0)
    count = int(varying.sum())
    if count < least:
        raise ValueError(
            f"X must have at least {least} columns that vary, got {count} of {len(varying)}: all others are constant. "
            "Constant columns carry no structure. Check that rows are samples and columns are variables."
        )
    return varying
