"""Figure 1: the introductory example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import column_order, get_method
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.spec import Claim, Experiment, Plan, Row, RunSpec, Table, verdict

METHOD = "gsppca-paper"


class Introductory(Experiment):
    """Relevances and evidence on data with ten relevant variables of thirty, section 3.1."""

    name = "introductory"
    title = "Introductory example"
    paper = "Figure 1, section 3.1"
    question = "The relevances rank the ten true variables first; the evidence peaks at ten."
    parameters = ("method",)
    values = ("rank", "relevance", "relevant", "log_evidence")
    notes = notes_of("introductory")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """One run per data set."""
        yield from (RunSpec.of(seed, {"method": METHOD}) for seed in plan.seeds(100, quick=3))

    def run(self, spec: RunSpec) -> list[Row]:
        """One row per rank."""
        from gsppca.datasets import make_introductory

        data = make_introductory(random_state=spec.seed)
        _, model = get_method(spec["method"]).select(data.X, data.n_components, None, spec.seed)
        order = np.argsort(model.ranking_)
        truth = data.support[column_order(data.X.shape[1], spec.seed)][order]
        columns = (model.relevance_[order], truth, model.evidence_path_.log_evidence)
        return [
            {"rank": rank, "relevance": u, "relevant": int(true), "log_evidence": evidence}
            for rank, (u, true, evidence) in enumerate(zip(*columns, strict=True), start=1)
        ]

    def outcomes(self, rows: Any) -> Any:
        """Per data set: true variables, how many of them lead the ranking, and the size chosen."""

        def one(part: Any) -> Any:
            import pandas as pd

            true = int(part.relevant.sum())
            chosen = int(part.loc[part.log_evidence.idxmax(), "rank"])
            leading = int(part.loc[part["rank"] <= true, "relevant"].sum())
            return pd.Series({"true": true, "leading": leading, "chosen": chosen})

        return rows.groupby("seed")[["rank", "relevant", "log_evidence"]].apply(one)

    def summary(self, rows: Any) -> list[Table]:
        """How often the ranking and the size are right."""
        found = self.outcomes(rows)
        ranked, sized = found.leading == found.true, found.chosen == found.true
        sizes = found.chosen.value_counts().sort_index()
        lines = [
            ["the true variables come first", f"{ranked.sum()} of {len(found)}", "yes, on its one data set"],
            ["the evidence peaks at the true size", f"{sized.sum()} of {len(found)}", "yes, on its one data set"],
            ["both: the pattern is found exactly", f"{(ranked & sized).sum()} of {len(found)}", ""],
            ["sizes chosen", ", ".join(f"{size} ({count}×)" for size, count in sizes.items()), "10"],
        ]
        return [Table("Data sets on which it comes out", ["", "ours", "paper"], lines)]

    def figure(self, rows: Any) -> Any:
        """The two panels of Figure 1, for the first seed."""
        part = rows[rows.seed == rows.seed.min()]
        figure, (left, right) = new_figure(1, 2)
        left.scatter(part["rank"], part.relevant, s=55, color="#a9cbe5", label="truth v")
        left.scatter(part["rank"], part.relevance, s=16, color=colour(0), label="relevance u")
        left.set(xlabel="variables, most relevant first", ylabel="u and v", title="ranking")
        left.legend()
        best = part.loc[part.log_evidence.idxmax()]
        right.plot(part["rank"], part.log_evidence, color=colour(0), marker=".")
        right.axvline(best["rank"], color=colour(1), linewidth=1, label=f"maximum at {best['rank']:.0f}")
        right.set(xlabel="number of variables", ylabel="log evidence", title="evidence along the ranking")
        right.legend()
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """The two sentences of section 3.1."""
        found = self.outcomes(rows)
        ranked, sized = (found.leading == found.true).mean(), (found.chosen == found.true).mean()
        why = "Asked: on at least 90 % of the data sets."
        return [
            Claim(
                "u captures the true ranking of the variables",
                verdict(ranked >= 0.9),
                why,
                f"{ranked:.0%}",
                "one data set",
            ),
            Claim(
                "The model with the largest evidence is the true one",
                verdict(sized >= 0.9),
                why,
                f"{sized:.0%}",
                "one data set",
            ),
        ]
