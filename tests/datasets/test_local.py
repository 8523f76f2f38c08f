"""Local data: files of the same form written here, and the real ones where they can be found."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gsppca.datasets import (
    data_file,
    load_gasoline,
    load_mnist_sevens,
    load_reactome,
    load_scanb,
    load_vdx_subset,
)
from gsppca.datasets.backgrounds import with_image_background, with_random_background
from gsppca.metrics import pathway_enrichment


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Small files with the fields of the real ones."""
    rng = np.random.default_rng(0)
    table = {"X": rng.standard_normal((4, 3)).astype("f4"), "features": np.array(["A", "B", "C"])}
    table |= {"samples": np.array(list("wxyz")), "label_er": np.array([0, 1, np.nan, 1], dtype="f4")}
    np.savez(tmp_path / "scanb_breast_cancer.npz", **table, mean=np.array([1, 2, 3], dtype="f4"))
    np.savez(tmp_path / "vdx_subset.npz", **table, symbol=np.array(["a", "b", "c"]))
    np.savez(tmp_path / "nir_gasoline.npz", **table)
    sevens = np.zeros((20, 784), dtype=np.uint8)
    sevens[:, 300:400] = 255
    sevens[:, 0] = np.arange(20)  # a mark, to know the rows again
    np.savez(tmp_path / "mnist_sevens.npz", X=sevens)
    photographs = {f"img_{i}": rng.integers(0, 256, (40 + i, 60), dtype=np.uint8) for i in range(2)}
    np.savez(tmp_path / "natural_images.npz", names=np.array(["0", "1"]), **photographs)
    (tmp_path / "reactome_2016.gmt").write_text("set\tR\tA\tB\n")
    monkeypatch.setenv("GSPPCA_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_scanb, "scanb_breast_cancer.npz"),
        (load_vdx_subset, "vdx_subset.npz"),
        (load_gasoline, "nir_gasoline.npz"),
    ],
)
def test_tables(directory, load, file):
    data = load()
    with np.load(directory / file) as stored:
        assert_array_equal(data.X, stored["X"])
        assert_array_equal(data.labels["er"], stored["label_er"])
    assert data.X.dtype == np.float64
    assert_array_equal(data.feature_names, ["A", "B", "C"])
    assert_array_equal(data.sample_names, ["w", "x", "y", "z"])
    assert_array_equal(load(directory).X, data.X)


def test_names_of_the_sources(directory):
    """SCAN-B is not VDX, and what is rebuilt says so."""
    assert load_scanb().source.startswith("SCAN-B")
    assert "in place of" in load_scanb().source
    assert load_vdx_subset().source.startswith("subset of VDX")
    assert load_mnist_sevens().source == "MNIST sevens"
    for background in ("random", "image"):
        assert load_mnist_sevens(background).source.startswith("reconstruction of mnist-back-")


def test_means_are_kept(directory):
    assert_array_equal(load_scanb().mean, [1, 2, 3])
    assert load_gasoline().mean is None


def test_reactome(directory):
    assert load_reactome() == {"set": ("A", "B")}


