"""What the experiments on gene expression share: the data, the pathways, supports over many sizes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gsppca.experiments.data import get_data

DATA = "SCAN-B"
DIMENSION = 10
MIN_PATHWAY = 10  # measured genes of a pathway that is tested

STAND_IN = (
    "The paper's data are breastCancerVDX (344 patients, 5391 genes), which could not be had here. SCAN-B (400 patients, "
    "5156 genes, RNA-seq) stands in: what is said of VDX itself is not testable here, the same claim on SCAN-B is. With "
    "vdx.rda of the R package in the directory GSPPCA_DATA, --data VDX runs the paper's own data."
)


@lru_cache(maxsize=2)
def load(name: str) -> Any:
    """A data set by name, centred; kept, for the runs of one worker share it."""
    return get_data(name)()


@lru_cache(maxsize=2)
def pathways() -> Any:
    """Reactome of the time of the paper."""
    from gsppca.datasets import load_reactome

    return load_reactome()


def enrichment(support: Any, name: str) -> tuple[float, int]:
    """Pathway enrichment index of a support, and how many pathways were tested."""
    from gsppca.metrics import pathway_enrichment

    result = pathway_enrichment(support, pathways(), load(name).feature_names, min_size=MIN_PATHWAY)
    return result.index, len(result.names)
