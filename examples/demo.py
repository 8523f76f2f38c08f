"""The main job, on data that ships with scikit-learn: which variables carry the structure?

    python examples/demo.py [FOLDER]

Selects the pixels of handwritten digits, and the variables of the paper's introductory example (section 3.1), with the
paper's procedure; prints what was selected and writes pictures to FOLDER.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gsppca import GSPPCA
from gsppca.datasets import make_introductory
from gsppca.plots import plot_evidence, plot_image, plot_relevance


def introductory(folder: Path) -> None:
    """n = 50, p = 30, d = 5; ten variables, at random places, carry five factors."""
    data = make_introductory(random_state=0)
    start = time.perf_counter()
    model = GSPPCA(n_components=5, evidence="noiseless").fit(data.X)
    seconds = time.perf_counter() - start

    print("\n1. The paper's introductory example: 50 samples, 30 variables, 10 of them relevant")
    print(f"   selected {model.n_selected_} in {seconds:.2f} s, {model.n_iter_} iterations\n")
    print("   rank  variable  relevance  truth     selected")
    order = np.argsort(model.ranking_)
    for k in order[: model.n_selected_ + 3]:
        truth = "relevant" if data.support[k] else "noise"
        mark = "yes" if model.support_[k] else "no"
        print(f"   {model.ranking_[k]:4d}  x{k:<8d} {model.relevance_[k]:8.3f}  {truth:8s}  {mark}")
    print("   ...")
    verdict = "exactly the true variables" if (model.support_ == data.support).all() else "not quite the true variables"
    print(f"   -> {verdict}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    plot_relevance(model, left, truth=data.support)
    plot_evidence(model, right)
    figure.savefig(folder / "introductory.png", dpi=150)
    plt.close(figure)


def digits(folder: Path) -> None:
    """Handwritten digits, 1797 images of 8 x 8 pixels, without their labels."""
    X, labels = load_digits(return_X_y=True)
    names = [f"({row}, {column})" for row in range(8) for column in range(8)]
    start = time.perf_counter()
    model = GSPPCA(evidence="noiseless").fit(X)
    seconds = time.perf_counter() - start

    print("\n2. Handwritten digits: 1797 images, 64 pixels; which pixels matter?")
    print(f"   number of components: {model.n_components_} (found from the data)")
    print(f"   selected {model.n_selected_} of 64 pixels in {seconds:.2f} s, {model.n_iter_} iterations")
    print(
        f"   their {model.n_components_} components hold {model.explained_variance_ratio_.sum():.0%} of the variance\n"
    )
    print("   rank  pixel (row, column)  relevance  largest loading")
    for k in np.argsort(model.ranking_)[:10]:
        axis = int(np.abs(model.components_[:, k]).argmax())
        print(
            f"   {model.ranking_[k]:4d}  {names[k]:19s}  {model.relevance_[k]:9.3f}  "
            f"{model.components_[axis, k]:+.2f} on component {axis}"
        )
    print(f"   ... and {model.n_selected_ - 10} more\n")
    print("   selected (#) and dropped (.) pixels:")
    for row in model.support_.reshape(8, 8):
        print("      " + " ".join("#" if pixel else "." for pixel in row))

    figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained", width_ratios=[1.25, 1.25, 1, 1.25])
    plot_evidence(model, axes[0])
    plot_relevance(model, axes[1])
    plot_image(model, (8, 8), axes[2])
    scores = model.transform(X)
    points = axes[3].scatter(scores[:, 0], scores[:, 1], c=labels, cmap="tab10", s=5, vmin=-0.5, vmax=9.5)
    axes[3].set(xlabel="component 0", ylabel="component 1", title="Scores, coloured by the digit")
    figure.colorbar(points, ax=axes[3], ticks=range(10))
    figure.savefig(folder / "digits.png", dpi=150)
    plt.close(figure)


def main() -> None:
    """Run both."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    introductory(folder)
    digits(folder)
    print(f"\nPictures: {folder / 'introductory.png'}, {folder / 'digits.png'}")


if __name__ == "__main__":
    main()
