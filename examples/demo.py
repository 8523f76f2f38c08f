"""The main job, on data that anyone can make: which variables carry the structure?

    python examples/demo.py [FOLDER]

Three data sets, with the default method and no labels: the introductory example of the paper (section 3.1), data like
the benchmark madelon by the same generator, and scikit-learn's handwritten digits. Prints what was selected and writes
pictures to FOLDER.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_classification

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.datasets import make_introductory
from gsppca.plots import plot_biplot, plot_evidence, plot_image, plot_relevance, plot_share, plot_top


def fitted(X: np.ndarray) -> tuple[GSPPCA, float]:
    """Fit the default model, and time it."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are printed below
        model = GSPPCA().fit(X)
    return model, time.perf_counter() - start


def against_truth(model: GSPPCA, truth: np.ndarray, seconds: float) -> None:
    """Print how many of the true variables were selected."""
    true = int((model.support_ & truth).sum())
    print(
        f"   selected {model.n_selected_} variables in {seconds:.2f} s: {true} of the {truth.sum()} true ones, "
        f"{model.n_selected_ - true or 'none'} false"
    )
    print(
        f"   {model.n_components_} components; a core of {model.core_.sum()} carries {model.core_share_:.0%} of the "
        "structure on rows left out"
    )


def introductory(folder: Path) -> None:
    """n = 50, p = 30; ten variables, at random places, carry five factors."""
    data = make_introductory(random_state=0)
    model, seconds = fitted(data.X)
    print("\n1. The paper's introductory example: 50 samples, 30 variables, 10 of them relevant\n")
    against_truth(model, data.support, seconds)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    plot_relevance(model, left, truth=data.support)
    plot_evidence(model, right)
    figure.savefig(folder / "introductory.png", dpi=150)
    plt.close(figure)


def madelon_like(folder: Path) -> None:
    """500 variables, of which 5 are informative and 15 are combinations of these; the rest is noise."""
    X, _ = make_classification(
        1000, 500, n_informative=5, n_redundant=15, n_clusters_per_class=16, shuffle=False, random_state=0
    )
    order = np.random.default_rng(0).permutation(500)
    X = np.round(480 + 10 * X[:, order])  # whole numbers, as madelon's are
    model, seconds = fitted(X)
    print("\n2. Data like the benchmark madelon, by its generator, scikit-learn's make_classification:")
    print("   1000 samples, 500 variables; 5 informative, 15 combinations of them, 480 noise\n")
    against_truth(model, order < 20, seconds)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    plot_relevance(model, left, truth=order < 20)
    plot_share(model, right)
    figure.savefig(folder / "madelon-like.png", dpi=150)
    plt.close(figure)


def digits(folder: Path) -> None:
    """Handwritten digits, 1797 images of 8 x 8 pixels, without their labels."""
    data = load_digits()
    names = [f"({row}, {column})" for row in range(8) for column in range(8)]
    model, seconds = fitted(data.data)
    related = model.role_ == "related"

    print("\n3. Handwritten digits: 1797 images, 64 pixels; which pixels carry the structure?\n")
    print(f"   {model.relevant_.sum()} of 64 pixels are relevant: too many to be a selection ({seconds:.2f} s)")
    print(f"   a core of {model.core_.sum()} carries {model.core_share_:.0%} of their structure on rows left out,")
    print(f"   and predicts {model.predicted_share_[related].mean():.0%} of the variance of the related pixels\n")
    print("   rank  pixel (row, column)  stands for            share so far")
    for k, others in model.represented_by(1)[:10]:
        stands_for = ", ".join(f"{names[other]} {r:+.2f}" for other, r in others)
        share = model.share_path_.share[model.ranking_[k] - 1]
        print(f"   {model.ranking_[k]:4d}  {names[k]:19s}  {stands_for:20s}  {share:12.0%}")
    print(f"   ... and {model.n_selected_ - 10} more\n")
    print("   core (#), related (+) and noise (.):")
    tones = {"core": "#", "related": "+", "noise": "."}
    for row in model.role_.reshape(8, 8):
        print("      " + " ".join(tones[role] for role in row))

    figure, axes = plt.subplots(1, 4, figsize=(17, 4), layout="constrained", width_ratios=[1.1, 1.1, 0.9, 1.2])
    plot_share(model, axes[0])
    plot_top(model, 15, axes[1], feature_names=names)
    plot_image(model, (8, 8), axes[2])
    plot_biplot(model, data.data, axes[3], labels=data.target.astype(str), feature_names=names, max_arrows=6)
    figure.savefig(folder / "digits.png", dpi=150)
    plt.close(figure)


def main() -> None:
    """Run all three."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    introductory(folder)
    madelon_like(folder)
    digits(folder)
    print(
        f"\nPictures: {', '.join(str(folder / f'{name}.png') for name in ('introductory', 'madelon-like', 'digits'))}"
    )
    print("\nTry next:")
    print('   GSPPCA(n_features_to_select=10), "relevant", "core" or Core(0.8)   other selections')
    print("   model.choose(10)                                                  another size, at once")
    print('   GSPPCA(method="paper")                                            the procedure of the paper')
    print("   gsppca demo -o results --report                                   a page to look at")


if __name__ == "__main__":
    main()
