"""Unsupervised variable selection with globally sparse probabilistic PCA."""

from gsppca.core.bessel import kv_ratio, log_kv
from gsppca.core.state import EvidencePath, RelaxedFit
from gsppca.estimator import GSPPCA
from gsppca.exceptions import NoStructureWarning
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
    "log_kv",
    "relaxed_vem",
]
