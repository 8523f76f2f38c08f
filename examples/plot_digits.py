"""Which pixels of handwritten digits matter? scikit-learn's 1797 images of 8 x 8 pixels, without their labels."""

import numpy as np
from showing import GREY, QUICK, plt, save, table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from gsppca import GSPPCA
from gsppca.plots import plot_evidence, plot_image

X, labels = load_digits(return_X_y=True)
if QUICK:
    X, labels = X[:300], labels[:300]

# The columns are permuted: no method may profit from the order of the pixels.
columns = np.random.default_rng(0).permutation(64)
model = GSPPCA(n_components=12, ranking="vem", evidence="noiseless").fit(X[:, columns])
# Fitted again in the order of the image, for the picture: the same pixels, as it should be.
pixels = GSPPCA(n_components=12, ranking="vem", evidence="noiseless").fit(X)
assert set(columns[model.get_support(indices=True)]) == set(pixels.get_support(indices=True))

rows = []
for size in sorted({10, model.n_selected_, 40, 50}):
    at_size = model.choose(size)  # no new fit: the ranking is there
    rows.append([size, f"{at_size.explained_variance_ratio_.sum():.1%}"])
everything = PCA(12).fit(X).explained_variance_ratio_.sum()
table("digits", ["pixels", "variance of all pixels in 12 components"], [*rows, ["PCA of all 64", f"{everything:.1%}"]])

figure = plt.figure(figsize=(9.6, 3.1), layout="constrained")
left, middle, right = figure.subfigures(1, 3, width_ratios=[1.15, 0.85, 1.2])
plot_evidence(pixels, left.subplots())
plot_image(pixels, (8, 8), middle.subplots())
seen = np.where(pixels.support_, X, np.nan)
back = pixels.inverse_transform(pixels.transform(X))
axes = right.subplots(3, 5)
for column, digit in enumerate((0, 1, 3, 6, 8)):
    i = int(np.flatnonzero(labels == digit)[0])
    for axis, image in zip(axes[:, column], (X[i], seen[i], back[i]), strict=True):
        axis.set_facecolor(GREY)
        axis.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
for axis, name in zip(axes[:, 0], ("image", "what is kept", "from 12 scores"), strict=True):
    axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8.5)
save(figure, "digits")
