"""What a method must be able to do."""

from __future__ import annotations

from typing import Any, Protocol

from gsppca.frame import Frame
from gsppca.results import EvidencePath, Found, Wishes


class Method(Protocol):
    """Ranks variables and says which are relevant.

    `GSPPCA` takes any object with these two functions as ``method``.
    """

    def find(self, frame: Frame, n_components: int | None, wishes: Wishes, random_state: Any) -> Found:
        """Rank the variables of a frame and find the relevant ones.

        Parameters
        ----------
        frame : Frame
            ``frame.judged`` is the matrix to look at.
        n_components : int or None
            Dimension of the latent space; None lets the method choose.
        wishes : Wishes
            ``wishes.applied(order)`` puts them into effect.
        random_state : int, RandomState instance or None
            For what is random.
        """

    def evidence_path(self, frame: Frame, found: Found) -> EvidencePath:
        """Evaluate the criterion along ``found.order``, for those who look at it."""
