"""Tables and figure of the experiment `real-data`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gsppca.experiments.beyond.real_sets import LOOKED_AT, OTHERS
from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import label_of
from gsppca.experiments.spec import Table

CORE, RELEVANT, DEFAULT = "gsppca-core", "gsppca-relevant", "gsppca-joint"
RANDOM, ALL = "random", "all"
FASTCAN = "fastcan"
PEERS = (FASTCAN, "cur", "fps", "fsca", "laplacian", "mcfs", "spca", "tpca", "variance")
ORDER = (CORE, RELEVANT, "gsppca-paper", *PEERS, RANDOM, ALL)
SIZES = ("10", "30", "100")
AT = (*SIZES, "own")
WHOLE = ("whole", "whole scaled")
GROUPS = {"the ten sets that were looked at": LOOKED_AT, "the other sets": OTHERS}


def halves_of(rows: Any, at: str, sets: Sequence[str]) -> Any:
    """Rows at one size, of some sets."""
    return rows[(rows["at"].astype(str) == at) & rows.data.isin(sets)]


def full_sets(rows: Any, at: str, sets: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Sets that have rows of all these methods at a size: means over different sets could not be compared."""
    part = halves_of(rows, at, sets)
    have = part[part.method.isin(methods)].groupby("data").method.nunique()
    return [name for name in sets if have.get(name, 0) == len(methods)]


def mean_of(rows: Any, at: str, sets: Sequence[str], method: str, column: str) -> tuple[float, float]:
    """Mean over sets x 100, and its standard error over splits; each set counts once."""
    part = halves_of(rows, at, sets)
    part = part[(part.method == method) & part[column].notna()]
    table = 100 * part.pivot_table(index="seed", columns="data", values=column)
    error = table.sub(table.mean()).mean(axis=1).sem() if len(table) > 1 else float("nan")
    return float(table.mean().mean()), float(error)


def present(rows: Any) -> list[str]:
    """Methods that have rows, in the order of the tables; those of a user at the end."""
    found = [name for name in rows.method.unique() if name != DEFAULT]
    return [name for name in ORDER if name in found] + [name for name in found if name not in ORDER]


def number(value: float, error: float = float("nan")) -> str:
    """A percentage with its standard error, nothing for what is not known."""
    if value != value:
        return ""
    return f"{value:.1f}" if error != error else f"{value:.1f} ± {error:.1f}"


def tables(rows: Any) -> list[Table]:
    """Shares of both groups of sets, every set, known groups, costs, and the default on all rows."""
    found = [_shares(rows, title, sets) for title, sets in GROUPS.items() if rows.data.isin(sets).any()]
    return [*found, _fixed(rows), _sets(rows), *_labels(rows), _costs(rows), _whole(rows)]


def _shares(rows: Any, title: str, sets: Sequence[str]) -> Table:
    lines = []
    for method in present(rows):
        cells = []
        for at in AT:
            weighted, equal = (mean_of(rows, at, sets, method, column) for column in ("share", "equal"))
            cells.append(f"{number(*weighted)} ({number(equal[0])})" if weighted[0] == weighted[0] else "")
        mine = rows[(rows.method == method) & rows.data.isin(sets)]
        lines.append([label_of(method), *cells, str(mine.data.nunique()), str(mine.seed.nunique())])
    columns = ["method", *(f"{at} variables" for at in SIZES), "own size, or the core's", "sets", "splits"]
    return Table(f"Held-out share, weighted ± standard error (equal), %: {title}", columns, lines)


def _fixed(rows: Any) -> Table:
    """The measure with one shrinkage for all: that of Ledoit & Wolf falls hard on columns that are not correlated."""
    lines = []
    for method in present(rows):
        cells = [number(*mean_of(rows, at, sets, method, "fixed")) for sets in GROUPS.values() for at in AT]
        lines.append([label_of(method), *cells])
    columns = ["method", *(f"{at}, {who}" for who in ("ten sets", "others") for at in AT)]
    return Table("Held-out share, weighted ± standard error, %, with the shrinkage fixed at 0.1", columns, lines)


