"""The method of the paper: a variational EM ranks the variables, a closed-form evidence says how many are relevant."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gsppca._checkpoint import check_checkpoint
from gsppca.checks import check_choice, check_count, check_number, is_number
from gsppca.components.noise import METHODS
from gsppca.evidence.noisy import noisy_evidence_along
from gsppca.evidence.posterior import NOISELESS_TEMPERATURE
from gsppca.frame import Frame, standardised
from gsppca.methods.nested_search import best_along, check_size_prior, checked_dimension
from gsppca.parameters import Parameters
from gsppca.rankings.order import rank_variables, without_zeros
from gsppca.rankings.vem.checkpoint import Checkpoint
from gsppca.rankings.vem.start import SHORT_RUN, UNITS, check_slab_rate
from gsppca.results import Caution, EvidencePath, Found, RelaxedFit, Wishes
from gsppca.stages import MAX_ITER, TOL, estimate_noise_variance, evidence_path, relaxed_vem

NoiseWord = Literal["median", "ml", "bias_corrected", "profile"]


@dataclass(frozen=True, repr=False)
class Paper(Parameters):
    """The procedure of Bouveyron, Latouche & Mattei: ``GSPPCA(method="paper")``, with its parameters.

    The variational EM of a relaxed model gives every variable a relevance between 0 and 1. Along this ranking the
    marginal likelihood (evidence) of each nested support is maximised; it is known in closed form (Theorem 2).

    Parameters
    ----------
    noise_variance : {"median", "ml", "bias_corrected", "profile"} or float, default="median"
        Variance of the variables that are not relevant: the median of the column variances, the maximum likelihood
        estimate of probabilistic PCA, its bias correction, for every size the mean square of the variables outside
        ("profile"), or a number.
    evidence : {"noiseless", "noisy"}, default="noiseless"
        Which marginal likelihood is maximised: the closed form of Theorem 2, without noise on the relevant variables,
        or that of Theorem 1, with noise, by quadrature.
    init : {"svd", "random"}, default="svd"
        Start of the loadings: principal axes, or random numbers. "random" with ``noise_variance="median"`` and a given
        `n_components` ranks and selects without any SVD.
    slab_rate : "grid", float or sequence of float, default="grid"
        Starts of the slab rate alpha: the printed grid (0.1, 1, 10), one rate, or several. Short runs are made from
        each; the one with the best bound goes on.
    slab_unit : {"noise", "data", "absolute"}, default="noise"
        Unit of `slab_rate`: the inverse of the noise standard deviation, so that unit noise has the printed grid and
        scaling X scales the answer; the rate at which the prior has the variance of the data; or none.
    short_iterations : int, default=5
        Iterations of each short run.
    accelerate : bool, default=True
        Whether to accelerate the variational EM, by moves that raise the bound further and by extrapolation (SQUAREM).
        The bound never falls either way.
    noise_first : bool, default=False
        Whether to update sigma before u, the order of equations 13 to 15.
    discard_zeros : bool, default=False
        Whether to leave variables with u = 0 out of the selection.
    max_iter : int, default=1000
        Most iterations of the variational EM, each a pass over the data.
    tol : float, default=1e-6
        The variational EM stops when an iteration raises its bound by less than this, per entry of X.
    size_prior : {"uniform", "search", "sparse"} or callable, default="uniform"
        Prior on the number of variables. "uniform" prefers none; "search" charges for having looked for the support
        among all of its size; "sparse" makes it unlikely that more variables than samples are selected, as the authors
        describe it. A callable gets a size and returns its log prior.
    scale_ranking : bool, default=False
        Whether to standardise the columns for the ranking only, as the authors' program can.
    temperature : float, default=4.0
        The log evidence is divided by it before it is turned into inclusion probabilities: those of 1.0 are too sure
        (docs/beyond.md).
    checkpoint : path-like or None, default=None
        A small file that keeps the state of the variational EM during a long fit. If the process dies, the same fit
        with the same file goes on from there, and ends with the same result. A file of other data or parameters is
        refused.

    References
    ----------
    C. Bouveyron, P. Latouche & P.-A. Mattei (2018). Bayesian variable selection for globally sparse probabilistic PCA.
    Electronic Journal of Statistics 12(2), 3036-3070.

    Examples
    --------
    >>> from gsppca import GSPPCA, Paper
    >>> from gsppca.datasets import make_introductory
    >>> data = make_introductory(random_state=0)
    >>> model = GSPPCA(5, method=Paper(noise_variance="ml")).fit(data.X)
    >>> bool((model.support_ == data.support).all())
    True
    """

    noise_variance: NoiseWord | float = "median"
    evidence: Literal["noiseless", "noisy"] = "noiseless"
    init: Literal["svd", "random"] = "svd"
    slab_rate: Literal["grid"] | float | Sequence[float] = "grid"
    slab_unit: Literal["noise", "data", "absolute"] = "noise"
    short_iterations: int = SHORT_RUN
    accelerate: bool = True
    noise_first: bool = False
    discard_zeros: bool = False
    max_iter: int = MAX_ITER
    tol: float = TOL
    size_prior: Literal["uniform", "search", "sparse"] | Callable[[int], float] = "uniform"
    scale_ranking: bool = False
    temperature: float = NOISELESS_TEMPERATURE
    checkpoint: str | os.PathLike[str] | None = None

    def check(self) -> None:
        """Refuse values that no data could make right."""
        if is_number(self.noise_variance):
            check_number("noise_variance", self.noise_variance, 0, open_low=True)
        else:
            check_choice("noise_variance", self.noise_variance, (*METHODS, "profile"), "a positive number")
        check_choice("evidence", self.evidence, ("noiseless", "noisy"))
        check_choice("init", self.init, ("svd", "random"))
        check_slab_rate(self.slab_rate)
        check_choice("slab_unit", self.slab_unit, UNITS)
        check_count("short_iterations", self.short_iterations, 1, advice="The paper makes less than 5.")
        check_count("max_iter", self.max_iter, 1, advice="Each iteration is one pass over the data.")
        check_number("tol", self.tol, 0)
        check_size_prior(self.size_prior)
        for name in ("scale_ranking", "accelerate", "noise_first", "discard_zeros"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}. Set it to one of them.")
        check_number("temperature", self.temperature, 0, open_low=True)
        check_checkpoint(self.checkpoint)

    def find(self, frame: Frame, n_components: int | None, wishes: Wishes, random_state: Any) -> Found:
        """Rank by the variational EM, judge by the evidence, keep the best size."""
        judged = frame.judged
        ranked = standardised(judged) if self.scale_ranking and frame.scale is None else judged
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint, frame.data)
        known = float(self.noise_variance) if is_number(self.noise_variance) else None
        d = checked_dimension(judged, n_components, known)
        noise = self._noise(frame, d)
        relaxed = relaxed_vem(
            ranked,
            d,
            # "profile" has no value before there is a support: the run then starts from the median.
            noise_variance=noise if ranked is judged else None,
            init=self.init,
            slab_rate=self.slab_rate,
            slab_unit=self.slab_unit,
            short_iterations=self.short_iterations,
            max_iter=self.max_iter,
            tol=self.tol,
            accelerate=self.accelerate,
            noise_first=self.noise_first,
            random_state=random_state,
            checkpoint=checkpoint,
        )
        order = wishes.applied(rank_variables(relaxed.relevance, relaxed.explained, ranked.column_squares))
        candidates = without_zeros(order, relaxed.relevance) if self.discard_zeros else order
        return best_along(
            self._path(frame, candidates, d, noise),
            order,
            relaxed.relevance,
            self.size_prior,
            frame,
            d,
            n_iter=relaxed.n_iter,
            temperature=self.temperature,
            inactive_variance=noise,
            wishes=wishes,
            relaxed=relaxed,
            cautions=self._cautions(relaxed, d),
        )

    def evidence_path(self, frame: Frame, found: Found) -> EvidencePath:
        """Evidence of all sizes along the order."""
        order = found.order
        if self.discard_zeros:
            order = without_zeros(order, found.relevance)
        return self._path(frame, order, found.n_components, found.inactive_variance)

    def _path(self, frame: Frame, order: Any, d: int, noise: float | None) -> EvidencePath:
        if self.evidence == "noiseless":
            return evidence_path(frame.judged, order, d, "profile" if noise is None else noise)
        active = estimate_noise_variance(frame.judged, d) if noise is None else noise
        sizes = np.arange(1, len(order) + 1)
        return noisy_evidence_along(frame.judged, order, d, noise, sizes, active_variance=active)

    def _noise(self, frame: Frame, d: int) -> float | None:
        """Variance of the variables that are not relevant; None for "profile"."""
        noise, data = self.noise_variance, frame.judged
        if is_number(noise):
            return float(noise)
        if noise == "profile":
            return None
        value = estimate_noise_variance(data, d, str(noise))
        # These estimates are a difference: what rounding leaves of it is not noise.
        if noise != "median" and value <= 1e-13 * data.total_squares / data.n_samples:
            raise ValueError(
                f"noise_variance={noise!r} estimates that there is no noise: n_components={d} "
                "components explain all of X. Use fewer components, noise_variance='median' or a positive number."
            )
        return value

    def _cautions(self, fit: RelaxedFit, d: int) -> tuple[Caution, ...]:
        if fit.collapsed:
            return (
                Caution(
                    "no structure",
                    "No common structure stands out of the noise: the variational EM collapsed to relevances of zero "
                    f"from every start (slab_rate={self.slab_rate!r}, n_components={d}). Variables are ranked by how "
                    "late they vanished; the selection may mean nothing. Try other n_components, slab_rate='grid', or "
                    "scale=True if the columns have different units.",
                ),
            )
        if not fit.converged:
            return (
                Caution(
                    "not converged",
                    f"The variational EM did not converge in max_iter={self.max_iter} iterations; the ranking may "
                    f"still change. Raise max_iter, or tol={self.tol:g} if this precision is not needed.",
                ),
            )
        return ()
