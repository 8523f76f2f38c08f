"""Masked arrays: what is masked is missing."""

from __future__ import annotations

from typing import Any

import numpy as np


def unmasked(X: Any) -> Any:
    """Return a masked array as a plain one, in which the masked entries are NaN; everything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    values: Any = X if X.dtype.kind == "f" else X.astype(np.float64)
    return values.filled(np.nan)
