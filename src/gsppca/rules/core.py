"""The core: a small set of variables from which the components of all relevant ones can be predicted.

The components are those of the PCA of the relevant variables. A forward selection (`forward`) chooses the variables
that predict their scores best; its size is the smallest at which the share of the variance of the scores that is
predicted on rows left out reaches a target, and the distances between rows are kept (`agreement`). Axes, selection and
regression are found anew without each fold.

The selections on all rows and without each fold go together: one fetch of the columns that they list (`listing`) serves
all of them, and there are one to six. With few columns, they need no more of the data than one Gram matrix for each
fold (`fold_grams`): one pass, whatever is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import sums_and_squares
from gsppca.rules.deal import deal_rows, n_folds
from gsppca.rules.remaining import Remaining
from gsppca.rules.shares import CoreDescription, describe_moments
from gsppca.rules.task import MOST_STEPS, Selections, Task
from gsppca.rules.ties import tolerant_ranks

SHARE = 0.9
BATCH = 8  # variables chosen before the share is looked at
NEARLY = 0.01  # of share: what is given up for a smaller core, when the target is out of reach
NONE_LEFT = 1e-12  # of the variance of a component: less on rows left out is rounding
NONE: IntArray = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class CoreOrder:
    """Relevant variables in the order in which they add to what is known of the components.

    Attributes
    ----------
    order : ndarray of shape (n_steps,)
        Indices of variables; those to be included come first.
    promised : ndarray of shape (n_steps,)
        Share of the variance of the components that the first 1, 2, ... of them predict in the shrunken model.
    """

    order: IntArray
    promised: FloatArray


@dataclass(frozen=True)
class SharePath:
    """Share of the components that the first variables of an order predict, at each size.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        1, 2, ...
    share : ndarray of shape (n_sizes,)
        Cross-validated; components count by their variance.
    equal_share : ndarray of shape (n_sizes,)
        Cross-validated; mean over components.
    promised : ndarray of shape (n_sizes,)
        What the shrunken model promises, on all rows; never falls.
    """

    sizes: IntArray
    share: FloatArray
    equal_share: FloatArray
    promised: FloatArray


@dataclass(frozen=True)
class CoreFit:
    """A core, and the nested order that it is the beginning of.

    Attributes
    ----------
    order : ndarray of shape (n_relevant,)
        All variables that may be chosen: first those to be included, then in the order of the forward selection, then
        by what each would add to it; or, where most of all variables are noise, by relevance.
    size : int
        The core is ``order[:size]``: as many variables as there are components at least, and all that are included.
        With a target of `SHARE` or more, as many as keep the distances between rows.
    share : float
        Cross-validated share of the components of all relevant variables that a core of this size predicts.
    reached : bool
        Whether that is the share asked for.
    share_path : SharePath
        Shares at all sizes that were tried.
    description : CoreDescription
        What the core says of all variables.
    fold : ndarray of shape (n_samples,)
        The fold of every row in the cross-validation.
    shrinkage : float
        Weight of the identity in the covariance.
    """

    order: IntArray
    size: int
    share: float
    reached: bool
    share_path: SharePath
    description: CoreDescription
    fold: IntArray
    shrinkage: float

    @property
    def core(self) -> IntArray:
        """Indices of the variables of the core, in their order."""
        return self.order[: self.size]

    def without_rows(self) -> CoreFit:
        """The same without what belongs to single rows of the data."""
        return replace(self, fold=self.fold[:0])

    @property
    def predicted(self) -> FloatArray:
        """Cross-validated share of each variable that the core predicts, shape (n_features,)."""
        return self.description.predicted


def core_order(
    matrix: Matrix,
    relevant: BoolArray,
    n_components: int,
    *,
    include: IntArray = NONE,
    exclude: IntArray = NONE,
    relevance: FloatArray | None = None,
    n_steps: int = MOST_STEPS,
    standardise: bool = True,
) -> CoreOrder:
    """Order relevant variables by what they add to the prediction of the components, without a cross-validation.

    Parameters are those of `find_core`. The order is the beginning of that of `find_core`, of `n_steps` variables, but
    not more than the forward selection chooses.
    """
    task = Task(matrix, relevant, n_components, include, exclude, relevance, standardise)
    selections = task.selections(None)
    selections.advance(n_steps)
    (forward,) = selections.forwards
    order = task.places[np.array(forward.order[:n_steps], dtype=np.intp)]
    return CoreOrder(order, np.array(forward.explained[:n_steps]) / forward.total)


def find_core(
    matrix: Matrix,
    relevant: BoolArray,
    n_components: int,
    *,
    share: float = SHARE,
    include: IntArray = NONE,
    exclude: IntArray = NONE,
    relevance: FloatArray | None = None,
    standardise: bool = True,
    rows: FloatArray | None = None,
) -> CoreFit:
    """Find the smallest core that predicts a share of the components of all relevant variables, and keeps distances.

    It holds at least as many variables as there are components, or a PCA on it could not have as many.

    Parameters
    ----------
    matrix : Matrix
        The centred data: at least four rows.
    relevant : ndarray of shape (n_features,), bool
        The variables whose components are to be predicted, and that may be chosen.
    n_components : int
        Number of components; fewer are used if the training rows of a fold do not have as many.
    share : float, default=0.9
        The target: between 0 and 1. From `SHARE` on, the core also has as many variables as keep the distances between
        rows. The order of the variables does not depend on it.
    include : ndarray of int, optional
        Indices of variables that enter first, whether relevant or not; the others complement them.
    exclude : ndarray of int, optional
        Indices of variables that are never chosen. They count as data to be explained, if relevant.
    relevance : ndarray of shape (n_features,), optional
        How relevant each variable is. Where at most half of all variables are relevant, so that most are noise, those
        that add no more than chance to the prediction follow in this order; by default, in the order of what each
        predicts alone. It does not matter otherwise.
    standardise : bool, default=True
        Whether the components are those of standardised variables. If not, they are in the units of `matrix`.
        Variables predict in standard units in any case.
    rows : ndarray of shape (n_samples, 2), optional
        Sums and sums of squares of the rows, of standardised columns, along which they are dealt out to folds; by
        default, a pass over the data finds them.
    """
    task = Task(matrix, relevant, n_components, include, exclude, relevance, standardise)
    rows = sums_and_squares(task.everything) if rows is None else rows
    fold = deal_rows(rows, n_folds(matrix.n_samples), partial(_weighted_sums, task.everything, relevance))
    choice = _choose(task, fold, share)
    chosen, remaining = task.places[choice.remaining.chosen], choice.remaining
    moments = task.decomposition.moments(chosen[: choice.size], chosen[choice.size :], fold)
    units = None if standardise else np.sqrt(matrix.column_squares / matrix.n_samples)
    description = describe_moments(moments, units, also=remaining.add)
    moments.remember_gram(task.everything)
    return CoreFit(
        order=task.places[remaining.order(choice.ties)],
        size=choice.size,
        share=float(choice.path.share[choice.size - 1]),
        reached=choice.reached,
        share_path=choice.path,
        description=description,
        fold=fold,
        shrinkage=remaining.forward.shrinkage,
    )


def _weighted_sums(everything: Matrix, relevance: FloatArray | None) -> FloatArray:
    """Sums of the rows, of columns weighted by relevance: by roots of ranks, so that hardly any two agree by chance."""
    if relevance is None:
        return np.zeros(everything.n_samples)
    return everything.product(np.sqrt(tolerant_ranks(relevance) + 1.0)[None])[:, 0]


class _Choice(NamedTuple):
    """What is kept of the forward selections; see `CoreFit`."""

    size: int
    reached: bool
    path: SharePath
    remaining: Remaining
    ties: FloatArray


def _choose(task: Task, fold: IntArray, share: float) -> _Choice:
    """Run the forward selections until the share is reached without the folds."""
    together = task.selections(fold)
    everything, n = together.forwards[0], len(together.forwards)
    found, least = -1, min(max(len(task.first), task.n_components), task.most)
    while found < 0 and together.n_chosen < task.most:
        together.advance(BATCH)
        # The model promises more than it keeps: before it promises enough, there is nothing to look at.
        if everything.explained[-1] >= share * everything.total or together.n_chosen == task.most:
            weighted, equal = _shares(together)
            found = _first_at(weighted, share, least)
    alone = together.of(slice(0, 1))
    alone.advance(task.most)
    reached = found >= 0
    if reached and share >= SHARE and (kept := everything.size_for_distances(found)) > found:
        found, without = kept, together.of(slice(1, n))
        without.advance(found - without.n_chosen)
        weighted, equal = _shares(without)
    if not reached:
        found = _first_at(weighted, weighted.max() - NEARLY, least)
    assert alone.pool is not None
    promised = np.array(everything.explained[: len(weighted)]) / everything.total
    path = SharePath(np.arange(1, len(weighted) + 1), weighted, equal, promised)
    return _Choice(found, reached, path, Remaining(alone.pool, task.places), together.ties)


def _first_at(shares: FloatArray, target: float, least: int) -> int:
    """Return the smallest size, from `least`, whose share reaches the target; -1 if none does."""
    enough = np.flatnonzero(shares[least - 1 :] >= target)
    return int(enough[0]) + least if len(enough) else -1


def _shares(selections: Selections) -> tuple[FloatArray, FloatArray]:
    """Cross-validated shares, weighted and equal, of the first 1, 2, ... variables; zero if nothing is to be predicted.

    That is so of components of a part that rows left out do not have, such as those of a few rows of their own.
    """
    assert selections.pool is not None
    errors, part = selections.pool.errors(), selections.forwards[0].part
    known = errors[0] > NONE_LEFT * part.n_rows * part.score_variances
    if not known.any():
        return np.zeros(len(errors) - 1), np.zeros(len(errors) - 1)
    errors = errors[:, known]
    return 1 - errors[1:].sum(axis=1) / errors[0].sum(), 1 - np.mean(errors[1:] / errors[0], axis=1)
