"""Names for the arrays that the stages exchange, and for what a path may be."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
PathLike = str | os.PathLike[str]
