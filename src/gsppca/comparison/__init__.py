"""Methods side by side on one table, and how a selection changes from sample to sample."""

from __future__ import annotations

from gsppca.comparison.compare import SLOW, USUAL, compare_methods
from gsppca.comparison.judge import Compared, jaccard
from gsppca.comparison.stability import StabilityResult, stability

__all__ = ["SLOW", "USUAL", "Compared", "StabilityResult", "compare_methods", "jaccard", "stability"]
