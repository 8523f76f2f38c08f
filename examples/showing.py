"""What the examples share: where pictures and tables go, colours, and whether to hurry.

GSPPCA_GALLERY names the folder for the results (``gallery`` by default). With GSPPCA_QUICK=1 the examples take small
data and few repeats: to see that they run, not to read their numbers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

QUICK = os.environ.get("GSPPCA_QUICK", "") not in ("", "0")
FOLDER = Path(os.environ.get("GSPPCA_GALLERY", "gallery"))

# Okabe & Ito: told apart by colour-blind readers too.
BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
GREY = "#9A9A9A"

plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.5, "axes.titlesize": 10.5})


def save(figure: Figure, name: str) -> None:
    """Write the picture NAME.png, small enough for a page, and close it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def table(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and write it as Markdown to NAME.md."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()
