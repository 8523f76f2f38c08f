"""What the steps hand to each other: frozen records of plain arrays, each testable and picklable alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gsppca.rules.core import CoreFit


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
class NoisePath:
    """Relevances along rising noise.

    Attributes
    ----------
    score : ndarray of shape (n_features,)
        Log noise variance at which the loadings of each variable shrink to zero: the larger, the more relevant.
    levels : ndarray of shape (n_levels,)
        The noise variances, ascending; the last one leaves no variable.
    relevance : ndarray of shape (n_levels, n_features)
        Root mean square loading of each variable at each level; zero beyond its score.
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


@dataclass(frozen=True)
class Caution:
    """What a user should know about a fit.

    Attributes
    ----------
    kind : {"no structure", "not converged", "most variables", "small sample"}
        Decides the category of the warning.
    message : str
        What was seen, and what to do.
    """

    kind: str
    message: str


def _none() -> IntArray:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Wishes:
    """Variables that the user wants, or does not want, in the selection; indices of the columns that vary.

    Attributes
    ----------
    include : ndarray of int
        They come first in the order.
    exclude : ndarray of int
        They come last, and are never selected; as data to be explained they count like all others.
    """

    include: IntArray = field(default_factory=_none)
    exclude: IntArray = field(default_factory=_none)

    def applied(self, order: IntArray) -> IntArray:
        """Return an order with the included variables first and the excluded ones last."""
        rest = order[~np.isin(order, np.concatenate([self.include, self.exclude]))]
        return np.concatenate([self.include, rest, order[np.isin(order, self.exclude)]]).astype(np.intp)


@dataclass(frozen=True)
class NoiseUnits:
    """Units of all variables by their noise, and what they cost; see `gsppca.evidence.noise_units`.

    Attributes
    ----------
    share : ndarray of shape (n_features,)
        psi, relative to that of the mean member.
    charges : ndarray of shape (n_features,)
        What a member is charged, in nats.
    """

    share: FloatArray
    charges: FloatArray

    def at(self, places: IntArray, n_features: int) -> NoiseUnits:
        """The same among more variables, of which these are some."""
        share, charges = np.ones(n_features), np.zeros(n_features)
        share[places], charges[places] = self.share, self.charges
        return NoiseUnits(share, charges)


@dataclass(frozen=True)
class Found:
    """What a method says of the columns that vary.

    Attributes
    ----------
    order : ndarray of shape (n_features,)
        The one nested order: a given number of variables is a cut of it.
    relevant : ndarray of shape (n_features,)
        The variables that the method itself keeps.
    relevance : ndarray of shape (n_features,)
        How relevant each variable is, between 0 and 1.
    inclusion_probability : ndarray of shape (n_features,)
        Posterior probability of each variable to be relevant.
    supported : bool
        Whether the relevant variables beat the empty model, in which all variables are noise.
    n_components : int
        Dimension of the latent space.
    n_iter : int
        Iterations of the ranking.
    evidence : EvidencePath or None
        Evidence along the order; None if it is evaluated when somebody looks at it.
    inactive_variance : float or None
        Variance given to the variables that are not selected; None stands for their mean square.
    core_components : int or None
        How many components the core is to predict; None stands for `n_components`.
    own_units : bool
        Whether every variable has its own unit: its components are then those of standardised variables.
    noise_units : NoiseUnits or None
        Units in which the method compared the variables, if they are neither common nor standardised.
    core : CoreFit or None
        The core of the relevant variables, where the method finds it.
    search_order : ndarray of shape (n_features,) or None
        The order before a core was found, which tells equal variables apart when one is; None stands for `order`.
    wishes : Wishes
        Variables that had to be in, or out.
    relaxed : RelaxedFit or None
        The run of the variational EM, if there was one.
    cautions : tuple of Caution
        What a user should know.
    """

    order: IntArray
    relevant: BoolArray
    relevance: FloatArray
    inclusion_probability: FloatArray
    supported: bool
    n_components: int
    n_iter: int
    evidence: EvidencePath | None = None
    inactive_variance: float | None = None
    core_components: int | None = None
    own_units: bool = False
    noise_units: NoiseUnits | None = None
    core: CoreFit | None = None
    search_order: IntArray | None = None
    wishes: Wishes = field(default_factory=Wishes)
    relaxed: RelaxedFit | None = None
    cautions: tuple[Caution, ...] = ()

    def components_at(self, size: int) -> int:
        """How many components a number of variables has: of some of the relevant ones the leading ones, as a core."""
        is_part = size < int(self.relevant.sum())
        return self.core_components if is_part and self.core_components is not None else self.n_components


@dataclass(frozen=True)
class Chosen:
    """What a rule chose.

    Attributes
    ----------
    support : ndarray of shape (n_features,)
        Which of the columns that vary are selected.
    selected_by : {"relevant", "core", "fdr", "r2", "size"} or another name
        The rule that decided.
    supported : bool
        Whether there is statistically supported structure, by this rule.
    cautions : tuple of Caution
        What a user should know.
    core : CoreFit or None
        The core, if the rule had to find it.
    n_components : int or None
        Number of components of the selected variables; None stands for the dimension that the method found.
    """

    support: BoolArray
    selected_by: str
    supported: bool
    cautions: tuple[Caution, ...] = ()
    core: CoreFit | None = None
    n_components: int | None = None
