"""What both estimators share: parameters, and the line from data to support."""

from __future__ import annotations

import os
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
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gsppca._typing import BoolArray, FloatArray, IntArray, PathLike
from gsppca.checkpoint import Checkpoint
from gsppca.checks import check_count, is_integer, is_number
from gsppca.core.dimension import MAX_DIMENSION
from gsppca.core.groups import with_further_groups
from gsppca.core.impute import Imputation, impute
from gsppca.core.joint import log_choices
from gsppca.core.joint_path import JointEvidence
from gsppca.core.joint_search import Found, JointSearch
from gsppca.core.posterior import JOINT_TEMPERATURE, NOISELESS_TEMPERATURE, inclusion_probability, size_posterior
from gsppca.core.size import log_size_prior
from gsppca.core.state import RelaxedFit
from gsppca.core.units import share_units
from gsppca.data import Matrix
from gsppca.doubt import settle_doubt
from gsppca.exceptions import NoStructureWarning
from gsppca.progress import tell
from gsppca.rankings import Ranked, fdr_ranking, noise_path_rankings, r2_ranking, vem_ranking
from gsppca.search import NormSearch, Search
from gsppca.selection import Frame, Selection
from gsppca.settings import Settings, resolved_settings
from gsppca.stages import (
    MAX_ITER,
    TOL,
    check_n_components,
    estimate_n_components,
    estimate_noise_variance,
    relaxed_vem,
)
from gsppca.validation import check_data

SPARE_COMPONENTS = 3  # beyond twice those that n_components="auto" counts, for the joint evidence to choose from


