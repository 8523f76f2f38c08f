"""Section 2.7: where the variational EM starts, how often it collapses, and how many iterations it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import column_order
from gsppca.experiments.paired import holm, paired
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.paper.stage_procedure import LITERAL, StageProcedure
from gsppca.experiments.spec import Claim, Experiment, Plan, Row, RunSpec, Table, verdict

OURS = "grid"
# Options of relaxed_vem; the numbers are multiples of one over the standard deviation of the noise.
STARTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "grid, 4 iterations": {"short_iterations": 4},
    "grid, absolute": {"slab_unit": "absolute"},
    "grid, random loadings": {"init": "random"},
    "Algorithm 1": LITERAL,
    "0.1": {"slab_rate": 0.1},
    "1": {"slab_rate": 1.0},
    "10": {"slab_rate": 10.0},
    "1/2, 1, 2 of the data": {"slab_rate": (0.5, 1.0, 2.0), "slab_unit": "data"},
}
SAMPLES = (40, 50, 66, 100, 200)
SIMPLE = ((40, 0.1), (40, 0.5579), (40, 3.0), (200, 0.1))  # n and signal-to-noise ratio of section 3.2
FEW_HUNDRED = 300
MARKERS = "os^vD<>P*"


def _cells() -> dict[str, tuple[str, dict[str, Any]]]:
    """Simulator and its parameters, by the name of the cell."""
    cells: dict[str, tuple[str, dict[str, Any]]] = {"3.1": ("make_introductory", {})}
    for n, snr in SIMPLE:
        cells[f"3.2, SNR {snr:.2g}, n = {n}"] = ("make_noise_range", {"n_samples": n, "snr": snr})
    for noise in ("gaussian", "laplacian"):
        for n in SAMPLES:
            cells[f"3.3 {noise}, n = {n}"] = ("make_model_selection", {"n_samples": n, "noise": noise})
    return cells


CELLS = _cells()


class Starts(Experiment):
    """F-score, iterations and collapses from several starts."""

    name = "starts"
    title = "Starts of the variational EM"
    paper = "Sections 2.6 and 2.7"
    question = "F-score, iterations and runs that end at u = 0, from several starts of alpha and of the loadings."
    parameters = ("data", "start")
    values = ("f_score", "n_selected", "n_iter", "converged", "collapsed")
    notes = notes_of("starts")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """Cells, starts, data sets."""
        for cell in ("3.1", "3.3 laplacian, n = 40") if plan.quick else CELLS:
            for start in STARTS:
                yield from (RunSpec.of(seed, {"data": cell, "start": start}) for seed in plan.seeds(50, quick=2))

    def run(self, spec: RunSpec) -> list[Row]:
        """Simulate, permute the columns, select, score."""
        from gsppca import datasets
        from gsppca.metrics import f_score

        simulator, parameters = CELLS[spec["data"]]
        data = getattr(datasets, simulator)(random_state=spec.seed, **parameters)
        order = column_order(data.X.shape[1], spec.seed)
        model = StageProcedure(data.n_components, None, spec.seed, **STARTS[spec["start"]]).fit(data.X[:, order])
        return [
            {
                "f_score": f_score(model.support_, data.support[order]),
                "n_selected": int(model.support_.sum()),
                "n_iter": model.n_iter_,
                "converged": model.converged_,
                "collapsed": model.collapsed_,
            }
        ]

    def summary(self, rows: Any) -> list[Table]:
        """Cells in rows, starts in columns: F-scores, then iterations and collapses."""
        shown = [start for start in STARTS if start in set(rows.start)]
        cells = [cell for cell in CELLS if cell in set(rows.data)]
        groups = rows.assign(f=100 * rows.f_score).groupby(["data", "start"])
        f, n_iter, collapsed = groups.f.mean(), groups.n_iter.median(), groups.collapsed.sum()

        def table(title: str, cell_text: Callable[[tuple[str, str]], str]) -> Table:
            return Table(title, ["data", *shown], [[cell, *(cell_text((cell, s)) for s in shown)] for cell in cells])

        runs = rows.groupby(["data", "start"]).size().min()
        return [
            table(f"F-score × 100, mean of {runs} data sets", lambda key: f"{f[key]:.1f}"),
            table("Iterations, median (runs that end at u = 0)", lambda key: f"{n_iter[key]:.0f} ({collapsed[key]})"),
        ]

    def figure(self, rows: Any) -> Any:
        """Mean F-score of each start in each cell."""
        means = (100 * rows.f_score).groupby([rows.data, rows.start]).mean().unstack()
        cells = [cell for cell in CELLS if cell in means.index]
        figure, (axis,) = new_figure(1, 1, height=4.2, width=7.5)
        for i, start in enumerate(start for start in STARTS if start in means):
            axis.plot(
                range(len(cells)), means.loc[cells, start], MARKERS[i], markersize=4, color=colour(i), label=start
            )
        axis.set_xticks(range(len(cells)), cells, rotation=60, ha="right", fontsize=7)
        axis.set(ylabel="F-score × 100")
        axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of sections 2.6 and 2.7."""
        return [self._random(rows), self._iterations(rows), self._small_alpha(rows)]

    def _random(self, rows: Any) -> Claim:
        scores = (100 * rows.f_score).groupby([rows.start, rows.data, rows.seed]).mean()
        found = {
            cell: paired(scores["grid, random loadings", cell], scores[OURS, cell])
            for cell in CELLS
            if cell in set(rows.data)
        }
        adjusted = dict(zip(found, holm(one.p for one in found.values()), strict=True))
        altered = [cell for cell, p in adjusted.items() if p < 0.05]
        told = [f"{cell}: {found[cell].text()}" for cell in altered]
        largest = max(found, key=lambda cell: abs(found[cell].difference))
        return Claim(
            "A random start of the loadings does not significantly alter the results",
            verdict(not altered),
            f"Asked: a paired t test in each of {len(found)} cells, none with p < 0.05 after Holm's correction.",
            "; ".join(told) if told else f"none of {len(found)}; largest {largest}: {found[largest].text()}",
            "said, not shown",
        )

    def _iterations(self, rows: Any) -> Claim:
        counts = {start: rows[rows.start == start].n_iter for start in ("Algorithm 1", OURS)}
        text = [
            f"{start}: median {n.median():.0f}, 95 % below {n.quantile(0.95):.0f}, most {n.max()}"
            for start, n in counts.items()
        ]
        return Claim(
            "Less than a few hundred iterations were needed",
            verdict(bool((counts["Algorithm 1"] < FEW_HUNDRED).all())),
            f"Asked: every run of Algorithm 1, without acceleration, ends below {FEW_HUNDRED} iterations, when the "
            "bound rises by less than 1e-6 per entry of X (the paper does not give its tolerance).",
            "; ".join(text),
            "less than a few hundred",
        )

    def _small_alpha(self, rows: Any) -> Claim:
        from scipy.stats import binomtest

        found = rows[rows.start.isin(["0.1", "1", "10"])].pivot(
            index=["data", "seed"], columns="start", values="collapsed"
        )
        only_small, only_one = (int(((found[a] == 1) & (found[b] == 0)).sum()) for a, b in (("0.1", "1"), ("1", "0.1")))
        p = float(binomtest(only_small, only_small + only_one).pvalue) if only_small + only_one else 1.0
        sums = found.sum()
        return Claim(
            "A too small initial alpha is likely to end at u = 0",
            verdict(only_small > only_one and p < 0.05),
            "Asked: more runs that end at u = 0 from 0.1 than from 1; sign test over the data sets, p < 0.05.",
            f"of {len(found)} data sets {sums['0.1']} from 0.1, {sums['1']} from 1, {sums['10']} from 10 (p = {p:.1g})",
            "said, not shown",
        )
