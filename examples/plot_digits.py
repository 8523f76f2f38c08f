"""Which pixels of handwritten digits matter? scikit-learn's 1797 images of 8 x 8 pixels, without their labels."""

import warnings

import numpy as np
from showing import GREY, QUICK, plt, save, table
from sklearn.datasets import load_digits

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.plots import plot_image, plot_share

warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are in the table
X, labels = load_digits(return_X_y=True)
if QUICK:
    X, labels = X[:300], labels[:300]

# The columns are permuted: no method may profit from the order of the pixels.
columns = np.random.default_rng(0).permutation(64)
model = GSPPCA().fit(X[:, columns])
# Fitted again in the order of the image, for the picture: the same pixels, as it should be.
pixels = GSPPCA().fit(X)
assert set(columns[model.get_support(indices=True)]) == set(pixels.get_support(indices=True))

half = np.random.default_rng(1).permutation(len(X))[: len(X) // 2]  # of the images, to learn from
others = np.setdiff1d(np.arange(len(X)), half)


def predictions(support):
    """All pixels, predicted from some by a regression on half of the images."""
    kept = np.column_stack([np.ones(len(X)), X[:, support]])
    return kept @ np.linalg.lstsq(kept[half], X[half], rcond=None)[0]


def held_out(support):
    """Share of the variance of all pixels that some predict, on the other half of the images."""
    errors = (X - predictions(support))[others]
    return 1 - (errors**2).sum() / ((X[others] - X[half].mean(axis=0)) ** 2).sum()


rows, rng = [], np.random.default_rng(0)
core, relevant = int(pixels.core_.sum()), int(pixels.relevant_.sum())
for size in sorted({5, 10, core, 40, relevant}):
    at_size = pixels.choose(size)  # no new fit: the order is there
    path = pixels.share_path_
    share = f"{path.share[size - 1]:.0%}" if size <= len(path.share) else ""
    name = {core: " (core)", relevant: " (relevant)"}.get(size, "")
    drawn = np.mean([held_out(rng.permutation(64)[:size]) for _ in range(20)])
    rows.append([f"{size}{name}", share, f"{held_out(at_size.support_):.0%}", f"{drawn:.0%}"])
paper = GSPPCA(12, method="paper").fit(X)
drawn = np.mean([held_out(rng.permutation(64)[: paper.n_selected_]) for _ in range(20)])
rows.append([f"{paper.n_selected_} (the paper's method)", "", f"{held_out(paper.support_):.0%}", f"{drawn:.0%}"])
header = [
    "pixels",
    "share of the structure, images left out",
    "variance of all pixels, the other half of the images",
    "the same, random pixels",
]
table("digits", header, rows)

figure = plt.figure(figsize=(9.6, 3.1), layout="constrained")
left, middle, right = figure.subfigures(1, 3, width_ratios=[1.15, 0.85, 1.2])
plot_share(pixels, left.subplots())
plot_image(pixels, (8, 8), middle.subplots())
seen = np.where(pixels.support_, X, np.nan)
back = predictions(pixels.support_)
axes = right.subplots(3, 5)
for column, digit in enumerate((0, 1, 3, 6, 8)):
    i = int(np.intersect1d(np.flatnonzero(labels == digit), others)[0])
    for axis, image in zip(axes[:, column], (X[i], seen[i], back[i]), strict=True):
        axis.set_facecolor(GREY)
        axis.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
for axis, name in zip(axes[:, 0], ("image", "what is kept", "predicted"), strict=True):
    axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8.5)
save(figure, "digits")
