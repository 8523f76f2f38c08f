"""Real tables for the tests: found beside the checkout, or where GSPPCA_DATA points; tests say when they are not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

PLACES = [Path(os.environ.get("GSPPCA_DATA", "")), Path(__file__).parents[2] / "shared" / "data"]


def real_table(name):
    """Numbers of a real table; the test is skipped, with the places that were searched, if it is not found."""
    for place in PLACES:
        for path in (place / f"{name}.npz", place / "ufs" / f"{name}.npz"):
            if path.is_file():
                with np.load(path, allow_pickle=False) as file:
                    return np.asarray(file["X"], dtype=np.float64)
    pytest.skip(f"{name}.npz is not found beside the checkout (../shared/data) nor in GSPPCA_DATA")
