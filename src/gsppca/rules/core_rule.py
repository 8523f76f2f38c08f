"""The rules that keep a small core of the relevant variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gsppca.checks import check_number
from gsppca.parameters import Parameters
from gsppca.results import Caution, Chosen, Found
from gsppca.rules.core import SHARE, CoreFit, find_core
from gsppca.rules.relevant import Relevant, unsupported
from gsppca.rules.switch import prefers_core

if TYPE_CHECKING:
    from gsppca.frame import Frame


@dataclass(frozen=True, repr=False)
class Core(Parameters):
    """Select the core of the relevant variables: ``n_features_to_select="core"``.

    The core is a small set of variables from which the components of all relevant ones can be predicted.

    Parameters
    ----------
    share : float, default=0.9
        Share of the variance of these components that the core must predict on rows that were left out. From 0.9 on, it
        also has as many variables as keep the distances between rows; a lower share gives fewer.
    """

    share: float = SHARE

    def check(self) -> None:
        """Refuse values that no data could make right."""
        check_number("share", self.share, 0, 1, open_low=True)

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Select the core."""
        core = found.core if self.share == SHARE else None
        core = core or core_of(frame, found, self.share)
        support = np.zeros(len(found.relevant), dtype=bool)
        support[core.order[: core.size]] = True
        cautions = (*unsupported(found), *short_of(core, self.share, frame))
        return Chosen(support, "core", found.supported, cautions, core, found.core_components)


@dataclass(frozen=True, repr=False)
class Automatic(Parameters):
    """Select the relevant variables if they are few, their core if they are most: ``n_features_to_select="auto"``.

    With a method that finds no core of its own, such as the paper's, the relevant variables are selected.
    """

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Select the relevant variables or their core."""
        n_relevant, p = int(found.relevant.sum()), len(frame.varying)
        if found.core is None or not found.supported or not prefers_core(found.core, found.relevant):
            return Relevant().select(found, frame, rng)
        chosen = Core().select(found, frame, rng)
        size = int(chosen.support.sum())
        message = (
            f"{n_relevant} of {p} variables are relevant; a core of {size}, which carries {found.core.share:.0%} of "
            "their structure on rows left out, is selected. n_features_to_select='relevant' (--size relevant) selects "
            f"all {n_relevant}, a number any other size."
        )
        return replace(chosen, cautions=(Caution("most variables", message), *chosen.cautions))


def core_of(frame: Frame, found: Found, share: float = SHARE) -> CoreFit:
    """Find the core of what a method found relevant."""
    # The same for every share: the order would be another one, if equal variables were told apart by the core itself.
    order, score = found.order if found.search_order is None else found.search_order, np.empty(len(found.order))
    score[order] = np.arange(len(order), 0, -1)
    return find_core(
        frame.described,
        found.relevant,
        found.core_components or found.n_components,
        share=share,
        include=found.wishes.include,
        exclude=found.wishes.exclude,
        relevance=score,
        standardise=found.own_units,
        rows=frame.rows,
    )


def short_of(core: CoreFit, share: float, frame: Frame) -> tuple[Caution, ...]:
    """Say when the core carries less than was asked for."""
    if core.reached:
        return ()
    # Components of such data are those of a few samples, which nothing else predicts.
    heavy = not frame.robust and frame.tails.heavy
    remedy = "The tails of the columns are heavy: take logarithms (--log) or robust=True, use" if heavy else "Use"
    return (
        Caution(
            "small sample",
            f"The core of {core.size} variables carries {core.share:.0%} of the structure on rows left out, less than "
            f"the {share:.0%} asked for: with {len(core.fold)} samples more variables do not predict it better. "
            f"{remedy} more samples, or Core(share=...) with a lower share.",
        ),
    )
