"""The joint method: variables are relevant when they share factors with others, by a marginal likelihood."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gsppca._checkpoint import check_checkpoint
from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.checks import check_choice
from gsppca.components.clipping import Tails, has_own_noise
from gsppca.components.dimension import MAX_DIMENSION
from gsppca.data import Matrix
from gsppca.evidence.decompose import form_gram
from gsppca.evidence.path import evidence_along
from gsppca.evidence.search import JointFit, find_support, without_evidence
from gsppca.frame import Frame, in_unit, standardised
from gsppca.parameters import Parameters
from gsppca.progress import tell
from gsppca.results import EvidencePath, Found, Wishes
from gsppca.rules.core_rule import core_of
from gsppca.rules.deal import FEWEST_SAMPLES
from gsppca.rules.ties import EQUAL, tolerant_ranks
from gsppca.stages import check_n_components, count_leading

SPARE_COMPONENTS = 3  # beyond twice those that stand out of the noise, for the evidence to choose from
LEADING = 10  # components that the core predicts, when their number was not given
SAMPLES_EACH = 5  # samples for each of them
SAME_LOG_ODDS = 1e-6  # log odds that differ by less differ by rounding
SHOWN_SIZES = 40  # sizes of the evidence path beyond the small ones


@dataclass(frozen=True, repr=False)
class Joint(Parameters):
    """The joint method: ``GSPPCA(method="joint")``, the default, with its parameters.

    A closed-form update moves from a set of variables to those that its factors explain better than noise would, by
    their Bayes factors; the marginal likelihood (evidence) of a model in which all samples share the loadings judges
    every set on the way. When the tails of the columns are heavy, they are clipped first. See docs/beyond.md.

    Parameters
    ----------
    noise : {"auto", "own", "common"}, default="auto"
        Noise of the variables: each has a variance of its own, or all share one. "auto" decides by how much the
        variances of the columns spread: if as little as noise of one variance would, the variables share their units.
    checkpoint : path-like or None, default=None
        A file that keeps the results of passes over data in blocks (a dask array, a zarr array, ...) during a long fit.
        If the process dies, the same fit with the same file goes on from there, and ends with the same result. A file
        of other data is refused.

    Examples
    --------
    >>> from gsppca import GSPPCA, Joint
    >>> from gsppca.datasets import make_introductory
    >>> data = make_introductory(random_state=0)
    >>> model = GSPPCA(method=Joint(noise="own")).fit(data.X)
    >>> bool((model.support_ == data.support).all())
    True
    """

    noise: Literal["auto", "own", "common"] = "auto"
    checkpoint: str | os.PathLike[str] | None = None

    def check(self) -> None:
        """Refuse values that no data could make right."""
        check_choice("noise", self.noise, ("auto", "own", "common"))
        check_checkpoint(self.checkpoint)

    def find(self, frame: Frame, n_components: int | None, wishes: Wishes, random_state: Any = None) -> Found:
        """Find the relevant variables, and the order in which they add to what is known of the structure."""
        if self.checkpoint is not None:
            frame.remember_passes(self.checkpoint)
        found = self._searched(frame, n_components, wishes)
        if frame.data.n_samples < FEWEST_SAMPLES:
            return found
        frame.let_go_of_clipped()
        core = core_of(frame, found)
        frame.let_go_of_products()
        return replace(found, core=core, order=_nested(core.order, found.order), search_order=found.order)

    def _searched(self, frame: Frame, n_components: int | None, wishes: Wishes) -> Found:
        """Find the relevant variables."""
        tails = frame.tails
        matrix = in_unit(frame.clipped)
        if n_components is not None:
            check_n_components(n_components, matrix.n_samples, matrix.n_features)
        # Columns that hardly ever differ from one value are equal to others by chance: they are not judged.
        judged = ~tails.rare[frame.varying] & (matrix.column_squares > 0)
        can_be_judged = np.count_nonzero(judged) > 1
        if not can_be_judged:
            judged = np.ones(len(judged), dtype=bool)
        part = matrix if judged.all() else matrix.columns(judged)
        own = self._own_noise(part, tails)
        part = standardised(part) if own else part
        fit = without_evidence(part.n_features)
        if can_be_judged:
            fit = find_support(
                part,
                _most_components(part, n_components),
                own_noise=own,
                temperature=tails.temperature,
                progress=lambda done: tell("joint evidence", done),
            )
        return Found(
            order=wishes.applied(_ordered(fit, judged, frame)),
            relevant=_placed(fit.support, judged),
            relevance=_placed(fit.explained, judged),
            inclusion_probability=_placed(fit.inclusion_probability, judged),
            supported=fit.supported,
            n_components=fit.n_components if n_components is None else n_components,
            n_iter=max(fit.n_updates, 1),
            core_components=_core_components(matrix, fit.n_components) if n_components is None else None,
            own_units=own,
            noise_units=fit.group_units[0] and fit.group_units[0].at(np.flatnonzero(judged), len(judged)),
            wishes=wishes,
        )

    def evidence_path(self, frame: Frame, found: Found) -> EvidencePath:
        """Evaluate the evidence at all small sizes, and at some of the others."""
        p, most = len(found.order), found.n_components
        dense = min(p, most + 30)
        marks = [int(found.relevant.sum()), found.core.size if found.core is not None else 2]
        sizes = (
            np.concatenate([np.arange(2, dense + 1), np.geomspace(dense, p, SHOWN_SIZES), marks]).round().astype(int)
        )
        sizes = np.unique(sizes[(sizes >= 2) & (sizes <= p)])
        path = evidence_along(
            in_unit(frame.clipped), found.order, sizes, most, found.own_units, units=[found.noise_units]
        )
        if np.isfinite(path.log_evidence).any():
            return path
        return replace(path, log_evidence=np.zeros(len(path.sizes)))  # two samples, say: nothing is better than noise

    def _own_noise(self, matrix: Matrix, tails: Tails) -> bool:
        if self.noise != "auto":
            return self.noise == "own"
        return has_own_noise(matrix.column_squares, matrix.n_samples, tails)


def _most_components(matrix: Matrix, n_components: int | None) -> int:
    n, p = matrix.n_samples, matrix.n_features
    if n_components is not None:
        return n_components  # more than there are judged columns, it may be
    form_gram(matrix)
    enough = -(-(MAX_DIMENSION - SPARE_COMPONENTS) // 2)  # more would not raise the number below
    count = count_leading(matrix, enough)
    return max(1, min(2 * count + SPARE_COMPONENTS, MAX_DIMENSION, n - 1, p - 1))


def _core_components(matrix: Matrix, n_components: int) -> int:
    """Those that other samples would show too: the leading ones, fewer on few samples."""
    return max(1, min(n_components, LEADING, matrix.n_samples // SAMPLES_EACH))


def _placed(values: NDArray[Any], judged: BoolArray) -> NDArray[Any]:
    """Values of the judged columns at their places; zero elsewhere."""
    wide = np.zeros(len(judged), dtype=values.dtype)
    wide[judged] = values
    return wide


def _ordered(fit: JointFit, judged: BoolArray, frame: Frame) -> IntArray:
    """Order all columns: group after group, then the others, each by falling log odds; then those not judged.

    Log odds that differ by rounding only tie. Ties, and columns that were not judged, are ordered by their variances
    and means; where these tie, too (words that occur equally often), by the rows in which they are large. Only copies
    of a column follow their places.
    """
    group = np.full(len(judged), len(judged) + 1)
    group[judged] = np.where(fit.groups > 0, fit.groups, len(judged))
    log_odds = _placed(fit.log_odds, judged)
    deviation, mean = frame.deviation[frame.varying], frame.mean[frame.varying]
    keys = [
        group,
        tolerant_ranks(-log_odds, SAME_LOG_ODDS),
        tolerant_ranks(-np.log(deviation), EQUAL),
        tolerant_ranks(np.arcsinh(mean / deviation), EQUAL),
    ]
    order = np.lexsort(keys[::-1])
    tie = np.all([key[order[1:]] == key[order[:-1]] for key in keys], axis=0)
    if tie.any():
        tied = np.union1d(order[1:][tie], order[:-1][tie])
        keys.append(np.zeros_like(order))
        keys[-1][tied] = tolerant_ranks(_company(frame)[tied], EQUAL)
        order = np.lexsort(keys[::-1])
    return order


def _company(frame: Frame) -> FloatArray:
    """How far from the centre the rows lie in which a column is large: its covariance with their squared lengths."""
    matrix = standardised(frame.data)
    lengths = frame.rows[:, 1]
    return matrix.transposed_product((lengths / lengths.sum())[:, None])[0]


def _nested(first: IntArray, order: IntArray) -> IntArray:
    """Put some variables first; the others follow in their order."""
    chosen: BoolArray = np.zeros(len(order), dtype=bool)
    chosen[first] = True
    return np.concatenate([first, order[~chosen[order]]]).astype(np.intp)
