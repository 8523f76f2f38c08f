"""Figure 4 and Table 4: denoising signals by projecting their wavelet coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gsppca.experiments.methods import column_order, paper_procedure
from gsppca.experiments.paper.denoising_views import DenoisingViews
from gsppca.experiments.spec import Plan, Row, RunSpec

N_TRAIN, N_TEST, DIMENSION, NOISE_SD = 100, 50, 10, 0.2
# How the training signals differ, and whether their coefficients are centred: the paper does not say.
CASES = {"identical": (0.0, True), "uncentred": (0.0, False), "varying": (0.3, True)}
METHODS = ("clean", "none", "wavelet-soft", "wavelet-hard", "pca", "tpca", "spca", "gsppca-paper")


class Denoising(DenoisingViews):
    """Reconstruction error of test signals, section 4."""

    name = "denoising"
    title = "Denoising of signals"
    paper = "Figure 4 and Table 4, section 4"
    question = "Sum of squared errors on 50 test signals, scenarios A and B; n = 100, p = 175, d = 10."
    parameters = ("scenario", "case", "method")
    values = ("error", "error_sd", "approximation_error", "detail_error", "n_selected", "n_axes", "example")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """Scenarios, cases, methods, and data sets."""
        for scenario in ("A", "B"):
            for case in ("identical",) if plan.quick else CASES:
                for method in METHODS:
                    for seed in plan.seeds(20, quick=1):
                        yield RunSpec.of(seed, {"scenario": scenario, "case": case, "method": method})

    def run(self, spec: RunSpec) -> list[Row]:
        """Train, reconstruct the test signals, and keep the first of them for the figure."""
        from gsppca.datasets import make_signals, wavelet_coefficients, wavelet_signals

        variation, centred = CASES[spec["case"]]
        train_seed, test_seed = np.random.SeedSequence(spec.seed).spawn(2)
        train = make_signals(spec["scenario"], N_TRAIN, NOISE_SD, variation, train_seed)
        test = make_signals(spec["scenario"], N_TEST, NOISE_SD, variation, test_seed)
        seen, clean = (wavelet_coefficients(signals, test.wavelet) for signals in (test.noisy, test.clean))
        learnt = wavelet_coefficients(train.noisy, train.wavelet).details
        order = column_order(learnt.shape[1], spec.seed)
        if spec["method"] == "clean":  # the signal itself, for the figure
            seen = clean
        details, selected, axes = denoise(spec["method"], learnt[:, order], seen.details[:, order], centred, spec.seed)
        restored = np.empty_like(details)
        restored[:, order] = details
        signals = wavelet_signals(seen, restored)
        errors = np.sum((signals - test.clean) ** 2, axis=1)
        return [
            {
                "error": errors.mean(),
                "error_sd": errors.std(ddof=1),
                "approximation_error": np.sum((seen.approximation - clean.approximation) ** 2, axis=1).mean(),
                "detail_error": np.sum((restored - clean.details) ** 2, axis=1).mean(),
                "n_selected": selected,
                "n_axes": axes,
                # Only the first data set is drawn.
                "example": " ".join(f"{value:.3f}" for value in signals[0]) if spec.seed == 0 else "",
            }
        ]


def denoise(method: str, train: Any, test: Any, centred: bool, seed: int) -> tuple[Any, int, int]:
    """Denoised coefficients of the test signals, how many variables were used, and how many axes."""
    n_features = train.shape[1]
    if method in ("none", "clean"):
        return test, n_features, n_features
    if method.startswith("wavelet"):
        # Donoho and Johnstone's universal threshold, with the noise known.
        limit = NOISE_SD * np.sqrt(2 * np.log(200))
        kept = np.where(np.abs(test) > limit, test, 0.0)
        kept = kept - limit * np.sign(kept) if method == "wavelet-soft" else kept
        return kept, int(np.mean(np.sum(kept != 0, axis=1))), 0
    # Estimators centre; beside their mirror image, data have mean zero and the same second moments.
    rows = train if centred else np.vstack([train, -train])
    model = _model(method, seed).fit(rows)
    axes = model.components_[np.any(model.components_ != 0, axis=1)]
    from gsppca.metrics import project

    return project(test, axes, rows.mean(axis=0)), int(model.support_.sum()), len(axes)


def _model(method: str, seed: int) -> Any:
    from gsppca.baselines import SPCA, PlainPCA, ThresholdedPCA

    if method == "gsppca-paper":
        return paper_procedure(DIMENSION, None, seed)
    if method == "spca":
        # An infinite ridge whatever n, so that the mirrored rows do not change the method.
        return SPCA(DIMENSION, ridge=float("inf"), random_state=seed)
    return {"pca": PlainPCA, "tpca": ThresholdedPCA}[method](DIMENSION, random_state=seed)
