"""What the figures of all experiments share."""

from __future__ import annotations

from typing import Any

from gsppca._optional import optional_import

# Okabe and Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
WIDTH = 8.0


def colour(number: int) -> str:
    """Colour of the line with a number."""
    return COLOURS[number % len(COLOURS)]


def new_figure(rows: int = 1, columns: int = 1, height: float = 3.2, width: float = WIDTH) -> tuple[Any, list[Any]]:
    """Figure with a grid of axes, as a flat list; made without pyplot, which keeps every figure open."""
    module: Any = optional_import("matplotlib.figure", "a figure", "plot", "matplotlib")
    figure = module.Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, list(axes.flat)
