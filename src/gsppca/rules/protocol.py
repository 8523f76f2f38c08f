"""What a rule must be able to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from gsppca.results import Chosen, Found

if TYPE_CHECKING:
    from gsppca.frame import Frame


class Rule(Protocol):
    """Chooses the variables to select, among those that a method has ranked and judged.

    `GSPPCA` takes any object with this function as ``n_features_to_select``.
    """

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Choose variables.

        Parameters
        ----------
        found : Found
            ``order`` is the nested order, ``relevant`` what the method itself keeps.
        frame : Frame
            The data, for rules that look at it again.
        rng : Generator
            For rules that draw.
        """
