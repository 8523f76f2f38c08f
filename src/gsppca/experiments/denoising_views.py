"""Views of the denoising rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.paper import notes_of, printed
from gsppca.experiments.spec import Claim, Experiment, Table, verdict

LABELS = {
    "none": "no denoising",
    "wavelet-soft": "wavelet, soft threshold",
    "wavelet-hard": "wavelet, hard threshold",
    "pca": "PCA",
    "tpca": "tPCA",
    "spca": "SPCA",
    "gsppca-paper": "GSPPCA",
}
CASE_TITLES = {
    "identical": "signals as the paper describes them: they differ by their noise only; coefficients centred",
    "uncentred": "the same signals, coefficients not centred",
    "varying": "the states (A) or weights (B) of each signal vary by 30 %; coefficients centred",
}
PAPER_NAMES = {"pca": "PCA", "tpca": "tPCA", "spca": "SPCA", "gsppca-paper": "GSPPCA"}


class DenoisingViews(Experiment):
    """Tables, figure and claims of section 4; the runs are in denoising.py."""

    notes = notes_of("denoising")

    def means(self, rows: Any) -> Any:
        """Means over the training sets."""
        numbers = ["error", "error_sd", "approximation_error", "detail_error", "n_selected", "n_axes"]
        return rows.groupby(["case", "scenario", "method"])[numbers].mean()

    def summary(self, rows: Any) -> list[Table]:
        """Table 4, once per case; and what the errors consist of."""
        means, paper, tables = self.means(rows), printed("table-4"), []
        cases = [case for case in CASE_TITLES if case in means.index.get_level_values("case")]
        for case in cases:
            part, lines = means.loc[case], []
            for method, label in LABELS.items():
                line = [label]
                for scenario in ("A", "B"):
                    row = part.loc[scenario, method]
                    theirs = paper[scenario].get(PAPER_NAMES.get(method, "wavelet" if method == "none" else ""))
                    line += [
                        f"{row.error:.3f} ± {row.error_sd:.3f}",
                        f"{theirs[0]:.3f} ± {theirs[1]:.3f}" if theirs else "",
                    ]
                    line.append(f"{row.n_selected:.1f}")
                lines.append(line)
            columns = ["method"]
            for scenario in ("A", "B"):
                columns += [f"{scenario}, ours", f"{scenario}, paper", f"{scenario}, variables"]
            tables.append(Table(f"Sum of squared errors: {CASE_TITLES[case]}", columns, lines))
        return tables

    def figure(self, rows: Any) -> Any:
        """One test signal per scenario and its reconstructions."""
        case = "varying" if "varying" in set(rows.case) else rows.case.iloc[0]
        part = rows[(rows.case == case) & (rows.seed == 0)].set_index(["scenario", "method"]).example
        shown = [name for name in LABELS if name != "wavelet-hard"]
        figure, axes = new_figure(len(shown), 2, height=1.25)
        for i, method in enumerate(shown):
            for j, scenario in enumerate(("A", "B")):
                axis = axes[2 * i + j]
                if (scenario, method) in part.index:
                    signal = np.array(str(part[scenario, method]).split(), dtype=float)
                    axis.plot(np.arange(signal.size) * 0.005, signal, color=colour(0), linewidth=0.9)
                axis.set_title(f"{scenario}: {'observed' if method == 'none' else LABELS[method]}", fontsize=9)
                axis.set_xticks([] if i < len(shown) - 1 else [0, 0.5, 1])
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """The order of Table 4, per scenario, in the case that has a structure to find and in the others."""
        means, claims = self.means(rows).error, []
        paper = printed("table-4")
        for scenario in ("A", "B"):
            theirs = paper[scenario]
            best_other = min(error for name, (error, _) in theirs.items() if name != "GSPPCA")
            printed_best = f"GSPPCA {theirs['GSPPCA'][0]:.3f}, best other {best_other:.3f}"
            ours, holds = [], []
            for case in means.index.get_level_values("case").unique():
                part = means.loc[case, scenario]
                others = part.drop("gsppca-paper")
                holds.append(bool(part["gsppca-paper"] < others.min()))
                ours.append(
                    f"{case}: {part['gsppca-paper']:.3f} against {others.min():.3f} ({LABELS[others.idxmin()]})"
                )
            claims.append(
                Claim(
                    f"GSPPCA achieves the best reconstruction, scenario {scenario}",
                    verdict(all(holds)),
                    "Asked: the smallest mean error in every case.",
                    "; ".join(ours),
                    printed_best,
                )
            )
            varied = means.loc[
                "varying" if "varying" in means.index.get_level_values("case") else "identical", scenario
            ]
            wavelet = min(varied["wavelet-soft"], varied["wavelet-hard"])
            claims.append(
                Claim(
                    f"PCA denoises better than the wavelet alone, scenario {scenario}",
                    verdict(bool(varied["pca"] < wavelet)),
                    "Asked: an error below soft and hard thresholding, where signals vary.",
                    f"{varied['pca']:.3f} against {wavelet:.3f}",
                    f"{theirs['PCA'][0]:.3f} against {theirs['wavelet'][0]:.3f}",
                )
            )
            gain = float(varied["pca"] - varied["tpca"])
            claims.append(
                Claim(
                    f"Thresholding the loadings of PCA clearly improves it, scenario {scenario}",
                    verdict(gain > 0.01),
                    "Asked: an error smaller by more than 0.01. Of 1750 loadings hardly any is under 0.001.",
                    f"{gain:+.3f}",
                    f"{theirs['PCA'][0] - theirs['tPCA'][0]:+.3f}",
                )
            )
        return claims
