"""What the stages hand to each other: frozen, plain arrays, each testable and picklable alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gsppca._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Spectrum:
    """The leading part of a principal component analysis of a centred matrix Z.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_axes,)
        Largest eigenvalues of ``Z'Z / n_samples``, descending.
    axes : ndarray of shape (n_axes, n_features)
        Their orthonormal eigenvectors, as rows.
    """

    eigenvalues: FloatArray
    axes: FloatArray


@dataclass(frozen=True)
class RelaxedState:
    """Parameters of the relaxed model, and what its E-step needs of the posterior of the loadings.

    Attributes
    ----------
    relevance : ndarray of shape (n_features,)
        u, in [0, 1].
    slab_rate : float
        alpha: a loading has prior standard deviation ``1 / slab_rate``.
    noise_variance : float
        sigma^2.
    loading_mean : ndarray of shape (n_components, n_features)
        M', the posterior means of the loadings.
    weighted_loading_cov : ndarray of shape (n_components, n_components)
        ``sum_k u_k^2 S_k`` over the posterior covariances S_k of the loadings of variable k.
    explained : ndarray of shape (n_features,)
        How much of each variable's sum of squares the factors explain; breaks ties of the relevance.
    """

    relevance: FloatArray
    slab_rate: float
    noise_variance: float
    loading_mean: FloatArray
    weighted_loading_cov: FloatArray
    explained: FloatArray


@dataclass(frozen=True)
class RelaxedFit:
    """A run of the variational EM.

    Attributes
    ----------
    relevance : ndarray of shape (n_features,)
        u at the end of the run.
    slab_rate, noise_variance : float
        alpha and sigma^2 at the end of the run.
    loading_mean : ndarray of shape (n_components, n_features)
        Posterior means of the loadings, up to a rotation of the latent space.
    explained : ndarray of shape (n_features,)
        How much of each variable's sum of squares the factors explain.
    bounds : ndarray of shape (n_recorded,)
        Lower bound of the log evidence after each accepted iteration; never falls.
    n_iter : int
        Iterations, each with one pass over the data: those of the start of this run included, those of other
        starts not.
    converged : bool
        Whether the bound settled before `max_iter`.
    collapsed : bool
        Whether the factors explain nothing: no common structure stands out of the noise. The relevances are then
        those at which the last of it vanished.
    """

    relevance: FloatArray
    slab_rate: float
    noise_variance: float
    loading_mean: FloatArray
    explained: FloatArray
    bounds: FloatArray
    n_iter: int
    converged: bool
    collapsed: bool


@dataclass(frozen=True)
class Ranking:
    """The variables in an order, and what it was made of.

    Attributes
    ----------
    order : ndarray of shape (n_features,)
        Indices of the variables, the most relevant first.
    relevance : ndarray of shape (n_features,)
        How relevant each variable is, between 0 and 1, in its own place.
    name : str
        "vem", "noise-path", "soft-path" or "refined".
    n_iter : int
        Passes over the data that it took.
    """

    order: IntArray
    relevance: FloatArray
    name: str
    n_iter: int


@dataclass(frozen=True)
class NoisePath:
    """Relevances along rising noise.

    Attributes
    ----------
    score : ndarray of shape (n_features,)
        Log noise variance at which each variable dies: the larger, the more relevant.
    levels : ndarray of shape (n_levels,)
        The noise variances, ascending; the last one leaves no variable.
    relevance : ndarray of shape (n_levels, n_features)
        Root mean square loading of each variable at each level; zero where it is dead.
    """

    score: FloatArray
    levels: FloatArray
    relevance: FloatArray


@dataclass(frozen=True)
class EvidencePath:
    """Log evidence of nested supports along a ranking.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of active variables, ascending.
    log_evidence : ndarray of shape (n_sizes,)
        Log evidence of each support, at its best slab rate.
    slab_rates : ndarray of shape (n_sizes,)
        The slab rate that maximises the evidence of each support.
    inactive_variances : ndarray of shape (n_sizes,)
        Variance given to the variables outside each support.
    log_evidence_empty : float
        That of the empty model, in which every variable is noise.
    dimensions : ndarray of shape (n_sizes,) or None
        The number of components at which each support has this evidence, where the evidence chooses it.
    """

    sizes: IntArray
    log_evidence: FloatArray
    slab_rates: FloatArray
    inactive_variances: FloatArray
    log_evidence_empty: float = -math.inf
    dimensions: IntArray | None = None
