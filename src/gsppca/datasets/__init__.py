"""Data sets: simulators of the paper's experiments, and loaders of real data.

Simulators (`make_*`) return the data with the truth. Readers (`read_*`, `load_geo`, `load_vdx`) take a path or
a URL. `load_scanb`, `load_vdx_subset`, `load_gasoline`, `load_reactome` and `load_mnist_sevens` look in the
directory that the environment variable GSPPCA_DATA names.
"""

from .container import Dataset
from .files import fetch
from .genes import genes_from_probes
from .load_amat import read_amat
from .load_geo import load_geo, read_platform, read_series_matrix
from .load_gmt import read_gmt
from .load_rda import ExpressionSet, load_vdx, read_expression_set
from .local import (
    data_file,
    load_gasoline,
    load_mnist_sevens,
    load_reactome,
    load_scanb,
    load_vdx_subset,
)
from .signals import Signals, WaveletCoefficients, make_signals, wavelet_coefficients, wavelet_signals
from .simulate import (
    Simulated,
    make_introductory,
    make_model_selection,
    make_noise,
    make_noise_range,
    make_strengths,
)

__all__ = [
    "Dataset",
    "ExpressionSet",
    "Signals",
    "Simulated",
    "WaveletCoefficients",
    "data_file",
    "fetch",
    "genes_from_probes",
    "load_gasoline",
    "load_geo",
    "load_mnist_sevens",
    "load_reactome",
    "load_scanb",
    "load_vdx",
    "load_vdx_subset",
    "make_introductory",
    "make_model_selection",
    "make_noise",
    "make_noise_range",
    "make_signals",
    "make_strengths",
    "read_amat",
    "read_expression_set",
    "read_gmt",
    "read_platform",
    "read_series_matrix",
    "wavelet_coefficients",
    "wavelet_signals",
]
