"""The paper's printed figures, and our notes on each experiment, read from files."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _numbers() -> dict[str, Any]:
    text = files("gsppca.experiments.paper").joinpath("paper_numbers.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def printed(place: str) -> Any:
    """Figures of a table or figure of the paper, such as "table-1"."""
    return _numbers()[place]


def notes_of(*names: str) -> str:
    """Where an experiment leaves the paper and why figures differ: paragraphs of the files notes/NAME.txt."""
    folder = files("gsppca.experiments").joinpath("notes")
    return "\n\n".join(folder.joinpath(f"{name}.txt").read_text(encoding="utf-8").strip() for name in names)
