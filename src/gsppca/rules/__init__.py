"""Which variables, and how many of them, are selected.

A rule is an object with one function, `select`; see `Rule`.
"""

from __future__ import annotations

from gsppca.rules.core_rule import Automatic, Core
from gsppca.rules.false_discoveries import FalseDiscoveryRate
from gsppca.rules.minimum_r2 import MinimumR2
from gsppca.rules.protocol import Rule
from gsppca.rules.relevant import Relevant, Size

RULES = {"auto": Automatic, "relevant": Relevant, "core": Core, "fdr": FalseDiscoveryRate, "r2": MinimumR2}

__all__ = ["RULES", "Automatic", "Core", "FalseDiscoveryRate", "MinimumR2", "Relevant", "Rule", "Size"]
