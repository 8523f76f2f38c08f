"""What the experiments on gene expression share: the data, the pathways, supports over many sizes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gsppca.experiments.data import get_data

DATA = "SCAN-B"
DIMENSION = 10
MIN_PATHWAY = 10  # measured genes of a pathway that is tested


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
