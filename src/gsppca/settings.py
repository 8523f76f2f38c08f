"""The parameters of an estimator, checked, and what "auto" stands for.

Everything that is "auto" follows the evidence: with ``evidence="joint"`` it is the procedure of docs/beyond.md, with
``evidence="noiseless"`` the paper's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca.checks import check_choice, check_count, check_number, is_integer, is_number
from gsppca.core.noise import METHODS
from gsppca.core.size import SizePrior

RANKINGS = ("vem", "noise-path")
EVIDENCES = ("joint", "noiseless", "noisy")
RULES = ("evidence", "fdr", "r2")


@dataclass(frozen=True)
class Settings:
    """What "auto" stands for.

    Attributes
    ----------
    ranking : str
        "vem" or "noise-path".
    evidence : str
        "noiseless", "noisy" or "joint".
    refine : bool
        Whether the support found ranks again.
    noise_variance : str or float
        For the evidences that see norms, as in `GSPPCA`; for the joint one "profile", "own" or "auto".
    size_prior : str or callable
        As in `core.size`.
    """

    ranking: str
    evidence: str
    refine: bool
    noise_variance: str | float
    size_prior: SizePrior

    @property
    def joint(self) -> bool:
        """Whether the evidence shares the loadings across rows."""
        return self.evidence == "joint"


def resolved_settings(model: Any) -> Settings:
    """Check the parameters of an estimator that no data could make right, and say what "auto" stands for."""
    _check_size_rule(model)
    check_choice("ranking", model.ranking, ("auto", *RANKINGS))
    check_choice("evidence", model.evidence, EVIDENCES)
    joint = model.evidence == "joint"
    if not callable(model.size_prior):
        check_choice("size_prior", model.size_prior, ("auto", "uniform", "search", "sparse"), "a function of the size")
    if not isinstance(model.scale, bool | np.bool_):
        check_choice("scale", model.scale, ("ranking",), "True or False")
    if not isinstance(model.refine, bool | np.bool_):
        check_choice("refine", model.refine, ("auto",), "True or False")
    elif model.refine and not joint:
        raise ValueError(
            f"refine=True needs evidence='joint', got evidence={model.evidence!r}: row norms do not say which "
            "variables share a factor. Set refine='auto' or evidence='joint'."
        )
    if not isinstance(model.robust, bool | np.bool_):
        raise ValueError(f"robust must be True or False, got {model.robust!r}. True clips the tails of the columns.")
    check_choice("missing", model.missing, ("error", "impute"))
    _check_iteration(model)
    if not isinstance(model.checkpoint, str | os.PathLike | None):
        raise ValueError(f"checkpoint must be None or a path, got {model.checkpoint!r}. Give the path of a file.")
    if not isinstance(model.verbose, bool | np.bool_):
        check_count("verbose", model.verbose, 0, advice="0 is silent.")
    if isinstance(model.ranking, str) and model.ranking != "auto":
        ranking = model.ranking
    else:
        ranking = "noise-path" if joint or model.n_features_to_select == "fdr" else "vem"
    if model.checkpoint is not None and ranking != "vem":
        raise ValueError(
            f"checkpoint={os.fspath(model.checkpoint)!r} keeps the state of the variational EM, and "
            f"ranking={ranking!r} runs none. Set ranking='vem', or checkpoint=None."
        )
    prior = model.size_prior
    if not callable(prior) and prior == "auto":
        prior = "search" if joint else "uniform"
    refine = joint if isinstance(model.refine, str) else bool(model.refine)
    return Settings(ranking, model.evidence, refine, _noise_setting(model.noise_variance, joint), prior)


def _check_iteration(model: Any) -> None:
    """Check what only the variational EM uses: a wrong value is wrong with the other ranking too."""
    check_choice("init", model.init, ("svd", "random"))
    check_count("max_iter", model.max_iter, 1, advice="Each iteration is one pass over the data.")
    check_number("tol", model.tol, 0)
    if isinstance(model.slab_rate, str):
        check_choice("slab_rate", model.slab_rate, ("grid",), "a positive number")
    else:
        check_number("slab_rate", model.slab_rate, 0, open_low=True, otherwise="'grid'")


def _check_size_rule(model: Any) -> None:
    if not is_integer(model.n_components):
        check_choice("n_components", model.n_components, ("auto",), "a positive integer")
    wanted = model.n_features_to_select
    if not is_number(wanted):
        check_choice("n_features_to_select", wanted, RULES, "a number or fraction of variables")
    elif not is_integer(wanted) and not 0 < float(wanted) <= 1:
        raise ValueError(
            "n_features_to_select must be 'evidence', 'fdr', 'r2', an integer, or a fraction between 0 and 1, "
            f"got {wanted!r}. Set n_features_to_select to such a value."
        )
    check_number("fdr", model.fdr, 0, 1, open_low=True)
    check_count("n_draws", model.n_draws, 1, advice="It is the number of draws of shadow variables.")
    check_number("min_r2", model.min_r2, 0, 1)
    if wanted == "fdr" and model.ranking == "vem":
        raise ValueError(
            "n_features_to_select='fdr' compares noise paths, and ranking='vem' runs none. "
            "Set ranking='auto' or ranking='noise-path'."
        )


def _noise_setting(noise_variance: Any, joint: bool) -> str | float:
    if is_number(noise_variance):
        noise_variance = check_number("noise_variance", noise_variance, 0, open_low=True)
    if joint and (is_number(noise_variance) or (isinstance(noise_variance, str) and noise_variance in METHODS)):
        raise ValueError(
            f"noise_variance must be 'auto', 'profile' (one for all variables) or 'own' (one for each) with "
            f"evidence='joint', which estimates it with every support, got {noise_variance!r}. Set one of these, or "
            "evidence='noiseless'."
        )
    if is_number(noise_variance):
        return float(noise_variance)
    allowed = ("auto", "profile", "own") if joint else ("auto", *METHODS, "profile")
    check_choice("noise_variance", noise_variance, allowed, "" if joint else "a positive number")
    return "median" if noise_variance == "auto" and not joint else str(noise_variance)
