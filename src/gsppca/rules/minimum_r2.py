"""The rule that asks for a minimum effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gsppca._typing import BoolArray
from gsppca.checks import check_number
from gsppca.parameters import Parameters
from gsppca.results import Caution, Chosen, Found
from gsppca.rules.communality import leave_one_out_r2

if TYPE_CHECKING:
    from gsppca.frame import Frame


@dataclass(frozen=True, repr=False)
class MinimumR2(Parameters):
    """Select the variables of which the others explain enough: ``n_features_to_select="r2"``.

    Parameters
    ----------
    least : float, default=0.1
        The least share of a variable's variance that factors of the other variables must explain, adjusted for their
        number.
    """

    least: float = 0.1

    def check(self) -> None:
        """Refuse values that no data could make right."""
        check_number("least", self.least, 0, 1)

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Select the variables that the others explain."""
        share = leave_one_out_r2(frame.judged, found.n_components, adjusted=True)
        return passing(share >= self.least, found, "r2", f"a minimum R2 of {self.least:g}")


def passing(passes: BoolArray, found: Found, selected_by: str, what: str) -> Chosen:
    """Select the variables that pass a test; if none does, the first of the order, with a warning."""
    support = np.array(passes, dtype=bool)
    if support.any():
        return Chosen(support, selected_by, True)
    support[found.order[0]] = True
    message = (
        f"No variable passes {what}: by this rule there is no structure. The variable ranked first is kept, so that "
        "transform works; supported_ is False."
    )
    return Chosen(support, selected_by, False, (Caution("no structure", message),))
