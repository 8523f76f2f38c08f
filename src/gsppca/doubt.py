"""When the answer of a fit should not be taken at its word: `supported_`, and a warning that says what to do."""

from __future__ import annotations

import warnings
from typing import Any

from gsppca.exceptions import MostVariablesWarning, NoStructureWarning
from gsppca.rankings import Ranked

CALLER_OF_FIT = 4  # stack level: warn, the function here, fit, the user's line


def settle_doubt(model: Any, ranked: Ranked) -> None:
    """Say when nothing stands out of the noise, or nearly everything does.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        Fitted, with `supported_` as its evidence says.
    ranked : Ranked
        What its ranking gave: a rule that is not the evidence's decides on `supported_` itself.
    """
    rule = model.n_features_to_select
    if ranked.size is not None:
        model.supported_ = not ranked.nothing_passes
        if ranked.nothing_passes:
            level = f"fdr={model.fdr:g}" if rule == "fdr" else f"min_r2={model.min_r2:g}"
            _warn(
                f"No variable passes {level}: there is no structure that this rule would vouch for. The one ranked "
                "first is kept, so that transform works; supported_ is False.",
                NoStructureWarning,
            )
    elif model.evidence == "joint" and not model.supported_ and (rule == "evidence" or model.n_selected_ > 1):
        # One variable, asked for, shares nothing with others: there is nothing to judge.
        _warn(
            "No support beats the empty model, in which every variable is noise: there is no structure that the "
            f"evidence would vouch for. The best support found, of {model.n_selected_} variables, is kept, and "
            "supported_ is False.",
            NoStructureWarning,
        )
    elif model.evidence == "joint" and rule == "evidence":
        n_varying = len(model._selection.order)
        if 2 * model.n_selected_ > n_varying:
            _warn(
                f"{model.n_selected_} of {n_varying} variables are kept: most of them share factors with others, "
                "however weakly, and the evidence finds it. For fewer, set n_features_to_select (on the command line "
                "--size) to a number, to 'r2' for a minimum effect, or to 'fdr'; evidence='noiseless' prefers large "
                "variances.",
                MostVariablesWarning,
            )


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=CALLER_OF_FIT)
