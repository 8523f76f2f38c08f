"""Views of the denoising rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gsppca.experiments.drawing import colour, new_figure
from gsppca.experiments.paired import judge, paired
from gsppca.experiments.paper.printed import notes_of, printed
from gsppca.experiments.spec import Claim, Experiment, Table, verdict

CLEAN = "clean"
N_COEFFICIENTS = 175
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
        """One test signal per scenario and its reconstructions, over the clean signal in grey."""
        case = "identical"  # what the text describes
        part = rows[(rows.case == case) & (rows.seed == 0)].set_index(["scenario", "method"]).example
        shown = [name for name in LABELS if name != "wavelet-hard"]
        figure, axes = new_figure(len(shown), 2, height=1.25)
        for i, method in enumerate(shown):
            for j, scenario in enumerate(("A", "B")):
                axis = axes[2 * i + j]
                for name, shade, width in ((CLEAN, "0.65", 1.8), (method, colour(0), 0.9)):
                    if (scenario, name) in part.index:
                        signal = np.array(str(part[scenario, name]).split(), dtype=float)
                        axis.plot(np.arange(signal.size) * 0.005, signal, color=shade, linewidth=width)
                axis.set_title(f"{scenario}: {'observed' if method == 'none' else LABELS[method]}", fontsize=9)
                axis.set_xticks([] if i < len(shown) - 1 else [0, 0.5, 1])
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """The order of Table 4 in every reading, and the sentences on the others, where signals vary."""
        cases = [case for case in CASE_TITLES if case in set(rows.case)]
        claims = []
        for scenario in ("A", "B"):
            part = rows[rows.scenario == scenario]
            claims += [self._best(_errors(part, case), scenario, case) for case in cases]
            errors = _errors(part, cases[-1])
            claims += [self._pca(errors, scenario, cases[-1]), self._thresholding(errors, scenario, cases[-1])]
            claims.append(self._competitive(errors, scenario, cases[-1]))
            claims += self._sizes(part, scenario, cases)
        return claims

    def _best(self, errors: Any, scenario: str, case: str) -> Claim:
        theirs = printed("table-4")[scenario]
        means = errors.mean()
        tests = {name: paired(errors[name], errors["gsppca-paper"]) for name in errors if name != "gsppca-paper"}
        rival = means.drop("gsppca-paper").idxmin()
        best_other = min(error for name, (error, _) in theirs.items() if name != "GSPPCA")
        return Claim(
            f"GSPPCA achieves the best reconstruction, scenario {scenario}, signals {case}",
            judge(tests.values()),
            "Asked: a smaller error than every other method; paired t test over the training sets, p < 0.05 two-sided.",
            f"{means['gsppca-paper']:.3f} against {means[rival]:.3f} ({LABELS[rival]}; t = {tests[rival].t:.1f})",
            f"{theirs['GSPPCA'][0]:.3f} against {best_other:.3f}",
        )

    def _pca(self, errors: Any, scenario: str, case: str) -> Claim:
        means, theirs = errors.mean(), printed("table-4")[scenario]
        wavelets = [paired(errors[name], errors["pca"]) for name in ("wavelet-soft", "wavelet-hard")]
        best = min(means["wavelet-soft"], means["wavelet-hard"])
        return Claim(
            f"PCA denoises better than the wavelet alone, scenario {scenario}",
            judge(wavelets),
            f"Asked: an error below soft and hard thresholding; signals {case}; paired t test, p < 0.05.",
            f"{means['pca']:.3f} against {best:.3f}",
            f"{theirs['PCA'][0]:.3f} against {theirs['wavelet'][0]:.3f}",
        )

    def _thresholding(self, errors: Any, scenario: str, case: str) -> Claim:
        theirs, test = printed("table-4")[scenario], paired(errors["pca"], errors["tpca"])
        return Claim(
            f"Thresholding the loadings of PCA clearly improves it, scenario {scenario}",
            verdict(test.larger and test.difference > 0.01),
            f"Asked: an error smaller by more than 0.01; signals {case}; paired t test, p < 0.05. Of 1750 loadings "
            "hardly any is under 0.001.",
            test.text(3),
            f"{theirs['PCA'][0] - theirs['tPCA'][0]:+.3f}",
        )

    def _competitive(self, errors: Any, scenario: str, case: str) -> Claim:
        means, theirs, test = errors.mean(), printed("table-4")[scenario], paired(errors["tpca"], errors["spca"])
        return Claim(
            f"Thresholded PCA is competitive with SPCA, scenario {scenario}",
            verdict(not test.larger or test.difference <= 0.02 * means["spca"]),
            f"Asked: an error that is not significantly larger, or by at most 2 %; signals {case}; paired t test.",
            f"{means['tpca']:.3f} against {means['spca']:.3f} (t = {test.t:.1f})",
            f"{theirs['tPCA'][0]:.3f} against {theirs['SPCA'][0]:.3f}",
        )

    def _sizes(self, rows: Any, scenario: str, cases: list[str]) -> list[Claim]:
        """How many of the 175 coefficients are used."""
        wanted = printed("table-4")["selected"][scenario]
        sizes = rows.groupby(["method", "case"]).n_selected.agg(["mean", "min", "max"])
        ours = {case: sizes.loc[("gsppca-paper", case)] for case in cases}
        spca = {case: sizes.loc[("spca", case), "mean"] for case in cases}
        return [
            Claim(
                f"GSPPCA selects q = {wanted} coefficients, scenario {scenario}",
                verdict(any(row["min"] <= wanted <= row["max"] for row in ours.values())),
                "Asked: the printed number is among those of the training sets, in one reading at least.",
                "; ".join(f"{case}: {r['mean']:.1f} ({r['min']:.0f} to {r['max']:.0f})" for case, r in ours.items()),
                str(wanted),
            ),
            Claim(
                f"SPCA keeps most wavelet levels active, GSPPCA a few, scenario {scenario}",
                verdict(all(spca[case] > N_COEFFICIENTS / 2 > 2 * ours[case]["mean"] for case in cases)),
                f"Asked in every reading: SPCA uses more than half of the {N_COEFFICIENTS} coefficients, GSPPCA less "
                "than a quarter.",
                "; ".join(f"{case}: SPCA {spca[case]:.0f}, GSPPCA {ours[case]['mean']:.0f}" for case in cases),
                "said, not shown",
            ),
        ]


def _errors(rows: Any, case: str) -> Any:
    """Errors of the methods on the training sets, seeds in rows; not of the clean signal."""
    part = rows[(rows.case == case) & (rows.method != "clean")]
    return part.pivot(index="seed", columns="method", values="error")
