"""Draw the pictures of the first pages, by the default method: madelon, SCAN-B and the introductory example.

GSPPCA_DATA=FOLDER python docs/make_front.py [OUTPUT]; FOLDER holds ufs/madelon.npz and scanb_breast_cancer.npz.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.datasets import data_file, load_scanb, make_introductory
from gsppca.plots import plot_evidence, plot_relevance, plot_share, plot_top

# The 20 variables that the authors of the NIPS 2003 challenge put in; counted from 0.
MADELON = [28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493]


def main() -> None:
    """Fit all three, print what was found, draw."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
    with np.load(data_file("ufs/madelon.npz"), allow_pickle=False) as file:
        X = file["X"].astype(float)
    truth = np.isin(np.arange(X.shape[1]), MADELON)
    model = GSPPCA().fit(X)
    sys.stdout.write(model.summary() + "\n")
    true, false = (model.support_ & truth).sum(), (model.support_ & ~truth).sum()
    sys.stdout.write(f"true: {true} of {truth.sum()}, false: {false}\n\n")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
    plot_relevance(model, left, truth=truth)
    left.set_title("madelon: 20 of 500 variables")
    plot_evidence(model, right)
    right.set_xscale("log")
    figure.savefig(folder / "madelon.png", dpi=100, metadata={"Software": None})

    genes = load_scanb()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are in the summary
        model = GSPPCA().fit(genes.X)
    sys.stdout.write(model.summary() + "\n")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
    plot_share(model, left)
    left.set_title(f"SCAN-B: {genes.X.shape[0]} tumours, {genes.X.shape[1]} genes")
    plot_top(model, 12, right, feature_names=list(genes.feature_names))
    figure.savefig(folder / "genes.png", dpi=100, metadata={"Software": None})

    data = make_introductory(random_state=0)
    model = GSPPCA().fit(data.X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    plot_relevance(model, left, truth=data.support)
    plot_evidence(model, right)
    figure.savefig(folder / "introductory.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
