"""From probes to genes (appendix F of the paper)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from gsppca.checks import check_choice

from .container import Dataset

GENE_SEPARATOR = "///"  # Affymetrix annotations of probes that match several genes
NO_GENE = frozenset({"", "NA", "---", "nan"})


def single_gene(annotation: str) -> str:
    """Return the one gene that an annotation names; an empty string for none or several."""
    genes = {gene.strip() for gene in annotation.split(GENE_SEPARATOR)} - NO_GENE
    return genes.pop() if len(genes) == 1 else ""


def genes_from_probes(
    data: Dataset,
    gene_of_probe: Mapping[str, str],
    pathways: Mapping[str, Collection[str]] | None = None,
    *,
    center: bool = True,
    missing: str = "error",
) -> Dataset:
    """Reduce probes to genes as the paper does for breastCancerVDX.

    Probes without a gene, or with several, are dropped; of the probes of a gene the one with the largest
    mean is kept (the "MaxMean" rule of collapseRows; of equal means the first); genes in no pathway are
    dropped; the columns are centred, and not scaled.

    Parameters
    ----------
    data : Dataset
        Samples by probes.
    gene_of_probe : mapping of str to str
        Annotation of the probes, as from `read_platform`.
    pathways : mapping of str to collection of str, optional
        Keep the genes of these sets only; None keeps all.
    center : bool
        Subtract the column means, and keep them in `Dataset.mean`.
    missing : {"error", "drop"}
        What to do with probes that have missing values.

    Returns
    -------
    Dataset
        Samples by genes, in alphabetical order.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.datasets import Dataset, genes_from_probes
    >>> probes = Dataset(np.array([[1.0, 5.0, 2.0]]), np.array(["p1", "p2", "p3"]), "three probes")
    >>> genes = genes_from_probes(probes, {"p1": "TP53", "p2": "TP53", "p3": "MYC"}, center=False)
    >>> genes.feature_names.tolist(), genes.X.tolist()
    (['MYC', 'TP53'], [[2.0, 5.0]])
    """
    check_choice("missing", missing, ("error", "drop"))
    probes = [str(probe) for probe in data.feature_names]
    genes = np.array([single_gene(gene_of_probe.get(probe, "")) for probe in probes], dtype=str)
    keep = genes != ""
    if pathways is not None:
        keep &= np.isin(genes, [gene for members in pathways.values() for gene in members])
    complete = np.logical_and.reduce(np.isfinite(data.X), axis=0)
    n_incomplete = np.sum(~complete & keep)
    if missing == "error" and n_incomplete:
        raise ValueError(f"data: {n_incomplete} probes have missing values; pass missing='drop', or impute them")
    keep &= complete
    if not keep.any():
        raise ValueError(
            f"no gene is left of {len(probes)} probes ({probes[:1]} first): expected probes of gene_of_probe, and "
            "genes of the pathways; check that the platform is that of the data, and that both name genes alike"
        )
    names, places = _largest_means(data.X, genes, np.flatnonzero(keep))
    X = data.X[:, places]
    mean = X.mean(axis=0)
    source = f"{data.source}; {names.size} genes of {len(probes)} probes by maximum mean"
    if not center:
        return Dataset(X, names, source, data.labels, data.sample_names)
    return Dataset(X - mean, names, f"{source}, centred", data.labels, data.sample_names, mean)


def _largest_means(
    X: NDArray[np.float64], genes: NDArray[np.str_], places: NDArray[np.intp]
) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the genes of the columns `places` of X, and of each gene the column with the largest mean."""
    # By gene, then by falling mean; lexsort is stable, so that the first of equal means leads.
    places = places[np.lexsort((-X[:, places].mean(axis=0), genes[places]))]
    names, first = np.unique(genes[places], return_index=True)
    return names, places[first]
