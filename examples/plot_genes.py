"""Genes of tumours: which of some thousand genes carry the structure of 400 breast cancers?

SCAN-B (400 tumours, 5156 genes) where the environment variable GSPPCA_DATA names a directory that holds it; else
simulated data in which 200 of 2000 variables carry five factors.
"""

import numpy as np
from showing import BLUE, GREY, ORANGE, QUICK, plt, save, table
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from gsppca import GSPPCA
from gsppca.datasets import load_scanb, make_introductory


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

model = GSPPCA(n_components=10, ranking="vem", evidence="noiseless").fit(X)
print(f"{source}: {model.n_selected_} of {X.shape[1]} genes")


def nearest_neighbours(projection):
    """Accuracy of a 5-nearest-neighbours vote on ten scores; the projection sees training folds and no labels."""
    return cross_val_score(make_pipeline(projection, KNeighborsClassifier(5)), X, kinds, cv=5).mean()


rows = []
for size in sorted({50, 200, 500, model.n_selected_}):
    if size > X.shape[1]:
        continue
    at_size = model.choose(size)
    vote = nearest_neighbours(GSPPCA(10, n_features_to_select=size, ranking="vem", evidence="noiseless"))
    label = f"{size} (evidence)" if size == model.n_selected_ else size
    rows.append([label, f"{at_size.explained_variance_ratio_.sum():.1%}", f"{vote:.1%}"])
everything = PCA(10, random_state=0).fit(X).explained_variance_ratio_.sum()
rows.append([f"PCA of all {X.shape[1]}", f"{everything:.1%}", f"{nearest_neighbours(PCA(10, random_state=0)):.1%}"])
table("genes", ["genes", "variance of all genes in 10 components", "subtype by 5 nearest neighbours"], rows)

first = np.argsort(model.ranking_)[:12]
rows = [[int(model.ranking_[k]), names[k], f"{model.relevance_[k]:.3f}", f"{X[:, k].std():.2f}"] for k in first]
table("genes_first", ["rank", "gene", "relevance", "standard deviation"], rows)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.4, 3.3), layout="constrained")
path = model.evidence_path_
left.plot(path.sizes, path.log_evidence - path.log_evidence.max(), color=BLUE)
left.axvline(model.n_selected_, color=ORANGE, ls="--", lw=1.2)
left.set(xlabel="number of genes", ylabel="log evidence − maximum", title=f"Evidence: {model.n_selected_} genes")
middle.scatter(X.std(axis=0), model.ranking_, s=2, c=np.where(model.support_, BLUE, GREY), rasterized=True)
middle.invert_yaxis()
middle.set(xlabel="standard deviation of the gene", ylabel="rank", title="Rank against spread")
scores = model.transform(X)
for i, kind in enumerate(np.unique(kinds)):
    right.scatter(*scores[kinds == kind, :2].T, s=8, color=plt.cm.tab10(i), label=kind)
right.set(xlabel="component 0", ylabel="component 1", title="Tumours, coloured by subtype")
right.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "genes")
