"""GSPPCASelector: the selection of GSPPCA as a feature selector."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from gsppca._masked import unmasked
from gsppca._typing import BoolArray
from gsppca.components.rows import Columns, Placed
from gsppca.data import Blocks, as_blocks, map_rows
from gsppca.procedure import Fitted
from gsppca.validation import check_data
from gsppca.variable_selection import VariableSelection


class GSPPCASelector(SelectorMixin, VariableSelection):
    """Select the variables that carry the structure of unlabelled data, by globally sparse probabilistic PCA.

    The same selection as `GSPPCA`; `transform` returns the selected columns instead of components.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension of the latent space. This and all other parameters are those of `GSPPCA`.
    n_features_to_select : {"auto", "relevant", "core", "fdr", "r2"}, int, float or rule, default="auto"
        Which variables to select.
    missing : {"error", "impute"}, default="error"
        What to do with nan: refuse it, or fill it with what a model of the observed entries expects, in `fit`; the
        columns that `transform` returns keep their gaps.
    method, include, exclude, scale, robust, random_state, verbose
        As in `GSPPCA`.

    Attributes
    ----------
    support_, relevant_, core_, role_, ranking_, relevance_, inclusion_probability_, n_selected_, selected_by_,
    supported_, core_share_, share_path_, predicted_share_, evidence_path_, noise_variance_, n_iter_
        As in `GSPPCA`.
    n_latent_, n_components_ : int
        Dimension of the latent space that was used.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    See Also
    --------
    GSPPCA : Components of the selected variables.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from gsppca import GSPPCASelector
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GSPPCASelector(10, n_features_to_select=32), LogisticRegression(max_iter=5000))
    >>> model.fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.8
    True
    """

    def _set_fitted(self, fitted: Fitted) -> None:
        super()._set_fitted(fitted)
        self.n_components_ = fitted.found.n_components

    def get_support(self, indices: bool = False) -> npt.NDArray[Any]:
        """Return which variables are selected: a mask, or their indices.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return the integer indices of the selected columns instead of a boolean mask.
        """
        return VariableSelection.get_support(self, indices)

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or array on disk, of shape (n_samples, n_features)
            Data with the columns seen in fit. Entries that are NaN or masked are refused, or with
            ``missing="impute"`` stay NaN: these are the columns, not a model of them.

        Returns
        -------
        selected : array of shape (n_samples, n_selected_)
            A lazy dask array if X is one.
        """
        check_is_fitted(self)
        X = unmasked(X)
        data = check_data(self, X, reset=False)
        if not isinstance(data, Blocks):
            return super().transform(X)  # keeps the columns of a frame as they are
        return map_rows(data, Columns(self.get_support(indices=True)), self.n_selected_, data.dtype)

    def inverse_transform(self, X: Any) -> Any:
        """Put selected columns back at their places; the others are zero.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or array on disk, of shape (n_samples, n_selected_)
            Columns, as from `transform`.

        Returns
        -------
        data : array of shape (n_samples, n_features_in_)
            A lazy dask array if X is one.
        """
        check_is_fitted(self)
        blocks = as_blocks(X)
        if blocks is None:
            return super().inverse_transform(unmasked(X))
        if blocks.shape[1] != self.n_selected_:
            raise ValueError(
                f"X has {blocks.shape[1]} columns, but {self.n_selected_} are selected. "
                "Give the columns as transform returns them."
            )
        places = Placed(self.get_support(indices=True), self.n_features_in_)
        return map_rows(blocks, places, self.n_features_in_, blocks.dtype)

    def _get_support_mask(self) -> BoolArray:
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
