"""Draw the pictures of the documentation: one small PNG for every display, from data that ships with scikit-learn.

python docs/make_plots.py [FOLDER]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_digits, load_wine

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.datasets import make_introductory
from gsppca.plots import (
    plot_biplot,
    plot_evidence,
    plot_image,
    plot_loadings,
    plot_relevance,
    plot_share,
    plot_stability,
    plot_top,
)

PIXELS = [f"({row}, {column})" for row in range(8) for column in range(8)]


def save(folder: Path, name: str, draw: Callable[[Axes], object], size: tuple[float, float] = (4.8, 3.4)) -> None:
    """Draw on new axes and write the picture."""
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    draw(ax)
    figure.savefig(folder / f"{name}.png", dpi=110, pil_kwargs={"optimize": True})
    plt.close(figure)


def frequencies(X: np.ndarray, n_components: int, rounds: int = 50) -> np.ndarray:
    """Share of random halves of the samples in which each variable is selected."""
    rng = np.random.default_rng(0)
    counts = np.zeros(X.shape[1])
    for _ in range(rounds):
        counts += GSPPCA(n_components).fit(X[rng.permutation(len(X))[: len(X) // 2]]).support_
    return counts / rounds


def main() -> None:
    """Draw everything."""
    warnings.simplefilter("ignore", MostVariablesWarning)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images" / "plots")
    folder.mkdir(parents=True, exist_ok=True)
    images, _ = load_digits(return_X_y=True)
    digits = GSPPCA().fit(images)
    save(folder, "share", lambda ax: plot_share(digits, ax))
    save(folder, "top", lambda ax: plot_top(digits, 15, ax, feature_names=PIXELS))
    save(folder, "evidence", lambda ax: plot_evidence(digits, ax))
    save(folder, "relevance", lambda ax: plot_relevance(digits, ax))
    save(folder, "image", lambda ax: plot_image(digits, (8, 8), ax), (3.4, 3.4))
    save(folder, "loadings", lambda ax: plot_loadings(digits, ax, feature_names=PIXELS), (5.2, 4.4))

    wine = load_wine()
    cultivars = wine.target_names[wine.target]
    model = GSPPCA(3, scale=True, n_features_to_select=8).fit(wine.data)
    names = list(wine.feature_names)
    save(
        folder,
        "biplot",
        lambda ax: plot_biplot(model, wine.data, ax, feature_names=names, labels=cultivars),
        (6.4, 4.4),
    )

    noisy = make_introductory(n_samples=60, noise_variance=1.0, random_state=3)
    often = frequencies(noisy.X, 5)
    save(folder, "stability", lambda ax: plot_stability(often, ax, selected=noisy.support, threshold=0.8), (4.8, 4.8))


if __name__ == "__main__":
    main()