def test_not_found(tmp_path, monkeypatch):
    monkeypatch.delenv("GSPPCA_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"scanb_breast_cancer\.npz.*GSPPCA_DATA is not set.*set it"):
        load_scanb()
    monkeypatch.setenv("GSPPCA_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"mnist_sevens\.npz is not in.*GSPPCA_DATA.*put the file"):
        load_mnist_sevens()
    with pytest.raises(FileNotFoundError, match="reactome_2016"):
        load_reactome(tmp_path / "nowhere")


def test_sevens(directory):
    data = load_mnist_sevens()
    assert data.X.shape == (20, 784)
    assert_allclose(data.X[:, 0] * 255, np.arange(20))
    assert data.X.max() == 1.0
    some = load_mnist_sevens(n_samples=6, random_state=1)
    assert some.X.shape == (6, 784)
    rows = [int(name) for name in some.sample_names]
    assert len(set(rows)) == 6
    assert_allclose(some.X, data.X[rows])


@pytest.mark.parametrize("background", ["random", "image"])
def test_same_sevens_over_every_background(directory, background):
    plain = load_mnist_sevens(n_samples=8, random_state=3)
    laid = load_mnist_sevens(background, n_samples=8, random_state=3)
    assert_array_equal(plain.sample_names, laid.sample_names)
    assert (laid.X >= plain.X).all()
    assert_allclose(laid.X[:, 300:400], 1.0)  # the digit stays
    assert laid.X[:, 500:].std() > 0.2  # and the rest is not black any more
    assert_array_equal(laid.X, load_mnist_sevens(background, n_samples=8, random_state=3).X)
    assert not np.array_equal(laid.X, load_mnist_sevens(background, n_samples=8, random_state=4).X)


def test_random_background_is_uniform():
    noise = with_random_background(np.zeros((300, 784), dtype=np.uint8), np.random.default_rng(0))
    counts = np.bincount(noise.ravel(), minlength=256)
    expected = noise.size / 256
    assert np.sum((counts - expected) ** 2 / expected) < 255 + 6 * np.sqrt(2 * 255)  # chi-squared
    correlation = np.corrcoef(noise[:, :30].astype(float), rowvar=False)
    assert np.abs(correlation - np.eye(30)).max() < 6 / np.sqrt(300)


def test_image_background_is_a_patch():
    """In an image where every pixel is its own, a patch tells its place; smooth images are avoided."""
    rng = np.random.default_rng(0)
    textured = rng.integers(0, 256, (30, 31), dtype=np.uint8)
    smooth = np.full((50, 50), 100, dtype=np.uint8)
    laid = with_image_background(np.zeros((40, 784), dtype=np.uint8), [smooth, textured], rng)
    patches = {textured[r : r + 28, c : c + 28].tobytes(): (r, c) for r in range(3) for c in range(4)}
    places = {patches[image.tobytes()] for image in laid}  # KeyError: not a patch
    assert {r for r, _ in places} == {0, 1, 2}  # the last places are reached too
    assert {c for _, c in places} == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="more texture"):
        with_image_background(np.zeros((1, 784), dtype=np.uint8), [smooth], rng)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"background": "grey"}, "background must be .*'image', got 'grey'"),
        ({"n_samples": 21}, "n_samples must be .*20, got 21"),
    ],
)
def test_errors(directory, arguments, words):
    with pytest.raises(ValueError, match=words):
        load_mnist_sevens(**arguments)


# --- the real files -----------------------------------------------------------------------------------


@pytest.fixture
def real():
    """The directory of GSPPCA_DATA, or shared/data beside the repository."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    chosen = Path(os.environ.get("GSPPCA_DATA") or beside)
    if not (chosen / "scanb_breast_cancer.npz").is_file():
        pytest.skip("real data are neither in GSPPCA_DATA nor in ../shared/data: their tests are skipped")
    return chosen


def test_real_tables(real):
    for load, shape in ((load_scanb, (400, 5156)), (load_vdx_subset, (150, 966)), (load_gasoline, (60, 401))):
        data = load(real)
        assert data.X.shape == shape
        assert data.feature_names.shape == shape[1:]
        assert len(set(data.feature_names)) == shape[1]
        assert np.isfinite(data.X).all()
        assert all(len(values) == shape[0] for values in data.labels.values())
    scanb = load_scanb(real)
    assert np.abs(scanb.X.mean(axis=0)).max() < 1e-4
    assert {"er", "pgr", "her2", "grade", "pam50", "os_days", "os_event"} <= set(scanb.labels)


def test_real_pathways(real):
    pathways, genes = load_reactome(real), load_scanb(real).feature_names
    assert len(pathways) == 1816
    assert np.isin(genes, [gene for members in pathways.values() for gene in members]).all()
    result = pathway_enrichment(np.arange(genes.size) < 500, pathways, genes, min_size=10)
    assert len(result.names) == 1013


def test_real_sevens(real):
    plain = load_mnist_sevens(n_samples=200, directory=real)
    random = load_mnist_sevens("random", n_samples=200, directory=real)
    image = load_mnist_sevens("image", n_samples=200, directory=real)
    assert plain.X.shape == random.X.shape == image.X.shape == (200, 784)
    corner = plain.X.max(axis=0) == 0  # pixels that no seven touches
    assert_allclose(random.X[:, corner].mean(), 0.5, atol=0.01)
    neighbours = np.corrcoef(image.X[:, 0], image.X[:, 1])[0, 1]
    assert neighbours > 0.7  # natural images are smooth, noise is not
    assert abs(np.corrcoef(random.X[:, 0], random.X[:, 1])[0, 1]) < 0.4


def test_data_file(real):
    assert data_file("reactome_2016.gmt", real).is_file()
