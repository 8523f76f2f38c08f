"""The ExpressionSet reader on files in R's own serialisation, written here byte by byte."""

from __future__ import annotations

import gzip
import lzma
import struct
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gsppca.datasets import load_vdx, read_expression_set
from tests.needs import optional

NA_INT, NA_REAL = -(2**31), struct.pack(">II", 0x7FF00000, 1954)


class RWriter:
    """R's XDR serialisation, version 2 (R Internals, section 1.8): what `save()` writes."""

    NIL, GLOBAL, EMPTY = 254, 253, 242

    def __init__(self):
        self.out = bytearray()
        self.references = []

    def integer(self, value):
        self.out += struct.pack(">i", value)

    def flags(self, kind, *, is_object=False, attributes=False, tag=False, levels=0):
        self.integer(kind | is_object << 8 | attributes << 9 | tag << 10 | levels << 12)

    def char(self, text):
        if text is None:
            self.flags(9)
            self.integer(-1)
            return
        data = text.encode("latin-1") if not text.isascii() else text.encode()
        self.flags(9, levels=64 if text.isascii() else 4)
        self.integer(len(data))
        self.out += data

    def symbol(self, name):
        if name in self.references:
            self.integer((self.references.index(name) + 1) << 8 | 255)
            return
        self.references.append(name)
        self.flags(1)
        self.char(name)

    def pairlist(self, items):
        for name, value in items.items():
            self.flags(2, tag=True)
            self.symbol(name)
            value(self)
        self.integer(self.NIL)


def vector(values, kind, attributes=None):
    """Return a writer of an R vector; kinds: lgl, int, real, str, list."""
    codes = {"lgl": 10, "int": 13, "real": 14, "str": 16, "list": 19}

    def write(w):
        w.flags(codes[kind], is_object="class" in (attributes or {}), attributes=bool(attributes))
        w.integer(len(values))
        for value in values:
            if kind == "str":
                w.char(value)
            elif kind == "list":
                value(w)
            elif kind == "real":
                w.out += NA_REAL if value is None else struct.pack(">d", value)
            else:
                w.integer(NA_INT if value is None else int(value))
        if attributes:
            w.pairlist(attributes)

    return write


def factor(codes, levels):
    return vector(codes, "int", {"levels": vector(levels, "str"), "class": vector(["factor"], "str")})


def frame(columns, row_names):
    attributes = {
        "names": vector(list(columns), "str"),
        "row.names": vector(row_names, "str"),
        "class": vector(["data.frame"], "str"),
    }
    return vector(list(columns.values()), "list", attributes)


def s4(name, package, slots):
    def write(w):
        w.flags(25, is_object=True, attributes=True, levels=16)
        w.pairlist(slots | {"class": vector([name], "str", {"package": vector([package], "str")})})

    return write


def environment(contents, *, hashed):
    def write(w):
        w.flags(4)
        w.references.append(object())
        w.integer(1)  # locked, as Biobase's assayData is
        w.integer(w.EMPTY)
        if hashed:
            w.integer(w.NIL)
            w.flags(19)
            w.integer(3)
            w.integer(w.NIL)
            w.pairlist(contents)
            w.integer(w.NIL)
        else:
            w.pairlist(contents)
            w.integer(w.NIL)
        w.integer(w.NIL)

    return write


def save(path, objects, compress=gzip.compress):
    w = RWriter()
    w.out += b"RDX2\nX\n"
    for number in (2, 0x00020D02, 0x00020300):
        w.integer(number)
    w.pairlist(objects)
    path.write_bytes(compress(bytes(w.out)))
    return path


PROBES = ["1007_s_at", "1053_at", "117_at", "121_at", "1255_g_at", "AFFX-x"]
SAMPLES = ["VDX_3", "VDX_5", "VDX_6"]
GENES = ["DDR1", "RFC2", "DDR1", None, "PAX8///X", "RFC2"]
VALUES = np.array(  # probes x samples, as in R
    [[7.0, 8.0, 9.0], [1.0, 1.5, 2.0], [8.0, 9.0, 9.5], [5.0, 5.0, 5.0], [4.0, 4.0, 4.0], [0.5, 0.25, 0.125]]
)


def annotated(columns, row_names, label):
    version = vector([vector([1, 1, 0], "int")], "list", {"class": vector(["Versions"], "str")})
    slots = {
        "varMetadata": frame({"labelDescription": vector([None] * len(columns), "str")}, list(columns)),
        "data": frame(columns, row_names),
        "dimLabels": vector([label, "columnNames"], "str"),
        ".__classVersion__": version,
    }
    return s4("AnnotatedDataFrame", "Biobase", slots)


