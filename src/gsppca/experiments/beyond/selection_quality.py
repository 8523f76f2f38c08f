"""Which method to trust: the paper's, ours, and every peer, over many kinds of simulated data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import get_method, label_of, own_procedure, register_method
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.simulated import OWN, RAW, STANDARDISED, TRUE, Cell, SimulatedGrid
from gsppca.experiments.spec import Claim, Plan, Row, RunSpec, Table, verdict

SAMPLES = (40, 66, 100, 200)
SSPCA_RUNS = 10
WIDEST = 5000
PAPER, NEW = "gsppca-paper", "gsppca-joint"
# The search that the joint method had before: its rows stand, its code is gone.
PREVIOUS = "gsppca-joint-search"
PIECES = (PREVIOUS, NEW, "gsppca-joint-robust", "gsppca-fdr")
PEERS = ("sspca", "vsnpca", "svnpca", "spca", "tpca", "variance")


def _removed(n_components: int, size: int | None, seed: int) -> Any:
    raise ValueError(f"{PREVIOUS} cannot be run again: the search it stands for was replaced.")


register_method(PREVIOUS, _removed, "previous joint search")
register_method("gsppca-joint-robust", own_procedure(robust=True), "joint method, always clipped")
register_method("gsppca-fdr", own_procedure(n_features_to_select="fdr"), "noise path, FDR 10 %")


class SelectionQuality(SimulatedGrid):
    """F-scores of the procedures over cells of simulated data."""

    name = "selection-quality"
    title = "Beyond the paper: which procedure to trust"
    paper = "new"
    question = "The paper's method, ours, and all peers with their own rule and the true size."
    parameters = ("data", "n", "p", "q", "d", "snr", "rho", "noise", "scale", "method", "size")
    values: ClassVar[tuple[str, ...]] = (*SimulatedGrid.values, "supported")
    notes = notes_of("selection-quality")

    def cells(self, plan: Plan) -> Sequence[Cell]:
        """Sections 3.2 and 3.3, wide data, few and many relevant variables, uneven factors, nothing at all."""
        simulations: list[Cell] = [{"data": "noise-range", "snr": snr} for snr in (0.1, 0.5, 2.0)]
        simulations += [
            {"data": "model-selection", "rho": rho, "noise": noise}
            for noise in ("gaussian", "laplacian", "student")
            for rho in (0.5, 0.7)
        ]
        cells = [simulation | {"n": n} for simulation in simulations for n in SAMPLES]
        # The same ratio of signal to noise per relevant variable as SNR 0.5 has at p = 200.
        cells += [{"data": "noise-range", "snr": 100 / p, "n": 50, "p": p, "d": 5} for p in (2000, WIDEST)]
        cells += [{"data": "noise-range", "snr": 0.1, "n": 66, "q": 5, "d": 3}]
        cells += [{"data": "noise-range", "snr": 1.0, "n": 66, "p": 500, "q": 100}]
        cells += [{"data": "strengths", "n": 100}]
        cells += [{"data": "noise-only", "n": 66, "p": 200, "noise": noise} for noise in ("gaussian", "laplacian")]
        if plan.quick:
            cells = [cells[4], cells[-3], cells[-2]]
        return [cell | {"scale": scale} for cell in cells for scale in (RAW, STANDARDISED)]

    def methods(self, cell: Cell, plan: Plan) -> Sequence[tuple[str, str]]:
        """All by their own rule, and, where something is relevant, at the true size."""
        own = [(name, OWN) for name in (PAPER, *PIECES[1:], *PEERS)]
        true = [(name, TRUE) for name in (PAPER, NEW, *PEERS)] if cell["data"] != "noise-only" else []
        return [one for one in own + true if not (plan.quick and one[0] == "sspca")]

    def seeds(self, cell: Cell, method: str, plan: Plan) -> range:
        """Fewer for SSPCA."""
        return plan.seeds(SSPCA_RUNS if method == "sspca" else self.n_runs, quick=1)

    def run(self, spec: RunSpec) -> list[Row]:
        """Simulate, select, score; and whether the method calls its answer supported, if it can tell."""
        import warnings

        from gsppca import MostVariablesWarning, NoStructureWarning, SmallSampleWarning

        supported_runs: list[bool | None] = []
        method = get_method(spec["method"])

        class Watched:
            def select(self, X: Any, n_components: int, size: int | None, seed: int) -> Any:
                support, model = method.select(X, n_components, size, seed)
                supported_runs.append(getattr(model, "supported_", None))
                return support, model

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoStructureWarning)
            warnings.simplefilter("ignore", MostVariablesWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            rows = self.rows_of(spec, Watched())
        supported = supported_runs[0]
        return [row | {"supported": None if supported is None else int(supported)} for row in rows]

    @staticmethod
    def labels(rows: Any) -> Any:
        """Name of the cell of each row."""
        names = {"noise-range": "3.2", "model-selection": "3.3", "strengths": "uneven factors", "noise-only": "noise"}
        text = rows.data.map(names)
        forms = {"snr": "SNR {:g}", "rho": "rho {:g}", "noise": "{}", "p": "p = {:g}", "q": "q = {:g}"}
        for column, form in forms.items():
            text = text + rows[column].map(f" {form}".format, na_action="ignore").fillna("")
        return text + ", " + rows.scale

    def means(self, rows: Any) -> Any:
        """Mean and standard error of F-scores x 100 per cell, rule, method and n."""
        groups = rows.assign(f=100 * rows.f_score, cell=self.labels(rows)).groupby(["cell", "n", "size", "method"])
        return groups.f.agg(["mean", "sem", "size"]).fillna({"sem": 0.0})

    def summary(self, rows: Any) -> list[Table]:
        """One table of F-scores for each rule, one of what noise and false discoveries look like."""
        tables = []
        structured = rows[rows.data != "noise-only"]
        means = self.means(structured)
        titles = {OWN: "Size chosen by each method's own rule", TRUE: "Given the true size"}
        for size, title in titles.items():
            part = means.xs(size, level="size")
            present = [m for m in (PAPER, *PIECES, *PEERS) if m in part.index.get_level_values("method")]
            lines = []
            for cell, n in dict.fromkeys((cell, n) for cell, n, _ in part.index):
                found = [part.loc[(cell, n, m)] if (cell, n, m) in part.index else None for m in present]
                texts = ["" if one is None else f"{one['mean']:.1f} ± {one['sem']:.1f}" for one in found]
                lines.append([f"{cell}, n = {n}", *texts])
            average = part["mean"].unstack("method").mean()
            lines.append(["mean of all cells", *(f"{average[m]:.1f}" for m in present)])
            least = part["size"].groupby("method").min()
            lines.append(["data sets a cell", *(f"{least[m]:.0f}" for m in present)])
            columns = ["cell", *(label_of(m) for m in present)]
            tables.append(Table(f"{title}: F-score × 100, mean ± standard error", columns, lines))
        return [*tables, self._false(rows)]

    def _false(self, rows: Any) -> Table:
        """Share of false ones among the selected, and what each method finds in noise."""
        own = rows[rows["size"] == OWN]
        lines = []
        for method in (PAPER, *PIECES, *PEERS):
            mine = own[own.method == method]
            if len(mine):
                noise, other = mine[mine.data == "noise-only"], mine[mine.data != "noise-only"]
                supported_runs = noise.supported.dropna()
                lines.append(
                    [
                        label_of(method),
                        f"{100 * (1 - other.precision).mean():.1f}",
                        f"{noise.n_selected.mean():.1f}",
                        "" if supported_runs.empty else f"{100 * supported_runs.mean():.0f}",
                        f"{mine.seconds.median():.2f}",
                        f"{mine[mine.p == WIDEST].seconds.median():.2f}",
                    ]
                )
        columns = ["method", "false among selected, %", "selected from noise", "noise called supported, % of runs"]
        columns += ["seconds, median", f"at p = {WIDEST}"]
        return Table("False discoveries, and time (one core, several runs at once)", columns, lines)

    def figure(self, rows: Any) -> Any:
        """Own rule: the new procedure against the paper's, a point per cell."""
        means = self.means(rows[rows.data != "noise-only"])["mean"].xs(OWN, level="size").unstack("method")
        figure, axes = new_figure(1, 1, height=4.5, width=5)
        axis = axes[0]
        for i, scale in enumerate((RAW, STANDARDISED)):
            part = means[means.index.get_level_values("cell").str.endswith(scale)]
            axis.plot(part[PAPER], part[NEW], ".", color=colour(i), label=scale)
        axis.plot([0, 100], [0, 100], color="0.7", linewidth=1)
        axis.set(xlabel="F-score × 100, paper's procedure", ylabel=f"{label_of(NEW)}", xlim=(0, 102), ylim=(0, 102))
        axis.legend()
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """The goal: in every cell at least the paper's procedure, and the best peer given the true size."""
        means = self.means(rows[rows.data != "noise-only"])
        ours = means.xs(OWN, level="size").xs(NEW, level="method")
        paper = means.xs(OWN, level="size").xs(PAPER, level="method")
        peers = means.xs(TRUE, level="size")
        peers = peers[peers.index.get_level_values("method").isin(PEERS)]
        best = peers.loc[peers.groupby(["cell", "n"])["mean"].idxmax()].droplevel("method")
        answers = []
        for text, other in (("the paper's procedure", paper), ("the best peer given the true size", best)):
            slack = 2 * (ours["sem"] ** 2 + other["sem"] ** 2) ** 0.5
            lost = ours["mean"] - other["mean"] < -slack - 1e-9
            worst = (ours["mean"] - other["mean"])[lost].sort_values()
            names = "; ".join(f"{cell}, n = {n}: {gap:.1f}" for (cell, n), gap in worst.items())
            answers.append(
                Claim(
                    f"In every cell the new procedure is at least {text}, within two standard errors",
                    verdict(not lost.any()),
                    f"Fails in {int(lost.sum())} of {len(lost)} cells. {names}".strip(),
                    f"mean {ours['mean'].mean():.1f}",
                    f"mean {other['mean'].mean():.1f}",
                )
            )
        return answers
