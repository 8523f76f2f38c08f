"""Figure 5: whether the evidence rises and falls with the biological meaning of the genes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import get_method
from gsppca.experiments.paper.genes import DATA, DIMENSION, enrichment, load
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.spec import UNTESTABLE, Claim, Experiment, Plan, Row, RunSpec, Table, verdict

METHOD = "gsppca-paper"


class GeneEvidence(Experiment):
    """Evidence and enrichment over the number of genes, section 5."""

    name = "gene-evidence"
    title = "Evidence and biological meaning"
    paper = "Figure 5, section 5.2"
    question = "Evidence and enrichment over the number of genes, and their correlation."
    parameters = ("data", "method", "n_sizes")
    values = ("size", "log_evidence", "enrichment", "chosen")
    needs_data = True
    notes = notes_of("stand-in", "gene-evidence")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """One run."""
        parameters = {"data": plan.data or DATA, "method": METHOD, "n_sizes": 8 if plan.quick else 100}
        yield from (RunSpec.of(seed, parameters) for seed in plan.seeds(1, quick=1))

    def run(self, spec: RunSpec) -> list[Row]:
        """One row per size: those of a grid, and the chosen one."""
        X, method = load(spec["data"]).X, get_method(spec["method"])
        _, model = method.select(X, DIMENSION, None, spec.seed)
        path, chosen = model.evidence_path_, model.n_selected_
        grid = np.linspace(50, X.shape[1], spec["n_sizes"]).round().astype(int)
        sizes = np.unique([*grid[grid <= path.sizes[-1]], chosen])
        supports = method.supports(X, DIMENSION, sizes.tolist(), spec.seed)
        rows = []
        for size, support in zip(sizes, supports, strict=True):
            evidence = path.log_evidence[np.searchsorted(path.sizes, size)]
            index, _ = enrichment(support, spec["data"])
            rows.append(
                {"size": int(size), "log_evidence": evidence, "enrichment": index, "chosen": int(size == chosen)}
            )
        return rows

    def correlations(self, rows: Any) -> dict[str, tuple[float, float]]:
        """Pearson and Spearman correlation of evidence and index, over all sizes and up to twice the best."""
        from scipy.stats import pearsonr, spearmanr

        best = int(rows.loc[rows.log_evidence.idxmax(), "size"])
        parts = {"all sizes": rows, f"sizes up to {2 * best}": rows[rows["size"] <= 2 * best]}
        return {
            name: (
                float(pearsonr(part.log_evidence, part.enrichment).statistic),
                float(spearmanr(part.log_evidence, part.enrichment).statistic),
            )
            for name, part in parts.items()
        }

    def summary(self, rows: Any) -> list[Table]:
        """Chosen size, largest index, correlations."""
        peak = rows.loc[rows.log_evidence.idxmax()]
        most = rows.loc[rows.enrichment.idxmax()]
        lines = [
            ["genes at the peak of the evidence", f"{peak['size']:.0f}", "1965 (VDX)"],
            ["index there", f"{peak.enrichment:.2f} %", "5.19 % (VDX)"],
            ["largest index", f"{most.enrichment:.2f} % at {most['size']:.0f} genes", "not printed"],
        ]
        for name, (pearson, spearman) in self.correlations(rows).items():
            lines.append(
                [
                    f"correlation of evidence and index, {name}",
                    f"{pearson:.2f} (rank correlation {spearman:.2f})",
                    "not printed",
                ]
            )
        return [Table(f"Evidence and enrichment on {rows.data.iloc[0]}", ["", "ours", "paper"], lines)]

    def figure(self, rows: Any) -> Any:
        """Evidence and index over the size."""
        figure, (axis,) = new_figure(1, 1, width=7)
        rows = rows.sort_values("size")
        axis.plot(rows["size"], rows.log_evidence, color=colour(0))
        axis.set_xlabel(f"number of genes ({rows.data.iloc[0]})")
        axis.set_ylabel("log evidence", color=colour(0))
        other = axis.twinx()
        other.plot(rows["size"], rows.enrichment, color=colour(1), marker=".", markersize=3, linewidth=1)
        other.set_ylabel("enriched pathways, %", color=colour(1))
        axis.axvline(rows.loc[rows.log_evidence.idxmax(), "size"], color="0.6", linewidth=0.8, linestyle=":")
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of section 5.2."""
        name = str(rows.data.iloc[0])
        peak = rows.loc[rows.log_evidence.idxmax()]
        share = float((rows.enrichment <= peak.enrichment).mean())
        (pearson, spearman), *_ = self.correlations(rows).values()
        claims = [
            Claim(
                f"The peak of the evidence has highly interpretable genes ({name})",
                verdict(share >= 0.75),
                "Asked: an index in the upper quarter of those over all sizes.",
                f"{peak.enrichment:.2f} %, at least that of {share:.0%} of the sizes",
                "5.19 %",
            ),
            Claim(
                f"Models with a lower evidence generally have a lower index ({name})",
                verdict(spearman > 0.5),
                "Asked: a rank correlation over 0.5.",
                f"correlation {pearson:.2f}, rank correlation {spearman:.2f}",
                "an important correlation, not printed",
            ),
        ]
        if name != "VDX":
            claims.append(Claim("The same on VDX", UNTESTABLE, "The data could not be had."))
        return claims
