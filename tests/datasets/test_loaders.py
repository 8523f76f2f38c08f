"""GMT, GEO and .amat readers on small files in the same formats."""

from __future__ import annotations

import gzip
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gsppca.datasets import (
    Dataset,
    genes_from_probes,
    load_geo,
    read_amat,
    read_gmt,
    read_platform,
    read_series_matrix,
)
from gsppca.datasets.genes import single_gene

# --- GMT ------------------------------------------------------------------------------------------


def test_gmt(tmp_path):
    file = tmp_path / "sets.gmt"
    file.write_text("Cycle\tR-1\tCDK1\tCCNB1\tCDK1\t\r\n\nDeath of a cell\t\tTP53\nCycle\tR-9\tE2F1\n")
    sets = {"Cycle": ("CDK1", "CCNB1"), "Death of a cell": ("TP53",), "Cycle (R-9)": ("E2F1",)}
    assert read_gmt(file) == sets
    packed = tmp_path / "sets.gmt.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_gmt(packed) == sets


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("good\tR-1\tA\nno genes\tR-2\n", "line 2.*at least one gene"),
        ("\tR-1\tA\n", "line 1"),
        ("a\tx\tA\na\tx\tB\na\tx\tC\n", "line 3"),
        ("", "no gene sets"),
    ],
)
def test_bad_gmt(tmp_path, text, words):
    file = tmp_path / "bad.gmt"
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_gmt(file)


# --- GEO ------------------------------------------------------------------------------------------

MATRIX = """\
!Series_title\t"A 5" series of "tumours\""
!Series_geo_accession\t"GSE0"
!Series_summary\t"first"
!Series_summary\t"second"

!Sample_title\t"tumour 1"\t"tumour 2"\t"tumour 3"
!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"
!Sample_characteristics_ch1\t"grade: 3"\t"er: 1"\t"grade: 1"
!Sample_characteristics_ch1\t"er: 0"\t"grade: 2"\t""
!Sample_channel_count\t"1"\t"1"\t"1"
!series_matrix_table_begin
"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"
"p1"\t1.0\t2.0\t3.5
"p2"\t10\t-1e1\t4
"p3"\t7\t7\t7.5
"p4"\t0\t0\t0
"p5"\t0.5\t{}\t0.25
!series_matrix_table_end
"""
ANNOTATION = """\
^Annotation
!Annotation_platform = GPL0
#ID = ID from Platform data table
#Gene symbol = "Entrez" Gene symbol
!platform_table_begin
ID\tGene title\tGene symbol\tGene ID
p1\ta 5" title\tBRCA1\t672
p2\tb\tTP53\t7157
p3\tc\tBRCA1\t672
p4\td\t\t
p5\te\tEGFR///ERBB2\t1956///2064
p6\tnot measured\tMYC\t4609
!platform_table_end
"""


@pytest.fixture(params=["plain", "gzip"])
def geo(request, tmp_path):
    files = []
    for name, text in (("GSE0_series_matrix.txt", MATRIX.format("null")), ("GPL0.annot", ANNOTATION)):
        file = tmp_path / (name + ".gz" if request.param == "gzip" else name)
        file.write_bytes(gzip.compress(text.encode()) if request.param == "gzip" else text.encode())
        files.append(file)
    return files


def test_series_matrix(geo):
    data = read_series_matrix(geo[0])
    assert_array_equal(data.feature_names, ["p1", "p2", "p3", "p4", "p5"])
    assert_array_equal(data.sample_names, ["GSM1", "GSM2", "GSM3"])
    assert_array_equal(data.X[:, 1], [10, -10, 4])
    assert_array_equal(data.X[:, 4], [0.5, np.nan, 0.25])
    assert data.X.shape == (3, 5)
    assert data.source == 'GEO GSE0: A 5" series of "tumours'
    assert set(data.labels) == {"title", "grade", "er"}
    assert_array_equal(data.labels["grade"], ["3", "2", "1"])  # the keys are mixed within a row
    assert_array_equal(data.labels["er"], ["0", "1", ""])


def test_platform(geo):
    assert read_platform(geo[1])["p2"] == "TP53"
    assert read_platform(geo[1], "GENE ID") == {
        "p1": "672",
        "p2": "7157",
        "p3": "672",
        "p4": "",
        "p5": "1956///2064",
        "p6": "4609",
    }
    with pytest.raises(ValueError, match=r"column='ENTREZ'.*'Gene symbol'"):
        read_platform(geo[1], "ENTREZ")


def test_platform_without_marks(tmp_path):
    """The full tables of the platform pages have # lines and no begin and end; rows may be cut short."""
    file = tmp_path / "GPL0-1.txt"
    file.write_text("#ID = \nID\tGB_ACC\tGene Symbol\np1\tU1\tA /// B\np2\tU2\n")
    assert read_platform(file) == {"p1": "A /// B", "p2": ""}


