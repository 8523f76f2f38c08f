"""Tables 1 and 2 as the page shows them: the closest setting, the printed one, the sweep, and what is left open."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.methods import label_of
from gsppca.experiments.model_selection_sweep import sweep_table
from gsppca.experiments.paper import notes_of, printed
from gsppca.experiments.simulated import SimulatedGrid
from gsppca.experiments.spec import Claim, Table, verdict

# The paper's own row is compared with its printed start of alpha, {0.1, 1, 10}.
PRINTED_START, OUR_START = "gsppca-absolute-grid", "gsppca-paper"
PRINTED_ROWS = {"spca": "SPCA", "sspca": "SSPCA", PRINTED_START: "GSPPCA"}


class ModelSelectionViews(SimulatedGrid):
    """Views of the rows; the runs are in model_selection.py."""

    notes = notes_of("model-selection")
    place: ClassVar[str]
    samples: ClassVar[tuple[int, ...]]
    closest: ClassVar[tuple[float, float]]
    printed_setting: ClassVar[tuple[float, float]]
    variants: ClassVar[tuple[str, ...]]

    def means(self, rows: Any) -> Any:
        """Mean, standard deviation and number of F-scores x 100, per setting, method and n."""
        groups = rows.assign(f=100 * rows.f_score).groupby(["diagonal", "rho", "method", "n"])
        return groups.f.agg(["mean", "std", "size"]).fillna({"std": 0.0})

    def _setting(self, means: Any, setting: tuple[float, float], names: list[str]) -> Table:
        """Methods in rows, n in columns, the paper's row under ours."""
        paper, lines = printed(self.place), []
        part = means.loc[setting]
        for name in names:
            if name not in part.index.get_level_values("method"):
                continue
            ours = part.loc[name]
            lines.append([_label(name), *self._cells(ours), _count(ours["size"])])
            if name in PRINTED_ROWS:
                row = paper[PRINTED_ROWS[name]]
                both = zip(row["mean"], row["sd"], strict=True)
                lines.append([f"{PRINTED_ROWS[name]}, paper", *(f"{mean:g} ± {sd:g}" for mean, sd in both), "50"])
        diagonal, rho = setting
        title = f"F-score × 100, mean ± standard deviation: diagonal {diagonal:g}, rho {rho:g}"
        return Table(title, ["method", *(f"n = {n}" for n in self.samples), "data sets"], lines)

    def _cells(self, ours: Any) -> list[str]:
        """Mean and standard deviation per n; nothing where there are no rows yet."""
        rows = (ours.loc[n] if n in ours.index else None for n in self.samples)
        return ["" if row is None else f"{row['mean']:.1f} ± {row['std']:.1f}" for row in rows]

    def summary(self, rows: Any) -> list[Table]:
        """Closest setting, printed setting, sweep, variants."""
        means = self.means(rows)
        known = set(rows.method) - set(self.variants)
        others = known - set(PRINTED_ROWS) - {OUR_START}
        names = [*PRINTED_ROWS, OUR_START, *sorted(others)]
        tables = [self._setting(means, self.closest, names)]
        if self.printed_setting in means.index.droplevel(["method", "n"]):
            tables.append(self._setting(means, self.printed_setting, names))
        tables += sweep_table(rows, self.place, PRINTED_ROWS)
        tables += self._variants_table(means)
        return tables

    def _variants_table(self, means: Any) -> list[Table]:
        part = means.loc[self.closest]
        shown = [
            name for name in (PRINTED_START, OUR_START, *self.variants) if name in part.index.get_level_values("method")
        ]
        if len(shown) < 2:
            return []
        lines = [[_label(name), *self._cells(part.loc[name])] for name in shown]
        row = printed(self.place)["GSPPCA"]
        lines.append(["paper", *(f"{mean:g} ± {sd:g}" for mean, sd in zip(row["mean"], row["sd"], strict=True))])
        title = "What the paper leaves open in GSPPCA (diagonal {:g}, rho {:g})".format(*self.closest)
        return [Table(title, ["", *(f"n = {n}" for n in self.samples)], lines)]

    def figure(self, rows: Any) -> Any:
        """Means over n at the closest setting, ours and the paper's."""
        part, paper = self.means(rows).loc[self.closest], printed(self.place)
        figure, (axis,) = new_figure(1, 1, height=3.6, width=6.5)
        names = [name for name in dict.fromkeys(part.index.get_level_values("method")) if name not in self.variants]
        for i, name in enumerate(sorted(names, key=lambda one: (one not in PRINTED_ROWS, one))):
            ours = part.loc[name]
            axis.errorbar(
                ours.index,
                ours["mean"],
                ours["std"],
                color=colour(i),
                marker="o",
                markersize=4,
                linewidth=1.3,
                capsize=2,
                label=_label(name),
            )
            if name in PRINTED_ROWS:
                axis.plot(
                    paper["n"],
                    paper[PRINTED_ROWS[name]]["mean"],
                    color=colour(i),
                    linestyle=":",
                    marker="x",
                    label=f"{PRINTED_ROWS[name]}, paper",
                )
        axis.set(xscale="log", xlabel="n", ylabel="F-score × 100", ylim=(0, 105))
        axis.set_xticks(self.samples, [str(n) for n in self.samples], minor=False)
        axis.set_xticks([], minor=True)
        axis.legend(fontsize=8, ncols=2, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of section 3.3, at the closest setting."""
        part = self.means(rows).loc[self.closest]["mean"]
        paper, claims = printed(self.place), []
        ours, spca = part.loc[PRINTED_START], part.loc["spca"]
        sspca = part.loc["sspca"] if "sspca" in part.index.get_level_values("method") else ours.iloc[:0]
        both = ours.index.intersection(sspca.index)
        margin = min((ours - spca).min(), (sspca - spca[sspca.index]).min() if len(sspca) else np.inf)
        claims.append(
            Claim(
                "The two globally sparse methods vastly outperform SPCA",
                verdict(bool(margin > 20)),
                "Asked: a mean F-score more than 20 above SPCA's at every n.",
                f"smallest margin {margin:.1f}",
                f"smallest margin {_margin(paper):.1f}",
            )
        )
        few = [n for n in both if n < 100]
        if few:
            gaps = {n: ours[n] - sspca[n] for n in few}
            claims.append(
                Claim(
                    "For n < p/2 GSPPCA significantly outperforms SSPCA",
                    verdict(all(gap > 0 for gap in gaps.values())),
                    "Asked: a larger mean F-score at n = 40, 50 and 66.",
                    ", ".join(f"{gap:+.1f} at n = {n}" for n, gap in gaps.items()),
                    ", ".join(f"{g - s:+.1f} at n = {n}" for n, g, s in _pairs(paper) if n < 100),
                )
            )
        many = [n for n in both if n >= 100]
        if many:
            claims.append(
                Claim(
                    "For n >= p/2 both globally sparse methods perform very well",
                    verdict(all(min(ours[n], sspca[n]) >= 88 for n in many)),
                    "Asked: mean F-scores of at least 88, the lowest printed.",
                    ", ".join(f"GSPPCA {ours[n]:.1f}, SSPCA {sspca[n]:.1f} at n = {n}" for n in many),
                    ", ".join(f"GSPPCA {g:g}, SSPCA {s:g} at n = {n}" for n, g, s in _pairs(paper) if n >= 100),
                )
            )
            claims.append(self._who_wins(ours, sspca, many))
        if "vsnpca" in part.index.get_level_values("method"):
            claims.append(self._vsnpca(rows))
        claims.append(self._table_comes_out(part))
        return claims

    def _who_wins(self, ours: Any, sspca: Any, many: list[int]) -> Claim:
        gaussian = self.place == "table-1"
        text = (
            "GSPPCA is slightly better than SSPCA for n >= p/2"
            if gaussian
            else "SSPCA adapts better to Laplacian noise at n = p/2"
        )
        shown = many if gaussian else [n for n in many if n == 100] or many
        gaps = {n: ours[n] - sspca[n] for n in shown}
        holds = all(gap >= 0 for gap in gaps.values()) if gaussian else all(gap < 0 for gap in gaps.values())
        pairs = _pairs(printed(self.place))
        return Claim(
            text,
            verdict(holds),
            "Asked: the sign of the difference of the means.",
            ", ".join(f"{gap:+.1f} at n = {n}" for n, gap in gaps.items()),
            ", ".join(f"{g - s:+.1f} at n = {n}" for n, g, s in pairs if n in shown),
        )

    def _vsnpca(self, rows: Any) -> Claim:
        diagonal, rho = self.closest
        part = rows[(rows.method == "vsnpca") & (rows.diagonal == diagonal) & (rows.rho == rho)]
        sizes = part.groupby("n").n_selected.mean()
        return Claim(
            "The BIC of vsnPCA-l0 selects very few variables",
            verdict(bool((sizes[sizes.index < 100] < 10).all())),
            "Asked: fewer than 10 of the 20 on average, for every n < p/2.",
            ", ".join(f"{size:.1f} at n = {n}" for n, size in sizes.items()),
            "not printed",
        )

    def _table_comes_out(self, part: Any) -> Claim:
        paper, away = printed(self.place), {}
        for name, title in PRINTED_ROWS.items():
            if name in part.index.get_level_values("method"):
                row = dict(zip(paper["n"], zip(paper[title]["mean"], paper[title]["sd"], strict=True), strict=True))
                ours = part.loc[name]
                outside = [n for n in ours.index if abs(ours[n] - row[n][0]) > max(row[n][1], 1.0)]
                away[title] = f"{title}: " + (
                    f"outside at n = {', '.join(map(str, outside))}" if outside else "all inside"
                )
        return Claim(
            "The printed means come out at the closest setting",
            verdict(all("all inside" in text for text in away.values())),
            "Asked: our mean within one printed standard deviation (at least 1 point) of the printed mean.",
            "; ".join(away.values()),
            "",
        )


def _label(name: str) -> str:
    return "GSPPCA, start relative to the data" if name == OUR_START else label_of(name)


def _count(sizes: Any) -> str:
    return f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()}–{sizes.max()}"


def _pairs(paper: Any) -> list[tuple[int, float, float]]:
    return list(zip(paper["n"], paper["GSPPCA"]["mean"], paper["SSPCA"]["mean"], strict=True))


def _margin(paper: Any) -> float:
    columns = zip(paper["GSPPCA"]["mean"], paper["SSPCA"]["mean"], paper["SPCA"]["mean"], strict=True)
    return min(min(ours, theirs) - local for ours, theirs, local in columns)
