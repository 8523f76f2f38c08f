"""The methods: how variables are ranked and judged.

A method is an object with two functions, `find` and `evidence_path`; see `Method`. `Joint` and `Paper` are ours,
`NestedSearch` takes a ranking and a criterion of your own.
"""

from __future__ import annotations

from gsppca.methods.joint import Joint
from gsppca.methods.nested_search import NestedSearch
from gsppca.methods.paper import Paper
from gsppca.methods.protocol import Method

METHODS: dict[str, type[Joint] | type[Paper]] = {"joint": Joint, "paper": Paper}

__all__ = ["METHODS", "Joint", "Method", "NestedSearch", "Paper"]