def test_load_geo(geo):
    """BRCA1 is p3 (mean 7.17 over 2.17); p5, with a missing value, has two genes and is dropped before."""
    data = load_geo(*geo)
    assert_array_equal(data.feature_names, ["BRCA1", "TP53"])
    assert_allclose(data.X + data.mean, [[7, 10], [7, -10], [7.5, 4]])
    assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    assert "GSE0" in data.source
    assert_array_equal(data.labels["grade"], ["3", "2", "1"])
    some = load_geo(*geo, {"repair": ["BRCA1", "XRCC1"]}, center=False)
    assert_array_equal(some.feature_names, ["BRCA1"])
    assert_array_equal(some.X.ravel(), [7, 7, 7.5])
    assert some.mean is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("!series_matrix_table_begin", "!other"), "no line !series_matrix_table_begin"),
        (("!series_matrix_table_end", ""), "the file is cut"),
        (("10\t-1e1\t4", "10\t4"), "probe 'p2' has 2 values, expected 3"),
        (("10\t-1e1\t4", "10\tten\t4"), "'p2' has the value 'ten'"),
    ],
)
def test_bad_series_matrix(tmp_path, change, words):
    file = tmp_path / "matrix.txt"
    file.write_text(MATRIX.format("1").replace(*change).rstrip() + "\n")
    with pytest.raises(ValueError, match=words):
        read_series_matrix(file)


def test_empty_series_matrix(tmp_path):
    file = tmp_path / "matrix.txt"
    file.write_text('!series_matrix_table_begin\n"ID_REF"\t"GSM1"\n!series_matrix_table_end\n')
    with pytest.raises(ValueError, match="supplementary files"):
        read_series_matrix(file)


# --- probes to genes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "gene"),
    [("A", "A"), (" A ", "A"), ("A///A", "A"), ("A /// B", ""), ("", ""), ("NA", ""), ("---", ""), ("A///---", "A")],
)
def test_single_gene(annotation, gene):
    assert single_gene(annotation) == gene


def test_collapse_against_a_loop():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 40)).round(1)
    probes = np.array([f"p{i}" for i in range(40)])
    gene_of_probe = {f"p{i}": f"G{rng.integers(12)}" for i in range(0, 40, 1) if i % 7}
    data = Dataset(X, probes, "test")
    genes = genes_from_probes(data, gene_of_probe, center=False)
    assert_array_equal(genes.feature_names, sorted(set(gene_of_probe.values())))
    for column, gene in enumerate(genes.feature_names):
        candidates = [i for i in range(40) if gene_of_probe.get(f"p{i}") == gene]
        means = [X[:, i].mean() for i in candidates]
        assert_array_equal(genes.X[:, column], X[:, candidates[int(np.argmax(means))]])
    # The order of the probes is of no consequence, but for equal means.
    order = rng.permutation(40)
    again = genes_from_probes(Dataset(X[:, order], probes[order], "test"), gene_of_probe, center=False)
    assert_allclose(again.X.mean(axis=0), genes.X.mean(axis=0))


def test_nothing_left():
    data = Dataset(np.ones((2, 1)), np.array(["p1"]), "test")
    with pytest.raises(ValueError, match=r"no gene is left of 1 probes \(\['p1'\] first\)"):
        genes_from_probes(data, {"other": "A"})
    with pytest.raises(ValueError, match=r"missing must be .*got 'keep'"):
        genes_from_probes(data, {"p1": "A"}, missing="keep")


# --- .amat ------------------------------------------------------------------------------------------


@pytest.fixture
def amat(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.random((5, 784)).round(4)
    digits = np.array([7, 1, 7, 0, 7])
    file = tmp_path / "mnist_train.amat"
    # The originals: three spaces first, then fixed-point and scientific numbers, one image a line.
    lines = ["   " + " ".join(f"{v:.6f}" for v in row) + f" {d:.4e}" for row, d in zip(images, digits, strict=True)]
    file.write_text("\n".join(lines) + "\n")
    return file, images, digits


def test_amat(amat):
    file, images, digits = amat
    everything = read_amat(file)
    assert_allclose(everything.X, images)
    assert_array_equal(everything.labels["digit"], digits)
    assert everything.feature_names[29] == "r1c1"
    sevens = read_amat(file, digit=7)
    assert_allclose(sevens.X, images[[0, 2, 4]])
    assert_array_equal(sevens.sample_names, ["0", "2", "4"])


def test_amat_transposed(amat):
    file, images, _ = amat
    turned = read_amat(file, transpose=True)
    assert_allclose(turned.X.reshape(5, 28, 28)[3], images[3].reshape(28, 28).T)


def test_amat_in_zip(amat, tmp_path):
    file, images, _ = amat
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    with zipfile.ZipFile(one, "w") as archive:
        archive.write(file, "mnist_train.amat")
        archive.writestr("README", "words")
    assert_allclose(read_amat(one).X, images)
    with zipfile.ZipFile(two, "w") as archive:
        archive.write(file, "mnist_train.amat")
        archive.writestr("mnist_test.amat", "0 " * 784 + "4\n")
    with pytest.raises(ValueError, match=r"member=None.*'mnist_test.amat'"):
        read_amat(two)
    assert read_amat(two, member="mnist_test.amat").labels["digit"] == [4]


def test_bad_amat(amat, tmp_path):
    with pytest.raises(ValueError, match=r"digit must be .*got 10"):
        read_amat(amat[0], digit=10)
    bad = tmp_path / "bad.amat"
    bad.write_text("1 2 3\n")
    with pytest.raises(ValueError, match="3 columns: expected 784"):
        read_amat(bad)
