"""Pictures of a fitted model: axes in, axes out.

Each function draws on the matplotlib axes given, or on the current ones, and returns them. Each has a display beside it
in scikit-learn's manner: ``from_estimator(model)`` takes the numbers from a model, ``plot()`` draws them, and `ax_` and
`figure_` are what was drawn on. Colours are those of Okabe & Ito, which colour-blind readers tell apart.
"""

from gsppca.plots._axes import MARK, OTHER, PALETTE, ROLE_COLOURS, SELECTED
from gsppca.plots.biplot import BiplotDisplay, plot_biplot
from gsppca.plots.evidence import EvidencePathDisplay, plot_evidence
from gsppca.plots.image import SelectedImageDisplay, plot_image
from gsppca.plots.loadings import LoadingsDisplay, plot_loadings
from gsppca.plots.relevance import RelevanceDisplay, plot_relevance
from gsppca.plots.share import ShareDisplay, TopDisplay, plot_share, plot_top
from gsppca.plots.stability import StabilityDisplay, plot_stability

__all__ = [
    "MARK",
    "OTHER",
    "PALETTE",
    "ROLE_COLOURS",
    "SELECTED",
    "BiplotDisplay",
    "EvidencePathDisplay",
    "LoadingsDisplay",
    "RelevanceDisplay",
    "SelectedImageDisplay",
    "ShareDisplay",
    "StabilityDisplay",
    "TopDisplay",
    "plot_biplot",
    "plot_evidence",
    "plot_image",
    "plot_loadings",
    "plot_relevance",
    "plot_share",
    "plot_stability",
    "plot_top",
]