class GloballySparseBase(BaseEstimator):
    """Parameters and fit core of `GSPPCA` and `GSPPCASelector`."""

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_features_to_select: int | float | str = "evidence",
        ranking: str = "auto",
        evidence: str = "joint",
        refine: bool | str = "auto",
        noise_variance: float | str = "auto",
        size_prior: Any = "auto",
        fdr: float = 0.1,
        n_draws: int = 1,
        min_r2: float = 0.1,
        robust: bool = False,
        missing: str = "error",
        init: str = "svd",
        slab_rate: float | str = "grid",
        scale: bool | str = False,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        random_state: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.ranking = ranking
        self.evidence = evidence
        self.refine = refine
        self.noise_variance = noise_variance
        self.size_prior = size_prior
        self.fdr = fdr
        self.n_draws = n_draws
        self.min_r2 = min_r2
        self.robust = robust
        self.missing = missing
        self.init = init
        self.slab_rate = slab_rate
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the variables, choose how many, and analyse those.

        Parameters
        ----------
        X : array-like, sparse matrix (CSR, CSC), dask array or array on disk, of shape (n_samples, n_features)
            The data: one row per sample, one column per variable. It is centred here, without being copied. A dask
            array, in chunks of whole rows, is treated where its blocks are: by the workers of the cluster in use. A
            zarr array, an HDF5 dataset, or the X of an AnnData in backed mode is read by blocks of rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = resolved_settings(self)
        X = check_data(self, X, reset=True)
        imputation = self._impute(X) if self.missing == "impute" else None
        frame = self._frame_of(X if imputation is None else imputation.inflated())
        wanted = self._wanted_size(frame.data.n_features)
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint, frame.data)
        n_components = self._resolve_n_components(frame, settings)
        noise = self._resolve_noise(frame, n_components, settings)
        self._say(1, f"{frame.data.n_features} columns that vary, {n_components} components, noise variance {noise}")
        ranked = self._rank(frame, n_components, noise, settings, checkpoint)
        search = self._search(frame, n_components, noise, settings, wanted if ranked.size is None else ranked.size)
        refine = settings.refine and ranked.size is None
        found = search.best_of(ranked.rankings, refine)
        # A function of the size, as a prior, is about the whole: groups would each get it.
        if isinstance(search, JointSearch) and refine and wanted is None and not callable(settings.size_prior):
            found = self._with_further_groups(frame, n_components, settings, search, found)
        self._say(1, f"ranking {found.ranking.name!r}, {len(found.path.sizes)} sizes: {found.size} selected")
        selection = self._selection_of(frame, n_components, ranked, found)
        self._set_fitted(replace(selection, imputation=imputation), found.size)
        settle_doubt(self, ranked)
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
            X = X if fitted.imputation is None else self._impute(X).inflated()
        elif fitted.frame is not None:
            X = fitted.frame.source
        else:
            raise ValueError(
                "X is needed: this model was pickled, copied or loaded, and its training data is not stored with it. "
                f"Call choose({size}, X) with the X of fit."
            )
        frame = self._frame_of(X)
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

    def _relax(
        self, data: Matrix, n_components: int, noise: float | str | None, checkpoint: Checkpoint | None
    ) -> RelaxedFit:
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
            checkpoint=checkpoint,
        )
        self._say(1, f"variational EM: {fit.n_iter} iterations, bound {fit.bounds[-1]:.6g}")
        if fit.collapsed:
            warnings.warn(
                "No common structure stands out of the noise: the variational EM collapsed to relevances of zero from "
                f"every start (slab_rate={self.slab_rate!r}, n_components={n_components}). Variables are ranked by how "
                "late they vanished; the selection may mean nothing. Try other n_components, slab_rate='grid', or "
                "scale=True if the columns have different units.",
                NoStructureWarning,
                stacklevel=4,  # the caller of fit
            )
        elif not fit.converged:
            warnings.warn(
                f"The variational EM did not settle in max_iter={self.max_iter} iterations; the ranking may still "
                f"change. Raise max_iter, or tol={self.tol:g} if this precision is not needed.",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit
            )
        return fit

    def _rank(
        self,
        frame: Frame,
        n_components: int,
        noise: float | str,
        settings: Settings,
        checkpoint: Checkpoint | None,
    ) -> Ranked:
        """Rank the variables, in one or several ways."""
        if self.n_features_to_select == "fdr":
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            return fdr_ranking(frame, n_components, float(self.fdr), int(self.n_draws), rng)
        if self.n_features_to_select == "r2":
            return r2_ranking(frame, n_components, float(self.min_r2))
        if settings.ranking == "noise-path":
            return noise_path_rankings(frame.ranked, n_components, own_noise=noise == "own", several=settings.joint)
        start = noise if frame.ranked is frame.data else None
        return vem_ranking(self._relax(frame.ranked, n_components, start, checkpoint), frame.ranked.column_squares)

    def _search(
        self, frame: Frame, n_components: int, noise: float | str, settings: Settings, wanted: int | None
    ) -> Search:
        """Return what finds a support along the rankings."""

        def log_prior(sizes: IntArray) -> FloatArray:
            return self._log_prior(frame, settings, sizes)

        if settings.joint:
            evidence = JointEvidence(frame.judged, n_components, own_noise=noise == "own")
            return JointSearch(evidence, log_prior, wanted, lambda done: tell("joint evidence", done))
        active = 0.0
        if settings.evidence == "noisy":
            active = estimate_noise_variance(frame.judged, n_components) if isinstance(noise, str) else noise
        return NormSearch(frame.judged, n_components, noise, active, log_prior, wanted)

    def _with_further_groups(
        self, frame: Frame, n_components: int, settings: Settings, search: JointSearch, found: Found
    ) -> Found:
        """Look for groups of variables among those left out, in the same way."""
        own = search.evidence.own_noise

        def among(kept: BoolArray, most_components: int) -> Found:
            tell("further groups", 0)
            ranked, judged = frame.ranked.columns(kept), frame.judged.columns(kept)
            if settings.ranking == "vem":
                rankings = vem_ranking(self._relax(ranked, most_components, None, None), ranked.column_squares).rankings
            else:
                rankings = noise_path_rankings(ranked, most_components, own_noise=own, several=True).rankings
            again = JointSearch(
                JointEvidence(judged, most_components, own),
                lambda sizes: log_size_prior(settings.size_prior, sizes, judged.n_samples, judged.n_features, own),
            )
            return again.best_of(rankings, True)

        return with_further_groups(found, search.evidence.matrix, n_components, among)

    def _selection_of(self, frame: Frame, n_components: int, ranked: Ranked, found: Found) -> Selection:
        """What was found, in a form that a size can be chosen from."""
        return Selection(
            frame=frame,
            n_components=found.dimension if isinstance(self.n_components, str) else n_components,
            relaxed=ranked.relaxed,
            order=found.ranking.order,
            path=found.path,
            column_squares=frame.data.column_squares,
            relevance=found.ranking.relevance,
            ranked_by=found.ranking.name,
            n_iter=found.ranking.n_iter,
            noise_path=ranked.noise_path,
        )

    def _resolve_n_components(self, frame: Frame, settings: Settings) -> int:
        data = frame.judged
        if not isinstance(self.n_components, str):
            return check_n_components(self.n_components, data.n_samples, data.n_features)
        known = float(settings.noise_variance) if is_number(settings.noise_variance) else None
        if not settings.joint:
            return estimate_n_components(data, known)
        scaled = data.scaled(1 / np.sqrt(data.column_squares / data.n_samples)) if self._has_own_noise(frame) else data
        count = estimate_n_components(scaled)
        return min(2 * count + SPARE_COMPONENTS, MAX_DIMENSION, data.n_samples - 1, data.n_features - 1)

    def _has_own_noise(self, frame: Frame) -> bool:
        """Whether the joint evidence gives each variable its own noise variance."""
        if self.noise_variance == "auto":
            return not share_units(frame.judged.column_squares, frame.judged.n_samples)
        return bool(self.noise_variance == "own")

    def _log_prior(self, frame: Frame, settings: Settings, sizes: IntArray) -> FloatArray:
        own = settings.joint and self._has_own_noise(frame)
        return log_size_prior(settings.size_prior, sizes, frame.data.n_samples, frame.data.n_features, own)

    def _resolve_noise(self, frame: Frame, n_components: int, settings: Settings) -> float | str:
        noise, data = settings.noise_variance, frame.judged
        if settings.joint:
            return "own" if self._has_own_noise(frame) else "profile"
        if not isinstance(noise, str) or noise == "profile":
            return noise
        value = estimate_noise_variance(data, n_components, noise)
        # These estimates are a difference: what rounding leaves of it is not noise.
        if noise != "median" and value <= 1e-13 * data.total_squares / data.n_samples:
            raise ValueError(
                f"noise_variance={noise!r} estimates that there is no noise: n_components={n_components} "
                "components explain all of X. Use fewer components, noise_variance='median' or a positive number."
            )
        return value

    def _frame_of(self, X: Any) -> Frame:
        return Frame.of(X, self._scale(), robust=bool(self.robust))

    def _impute(self, X: Any) -> Imputation:
        """Fit the model that fills the gaps of X: nan in a dense array."""
        if not isinstance(X, np.ndarray):
            raise ValueError(
                f"missing='impute' needs a dense array in memory, got {type(X).__name__}. "
                "Set missing='error', or convert X."
            )
        tell("missing entries", 0)
        if isinstance(self.n_components, str):
            gaps = np.isnan(X)
            with np.errstate(invalid="ignore"):
                means = np.nansum(X, axis=0) / np.maximum((~gaps).sum(axis=0), 1)
            n_components = estimate_n_components(np.where(gaps, means, X))
        else:
            n_components = check_n_components(self.n_components, *X.shape)
        return impute(X, n_components, standardise=self.scale is True)

    def _filled(self, X: Any) -> Any:
        """New data with its gaps filled by the model that filled those of fit."""
        imputation = self._selection.imputation
        return X if imputation is None or not isinstance(X, np.ndarray) else imputation.fill(X)

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

    def _set_fitted(self, selection: Selection, size: int) -> None:
        """Set all fitted attributes that both estimators have."""
        frame = selection.frame
        assert frame is not None
        varying = np.flatnonzero(frame.varying)
        ranked = np.concatenate([varying[selection.order], np.flatnonzero(~frame.varying)])
        relaxed, relevance = selection.relaxed, selection.relevance
        if relevance is None:  # a model saved before there were several rankings
            assert relaxed is not None
            relevance = relaxed.relevance
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[ranked[:size]] = True
        self.n_selected_ = size
        self.n_latent_ = selection.n_components
        self.relevance_ = frame.widen(relevance)
        self.ranking_ = np.empty(self.n_features_in_, dtype=int)
        self.ranking_[ranked] = np.arange(1, self.n_features_in_ + 1)
        self.ranked_by_ = selection.ranked_by
        self.relevance_path_ = None
        if selection.noise_path is not None:
            told = selection.noise_path
            self.relevance_path_ = replace(
                told, score=frame.widen(told.score, np.nan), relevance=frame.widen(told.relevance)
            )
        self.bounds_ = None if relaxed is None else relaxed.bounds
        self.n_iter_ = relaxed.n_iter if relaxed is not None and not selection.n_iter else selection.n_iter
        self._set_evidence(selection, size)
        self._selection = selection

    def _set_evidence(self, selection: Selection, size: int) -> None:
        """Set what the evidence says of the chosen size, and of every variable."""
        path, frame = selection.path, selection.frame
        assert frame is not None
        n, p = frame.data.n_samples, frame.data.n_features
        self.evidence_path_ = path
        # Of the evidence, or, where it has variances of its own or was not evaluated, of the data.
        at = int(np.searchsorted(path.sizes, size))
        known = at < len(path.sizes) and int(path.sizes[at]) == size
        if known and path.dimensions is None:
            self.noise_variance_ = float(path.inactive_variances[at])
        else:
            squares = frame.data.column_squares[selection.order[size:] if size < p else slice(None)]
            self.noise_variance_ = float(squares.mean()) / n
        self.slab_rate_ = float(path.slab_rates[at]) if known else float("nan")
        gain = np.interp(size, path.sizes, path.log_evidence) - path.log_evidence_empty
        self.supported_ = bool(gain > log_choices(p, np.array([size]))[0])
        settings = resolved_settings(self)
        log_prior = self._log_prior(frame, settings, path.sizes)
        temperature = JOINT_TEMPERATURE if settings.joint else NOISELESS_TEMPERATURE
        posterior = size_posterior(path, log_prior, temperature=temperature)
        self.inclusion_probability_ = frame.widen(inclusion_probability(posterior, selection.order, p))

    def _say(self, level: int, message: str) -> None:
        if self.verbose >= level:
            print(f"[{type(self).__name__}] {message}", file=sys.stdout, flush=True)  # noqa: T201

    def __getstate__(self) -> dict[str, Any]:
        # The training data stays behind: a pickled model is small, and holds no data of its own.
        state = dict(super().__getstate__())
        if "_selection" in state:
            state["_selection"] = replace(state["_selection"], frame=None)
        return state
