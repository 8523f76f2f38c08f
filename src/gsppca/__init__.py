"""Unsupervised variable selection with globally sparse probabilistic PCA.

The names below are imported when first used: the command line answers ``--help`` before scikit-learn is loaded.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gsppca.core.bessel import kv_ratio, log_kv
    from gsppca.core.state import EvidencePath, RelaxedFit
    from gsppca.estimator import GSPPCA
    from gsppca.exceptions import NoStructureWarning
    from gsppca.saving import load
    from gsppca.selector import GSPPCASelector
    from gsppca.stages import estimate_n_components, estimate_noise_variance, evidence_path, relaxed_vem

__version__ = "0.1.0"

__all__ = [
    "GSPPCA",
    "EvidencePath",
    "GSPPCASelector",
    "NoStructureWarning",
    "RelaxedFit",
    "estimate_n_components",
    "estimate_noise_variance",
    "evidence_path",
    "kv_ratio",
    "load",
    "log_kv",
    "relaxed_vem",
]

_HOMES = {
    "GSPPCA": "estimator",
    "EvidencePath": "core.state",
    "GSPPCASelector": "selector",
    "NoStructureWarning": "exceptions",
    "RelaxedFit": "core.state",
    "estimate_n_components": "stages",
    "estimate_noise_variance": "stages",
    "evidence_path": "stages",
    "kv_ratio": "core.bessel",
    "load": "saving",
    "log_kv": "core.bessel",
    "relaxed_vem": "stages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
