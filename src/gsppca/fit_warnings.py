"""Warnings of a fit: the one place where the library warns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from gsppca.exceptions import MostVariablesWarning, NoStructureWarning, SmallSampleWarning
from gsppca.results import Caution

CALLER_OF_FIT = 3  # stack level: this function, fit, the user's line


def warn_about(cautions: Iterable[Caution], stacklevel: int = CALLER_OF_FIT) -> None:
    """Turn what a user should know into warnings, at the user's line."""
    from sklearn.exceptions import ConvergenceWarning

    categories: dict[str, type[Warning]] = {
        "no structure": NoStructureWarning,
        "most variables": MostVariablesWarning,
        "small sample": SmallSampleWarning,
        "not converged": ConvergenceWarning,
    }
    for caution in cautions:
        warnings.warn(caution.message, categories.get(caution.kind, UserWarning), stacklevel=stacklevel)
