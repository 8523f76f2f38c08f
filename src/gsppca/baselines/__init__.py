"""The competitors of GSPPCA, one file each, one interface (`Baseline`).

| class | method | automatic rule |
|---|---|---|
| `SPCA` | Zou, Hastie & Tibshirani 2006, elastic net | sparsest axes with 99 % of the variance of PCA |
| `SSPCA` | Jenatton, Obozinski & Bach 2009, one pattern | 5-fold cross-validated reconstruction |
| `SvnPCA`, `VsnPCA` | Ulfarsson & Solo 2008, 2011: PPCA with an l1, l0 penalty on rows | BIC |
| `ThresholdedPCA` | PCA, small loadings set to zero | loadings under 1e-3 |
| `VarianceRanking` | Johnstone & Lu 2009 | variance above the median by a margin |
| `PlainPCA` | PCA | keeps all |

All take `n_features_to_select` as an exact number too. They never use our numerics.
"""

from gsppca.baselines.base import Baseline
from gsppca.baselines.path import SelectionPath
from gsppca.baselines.pca import PlainPCA
from gsppca.baselines.sparse_axes import SparseAxes, sparse_axes, spca_from_gram
from gsppca.baselines.spca import SPCA
from gsppca.baselines.sspca import SSPCA
from gsppca.baselines.svnpca import SvnPCA
from gsppca.baselines.thresholded import ThresholdedPCA
from gsppca.baselines.variance import VarianceRanking
from gsppca.baselines.vsnpca import VsnPCA

__all__ = [
    "SPCA",
    "SSPCA",
    "Baseline",
    "PlainPCA",
    "SelectionPath",
    "SparseAxes",
    "SvnPCA",
    "ThresholdedPCA",
    "VarianceRanking",
    "VsnPCA",
    "sparse_axes",
    "spca_from_gram",
]
