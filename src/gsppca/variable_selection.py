"""What both estimators share: the parameters, and fit, which reads as the line from data to selected variables."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gsppca._threads import one_blas_thread
from gsppca._typing import BoolArray, FloatArray, IntArray, PathLike
from gsppca.checks import check_count
from gsppca.data import Matrix
from gsppca.fit_warnings import warn_about
from gsppca.frame import Frame
from gsppca.parameters import InitSignature, check_names, unknown_parameter
from gsppca.procedure import Columns, Fitted, MethodWord, RuleWord, method_of, plan_of, rule_of, wishes_of
from gsppca.progress import printed
from gsppca.results import EvidencePath, RelaxedFit
from gsppca.rules.core import CoreFit, SharePath
from gsppca.rules.core_rule import core_of
from gsppca.rules.relevant import cut
from gsppca.rules.representatives import represents
from gsppca.validation import check_data

if TYPE_CHECKING:
    from gsppca.methods import Method
    from gsppca.rules import Rule


class VariableSelection(BaseEstimator):
    """Parameters and fit of `GSPPCA` and `GSPPCASelector`."""

    __signature__ = InitSignature()

    n_features_in_: int
    support_: BoolArray
    relevant_: BoolArray
    relevance_: FloatArray
    ranking_: IntArray
    inclusion_probability_: FloatArray
    n_selected_: int
    n_latent_: int
    n_iter_: int
    selected_by_: str
    supported_: bool
    noise_variance_: float
    _fitted: Fitted

    def __new__(cls, *_: Any, **given: Any) -> Self:  # noqa: D102
        check_names(cls, given)
        return super().__new__(cls)

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_features_to_select: RuleWord | int | float | Rule = "auto",
        method: MethodWord | Method = "joint",
        include: Columns | None = None,
        exclude: Columns | None = None,
        scale: bool = False,
        robust: bool = False,
        missing: str = "error",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.method = method
        self.include = include
        self.exclude = exclude
        self.scale = scale
        self.robust = robust
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank and judge the variables, choose some, and analyse those.

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
        plan = plan_of(self)
        X = check_data(self, X, reset=True)
        with printed(self.verbose, type(self).__name__), one_blas_thread(large_products=True):
            frame = plan.frame(X)
            wishes = wishes_of(self, frame)
            found = plan.method.find(frame, plan.n_components, wishes, plan.random_state)
            chosen = plan.rule.select(found, frame, plan.generator())
            self._set_fitted(Fitted.of(frame, found, chosen))
        warn_about([*found.cautions, *chosen.cautions])
        return self

    def choose(self, size: int, X: Any = None) -> Self:
        """Return the model at another number of variables: a cut of the nested order, nothing is ranked again.

        Parameters
        ----------
        size : int
            Number of variables to select.
        X : array-like of shape (n_samples, n_features), optional
            The data of `fit`. Needed only when the model has been pickled, copied or loaded since: the fitted model
            refers to its training data in memory, but does not store it.

        Returns
        -------
        model : object
            A new fitted estimator, with ``n_features_to_select=size``; this one is not changed.
        """
        check_is_fitted(self)
        fitted = self._fitted
        largest = len(fitted.found.order) - len(fitted.found.wishes.exclude)
        check_count("size", size, 1, largest, "It counts the columns that vary and are not excluded.")
        frame = self._frame(X, f"choose({size}, X)")
        model = copy(self)
        model.n_features_to_select = int(size)
        model._set_fitted(replace(fitted, frame=frame, chosen=cut(fitted.found, int(size))))
        return model

    def represented_by(self, n_best: int = 5, X: Any = None) -> list[tuple[int, list[tuple[int, float]]]]:
        """Return, for each selected variable, the relevant variables that it stands for best.

        Every relevant variable that is not selected is represented by the selected one that it correlates with most.

        Parameters
        ----------
        n_best : int, default=5
            How many at most for each selected variable.
        X : array-like of shape (n_samples, n_features), optional
            The data of `fit`, if this model no longer refers to it; see `choose`.

        Returns
        -------
        stands_for : list of (column, [(other column, correlation), ...])
            In the order of `ranking_`; the strongest correlations first.
        """
        check_is_fitted(self)
        check_count("n_best", n_best, 0, advice="It is a number of variables.")
        frame = self._frame(X, "represented_by(X=X)")
        places = np.flatnonzero(frame.varying)
        order = self._fitted.found.order
        selected = order[self.support_[places[order]]]
        # Noise stands for nothing: a selected variable that it correlates with most says little of it.
        kept = (self.relevant_ | self.support_)[places]
        within = np.cumsum(kept) - 1
        matrix = frame.described.columns(kept)
        others, correlations = represents(matrix, within[selected], n_best)
        places = places[kept]
        return [
            (int(places[within[k]]), [(int(places[m]), float(r)) for m, r in zip(*pair, strict=True) if m >= 0])
            for k, *pair in zip(selected, others, correlations, strict=True)
        ]

    def get_support(self, indices: bool = False) -> npt.NDArray[Any]:
        """Return which variables are selected: a mask, or their indices.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return the integer indices of the selected columns instead of a boolean mask.
        """
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_.copy()

    def summary(self) -> str:
        """Return what was found in a few lines: what is selected, what it carries, and the first variables."""
        from gsppca.summary import summary

        check_is_fitted(self)
        return summary(self)

    def to_frame(self, feature_names: Sequence[Any] | None = None, output: str | None = None) -> Any:
        """Return a table of all variables, in the nested order: role, rank, what represents each, and its figures.

        Parameters
        ----------
        feature_names : sequence of n_features_in_ names, optional
            By default those seen in fit, or x0, x1, ...
        output : {"pandas", "polars"}, optional
            Kind of the table; by default what `set_output` was given, else pandas.
        """
        from gsppca.summary import to_frame

        check_is_fitted(self)
        return to_frame(self, feature_names, output)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: the result of a fit, or the parameters before."""
        from gsppca.summary import html

        if "_fitted" not in vars(self):
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": html(self)}

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
        from gsppca.io.models import save_model

        return save_model(self, path)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; those of a method or rule as ``method__tol=1e-8``, also where it was given as a word.

        Parameters
        ----------
        **parameters
            Names as in the constructor.
        """
        known = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            own, separator, inner = name.partition("__")
            if own not in known:
                raise ValueError(unknown_parameter(type(self).__name__, name, list(known)))
            if separator:
                nested.setdefault(own, {})[inner] = value
            else:
                setattr(self, own, value)
        makers: dict[str, Any] = {"method": method_of, "n_features_to_select": rule_of}
        for own, changes in nested.items():
            if own not in makers:
                raise ValueError(f"{own} has no parameters of its own, got {own}__{next(iter(changes))}.")
            step = makers[own](getattr(self, own))
            for name in changes:
                if name not in step.get_params():
                    raise ValueError(unknown_parameter(type(step).__name__, name, list(step.get_params())))
            setattr(self, own, replace(step, **changes))
        return self

    @property
    def evidence_path_(self) -> EvidencePath:
        """`sizes` and `log_evidence` along the nested order; the joint method evaluates it when it is looked at."""
        found = self._record("evidence_path_").found
        if found.evidence is None:
            frame = self._known_frame("evidence_path_")
            found = replace(found, evidence=method_of(self.method).evidence_path(frame, found))
            self._fitted = replace(self._fitted, found=found)
        assert found.evidence is not None
        return found.evidence

    @property
    def core_(self) -> BoolArray:
        """Which variables are the core."""
        core, fitted = self._core(), self._fitted
        return self._at_places(np.isin(np.arange(len(fitted.found.order)), core.order[: core.size]))

    @property
    def role_(self) -> npt.NDArray[Any]:
        """Role of each variable: "core", "related" (relevant, but not in the core) or "noise"."""
        return np.where(self.core_, "core", np.where(self.relevant_, "related", "noise"))

    @property
    def core_share_(self) -> float:
        """Share of the variance of the components of all relevant variables that the core predicts on unseen rows."""
        return self._core().share

    @property
    def share_path_(self) -> SharePath:
        """Cross-validated and promised share of the first variables of the nested order."""
        return self._core().share_path

    @property
    def predicted_share_(self) -> FloatArray:
        """Share of each variable's variance that the core predicts on unseen rows."""
        return self._at_places(self._core().predicted)

    @property
    def relaxed_(self) -> RelaxedFit:
        """The run of the variational EM, with `bounds`, `slab_rate` and `converged`; ``method="paper"`` only."""
        relaxed = self._record("relaxed_").found.relaxed
        if relaxed is None:
            raise AttributeError(f"method={self.method!r} runs no variational EM. Set method='paper'.")
        return relaxed

    def _core(self) -> CoreFit:
        fitted = self._record("core_")
        core = fitted.chosen.core or fitted.found.core
        if core is None:
            core = core_of(self._known_frame("core_"), fitted.found)
            self._fitted = replace(fitted, found=replace(fitted.found, core=core))
        return core

    def _record(self, name: str) -> Fitted:
        if "_fitted" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.")
        return self._fitted

    def _known_frame(self, name: str) -> Frame:
        frame = self._fitted.frame
        if frame is None:
            raise AttributeError(
                f"{name} was not looked at before this model was pickled, copied or loaded, and it needs the training "
                f"data. Look at {name} before saving, or fit again."
            )
        return frame

    def _frame(self, X: Any, call: str) -> Frame:
        """The training data: given again, or the one in memory."""
        known = self._fitted.frame
        if X is None:
            if known is None:
                raise ValueError(
                    "X is needed: this model was pickled, copied or loaded, and its training data is not stored with "
                    f"it. Call {call} with the X of fit."
                )
            X = known.source
            frame = plan_of(self).frame(X) if known.imputation is None else known
        else:
            frame = plan_of(self).frame(check_data(self, X, reset=False))
        squares, stored = frame.data.column_squares, self._fitted.column_squares
        if squares.shape != stored.shape or not np.allclose(squares, stored, atol=0):
            raise ValueError("X is not the data of fit: its columns have other variances. Give that X, or fit again.")
        return frame

    def _filled(self, X: Any) -> Any:
        """New data with its gaps filled by the model that filled those of fit."""
        imputation = self._fitted.imputation
        return X if imputation is None or not isinstance(X, np.ndarray) else imputation.fill(X)

    def _at_places(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the varying columns, at their places among all."""
        wide = np.zeros(self.n_features_in_, dtype=values.dtype)
        wide[self._fitted.varying] = values
        return wide

    def _set_fitted(self, fitted: Fitted) -> None:
        """Set all fitted attributes that both estimators have."""
        frame, found, chosen = fitted.frame, fitted.found, fitted.chosen
        assert frame is not None
        self._fitted = fitted
        varying, constant = np.flatnonzero(frame.varying), np.flatnonzero(~frame.varying)
        self.support_ = self._at_places(chosen.support)
        self.relevant_ = self._at_places(found.relevant)
        self.relevance_ = self._at_places(found.relevance)
        self.inclusion_probability_ = self._at_places(found.inclusion_probability)
        self.ranking_ = np.empty(self.n_features_in_, dtype=int)
        self.ranking_[np.concatenate([varying[found.order], constant])] = np.arange(1, self.n_features_in_ + 1)
        self.n_selected_ = int(chosen.support.sum())
        self.n_latent_ = found.n_components
        self.n_iter_ = found.n_iter
        self.selected_by_ = chosen.selected_by
        self.supported_ = chosen.supported
        self.noise_variance_ = _variance_outside(frame.data, chosen.support, found.inactive_variance)

    def __getstate__(self) -> dict[str, Any]:
        # The training data stays behind: a pickled model is small, and holds no data of its own.
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = state["_fitted"].without_data()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.missing != "impute"
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags


def _variance_outside(data: Matrix, support: BoolArray, given: float | None) -> float:
    """Variance of the variables that are not selected: that given, or their mean square."""
    if given is not None:
        return given
    squares = data.column_squares[~support] if not support.all() else data.column_squares
    return float(squares.mean()) / data.n_samples
