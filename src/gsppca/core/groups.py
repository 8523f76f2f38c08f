"""Further groups of variables: those left out may share factors of their own.

All loadings of a support have one prior, and every member has loadings on every factor. A weak factor with variables of
its own then costs more than it explains: the variables of the strong factors pay for it too. So once a support is
found, the same search looks at the variables left out, and what it finds joins, as a group whose loadings on the other
factors are zero. The evidence of such a model is a sum,

    L(groups) = L(first | all variables) + L(second | the variables left out) + ...,

each term against its own empty model; a group joins if its term pays for the search among what was left. Outliers of
some columns in the same sample make a group too, whose factor is that sample: a leading factor with heavier tails than
a Laplacian is taken for one, and the search ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gsppca._typing import BoolArray, IntArray
from gsppca.core.joint import log_choices
from gsppca.core.joint_search import Found
from gsppca.core.spectrum import leading_spectrum
from gsppca.core.state import EvidencePath, Ranking
from gsppca.data.base import Matrix

MAX_GROUPS = 6
FEWEST = 4  # variables left out, among which nothing is looked for
HEAVIEST = 3.0  # excess kurtosis of a factor: that of a Laplacian

Search = Callable[[BoolArray, int], Found]


def with_further_groups(found: Found, matrix: Matrix, most_components: int, search: Search) -> Found:
    """Add groups that share factors among the variables left out, while they are worth it.

    Parameters
    ----------
    found : Found
        The support of the first group.
    matrix : Matrix
        The centred data, in the units of the evidence.
    most_components : int
        Largest number of components of all groups together.
    search : callable
        ``search(kept, most_components)`` looks for a support among the kept variables, and counts them anew.

    Returns
    -------
    found : Found
        With the groups one after the other in its ranking, and their evidence in its path.
    """
    p = matrix.n_features
    names = found.ranking.name
    for n_groups in range(2, MAX_GROUPS + 1):
        members = found.ranking.order[: found.size]
        kept = np.ones(p, dtype=bool)
        kept[members] = False
        n_left, left = most_components - found.dimension, int(kept.sum())
        if n_left < 1 or left < FEWEST or not is_supported(found, p):
            break
        group = search(kept, min(n_left, left - 1))
        if not is_supported(group, left) or is_carried_by_few(matrix.columns(kept), group):
            break
        found = _joined(found, group, np.flatnonzero(kept), f"{names}, {n_groups} groups")
    return found


def is_supported(found: Found, n_features: int) -> bool:
    """Whether the evidence of a support pays for the search among all of its size."""
    gain = np.interp(found.size, found.path.sizes, found.path.log_evidence) - found.path.log_evidence_empty
    return bool(gain > log_choices(n_features, np.array([found.size]))[0])


def is_carried_by_few(matrix: Matrix, group: Found) -> bool:
    """Whether the leading factor of a group is that of a few samples."""
    chosen = np.zeros(matrix.n_features, dtype=bool)
    chosen[group.ranking.order[: group.size]] = True
    part = matrix.columns(chosen)
    squares = part.product(leading_spectrum(part, 1).axes) ** 2
    return bool(np.mean(squares**2) > (3 + HEAVIEST) * np.mean(squares) ** 2)


def _joined(first: Found, second: Found, places: IntArray, name: str) -> Found:
    """Two groups as one result; `places` are the columns that the second was searched among."""
    order = np.concatenate([first.ranking.order[: first.size], places[second.ranking.order]])
    relevance = np.array(first.ranking.relevance)
    # Those left out come after: relative to the least relevant of the first group.
    relevance[places] = second.ranking.relevance * relevance[first.ranking.order[: first.size]].min()
    n_iter = first.ranking.n_iter + second.ranking.n_iter
    return replace(
        second,
        ranking=Ranking(order, relevance, name, n_iter),
        path=_one_after_the_other(first, second),
        size=first.size + second.size,
        value=first.value + second.value,
        dimension=first.dimension + second.dimension,
        psi=None,
    )


def _one_after_the_other(first: Found, second: Found) -> EvidencePath:
    """Evidence of the first group up to its size, and from there on of the second, the first being in."""
    before, after = first.path, second.path
    assert before.dimensions is not None
    assert after.dimensions is not None
    kept = before.sizes <= first.size
    at = int(np.flatnonzero(kept)[-1])
    return EvidencePath(
        np.concatenate([before.sizes[kept], first.size + after.sizes]),
        np.concatenate([before.log_evidence[kept], before.log_evidence[at] + after.log_evidence]),
        np.concatenate([before.slab_rates[kept], after.slab_rates]),
        np.concatenate([before.inactive_variances[kept], after.inactive_variances]),
        before.log_evidence_empty,
        np.concatenate([before.dimensions[kept], first.dimension + after.dimensions]),
    )
