"""Table 5: how many pathways the selected genes are enriched for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import get_method, label_of
from gsppca.experiments.paired import judge, paired
from gsppca.experiments.paper.genes import DATA, DIMENSION, enrichment, load
from gsppca.experiments.paper.printed import notes_of, printed
from gsppca.experiments.paper.stage_procedure import STARTS
from gsppca.experiments.spec import (
    FAILS,
    HOLDS,
    TIE,
    UNTESTABLE,
    Claim,
    Experiment,
    Plan,
    Row,
    RunSpec,
    Table,
    verdict,
)

METHODS = ("tpca", "spca", "gsppca-paper")
FIXED, OWN = "fixed", "own"


class Pathways(Experiment):
    """Pathway enrichment index at given sizes and at each method's own, section 5."""

    name = "pathways"
    title = "Pathway enrichment"
    paper = "Table 5, section 5.2"
    question = "Enrichment at 290, 1000, 1965, 3000, 4466, 5000 genes and at each method's own choice; d = 10."
    parameters = ("data", "method", "choice")
    values = ("size", "enrichment", "n_pathways")
    needs_data = True
    notes = notes_of("stand-in", "pathways")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """One run per method and kind of size; other starts of GSPPCA with their own choice only."""
        for method in dict.fromkeys((*METHODS, *plan.methods, *STARTS)):
            for choice in (OWN,) if method in STARTS else (FIXED, OWN):
                for seed in plan.seeds(1, quick=1):
                    yield RunSpec.of(seed, {"data": plan.data or DATA, "method": method, "choice": choice})

    def run(self, spec: RunSpec) -> list[Row]:
        """One row per size."""
        X, method = load(spec["data"]).X, get_method(spec["method"])
        if spec["choice"] == OWN:
            supports = [method.select(X, DIMENSION, None, spec.seed)[0]]
        else:
            sizes = [size for size in printed("table-5")["sizes"] if size <= X.shape[1]]
            supports = method.supports(X, DIMENSION, sizes, spec.seed)
        rows = []
        for support in supports:
            index, tested = enrichment(support, spec["data"])
            rows.append({"size": int(np.sum(support)), "enrichment": index, "n_pathways": tested})
        return rows

    def summary(self, rows: Any) -> list[Table]:
        """Table 5, ours beside the paper's; and the sizes chosen."""
        paper = printed("table-5")
        fixed = rows[rows.choice == FIXED].groupby(["size", "method"]).enrichment.mean().unstack()
        methods = [name for name in (*METHODS, *fixed.columns) if name in fixed.columns]
        methods = list(dict.fromkeys(methods))
        columns = ["genes"]
        for name in methods:
            columns += [f"{label_of(name)}, {rows.data.iloc[0]}", f"{label_of(name)}, paper (VDX)"]
        lines = []
        for size, values in fixed.iterrows():
            line = [str(size)]
            for name in methods:
                theirs = paper.get(label_of(name))
                line += [f"{values[name]:.2f}", f"{theirs[paper['sizes'].index(size)]:.2f}" if theirs else ""]
            lines.append(line)
        own = rows[rows.choice == OWN]
        chosen = [
            [
                label_of(r["method"]),
                str(r["size"]),
                f"{r['enrichment']:.2f}",
                str(paper["own"].get(label_of(r["method"]), "")),
            ]
            for r in own.to_dict("records")
        ]
        return [
            Table("Pathway enrichment index, % of the pathways", columns, lines),
            Table("The methods' own choice", ["method", "genes", "enrichment, %", "genes in the paper (VDX)"], chosen),
        ]

    def figure(self, rows: Any) -> Any:
        """Enrichment over the number of genes."""
        figure, (axis,) = new_figure(1, 1)
        paper = printed("table-5")
        for i, (method, part) in enumerate(rows[rows.choice == FIXED].groupby("method")):
            axis.plot(
                part["size"],
                part.enrichment,
                color=colour(i),
                marker="o",
                label=f"{label_of(method)}, {rows.data.iloc[0]}",
            )
            if label_of(method) in paper:
                axis.plot(
                    paper["sizes"],
                    paper[label_of(method)],
                    color=colour(i),
                    linestyle=":",
                    marker=".",
                    label=f"{label_of(method)}, paper (VDX)",
                )
        axis.set(xlabel="number of genes", ylabel="enriched pathways, %")
        axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of section 5.2."""
        fixed = rows[rows.choice == FIXED].groupby(["size", "method"]).enrichment.mean().unstack()
        ours, tpca, spca = fixed["gsppca-paper"], fixed["tpca"], fixed["spca"]
        tests = [paired(ours, other) for other in (tpca, spca)]
        rival = fixed[["tpca", "spca"]].max(axis=1)
        name = str(rows.data.iloc[0])
        chosen = rows[rows.choice == OWN].set_index("method")
        own = chosen.loc["gsppca-paper"]
        missing = (
            []
            if name == "VDX"
            else [Claim("The same on VDX", UNTESTABLE, "The data could not be had.", "", "GSPPCA best in all six rows")]
        )
        return [
            Claim(
                f"GSPPCA is enriched for more pathways than tPCA and SPCA at every size ({name})",
                FAILS if (ours < rival).any() else TIE if (ours == rival).any() else HOLDS,
                "Asked: a larger index than both in every row of the table; equal ones are ties.",
                f"larger in {(ours > rival).sum()}, equal in {(ours == rival).sum()} of {len(ours)} rows; "
                + ", ".join(f"{s}: {ours[s]:.2f} against {rival[s]:.2f}" for s in ours.index),
                "6 of 6 rows",
            ),
            Claim(
                f"GSPPCA significantly outperforms the two other methods ({name})",
                judge(tests),
                "Asked of both: paired t test over the sizes of the table, p < 0.05 two-sided. The supports are nested "
                "and the data set is one, so that the test is a rough guide.",
                ", ".join(
                    f"{test.text(2)} against {other}" for test, other in zip(tests, ("tPCA", "SPCA"), strict=True)
                ),
                "said, not tested",
            ),
            Claim(
                f"SPCA is slightly better than thresholded PCA ({name})",
                judge([paired(spca, tpca)]),
                "Asked: a larger index; paired t test over the sizes, p < 0.05 two-sided.",
                f"mean {spca.mean():.2f} against {tpca.mean():.2f} (t = {paired(spca, tpca).t:.1f})",
                f"mean {np.mean(printed('table-5')['SPCA']):.2f} against {np.mean(printed('table-5')['tPCA']):.2f}",
            ),
            Claim(
                f"At its own choice GSPPCA is enriched for more than 5 % of the pathways ({name})",
                verdict(bool(own.enrichment > 5)),
                "Asked: an index over 5.",
                f"{own.enrichment:.2f} % at {own['size']} genes",
                "5.19 % at 1965 genes",
            ),
            *self._own_sizes(chosen, name),
            *missing,
        ]

    def _own_sizes(self, chosen: Any, name: str) -> list[Claim]:
        """What the text says of the numbers of genes that SPCA and tPCA choose."""
        sizes = chosen.loc[list(METHODS), "size"]
        tpca = chosen.loc["tpca"]
        return [
            Claim(
                f"99 % of the variance lets SPCA select so many genes that it is hard to interpret ({name})",
                verdict(bool(sizes["spca"] > 2 * sizes["gsppca-paper"])),
                "Asked: more than twice as many as GSPPCA.",
                f"{sizes['spca']} genes, GSPPCA {sizes['gsppca-paper']}",
                "4810 genes (4466 in the table), GSPPCA 1965",
            ),
            Claim(
                f"tPCA is the sparsest, with a very small index ({name})",
                verdict(sizes.idxmin() == "tpca" and bool(tpca.enrichment < 1)),
                "Asked: the fewest genes of the three methods, and an index below 1 %.",
                f"{tpca['size']} genes, {tpca.enrichment:.2f} %",
                "290 genes, 0.09 %",
            ),
        ]
