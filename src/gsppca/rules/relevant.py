"""The rules that cut the nested order: all relevant variables, or a given number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gsppca.checks import check_count, is_integer
from gsppca.parameters import Parameters
from gsppca.results import Caution, Chosen, Found

if TYPE_CHECKING:
    from gsppca.frame import Frame


@dataclass(frozen=True, repr=False)
class Relevant(Parameters):
    """Select what the method keeps: ``n_features_to_select="relevant"``."""

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Select the relevant variables."""
        return Chosen(found.relevant, "relevant", found.supported, unsupported(found))


@dataclass(frozen=True, repr=False)
class Size(Parameters):
    """Select a given number of variables: the first ones of the nested order.

    Parameters
    ----------
    size : int or float
        A number of variables, or a fraction of all columns of X, those that are constant included.
    """

    size: int | float

    def check(self) -> None:
        """Refuse values that no data could make right."""
        if is_integer(self.size):
            check_count("n_features_to_select", self.size, 1, advice="It is a number of columns.")
        elif not 0 < float(self.size) <= 1:
            raise ValueError(
                "n_features_to_select must be a rule, an integer, or a fraction between 0 and 1, "
                f"got {self.size!r}. Set n_features_to_select to such a value."
            )

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Cut the order."""
        p = frame.data.n_features
        if is_integer(self.size):
            advice = f"X has {p} columns that vary."
            size = check_count("n_features_to_select", self.size, 1, p, advice, otherwise="a rule, a fraction")
        else:
            size = min(max(1, round(float(self.size) * len(frame.varying))), p)
        return cut(found, size)


def cut(found: Found, size: int) -> Chosen:
    """Select the first variables of the nested order."""
    support = np.zeros(len(found.order), dtype=bool)
    support[found.order[:size]] = True
    cautions = unsupported(found) if size > 1 else ()
    return Chosen(support, "size", found.supported, cautions, n_components=found.components_at(size))


def unsupported(found: Found) -> tuple[Caution, ...]:
    """Say when the relevant variables do not beat the empty model."""
    if found.supported or any(caution.kind == "no structure" for caution in found.cautions):
        return ()
    count = int(found.relevant.sum())
    message = (
        "No statistically supported structure was found: no set of variables beats the empty model, in which every "
        f"variable is noise. The best set found has {count} variable{'s' * (count != 1)}; supported_ is False."
    )
    return (Caution("no structure", message),)
