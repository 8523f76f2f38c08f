"""Figure 3: variance explained by ten axes on the selected genes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import get_method, label_of
from gsppca.experiments.paper.genes import DATA, DIMENSION, load
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.spec import UNTESTABLE, Claim, Experiment, Plan, Row, RunSpec, Table, verdict

METHODS = ("spca", "sspca", "gsppca-paper")
SIZES = (50, 100, 200, 400, 700, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000)
QUICK_SIZES = (100, 1000)
GLOBAL = ("gsppca-paper", "sspca")
MUCH, ALIKE = 1.0, 0.1  # points of explained variance: "much more", and what is no difference


class ExplainedVariance(Experiment):
    """Adjusted explained variance over the number of genes, section 3.4."""

    name = "explained-variance"
    title = "Explained variance"
    paper = "Figure 3, section 3.4"
    question = "Variance explained by 10 axes on the genes of SPCA (one axis), SSPCA and GSPPCA, over their number."
    parameters = ("data", "method", "size")
    values = ("explained", "n_selected")
    needs_data = True
    notes = notes_of("stand-in", "explained-variance")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """One run per method and size; quick ones leave out SSPCA, which walks a path."""
        methods = [name for name in METHODS if not (plan.quick and name == "sspca")]
        for method in dict.fromkeys((*methods, *plan.methods)):
            for size in QUICK_SIZES if plan.quick else SIZES:
                for seed in plan.seeds(1, quick=1):
                    yield RunSpec.of(seed, {"data": plan.data or DATA, "method": method, "size": size})

    def run(self, spec: RunSpec) -> list[Row]:
        """Select, then explain."""
        from gsppca.metrics import adjusted_explained_variance

        X = load(spec["data"]).X
        support = get_method(spec["method"]).supports(X, DIMENSION, [spec["size"]], spec.seed)[0]
        explained = adjusted_explained_variance(X, support, DIMENSION)[-1]
        return [{"explained": explained, "n_selected": int(support.sum())}]

    def curves(self, rows: Any) -> Any:
        """Sizes by methods."""
        found = rows.groupby(["size", "method"]).explained.mean().unstack()
        return found[[name for name in METHODS if name in found] + [name for name in found if name not in METHODS]]

    def summary(self, rows: Any) -> list[Table]:
        """Explained variance, sizes in rows."""
        found = self.curves(rows)
        lines = [[str(size), *(f"{value:.2f}" for value in values)] for size, values in found.iterrows()]
        title = f"Adjusted explained variance of 10 axes on {rows.data.iloc[0]}, % (the paper prints no numbers)"
        return [Table(title, ["genes", *map(label_of, found.columns)], lines)]

    def figure(self, rows: Any) -> Any:
        """The curves of Figure 3."""
        figure, (axis,) = new_figure(1, 1, width=6)
        for i, (name, line) in enumerate(self.curves(rows).items()):
            axis.plot(line.index, line, color=colour(i), marker="o", markersize=4, label=label_of(name))
        axis.set(xlabel=f"number of genes ({rows.data.iloc[0]})", ylabel="explained variance, %")
        axis.legend()
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of section 3.4."""
        found, name = self.curves(rows), str(rows.data.iloc[0])
        inner = found[found.index < 0.95 * found.index.max()]  # with nearly all genes there is no choice left
        ours, gaps = inner["gsppca-paper"], {m: inner[m] - inner["spca"] for m in GLOBAL if m in inner}
        claims = [
            Claim(
                f"Both global methods explain much more variance than SPCA ({name})",
                verdict(all(bool((gap > MUCH).all()) for gap in gaps.values())),
                f"Asked of both, at every size under 95 % of the genes: more than {MUCH:g} point more. It is one data "
                "set, so that there is no paired test.",
                "; ".join(
                    f"{label_of(m)} {g.min():+.1f} to {g.max():+.1f}, smallest at {g.idxmin()} genes"
                    for m, g in gaps.items()
                ),
                "read off Figure 3",
            )
        ]
        if "sspca" in inner:
            gap = ours - inner["sspca"]
            claims.append(
                Claim(
                    f"GSPPCA's genes retain significantly more variance than SSPCA's ({name})",
                    verdict(bool((gap > ALIKE).all())),
                    f"Asked: more than {ALIKE:g} point more at every size under 95 % of the genes. It is one data set, "
                    "so that there is no paired test.",
                    f"{gap.min():+.2f} to {gap.max():+.2f} points; more at {(gap > ALIKE).sum()}, less at "
                    f"{(gap < -ALIKE).sum()} of {len(gap)} sizes",
                    "read off Figure 3",
                )
            )
        if name != "VDX":
            claims.append(Claim("The same on VDX", UNTESTABLE, "The data could not be had."))
        return claims
