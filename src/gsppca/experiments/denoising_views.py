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
        """The order of Table 4 in every reading, and two sentences on the others where signals vary."""
        means, paper = self.means(rows).error, printed("table-4")
        cases = [case for case in CASE_TITLES if case in means.index.get_level_values("case")]
        claims = []
        for scenario in ("A", "B"):
            claims += [self._best(means.loc[case, scenario], scenario, case) for case in cases]
            theirs, ours = paper[scenario], means.loc[cases[-1], scenario]
            wavelet = min(ours["wavelet-soft"], ours["wavelet-hard"])
            claims.append(
                Claim(
                    f"PCA denoises better than the wavelet alone, scenario {scenario}",
                    verdict(bool(ours["pca"] < wavelet)),
                    f"Asked: an error below soft and hard thresholding; signals {cases[-1]}.",
                    f"{ours['pca']:.3f} against {wavelet:.3f}",
                    f"{theirs['PCA'][0]:.3f} against {theirs['wavelet'][0]:.3f}",
                )
            )
            gain = float(ours["pca"] - ours["tpca"])
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

    def _best(self, errors: Any, scenario: str, case: str) -> Claim:
        theirs = printed("table-4")[scenario]
        others = errors.drop("gsppca-paper")
        best_other = min(error for name, (error, _) in theirs.items() if name != "GSPPCA")
        return Claim(
            f"GSPPCA achieves the best reconstruction, scenario {scenario}, signals {case}",
            verdict(bool(errors["gsppca-paper"] < others.min())),
            "Asked: the smallest mean error.",
            f"{errors['gsppca-paper']:.3f} against {others.min():.3f} ({LABELS[others.idxmin()]})",
            f"{theirs['GSPPCA'][0]:.3f} against {best_other:.3f}",
        )