def _sets(rows: Any) -> Table:
    own = rows[rows["at"].astype(str) == "own"]
    lines = []
    for name in (*LOOKED_AT, *OTHERS):
        mine = own[(own.data == name) & (own.method == CORE)]
        if mine.empty:
            continue
        share = {method: 100 * own[(own.data == name) & (own.method == method)].share.mean() for method in ORDER}
        lines.append(
            [
                name + ("" if name in LOOKED_AT else " *"),
                f"{mine.n.iloc[0]} × {mine.p.iloc[0]}",
                f"{mine.relevant.mean():.0f}",
                f"{mine['size'].mean():.0f}",
                number(100 * mine.promised.mean()),
                number(100 * mine.kept.mean()),
                number(share[CORE], 100 * mine.share.sem() if len(mine) > 1 else float("nan")),
                number(100 * mine.gap.loc[mine.gap.abs().idxmax()]) if mine.gap.notna().any() else "",
                *(number(share[method]) for method in (FASTCAN, "fsca", RANDOM, ALL)),
            ]
        )
    columns = ["set (* not looked at)", "rows × variables", "relevant", "core", "promised, %", "kept, %", "of all, %"]
    columns += ["largest gap of a half", "fastcan", "FSCA", "random", "all"]
    return Table("The core of every set, on halves: what it promises, and what it keeps", columns, lines)


def _labels(rows: Any) -> list[Table]:
    """Known groups, at every size."""
    texts = {"accuracy": "5 nearest neighbours, accuracy", "clustering": "k-means, accuracy", "nmi": "k-means, NMI"}
    labelled = sorted(rows[rows.nmi.notna()].data.unique())
    found = []
    for column, text in texts.items():
        lines = []
        for method in present(rows):
            mine = rows[(rows.method == method) & rows.data.isin(labelled)]
            cells = [number(*mean_of(rows, at, labelled, method, column)) for at in AT]
            lines.append([label_of(method), *cells, str(mine.data.nunique())])
        columns = ["method", *(f"{at} variables" for at in SIZES), "own size, or the core's", "sets"]
        found.append(Table(f"{text}, % ± standard error, sets with known groups", columns, lines))
    return found


def _costs(rows: Any) -> Table:
    lines = []
    for method in present(rows):
        mine = rows[rows.method == method]
        at, own = mine[mine["at"].astype(str) == "30"], mine[mine["at"].astype(str) == "own"]
        seconds = mine.groupby("data").fit_seconds.median()
        lines.append(
            [
                label_of(method),
                *(f"{value:.2f}" if value == value else "" for value in (at.redundancy.mean(), own.redundancy.mean())),
                *(f"{value:.2f}" if value == value else "" for value in (at.stability.mean(), own.stability.mean())),
                "" if method in (RANDOM, ALL) else f"{seconds.median():.2f}",
                "" if method in (RANDOM, ALL) else f"{seconds.max():.2f}",
            ]
        )
    columns = ["method", "redundancy at 30", "at own size", "stability at 30", "at own size", "seconds, median"]
    return Table("Mean absolute correlation, agreement of two halves, time of a fit", [*columns, "slowest set"], lines)


def _whole(rows: Any) -> Table:
    """What `GSPPCA()` selects on all rows."""
    lines = []
    for name in (*LOOKED_AT, *OTHERS):
        for at in WHOLE:
            mine = rows[(rows.data == name) & (rows.method == DEFAULT) & (rows["at"].astype(str) == at)]
            for _, row in mine.iterrows():
                lines.append(
                    [
                        name,
                        "no" if at == "whole" else "yes",
                        f"{row.p:.0f}",
                        f"{row.relevant:.0f}",
                        f"{row['size']:.0f}",
                        "core" if row.promised == row.promised else "relevant",
                        f"{row.n_components:.0f}",
                        f"{row.fit_seconds:.2f}",
                    ]
                )
    columns = ["set", "scaled", "variables", "relevant", "selected", "which are", "dimension", "seconds"]
    return Table("The default on all rows, everything “auto”", columns, lines)


def figure(rows: Any) -> Any:
    """Held-out share against the number of variables, for both groups of sets."""
    shown = (CORE, FASTCAN, "fsca", "gsppca-paper", "cur", "laplacian", "variance", RANDOM)
    drawn = [method for method in shown if method in set(rows.method)]
    figure, axes = new_figure(1, 2, height=3.6)
    for axis, (title, sets) in zip(axes, GROUPS.items(), strict=True):
        for i, method in enumerate(drawn):
            points = []
            for at in SIZES:
                common = full_sets(rows, at, sets, drawn)
                if common:
                    points.append((int(at), mean_of(rows, at, common, method, "share")[0]))
            if points:
                axis.plot(*zip(*points, strict=True), color=colour(i), marker="o", markersize=4, label=label_of(method))
        axis.set(xscale="log", xlabel="variables", title=title, ylim=(0, 102))
        axis.set_xticks([10, 30, 100], ["10", "30", "100"])
        axis.minorticks_off()
    axes[0].set_ylabel("held-out share, %")
    if axes[0].lines or axes[1].lines:
        (axes[0] if axes[0].lines else axes[1]).legend(fontsize="small")
    return figure
