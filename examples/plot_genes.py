"""Genes of tumours: which of some thousand genes carry the structure of 400 breast cancers?

SCAN-B (400 tumours, 5156 genes) where the environment variable GSPPCA_DATA names a directory that holds it; else
simulated data in which 200 of 2000 variables carry five factors.
"""

import warnings

import numpy as np
from showing import BLUE, GREY, QUICK, plt, save, table
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.datasets import load_scanb, make_introductory
from gsppca.plots import plot_share

warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are printed


def tumours():
    """The data, names of the genes, and subtypes, which serve to look at the result only."""
    try:
        data = load_scanb()
    except FileNotFoundError:
        simulated = make_introductory(400, 2000, 5, 200, noise_variance=4.0, random_state=0)
        kinds = np.where(simulated.scores[:, 0] > 0, "one kind", "other kind")
        return simulated.X, np.array([f"x{k}" for k in range(2000)]), kinds, "simulated data"
    return data.X, data.feature_names, data.labels["pam50"], "SCAN-B"


X, names, kinds, source = tumours()
columns = np.random.default_rng(0).permutation(X.shape[1])
columns = columns[:500] if QUICK else columns
X, names = X[:, columns], names[columns]

model = GSPPCA().fit(X)
n_core, n_relevant = int(model.core_.sum()), int(model.relevant_.sum())
print(f"{source}: {n_relevant} of {X.shape[1]} genes are relevant, {n_core} are their core, {model.core_share_:.0%}")


def nearest_neighbours(projection, data=X):
    """Accuracy of a 5-nearest-neighbours vote on ten scores; the projection sees training folds and no labels."""
    return cross_val_score(make_pipeline(projection, KNeighborsClassifier(5)), data, kinds, cv=5).mean()


def at_random(size, draws=2 if QUICK else 10):
    """Mean accuracy with random genes."""
    rng = np.random.default_rng(0)
    return np.mean([nearest_neighbours(PCA(10), X[:, rng.permutation(X.shape[1])[:size]]) for _ in range(draws)])


def share(size):
    """What the first genes carry of the structure, on tumours left out."""
    path = model.share_path_.share
    return f"{path[size - 1]:.0%}" if size <= len(path) else ""


rows = []
for size in sorted({n_core, 50, 100, 200, n_relevant}):
    if size > X.shape[1]:
        continue
    vote = nearest_neighbours(GSPPCA(10, n_features_to_select=size))
    label = f"{size}{' (core)' * (size == n_core)}{' (relevant)' * (size == n_relevant)}"
    drawn = f"{at_random(size):.1%}" if size < n_relevant else ""
    rows.append([label, share(size), f"{vote:.1%}", drawn])
paper = GSPPCA(10, method="paper")
vote = nearest_neighbours(paper)
rows.append([f"{paper.fit(X).n_selected_} (the paper's method)", "", f"{vote:.1%}", ""])
rows.append([f"all {X.shape[1]}: PCA", "", f"{nearest_neighbours(PCA(10, random_state=0)):.1%}", ""])
header = ["genes", "share of the structure, tumours left out", "subtype by 5 nearest neighbours", "random genes"]
table("genes", header, rows)

rows = []
for k, others in model.represented_by(3)[:12]:
    stands_for = ", ".join(f"{names[other]} {r:+.2f}" for other, r in others)
    rows.append([int(model.ranking_[k]), names[k], share(int(model.ranking_[k])), stands_for])
table("genes_first", ["rank", "gene", "share so far", "stands for (correlation)"], rows)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.4, 3.3), layout="constrained")
plot_share(model, left)
middle.scatter(X.std(axis=0), model.ranking_, s=2, color=GREY, rasterized=True)
middle.scatter(X.std(axis=0)[model.core_], model.ranking_[model.core_], s=14, color=BLUE)
middle.invert_yaxis()
middle.set(xlabel="standard deviation of the gene", ylabel="rank", title="Rank against spread (blue: core)")
scores = model.transform(X)
for i, kind in enumerate(np.unique(kinds)):
    right.scatter(*scores[kinds == kind, :2].T, s=8, color=plt.cm.tab10(i), label=kind)
right.set(xlabel="PC1", ylabel="PC2", title="Tumours, coloured by subtype")
right.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "genes")
