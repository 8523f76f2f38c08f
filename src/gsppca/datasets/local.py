"""Real data kept in a directory of one's own, named by the environment variable GSPPCA_DATA.

Nothing is downloaded, and no data come with the package. Columns are in the order of the files: permute
them before scoring a selection, or a method that breaks ties by the column index profits from the
alphabet.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gsppca.checks import check_choice, check_count

from ._random import RandomState, as_generator
from .backgrounds import with_image_background, with_random_background
from .container import Dataset
from .load_amat import pixel_names
from .load_gmt import read_gmt

DATA_VARIABLE = "GSPPCA_DATA"
BACKGROUNDS = ("none", "random", "image")

SCANB = "scanb_breast_cancer.npz"
VDX_SUBSET = "vdx_subset.npz"
GASOLINE = "nir_gasoline.npz"
SEVENS = "mnist_sevens.npz"
PHOTOGRAPHS = "natural_images.npz"
REACTOME = "reactome_2016.gmt"


def data_file(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a file of the data directory.

    Parameters
    ----------
    name : str
        File name.
    directory : str or path, optional
        Directory to look in instead of the one that GSPPCA_DATA names.

    Returns
    -------
    pathlib.Path
    """
    chosen = os.fspath(directory) if directory is not None else os.environ.get(DATA_VARIABLE, "")
    if not chosen:
        raise FileNotFoundError(
            f"{name}: the environment variable {DATA_VARIABLE} is not set; set it to the directory that holds "
            "this file, or pass directory=..."
        )
    path = Path(chosen).expanduser() / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in the directory {chosen!r} of {DATA_VARIABLE} (or directory=...); put the file "
            "there, or name another directory"
        )
    return path


def load_scanb(directory: str | os.PathLike[str] | None = None) -> Dataset:
    """Load SCAN-B: breast cancer RNA-seq, 400 patients by 5156 genes of Reactome, centred, not scaled.

    Stands in for the paper's breastCancerVDX, and is not that data set.

    Parameters
    ----------
    directory : str or path, optional
        See `data_file`.

    Returns
    -------
    Dataset
        log2(FPKM + 0.1) minus the column means, which are in `mean`; labels er, pgr, her2, grade, pam50, age,
        os_days, os_event.
    """
    source = "SCAN-B breast cancer RNA-seq (GSE96058), log2(FPKM + 0.1), centred; in place of breastCancerVDX"
    return _load_table(SCANB, source, directory)


def load_vdx_subset(directory: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a part of VDX: 150 of its 344 patients and 966 signature probes, as in the R package genefu.

    Parameters
    ----------
    directory : str or path, optional
        See `data_file`.

    Returns
    -------
    Dataset
        Log expression, not centred; probes as feature names; labels er, grade, age, size, t_dmfs, e_dmfs, series.
    """
    return _load_table(VDX_SUBSET, "subset of VDX (150 patients, 966 signature probes; R package genefu)", directory)


def load_gasoline(directory: str | os.PathLike[str] | None = None) -> Dataset:
    """Load near-infrared spectra of 60 gasolines at 401 wavelengths.

    Parameters
    ----------
    directory : str or path, optional
        See `data_file`.

    Returns
    -------
    Dataset
        Absorbances, not centred; label octane.
    """
    return _load_table(GASOLINE, "near-infrared spectra of gasoline (R package pls)", directory)


def load_reactome(directory: str | os.PathLike[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Load the Reactome pathways of spring 2016, the time of the paper; see `read_gmt`."""
    return read_gmt(data_file(REACTOME, directory))


def load_mnist_sevens(
    background: str = "none",
    n_samples: int | None = None,
    random_state: RandomState = 0,
    directory: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load handwritten sevens, plain or over a background.

    Parameters
    ----------
    background : {"none", "random", "image"}
        "random" and "image" are reconstructions of mnist-back-rand and mnist-back-image; what was
        chosen for them is written in `gsppca.datasets.backgrounds`.
    n_samples : int, optional
        Take that many images at random (the paper: 500); all 3000 if absent.
    random_state : int, Generator, RandomState, SeedSequence or None
        For the choice of images and the backgrounds; an integer chooses the same sevens for every background.
    directory : str or path, optional
        See `data_file`.

    Returns
    -------
    Dataset
        784 pixels in [0, 1], not centred, named by row and column.
    """
    check_choice("background", background, BACKGROUNDS)
    with np.load(data_file(SEVENS, directory), allow_pickle=False) as stored:
        sevens = stored["X"]
    count = len(sevens) if n_samples is None else check_count("n_samples", n_samples, 1, len(sevens))
    rng = as_generator(random_state)
    rows = np.sort(rng.permutation(len(sevens))[:count])
    images, source = sevens[rows], "MNIST sevens"
    if background == "random":
        images, source = with_random_background(images, rng), "reconstruction of mnist-back-rand, sevens"
    elif background == "image":
        images = with_image_background(images, _photographs(directory), rng)
        source = "reconstruction of mnist-back-image, sevens over BSDS500 photographs"
    names = np.array([str(row) for row in rows], dtype=str)
    return Dataset(images / 255.0, pixel_names(), source, {"digit": np.full(count, 7)}, names)


def _photographs(directory: str | os.PathLike[str] | None) -> list[NDArray[np.uint8]]:
    with np.load(data_file(PHOTOGRAPHS, directory), allow_pickle=False) as stored:
        return [stored[f"img_{name}"] for name in stored["names"]]


def _load_table(name: str, source: str, directory: str | os.PathLike[str] | None) -> Dataset:
    """Read X, features, samples, label_* and mean of an .npz file."""
    with np.load(data_file(name, directory), allow_pickle=False) as stored:
        labels = {key.removeprefix("label_"): stored[key] for key in stored.files if key.startswith("label_")}
        mean = stored["mean"].astype(float) if "mean" in stored.files else None
        X = stored["X"].astype(float)
        return Dataset(X, stored["features"], source, labels, stored["samples"], mean)
