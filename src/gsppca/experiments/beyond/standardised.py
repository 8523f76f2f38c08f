"""Sections 3.2 and 3.3 on standardised columns: what most practitioners have, and the paper does not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import label_of
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.simulated import OWN, STANDARDISED, TRUE, Cell, SimulatedGrid
from gsppca.experiments.spec import Claim, Plan, Table, verdict

OWN_RULE = ("gsppca-paper", "gsppca-joint", "sspca", "vsnpca", "svnpca", "spca", "tpca", "variance")
TRUE_SIZE = ("gsppca-paper", "gsppca-joint", "sspca", "vsnpca", "svnpca", "spca", "tpca", "variance")
SAMPLES = (40, 100, 200)
SSPCA_RUNS = 20


class Standardised(SimulatedGrid):
    """F-scores of all methods when every column has variance one."""

    name = "standardised"
    title = "Standardised columns"
    paper = "new: sections 3.2 and 3.3, standardised"
    question = "All methods on columns of variance one, by their own rules and given the true size."
    parameters = ("data", "n", "snr", "rho", "diagonal", "noise", "scale", "method", "size")
    n_runs: ClassVar[int] = 20
    notes = notes_of("standardised")

    def cells(self, plan: Plan) -> Sequence[Cell]:
        """Three simulations by three sizes."""
        simulations: list[Cell] = [{"data": "noise-range", "snr": 0.5}]
        if not plan.quick:
            common: Cell = {"data": "model-selection", "rho": 0.7, "diagonal": 1.0}
            simulations += [common | {"noise": "gaussian"}, common | {"noise": "laplacian"}]
        return [
            cell | {"n": n, "scale": STANDARDISED}
            for cell in simulations
            for n in (SAMPLES[:1] if plan.quick else SAMPLES)
        ]

    def methods(self, cell: Cell, plan: Plan) -> Sequence[tuple[str, str]]:
        """All, by their own rule and at the true size."""
        chosen = [*((name, OWN) for name in OWN_RULE), *((name, TRUE) for name in TRUE_SIZE)]
        return [one for one in chosen if not (plan.quick and one[0] == "sspca")]

    def seeds(self, cell: Cell, method: str, plan: Plan) -> range:
        """Fewer for SSPCA."""
        return plan.seeds(SSPCA_RUNS if method == "sspca" else self.n_runs, quick=1)

    def means(self, rows: Any) -> Any:
        """Mean, standard error and number of F-scores x 100 per cell and method."""
        labels = rows.data.map({"noise-range": "3.2, SNR 0.5", "model-selection": "3.3, "}) + rows.noise.fillna("")
        groups = rows.assign(f=100 * rows.f_score, cell=labels).groupby(["cell", "size", "method", "n"], sort=True)
        return groups.f.agg(["mean", "sem", "size"]).fillna({"sem": 0.0})

    def summary(self, rows: Any) -> list[Table]:
        """One table per rule: methods in rows, cells in columns."""
        means, tables = self.means(rows), []
        titles = {OWN: "Size chosen by each method's own rule", TRUE: "Given the true size, 20 variables"}
        for size, title in titles.items():
            part = means.xs(size, level="size")
            cells = list(dict.fromkeys((cell, n) for cell, _, n in part.index))
            lines = []
            for method in dict.fromkeys((*OWN_RULE, *part.index.get_level_values("method"))):
                if method in part.index.get_level_values("method"):
                    found = [
                        part.loc[(cell, method, n)] if (cell, method, n) in part.index else None for cell, n in cells
                    ]
                    lines.append(
                        [
                            label_of(method),
                            *("" if one is None else f"{one['mean']:.1f} ± {one['sem']:.1f}" for one in found),
                        ]
                    )
            columns = ["method", *(f"{cell}, n = {n}" for cell, n in cells)]
            tables.append(Table(f"{title}: F-score × 100, mean ± standard error", columns, lines))
        return tables

    def figure(self, rows: Any) -> Any:
        """Means over n, one panel per simulation; own rule drawn, true size dotted."""
        means = self.means(rows)["mean"]
        cells = list(means.index.get_level_values("cell").unique())
        figure, axes = new_figure(1, len(cells), height=3.4, width=3.2 * len(cells) + 2)
        for axis, cell in zip(axes, cells, strict=True):
            for i, method in enumerate(OWN_RULE):
                for size, style in ((OWN, "-"), (TRUE, ":")):
                    if (cell, size, method) in means.index.droplevel("n"):
                        line = means.loc[(cell, size, method)]
                        label = label_of(method) if size == OWN else None
                        axis.plot(line.index, line, linestyle=style, marker=".", color=colour(i), label=label)
            axis.set(title=cell, xlabel="n", ylim=(-3, 103))
        axes[0].set_ylabel("F-score × 100 (dotted: given the true size)")
        axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """No claims of the paper, but one of its section 1.2."""
        means = self.means(rows)["mean"]
        variance = means.xs(OWN, level="size").xs("variance", level="method")
        return [
            Claim(
                "Ranking by variance can not be applied to scaled data (section 1.2)",
                verdict(bool((variance < 20).all())),
                "Asked: an F-score of the variance rule under 20 in every cell.",
                f"largest {variance.max():.1f}",
                "said, not shown",
            )
        ]
