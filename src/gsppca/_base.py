"""What both estimators share: parameters, and the line from data to support."""

from __future__ import annotations

import sys
import warnings
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gsppca._typing import PathLike
from gsppca.checks import check_choice, check_count, check_number, is_integer, is_number
from gsppca.core.noise import METHODS
from gsppca.core.ranking import rank_variables
from gsppca.core.size import best_size, log_size_prior
from gsppca.core.state import EvidencePath, RelaxedFit
from gsppca.data import Matrix
from gsppca.exceptions import NoStructureWarning
from gsppca.selection import Frame, Selection
from gsppca.stages import (
    MAX_ITER,
    TOL,
    check_n_components,
    estimate_n_components,
    estimate_noise_variance,
    evidence_path,
    relaxed_vem,
)
from gsppca.validation import check_data


class GloballySparseBase(BaseEstimator):
    """Parameters and fit core of `GSPPCA` and `GSPPCASelector`."""

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_features_to_select: int | float | str = "evidence",
        ranking: str = "vem",
        evidence: str = "noiseless",
        noise_variance: float | str = "median",
        size_prior: Any = "uniform",
        init: str = "svd",
        slab_rate: float | str = "grid",
        scale: bool | str = False,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.ranking = ranking
        self.evidence = evidence
        self.noise_variance = noise_variance
        self.size_prior = size_prior
        self.init = init
        self.slab_rate = slab_rate
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the variables, choose how many, and analyse those.

        Parameters
        ----------
        X : array-like or sparse matrix (CSR, CSC) of shape (n_samples, n_features)
            The data: one row per sample, one column per variable. It is centred here, without being copied.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        X = check_data(self, X, reset=True)
        frame = Frame.of(X, self._scale())
        wanted = self._wanted_size(frame.data.n_features)
        n_components = self._resolve_n_components(frame.data)
        noise = self._resolve_noise(frame.data, n_components)
        self._say(1, f"{frame.data.n_features} columns that vary, {n_components} components, noise variance {noise}")
        relaxed = self._relax(frame.ranked, n_components, noise if frame.ranked is frame.data else None)
        order = rank_variables(relaxed.relevance, relaxed.explained, frame.ranked.column_squares)
        path = evidence_path(frame.data, order, n_components, noise)
        size = self._best_size(path, frame.data) if wanted is None else wanted
        self._say(1, f"evidence of sizes 1 to {path.sizes[-1]}: {size} selected")
        squares = frame.data.column_squares
        self._set_fitted(Selection(frame, n_components, relaxed, order, path, squares), size)
        return self

    def choose(self, size: int, X: Any = None) -> Self:
        """Return the model at another number of variables, from the fitted path: no new variational EM.

        Parameters
        ----------
        size : int
            Number of variables to select, along the ranking.
        X : array-like of shape (n_samples, n_features), optional
            The data of `fit`. Needed only when the model has been pickled, copied or loaded since: the fitted model
            refers to its training data in memory, but does not store it.

        Returns
        -------
        model : object
            A new fitted estimator, with ``n_features_to_select=size``; this one is not changed.
        """
        check_is_fitted(self)
        fitted = self._selection
        check_count("size", size, 1, int(fitted.path.sizes[-1]), "It counts the columns that vary.")
        if X is not None:
            X = check_data(self, X, reset=False)
        elif fitted.frame is not None:
            X = fitted.frame.source
        else:
            raise ValueError(
                "X is needed: this model was pickled, copied or loaded, and its training data is not stored with it. "
                f"Call choose({size}, X) with the X of fit."
            )
        frame = Frame.of(X, self._scale())
        squares = frame.data.column_squares
        if squares.shape != fitted.column_squares.shape or not np.allclose(squares, fitted.column_squares, atol=0):
            raise ValueError("X is not the data of fit: its columns have other variances. Give that X, or fit again.")
        model = copy(self)
        model.n_features_to_select = int(size)
        model._set_fitted(replace(fitted, frame=frame), int(size))
        return model

    def get_support(self, indices: bool = False) -> npt.NDArray[Any]:
        """Return which variables are selected: a mask, or their indices.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return the integer indices of the selected columns instead of a boolean mask.
        """
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_.copy()

    def save(self, path: PathLike) -> Path:
        """Write the fitted model to disk in an open format, JSON and npz: `gsppca.load` brings it back.

        Parameters
        ----------
        path : str or path
            A file ending in ``.json``, or a folder, which then gets ``model.json``. The arrays go beside it, under the
            same name with ``.npz``. Files of these names are replaced.

        Returns
        -------
        path : Path
            Of the JSON file.
        """
        from gsppca.saving import save_model

        return save_model(self, path)

    def _relax(self, data: Matrix, n_components: int, noise: float | str | None) -> RelaxedFit:
        """Run the relaxed model; say when it did not settle."""
        fit = relaxed_vem(
            data,
            n_components,
            # "profile" has no value before there is a support: the run then starts from the median.
            noise_variance=None if isinstance(noise, str) else noise,
            init=self.init,
            slab_rate=self.slab_rate,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            progress=lambda i, bound: self._say(2, f"iteration {i}: bound {bound:.6g}"),
        )
        self._say(1, f"variational EM: {fit.n_iter} iterations, bound {fit.bounds[-1]:.6g}")
        if fit.collapsed:
            warnings.warn(
                "No common structure stands out of the noise: the variational EM collapsed to relevances of zero from "
                f"every start (slab_rate={self.slab_rate!r}, n_components={n_components}). Variables are ranked by how "
                "late they vanished; the selection may mean nothing. Try other n_components, slab_rate='grid', or "
                "scale=True if the columns have different units.",
                NoStructureWarning,
                stacklevel=3,
            )
        elif not fit.converged:
            warnings.warn(
                f"The variational EM did not settle in max_iter={self.max_iter} iterations; the ranking may still "
                f"change. Raise max_iter, or tol={self.tol:g} if this precision is not needed.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fit

    def _resolve_n_components(self, data: Matrix) -> int:
        if isinstance(self.n_components, str):
            known = float(self.noise_variance) if is_number(self.noise_variance) else None
            return estimate_n_components(data, known)
        return check_n_components(self.n_components, data.n_samples, data.n_features)

    def _resolve_noise(self, data: Matrix, n_components: int) -> float | str:
        if not isinstance(self.noise_variance, str):
            return float(self.noise_variance)
        if self.noise_variance == "profile":
            return "profile"
        value = estimate_noise_variance(data, n_components, self.noise_variance)
        # These estimates are a difference: what rounding leaves of it is not noise.
        if self.noise_variance != "median" and value <= 1e-13 * data.total_squares / data.n_samples:
            raise ValueError(
                f"noise_variance={self.noise_variance!r} estimates that there is no noise: n_components={n_components} "
                "components explain all of X. Use fewer components, noise_variance='median' or a positive number."
            )
        return value

    def _scale(self) -> bool | str:
        return self.scale if isinstance(self.scale, str) else bool(self.scale)

    def _wanted_size(self, largest: int) -> int | None:
        """The number of variables asked for, of `largest` that vary; None if the evidence is to choose."""
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return None
        if is_integer(wanted):
            advice = f"X has {largest} columns that vary."
            return check_count("n_features_to_select", wanted, 1, largest, advice, otherwise="'evidence', a fraction")
        return min(max(1, round(float(wanted) * self.n_features_in_)), largest)

    def _best_size(self, path: EvidencePath, data: Matrix) -> int:
        return best_size(path, log_size_prior(self.size_prior, path.sizes, data.n_samples, data.n_features))

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make right."""
        if not is_integer(self.n_components):
            check_choice("n_components", self.n_components, ("auto",), "a positive integer")
        if not is_number(self.n_features_to_select):
            check_choice(
                "n_features_to_select", self.n_features_to_select, ("evidence",), "a number or fraction of variables"
            )
        elif not is_integer(self.n_features_to_select) and not 0 < float(self.n_features_to_select) <= 1:
            raise ValueError(
                "n_features_to_select must be 'evidence', an integer, or a fraction between 0 and 1, "
                f"got {self.n_features_to_select!r}. Set n_features_to_select to such a value."
            )
        check_choice("ranking", self.ranking, ("vem",))
        check_choice("evidence", self.evidence, ("noiseless",))
        if is_number(self.noise_variance):
            check_number("noise_variance", self.noise_variance, 0, open_low=True)
        else:
            check_choice("noise_variance", self.noise_variance, (*METHODS, "profile"), "a positive number")
        if not callable(self.size_prior):
            check_choice("size_prior", self.size_prior, ("uniform", "sparse"), "a function of the size")
        if not isinstance(self.scale, bool | np.bool_):
            check_choice("scale", self.scale, ("ranking",), "True or False")
        if not isinstance(self.verbose, bool | np.bool_):
            check_count("verbose", self.verbose, 0, advice="0 is silent.")

    def _set_fitted(self, selection: Selection, size: int) -> None:
        """Set all fitted attributes that both estimators have."""
        frame, path = selection.frame, selection.path
        assert frame is not None
        position = int(np.searchsorted(path.sizes, size))
        varying = np.flatnonzero(frame.varying)
        ranked = np.concatenate([varying[selection.order], np.flatnonzero(~frame.varying)])
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[ranked[:size]] = True
        self.n_selected_ = size
        self.n_latent_ = selection.n_components
        self.relevance_ = frame.widen(selection.relaxed.relevance)
        self.ranking_ = np.empty(self.n_features_in_, dtype=int)
        self.ranking_[ranked] = np.arange(1, self.n_features_in_ + 1)
        self.evidence_path_ = path
        self.noise_variance_ = float(path.inactive_variances[position])
        self.slab_rate_ = float(path.slab_rates[position])
        self.bounds_ = selection.relaxed.bounds
        self.n_iter_ = selection.relaxed.n_iter
        self._selection = selection

    def _say(self, level: int, message: str) -> None:
        if self.verbose >= level:
            print(f"[{type(self).__name__}] {message}", file=sys.stdout, flush=True)  # noqa: T201

    def __getstate__(self) -> dict[str, Any]:
        # The training data stays behind: a pickled model is small, and holds no data of its own.
        state = dict(super().__getstate__())
        if "_selection" in state:
            state["_selection"] = replace(state["_selection"], frame=None)
        return state