def expression_set(storage="hashed", phenotypes=None, values=VALUES):
    dimnames = vector([vector(PROBES, "str"), vector(SAMPLES, "str")], "list")
    columns = [None if np.isnan(v) else float(v) for v in values.T.ravel()]
    exprs = vector(columns, "real", {"dim": vector(values.shape, "int"), "dimnames": dimnames})
    if storage == "list":
        assay = vector([exprs], "list", {"names": vector(["exprs"], "str")})
    else:
        assay = environment({"exprs": exprs}, hashed=storage == "hashed")
    phenotypes = phenotypes or {
        "er": vector([1, 0, None], "int"),
        "age": vector([50.0, None, 61.5], "real"),
        "series": factor([1, 2, None], ["GSE2034", "GSE5327"]),
        "node": vector([True, False, None], "lgl"),
        "name": vector(["A", None, "Müller"], "str"),
    }
    slots = {
        "assayData": assay,
        "phenoData": annotated(phenotypes, SAMPLES, "sampleNames"),
        "featureData": annotated(
            {"probe": vector(PROBES, "str"), "Gene.symbol": vector(GENES, "str")}, PROBES, "featureNames"
        ),
        "annotation": vector(["hgu133a"], "str"),
    }
    return s4("ExpressionSet", "Biobase", slots)


@pytest.fixture(autouse=True)
def _needs_rdata():
    optional("rdata")


@pytest.mark.parametrize("storage", ["hashed", "frame", "list"])
@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bytes])
def test_expression_set(tmp_path, storage, compress):
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set(storage)}, compress)
    found = read_expression_set(path)
    assert_array_equal(found.data.X, VALUES.T)
    assert_array_equal(found.data.feature_names, PROBES)
    assert_array_equal(found.data.sample_names, SAMPLES)
    assert_array_equal(found.annotation["Gene.symbol"], ["DDR1", "RFC2", "DDR1", "", "PAX8///X", "RFC2"])
    assert "vdx" in found.data.source


def test_kinds_of_columns(tmp_path):
    labels = read_expression_set(save(tmp_path / "vdx.rda", {"vdx": expression_set()})).data.labels
    assert_array_equal(labels["er"], [1, 0, np.nan])
    assert_array_equal(labels["age"], [50, np.nan, 61.5])
    assert_array_equal(labels["node"], [1, 0, np.nan])
    assert_array_equal(labels["series"], ["GSE2034", "GSE5327", ""])
    assert_array_equal(labels["name"], ["A", "", "Müller"])


def test_genes_of_vdx(tmp_path):
    """DDR1: probe 117_at has the larger mean; RFC2: 1053_at; the probes without one gene are dropped."""
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set()})
    data = load_vdx(path)
    assert_array_equal(data.feature_names, ["DDR1", "RFC2"])
    assert_allclose(data.X + data.mean, VALUES[[2, 1]].T)
    assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    only = load_vdx(path, {"replication": ["RFC2", "PCNA"]}, center=False)
    assert_array_equal(only.feature_names, ["RFC2"])
    assert_array_equal(only.X, VALUES[[1]].T)


def test_among_other_objects(tmp_path):
    objects = {"demo": vector([1.0], "real"), "vdx": expression_set()}
    assert read_expression_set(save(tmp_path / "a.rda", objects)).data.X.shape == (3, 6)


def test_missing_values(tmp_path):
    values = VALUES.copy()
    values[2, 0] = np.nan
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set(values=values)})
    with pytest.raises(ValueError, match="1 probes have missing values"):
        load_vdx(path)
    dropped = load_vdx(path, missing="drop", center=False)
    assert_array_equal(dropped.X[:, 0], VALUES[0])  # the other probe of DDR1


def test_no_expression_set(tmp_path):
    path = save(tmp_path / "a.rda", {"demo": vector([1.0], "real")})
    with pytest.raises(ValueError, match=r"holds \['demo'\] and no ExpressionSet"):
        read_expression_set(path)


def test_wrong_column(tmp_path):
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set()})
    with pytest.raises(ValueError, match=r"column='symbol'.*\['probe', 'Gene.symbol'\]"):
        load_vdx(path, column="symbol")


def test_rows_that_do_not_fit(tmp_path):
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set(phenotypes={"er": vector([1], "int")})})
    with pytest.raises(ValueError, match="phenoData column 'er'"):
        read_expression_set(path)


def test_without_rdata(tmp_path, monkeypatch):
    path = save(tmp_path / "vdx.rda", {"vdx": expression_set()})
    monkeypatch.setitem(sys.modules, "rdata.parser", None)
    with pytest.raises(ImportError, match=r"rdata.*gsppca\[datasets\]"):
        load_vdx(path)
