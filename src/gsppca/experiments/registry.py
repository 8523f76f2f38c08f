"""The experiments, by name. Yours too: `register_experiment`."""

from __future__ import annotations

import importlib

from gsppca.experiments.spec import Experiment

# Imported when asked for: listing experiments must not load what runs them.
_LOCATIONS: dict[str, str] = {
    "starts": "gsppca.experiments.paper.starts:Starts",
    "introductory": "gsppca.experiments.paper.introductory:Introductory",
    "noise-range": "gsppca.experiments.paper.noise_range:NoiseRange",
    "model-selection-gaussian": "gsppca.experiments.paper.model_selection:ModelSelectionGaussian",
    "model-selection-laplacian": "gsppca.experiments.paper.model_selection:ModelSelectionLaplacian",
    "explained-variance": "gsppca.experiments.paper.explained_variance:ExplainedVariance",
    "digits": "gsppca.experiments.paper.digits:Digits",
    "denoising": "gsppca.experiments.paper.denoising:Denoising",
    "pathways": "gsppca.experiments.paper.pathways:Pathways",
    "gene-evidence": "gsppca.experiments.paper.gene_evidence:GeneEvidence",
    "standardised": "gsppca.experiments.beyond.standardised:Standardised",
    "selection-quality": "gsppca.experiments.beyond.selection_quality:SelectionQuality",
    "real-data": "gsppca.experiments.beyond.real_data:RealData",
}
_REGISTERED: dict[str, Experiment] = {}


def register_experiment(experiment: Experiment) -> Experiment:
    """Add an experiment of your own to those that `run_experiment` and the report know by name."""
    _REGISTERED[experiment.name] = experiment
    return experiment


def experiment_names() -> list[str]:
    """Names of all experiments, in the order of the paper."""
    return [*_LOCATIONS, *(name for name in _REGISTERED if name not in _LOCATIONS)]


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name, or by "module:class" for one that is not registered."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    location = _LOCATIONS.get(name, name)
    module, _, attribute = location.partition(":")
    if not attribute:
        raise ValueError(
            f"experiment must be one of {', '.join(experiment_names())}, or 'module:class', got {name!r}. "
            "Register yours with gsppca.experiments.register_experiment."
        )
    experiment: Experiment = getattr(importlib.import_module(module), attribute)()
    return experiment
