"""Which rho and diagonal come closest to the printed rows of Tables 1 and 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from gsppca.experiments.paper.printed import printed
from gsppca.experiments.spec import Table

DECIDING = ("SPCA", "GSPPCA")  # rows that tell settings apart; SSPCA is not swept


def differences(rows: Any, place: str, names: dict[str, str]) -> Any:
    """Mean absolute difference from each printed row per setting.

    Parameters
    ----------
    rows : DataFrame
        All rows.
    place : str
        "table-1" or "table-2".
    names : dict of str to str
        Printed row of each method.

    Returns
    -------
    DataFrame
        Settings (diagonal, rho) in rows; a column per deciding row, and "deciding", their mean.
    """
    import pandas as pd

    paper = printed(place)
    settings = ["diagonal", "rho"]
    ours = rows[rows.method.isin(list(names))]
    means = (100 * ours.f_score).groupby([ours[name] for name in (*settings, "method", "n")]).mean()
    found = {}
    for method, title in names.items():
        theirs = dict(zip(paper["n"], paper[title]["mean"], strict=True))
        if title in DECIDING and method in means.index.get_level_values("method"):
            part = means.xs(method, level="method").reset_index()
            away = (part.f_score - part.n.map(theirs)).abs()
            found[title] = away.groupby([part[name] for name in settings]).mean()
    table = pd.DataFrame(found).reindex(columns=list(DECIDING)).sort_index()
    return table.assign(deciding=table.mean(axis=1, skipna=False))


def sweep_table(rows: Any, place: str, names: dict[str, str]) -> list[Table]:
    """The table of the page; none where there was no sweep."""
    found = differences(rows, place, names)
    if len(found) < 3 or found.deciding.isna().all():
        return []
    best, lines = found.deciding.idxmin(), []
    for (diagonal, rho), row in found.iterrows():
        numbers = [_text(row[title]) for title in (*DECIDING, "deciding")]
        closest = "closest" if (diagonal, rho) == best else ""
        lines.append([f"{diagonal:g}", f"{rho:g}", *numbers, closest])
    columns = ["diagonal", "rho", *(f"{title} row" for title in DECIDING), "mean of both", ""]
    return [Table("Sweep: mean absolute difference from the printed means, F-score × 100", columns, lines)]


def _text(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1f}"
