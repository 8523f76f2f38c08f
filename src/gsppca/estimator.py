"""GSPPCA: principal components that share one set of selected variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gsppca._masked import unmasked
from gsppca._typing import FloatArray
from gsppca.components.axes import principal_axes
from gsppca.components.rows import LogDensity, Projection, Reconstruction
from gsppca.data import as_blocks, map_rows
from gsppca.procedure import Fitted
from gsppca.validation import check_data
from gsppca.variable_selection import VariableSelection


class GSPPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, VariableSelection):
    """Globally sparse probabilistic PCA: which variables carry the structure of unlabelled data.

    The variables are ranked and judged (``method``), some are chosen (``n_features_to_select``), and PCA on those gives
    orthogonal, uncorrelated components with one common pattern of zeros. There is no penalty to tune.

    By default the *relevant* variables are those that share factors with others, by a marginal likelihood (evidence)
    that is compared with that of noise. Where they are most of all variables, their *core* is selected: a small set
    from which the components of all relevant variables can be predicted. ``method="paper"`` is the procedure of the
    paper.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension d of the latent space, smaller than both the number of samples and of columns. "auto" lets the method
        choose.
    n_features_to_select : {"auto", "relevant", "core", "fdr", "r2"}, int, float or rule, default="auto"
        Which variables to select: the relevant ones, or their core, where more than half of all variables are relevant
        or where they are more than ten times as many as their core and mostly faint ("auto"; with ``method="paper"``
        always the relevant ones); all relevant ones; their core; as many as keep the expected share of false ones
        below 10 %; those of which the others explain at least 10 %; a number; a fraction; or a rule with
        parameters: `Core`, `FalseDiscoveryRate`, `MinimumR2`, or one of your own (docs/extending.md). A number is
        always a cut of the one nested order, `ranking_`.
    method : {"joint", "paper"} or method, default="joint"
        How variables are ranked and judged: by what they share, with `Joint`, or as in the paper, with `Paper`. An
        object sets their parameters: ``method=Paper(tol=1e-8)``.
    include, exclude : names, indices or mask of columns, optional
        Variables that must be in the selection: they come first in the order, and the rest is chosen to complement
        them; and variables that must not, although they count as data to be explained.
    scale : bool, default=False
        Whether to divide every column by its standard deviation: for columns in different units.
    robust : bool, default=False
        Whether to rank and judge with every column clipped at three standard deviations, as its median absolute
        deviation tells them. Needs a dense array in memory, and makes a copy of it. Components are those of the data
        as it is. The joint method clips by itself when the tails of the columns are heavy, to find the relevant
        variables; their core is that of the data as it is, unless this is True.
    missing : {"error", "impute"}, default="error"
        What to do with nan: refuse it, or fill it with what a model of the observed entries expects, in `fit` and in
        `transform`. Right when entries are missing at random; dense data only. Makes a copy of X.
    random_state : int, RandomState instance or None, default=None
        For the rule "fdr" and for ``Paper(init="random")``. Nothing else is random.
    verbose : int, default=0
        1 prints every step, 2 every iteration.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,)
        Which variables are selected.
    relevant_ : ndarray of shape (n_features_in_,)
        Which variables the method keeps: those that are not noise.
    core_ : ndarray of shape (n_features_in_,)
        Which variables are the core of the relevant ones.
    role_ : ndarray of shape (n_features_in_,)
        "core", "related" (relevant, but not in the core) or "noise".
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each variable in the one nested order, 1 the first. With the joint method the relevant variables come in
        the order in which they add to what is known of the structure, then the others; with the paper's in that of
        `relevance_`.
    relevance_ : ndarray of shape (n_features_in_,)
        Relevance of each variable, between 0 and 1: with the joint method the share of its variance that the factors of
        the relevant variables explain; with the paper's u of the relaxed model.
    inclusion_probability_ : ndarray of shape (n_features_in_,)
        Posterior probability of each variable to be relevant.
    n_selected_ : int
        Number of selected variables.
    selected_by_ : str
        The rule that decided: "relevant", "core", "fdr", "r2" or "size".
    supported_ : bool
        Whether the relevant variables beat the empty model, in which every variable is noise, after paying for having
        been searched; by the rules "fdr" and "r2" whether any variable passes.
    core_share_ : float
        Share of the variance of the components of all relevant variables that the core predicts, cross-validated.
    share_path_ : SharePath
        `sizes`, cross-validated `share` and `promised` share along the nested order.
    predicted_share_ : ndarray of shape (n_features_in_,)
        Share of each variable that the core predicts, cross-validated.
    evidence_path_ : EvidencePath
        `sizes` and `log_evidence` along the nested order; the joint method evaluates it when it is looked at.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Principal axes, orthonormal, zero outside the support; the loading of largest size is positive on each.
    n_latent_ : int
        Dimension d of the latent space in the ranking and the evidence: `n_components`, or what "auto" found.
    n_components_ : int
        Number of components: `n_latent_`; of a core or a smaller number of variables than are relevant, with
        ``n_components="auto"``, the leading ones, at most 10; fewer if fewer variables than that are selected.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each component (with n - 1, as in scikit-learn).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the total variance of X, all variables counted.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the centred selected columns.
    mean_ : ndarray of shape (n_features_in_,)
        Means of the columns.
    scale_ : ndarray of shape (n_features_in_,) or None
        What the centred columns are divided by: standard deviations with ``scale=True``, else None.
    noise_variance_ : float
        Variance given to the variables that are not selected.
    active_noise_variance_ : float
        Variance on the support across the components; zero if there is no such direction.
    n_iter_ : int
        Iterations of the ranking.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    GSPPCASelector : The same selection, as a feature selector that returns the selected columns.

    References
    ----------
    C. Bouveyron, P. Latouche & P.-A. Mattei (2018). Bayesian variable selection for globally sparse probabilistic PCA.
    Electronic Journal of Statistics 12(2), 3036-3070.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import GSPPCA
    >>> rng = np.random.default_rng(1)
    >>> X = 0.3 * rng.normal(size=(80, 30))
    >>> X[:, [3, 8, 11, 20, 27]] += rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5))
    >>> model = GSPPCA(n_components=2).fit(X)
    >>> model.get_support(indices=True)
    array([ 3,  8, 11, 20, 27])
    >>> model.transform(X).shape
    (80, 2)
    """

    def _set_fitted(self, fitted: Fitted) -> None:
        super()._set_fitted(fitted)
        frame = fitted.frame
        assert frame is not None
        n = frame.data.n_samples
        n_axes = fitted.chosen.n_components or fitted.found.n_components
        axes = principal_axes(frame.data, fitted.chosen.support, n_axes)
        dtype = frame.dtype
        self.components_ = frame.widen(axes.components).astype(dtype)
        self.n_components_ = len(axes.eigenvalues)
        self.explained_variance_ = (axes.eigenvalues * n / (n - 1)).astype(dtype)
        self.explained_variance_ratio_ = (axes.eigenvalues * n / frame.data.total_squares).astype(dtype)
        self.singular_values_ = np.sqrt(axes.eigenvalues * n).astype(dtype)
        self.mean_ = frame.mean.astype(dtype)
        self.scale_ = None if frame.scale is None else frame.scale.astype(dtype)
        self.active_noise_variance_ = axes.residual_variance * n / (n - 1)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Project data on the components.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or array on disk, of shape (n_samples, n_features)
            Data with the columns seen in fit. Only the selected ones matter.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            A lazy dask array if X is one.
        """
        check_is_fitted(self)
        X = self._filled(check_data(self, X, reset=False))
        return map_rows(X, self._projection(), self.n_components_, X.dtype)

    def inverse_transform(self, X: Any) -> npt.NDArray[Any]:
        """Return the data that scores stand for; variables that were not selected get their mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores, as from `transform`.

        Returns
        -------
        data : ndarray of shape (n_samples, n_features_in_)
            A lazy dask array if X is one.
        """
        check_is_fitted(self)
        scores = as_blocks(X) or check_array(unmasked(X), dtype=[np.float64, np.float32])
        if scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {scores.shape[1]} columns, but this model has {self.n_components_} components. "
                "Give scores as transform returns them."
            )
        back = Reconstruction(self.components_, self.mean_, self.scale_)
        return map_rows(scores, back, self.n_features_in_, scores.dtype)

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log likelihood of each sample: PPCA on the support, independent Gaussian noise on the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with the columns seen in fit.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
            A lazy dask array if X is one.
        """
        check_is_fitted(self)
        X = self._filled(check_data(self, X, reset=False))
        variances, active_noise = self._model_variances()
        density = LogDensity(self._projection(), variances, active_noise, self.noise_variance_)
        return map_rows(X, density, None, np.float64)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log likelihood of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with the columns seen in fit.
        y : None
            Ignored.
        """
        return float(self.score_samples(X).mean())

    def get_covariance(self) -> FloatArray:
        """Return the covariance of the fitted model, shape (n_features_in_, n_features_in_), in the units of X."""
        check_is_fitted(self)
        variances, active_noise = self._model_variances()
        axes = self.components_.astype(np.float64)
        covariance = (axes.T * (variances - active_noise)) @ axes
        covariance[np.diag_indices_from(covariance)] += np.where(self.support_, active_noise, self.noise_variance_)
        if self.scale_ is not None:
            covariance *= np.multiply.outer(self.scale_, self.scale_)
        return covariance

    def _projection(self) -> Projection:
        """From new data, centred and scaled like that of fit, to scores."""
        scale = None if self.scale_ is None else 1 / self.scale_.astype(np.float64)
        components = self.components_[:, self.support_].astype(np.float64)
        return Projection(self.mean_.astype(np.float64), scale, self.support_, components)

    def _model_variances(self) -> tuple[FloatArray, float]:
        """Variances along the components and across them, kept positive where the data has none left."""
        variances = self.explained_variance_.astype(np.float64)
        least = np.finfo(float).eps * variances[0]
        return np.maximum(variances, least), max(self.active_noise_variance_, least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
