"""Figure 2: how much noise the noiseless evidence bears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import label_of
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.simulated import OWN, Cell, SimulatedGrid
from gsppca.experiments.spec import Claim, Plan, RunSpec, Table, verdict

SAMPLES = (40, 200)
SNRS = tuple(round(float(snr), 4) for snr in np.linspace(0.1, 3.0, 20))
METHOD = "gsppca-paper"


class NoiseRange(SimulatedGrid):
    """F-score over the signal-to-noise ratio, section 3.2."""

    name = "noise-range"
    title = "Range of the noiseless assumption"
    paper = "Figure 2, section 3.2"
    question = "F-score quartiles over 20 signal-to-noise ratios from 0.1 to 3, n = 40 and 200, 100 data sets each."
    parameters = ("n", "snr", "method")
    n_runs: ClassVar[int] = 100
    notes = notes_of("noise-range")

    def cells(self, plan: Plan) -> Sequence[Cell]:
        """Samples times ratios."""
        snrs = (0.1, 1.0, 3.0) if plan.quick else SNRS
        return [{"n": n, "snr": snr} for n in (SAMPLES[:1] if plan.quick else SAMPLES) for snr in snrs]

    def methods(self, cell: Cell, plan: Plan) -> Sequence[tuple[str, str]]:
        """The paper's procedure alone."""
        return [(METHOD, OWN)]

    def data_name(self, spec: RunSpec) -> str:
        """The simulator of section 3.2."""
        return "noise-range"

    def quartiles(self, rows: Any) -> Any:
        """Quartiles, mean and share of exact recovery, times 100, per method, n and ratio."""
        groups = rows.assign(f=100 * rows.f_score, exact=100.0 * (rows.f_score == 1)).groupby(["method", "n", "snr"])
        found = groups.f.quantile([0.25, 0.5, 0.75]).unstack()
        return found.assign(mean=groups.f.mean(), exact=groups.exact.mean(), runs=groups.size()).reset_index()

    def summary(self, rows: Any) -> list[Table]:
        """One table per method: ratios in rows, what is told of each n in columns."""
        tables = []
        for method, part in self.quartiles(rows).groupby("method"):
            samples = sorted(part.n.unique())
            found = part.set_index(["snr", "n"])
            columns = ["SNR"]
            for n in samples:
                columns += [f"n = {n}: quartiles", "mean", "exact, %"]
            lines = []
            for snr in sorted(part.snr.unique()):
                line = [f"{snr:.2f}"]
                for n in samples:
                    r = found.loc[(snr, n)]
                    line += [f"{r[0.25]:.1f} / {r[0.5]:.1f} / {r[0.75]:.1f}", f"{r['mean']:.1f}", f"{r.exact:.0f}"]
                lines.append(line)
            runs = int(part.runs.min())
            tables.append(Table(f"{label_of(method)}: F-score × 100, {runs} data sets a cell", columns, lines))
        return tables

    def figure(self, rows: Any) -> Any:
        """Median and quartiles over the ratio, one panel per n."""
        found = self.quartiles(rows)
        figure, axes = new_figure(1, found.n.nunique(), height=3.2)
        for axis, (n, part) in zip(axes, found.groupby("n"), strict=True):
            for i, (method, line) in enumerate(part.groupby("method")):
                axis.fill_between(line.snr, line[0.25], line[0.75], color=colour(i), alpha=0.25, linewidth=0)
                axis.plot(line.snr, line[0.5], color=colour(i), marker=".", label=label_of(method))
            axis.axvline(0.5, color="0.6", linewidth=0.8, linestyle=":")
            axis.set(title=f"n = {n}", xlabel="signal-to-noise ratio", ylim=(min(50.0, found[0.25].min() - 5), 102))
        axes[0].set_ylabel("F-score × 100: median, quartiles")
        axes[0].legend(loc="lower right")
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Two sentences of section 3.2."""
        found = self.quartiles(rows[rows.method == METHOD])
        claims = []
        for n, part in found.groupby("n"):
            clear, worst = part[part.snr > 0.5], part.iloc[part.snr.argmin()]
            claims.append(
                Claim(
                    f"Almost perfect recovery as long as SNR > 0.5, n = {n}",
                    verdict(bool((clear["mean"] >= 98).all())),
                    "Asked: mean F-score of at least 98 at every ratio over 0.5.",
                    f"lowest mean {clear['mean'].min():.1f}, lowest first quartile {clear[0.25].min():.1f}",
                    "read off Figure 2, no numbers printed",
                )
            )
            claims.append(
                Claim(
                    f"Close to SNR zero the selection gets worse, n = {n}",
                    verdict(bool(worst[0.5] < clear[0.5].min())),
                    f"Asked: the median at SNR {worst.snr:g} is below the medians over 0.5.",
                    f"median {worst[0.5]:.1f} at SNR {worst.snr:g}",
                    "read off Figure 2",
                )
            )
        return claims
