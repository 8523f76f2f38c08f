"""Write docs/images/selection_quality.md, the means that docs/beyond.md shows, from results/selection-quality.csv.

python docs/make_selection_quality.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from gsppca.experiments import ResultsTable
from gsppca.experiments.beyond.selection_quality import NEW, PAPER, PEERS, PREVIOUS, SelectionQuality
from gsppca.experiments.methods import label_of

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "images" / "selection_quality.md"
NAMES = {
    NEW: "**the joint method: `GSPPCA()`**",
    "gsppca-joint-robust": "the joint method, always clipped: `robust=True`",
    PREVIOUS: "the search that the joint method had before",
    PAPER: 'the paper\'s method: `method="paper"`',
    "gsppca-fdr": 'false discovery rate: `n_features_to_select="fdr"`',
    **{name: label_of(name) for name in PEERS},
}


def table() -> str:
    """The table as it should be."""
    experiment = SelectionQuality()
    rows = ResultsTable(experiment, ROOT / "results").read()
    rows = rows[rows.data != "noise-only"]
    means = experiment.means(rows)["mean"]
    own, true = (means.xs(size, level="size").unstack("method") for size in ("own", "true"))
    counts = rows[rows["size"] == "own"].groupby("method").seed.nunique()
    lines = [
        "| method | size by its own rule | given the true size | kinds of data | data sets of each |",
        "|---|---|---|---|---|",
    ]
    for name, label in NAMES.items():
        if name in own:
            given = f"{true[name].mean():.1f}" if name in true else ""
            cells = own[name].notna().sum()
            lines.append(f"| {label} | {own[name].mean():.1f} | {given} | {cells} | up to {counts[name]} |")
    best = true[[name for name in PEERS if name in true]].max(axis=1).mean()
    lines.append(f"| the best competitor of each kind, known afterwards | | {best:.1f} | | |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TABLE.read_text() == table() else "run `python docs/make_selection_quality.py`")
    TABLE.write_text(table())
