"""GSPPCA: principal components that share one set of selected variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gsppca._base import GloballySparseBase
from gsppca._typing import FloatArray
from gsppca.core.axes import principal_axes
from gsppca.data import as_blocks, map_rows
from gsppca.rows import LogDensity, Projection, Reconstruction
from gsppca.selection import Selection
from gsppca.validation import check_data


class GSPPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GloballySparseBase):
    """Globally sparse probabilistic PCA: which variables carry the structure of unlabelled data.

    The variables are ranked, and along the ranking an evidence is maximised, which chooses how many to keep. PCA on
    those gives orthogonal, uncorrelated components with one common pattern of zeros. There is no penalty to tune.

    By default the noise path ranks, and the joint evidence asks what the variables share: it holds its own on
    standardised, heavy-tailed and wide data, and can answer "nothing". ``evidence="noiseless"`` is the procedure of
    the paper, whose variational EM and closed-form evidence see the norms of the rows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension d of the latent space, smaller than both the number of samples and of columns. "auto" counts the
        eigenvalues that noise alone would not reach, up to 50.
    n_features_to_select : "evidence", "fdr", "r2", int or float, default="evidence"
        How many variables to select: the number that maximises the evidence; as many as keep the expected share of
        false ones below `fdr`; those of which the others explain at least `min_r2`; exactly this many; this fraction.
    ranking : {"auto", "vem", "noise-path"}, default="auto"
        How variables are ranked: by their relevance in the relaxed model, fitted by variational EM, or by the noise
        level at which they die when noise is raised until nothing is left. "auto" is "noise-path" with the joint
        evidence and with "fdr", else "vem".
    evidence : {"joint", "noiseless", "noisy"}, default="joint"
        Which evidence is maximised: one that shares the loadings across samples, and does not need the variables to
        differ in variance; that of the paper, in closed form, without noise on the selected variables; or the same
        with noise, by quadrature. All that is "auto" follows it: ``GSPPCA(evidence="noiseless")`` is the paper's
        procedure.
    refine : bool or "auto", default="auto"
        Whether a support found by the joint evidence ranks the variables again, while that raises the evidence.
        "auto" does so with the joint evidence; the others cannot.
    noise_variance : {"auto", "profile", "own", "median", "ml", "bias_corrected"} or float, default="auto"
        Variance of the variables that are not selected. With the joint evidence "profile", for every size the mean
        square of the variables outside; "own", a noise variance for each variable; or "auto", which chooses between
        these two by how much the column variances spread. With the others the median of the column variances
        ("auto"), the maximum likelihood estimate of PPCA, its bias correction, "profile", or a number.
    size_prior : {"auto", "uniform", "search", "sparse"} or callable, default="auto"
        Prior on the number of variables. "uniform" prefers none. "search" charges for having looked for the support
        among many; it goes with the joint evidence. "sparse" makes it unlikely that more variables than samples are
        selected. A callable gets a size and returns its log prior.
    fdr : float, default=0.1
        For ``n_features_to_select="fdr"``: the expected share of selected variables that are independent of all
        others. Fewer than ``1 / fdr`` variables cannot be told from none.
    n_draws : int, default=1
        For ``n_features_to_select="fdr"``: how often shadow variables are drawn. More make the selection depend less
        on the draw.
    min_r2 : float, default=0.1
        For ``n_features_to_select="r2"``: the least share of a variable's variance that factors of the other variables
        must explain, adjusted for their number.
    robust : bool, default=False
        Whether to rank and judge with every column clipped at three standard deviations, as its median absolute
        deviation tells them, for heavy tails. Makes a copy of X. Components are those of the data as it is.
    missing : {"error", "impute"}, default="error"
        What to do with nan: refuse it, or fill it with what a model of the observed entries expects, in `fit` and in
        `transform`. Right when entries are missing at random; dense data only. Makes a copy of X.
    init : {"svd", "random"}, default="svd"
        Start of the loadings: principal axes, or random numbers. "random" with ``noise_variance="median"`` and a given
        `n_components` ranks and selects without any SVD.
    slab_rate : "grid" or float, default="grid"
        Start of the slab rate alpha: short runs on a grid relative to the scale of the data, of which the best goes on,
        or a number.
    scale : bool or "ranking", default=False
        Whether to standardise the columns: for everything, or for the ranking only.
    max_iter : int, default=1000
        Most iterations of the variational EM; like `init`, `slab_rate` and `tol` for ``ranking="vem"`` only.
    tol : float, default=1e-6
        The variational EM stops when an iteration raises its bound by less than this, per entry of X.
    random_state : int, RandomState instance or None, default=None
        For ``init="random"`` and ``n_features_to_select="fdr"``. Nothing else is random.
    checkpoint : path-like or None, default=None
        A small file that keeps the state of the variational EM (``ranking="vem"``) during a long fit. If the process
        dies, the same fit with the same file goes on from there, and ends with the same result. A file of other data
        or parameters is refused.
    verbose : int, default=0
        1 reports every stage, 2 every iteration.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,)
        Which variables are selected.
    relevance_ : ndarray of shape (n_features_in_,)
        Relevance of each variable, between 0 and 1: u of the relaxed model, or, along the noise path, the noise level
        at which it dies relative to the largest; after refining, what the factors explain relative to the largest.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each variable, 1 the most relevant. Ties are broken by the data.
    n_selected_ : int
        Number of selected variables.
    evidence_path_ : EvidencePath
        `sizes`, `log_evidence` and `slab_rates` of all nested supports; with the joint evidence, of those that matter,
        against the empty model, with their `dimensions`.
    supported_ : bool
        Whether the support beats the empty model, in which every variable is noise, after paying for having been
        searched among all supports of its size. The paper's evidence finds more in noise than it should: there, True
        means little.
    inclusion_probability_ : ndarray of shape (n_features_in_,)
        Probability of each variable to be active, given the ranking: that the number of variables reaches its rank.
        Tempered by measurement; it knows nothing of errors of the ranking.
    ranked_by_ : str
        The ranking that the evidence preferred: "vem", "noise-path", "soft-path", "refined", "fdr" or "r2".
    relevance_path_ : NoisePath or None
        `levels` and `relevance` along the noise path, if there was one.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Principal axes, orthonormal, zero outside the support; the loading of largest size is positive on each.
    n_latent_ : int
        Dimension d of the latent space in the ranking and the evidence: `n_components`, or what "auto" found.
    n_components_ : int
        Number of components: `n_components`, or fewer if fewer variables than that are selected.
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
        Variance given to the variables outside the support.
    active_noise_variance_ : float
        Variance on the support across the components; zero if there is no such direction.
    slab_rate_ : float
        Slab rate that maximises the evidence of the support.
    bounds_ : ndarray of shape (n_recorded,) or None
        Lower bound of the relaxed model after each accepted iteration; never falls. None without a variational EM.
    n_iter_ : int
        Iterations of the ranking, each a pass over the data.
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

    def _set_fitted(self, selection: Selection, size: int) -> None:
        super()._set_fitted(selection, size)
        frame = selection.frame
        assert frame is not None
        n = frame.data.n_samples
        axes = principal_axes(frame.data, self.support_[frame.varying], selection.n_components)
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
        scores = as_blocks(X) or check_array(X, dtype=[np.float64, np.float32])
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
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "impute"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
