"""Genes of single cells: GSPPCA beside scanpy's highly_variable_genes, at the same number of genes.

scanpy's bundled pbmc68k_reduced: 700 blood cells, 765 genes. Its X is already standardised; the logarithms are in
raw, and both methods get those. Which selection leads to clusters that agree with the labels of the cells?
"""

import warnings

import anndata as ad
import numpy as np
from showing import BLUE, GREEN, GREY, ORANGE, QUICK, SKY, plt, save, table
from sklearn.metrics import adjusted_rand_score

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of scanpy's own imports
    import scanpy as sc

from gsppca import MostVariablesWarning
from gsppca.scanpy import gsppca

warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are printed

D = 10
SIZES = (50, 100) if QUICK else (25, 50, 100, 200, 400)
RESOLUTIONS = (0.5,) if QUICK else (0.3, 0.5, 0.7, 1.0, 1.5)
SEEDS = range(1) if QUICK else range(5)
DRAWS = 1 if QUICK else 10

original = sc.datasets.pbmc68k_reduced()
rng = np.random.default_rng(0)
cells = ad.AnnData(original.raw.X.copy(), original.obs[["bulk_labels"]].copy(), original.raw.var[[]].copy())
cells = cells[:, rng.permutation(cells.n_vars)].copy()


def agreement(genes):
    """Adjusted Rand index of Leiden clusters with the labels: mean over resolutions and seeds, and at each resolution.

    The same steps for every selection: PCA of the genes, neighbours, Leiden.
    """
    part = cells[:, genes].copy()
    sc.pp.pca(part, n_comps=D, mask_var=None)
    # scanpy's default compiles code for half a minute when it is first called.
    sc.pp.neighbors(part, n_pcs=D, random_state=0, method="gauss" if QUICK else "umap")
    found = np.empty((len(RESOLUTIONS), len(SEEDS)))
    for i, resolution in enumerate(RESOLUTIONS):
        for j, seed in enumerate(SEEDS):
            sc.tl.leiden(
                part, resolution=resolution, random_state=seed, flavor="igraph", n_iterations=2, directed=False
            )
            found[i, j] = adjusted_rand_score(part.obs["bulk_labels"], part.obs["leiden"])
    return found.mean(axis=1)


def by_dispersion(size):
    found = sc.pp.highly_variable_genes(cells, n_top_genes=size, inplace=False)
    return found["highly_variable"].to_numpy()


def by_gsppca(size):
    found = gsppca(cells, D, n_features_to_select=size, copy=True)
    return found.var["gsppca"].to_numpy()


def by_paper(size):
    found = gsppca(cells, D, method="paper", n_features_to_select=size, copy=True)
    return found.var["gsppca"].to_numpy()


def by_variance(size):
    logs = cells.X.toarray()
    return np.argsort(np.argsort(-logs.var(axis=0))) < size


methods = {
    "GSPPCA": (by_gsppca, BLUE, "-"),
    "GSPPCA, the paper's": (by_paper, SKY, "-"),
    "highly_variable_genes": (by_dispersion, ORANGE, "--"),
    "largest variance": (by_variance, GREEN, ":"),
}
curves = {
    name: np.array([agreement(select(size)) for size in SIZES]) for name, (select, *_) in methods.items()
}  # (sizes, resolutions)
drawn = np.array(
    [[agreement(rng.permutation(cells.n_vars)[:size]).mean() for size in SIZES] for _ in range(DRAWS)]
)  # (draws, sizes)
all_genes = agreement(np.ones(cells.n_vars, dtype=bool))

gsppca(cells, D)
chosen = cells.uns["gsppca"]
at_core = agreement(cells.var["gsppca"].to_numpy()).mean()
print(
    f"{chosen['n_relevant']} of {cells.n_vars} genes are relevant; {chosen['n_selected']} selected, ARI {at_core:.2f}"
)

rows = [[name, *(f"{value:.2f}" for value in curve.mean(axis=1))] for name, curve in curves.items()]
rows.append(
    [f"at random, {DRAWS} draws", *(f"{m:.2f} ± {s:.2f}" for m, s in zip(drawn.mean(0), drawn.std(0), strict=True))]
)
rows.append(["all 765 genes", *[f"{all_genes.mean():.2f}"] * len(SIZES)])
table("cells", ["agreement (ARI)", *(f"{size} genes" for size in SIZES)], rows)
rows = [
    [resolution, *(f"{curves[name][SIZES.index(50)][i]:.2f}" for name in curves), f"{all_genes[i]:.2f}"]
    for i, resolution in enumerate(RESOLUTIONS)
]
table("cells_resolutions", ["Leiden resolution, 50 genes", *curves, "all 765 genes"], rows)
shared = [int((by_gsppca(size) & by_dispersion(size)).sum()) for size in SIZES]
table("cells_shared", ["genes selected by both", *map(str, SIZES)], [["GSPPCA and highly_variable_genes", *shared]])

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for name, (_, colour, line) in methods.items():
    left.plot(SIZES, curves[name].mean(axis=1), line, color=colour, marker="o", ms=4, label=name)
left.fill_between(SIZES, *np.percentile(drawn, [10, 90], axis=0), color=GREY, alpha=0.3, lw=0, label="at random, 80 %")
left.axhline(all_genes.mean(), color=GREY, lw=1, label="all genes")
left.plot(chosen["n_selected"], at_core, "*", color=BLUE, ms=11, label=f"default: {chosen['n_selected']} genes")
left.set(
    xscale="log", xlabel="number of genes", ylabel="agreement with the labels (ARI)", title="Clusters", ylim=(0, 0.7)
)
left.set_xticks(SIZES, [str(size) for size in SIZES])
left.minorticks_off()
left.legend(frameon=False, fontsize=8, loc="lower right")
middle.plot(np.arange(1, len(chosen["share"]) + 1), 100 * chosen["share"], color=BLUE)
middle.axvline(chosen["n_core"], color=ORANGE, ls="--", lw=1.2)
middle.set(xlabel="number of genes", ylabel="% of the structure, cells left out", ylim=(0, 100))
middle.set_title(f"Core: {chosen['n_core']} genes, {chosen['core_share']:.0%}")
labels = cells.obs["bulk_labels"]
for i, label in enumerate(labels.cat.categories):
    members = (labels == label).to_numpy()
    right.scatter(*cells.obsm["X_gsppca"][members, :2].T, s=5, color=plt.cm.tab10(i), label=label)
right.set(xlabel="PC1", ylabel="PC2", title="Cells, coloured by their labels")
right.legend(frameon=False, fontsize=6.5, markerscale=2, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "cells")
