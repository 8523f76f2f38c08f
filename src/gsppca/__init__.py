"""Unsupervised variable selection with globally sparse probabilistic PCA.

The names below are imported when first used: the command line answers ``--help`` before scikit-learn is loaded.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gsppca.comparison.stability import stability
    from gsppca.estimator import GSPPCA
    from gsppca.evidence.bessel import kv_ratio, log_kv
    from gsppca.exceptions import MostVariablesWarning, NoStructureWarning, SmallSampleWarning
    from gsppca.io.models import load
    from gsppca.methods import Joint, NestedSearch, Paper
    from gsppca.results import Caution, Chosen, EvidencePath, Found, RelaxedFit
    from gsppca.rules import Core, FalseDiscoveryRate, MinimumR2, Relevant
    from gsppca.rules.core import SharePath
    from gsppca.selector import GSPPCASelector
    from gsppca.stages import estimate_n_components, estimate_noise_variance, evidence_path, relaxed_vem

__version__ = "0.1.0"

__all__ = [
    "GSPPCA",
    "Caution",
    "Chosen",
    "Core",
    "EvidencePath",
    "FalseDiscoveryRate",
    "Found",
    "GSPPCASelector",
    "Joint",
    "MinimumR2",
    "MostVariablesWarning",
    "NestedSearch",
    "NoStructureWarning",
    "Paper",
    "RelaxedFit",
    "Relevant",
    "SharePath",
    "SmallSampleWarning",
    "estimate_n_components",
    "estimate_noise_variance",
    "evidence_path",
    "kv_ratio",
    "load",
    "log_kv",
    "relaxed_vem",
    "stability",
]

_HOMES = {
    "Caution": "results",
    "Chosen": "results",
    "Core": "rules",
    "EvidencePath": "results",
    "FalseDiscoveryRate": "rules",
    "Found": "results",
    "GSPPCA": "estimator",
    "GSPPCASelector": "selector",
    "Joint": "methods",
    "MinimumR2": "rules",
    "MostVariablesWarning": "exceptions",
    "NestedSearch": "methods",
    "NoStructureWarning": "exceptions",
    "Paper": "methods",
    "RelaxedFit": "results",
    "Relevant": "rules",
    "SharePath": "rules.core",
    "SmallSampleWarning": "exceptions",
    "estimate_n_components": "stages",
    "estimate_noise_variance": "stages",
    "evidence_path": "stages",
    "kv_ratio": "evidence.bessel",
    "load": "io.models",
    "log_kv": "evidence.bessel",
    "relaxed_vem": "stages",
    "stability": "comparison.stability",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
