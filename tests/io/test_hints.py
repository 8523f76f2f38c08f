"""What a file may be other than what it is taken for: variables in rows, raw counts, labels, words among numbers."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings

import numpy as np
import pytest

from gsppca.io import TableError, read_table, survey_file
from gsppca.io.options import ReadOptions
from gsppca.io.table import TableWarning
from tests.needs import optional

optional("pyarrow")
rng = np.random.default_rng(0)


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


def note_of(table, words):
    return any(words in note for note in table.notes)


def factor_table(n, p):
    scores, loadings = rng.normal(size=(n, 3)), rng.normal(size=(3, p)) * (np.arange(p) < p // 4)
    return scores @ loadings + 0.5 * rng.normal(size=(n, p)) + 8 + 2 * rng.normal(size=p)


def as_text(rows, separator=","):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue()


X = factor_table(12, 60)
GSM = [f"GSM{100 + i}" for i in range(12)]


def genes_in_rows(names, columns=GSM, head="", data=X):
    return as_text(
        [[head, *columns], *([name, *row] for name, row in zip(names, data.T.round(4).tolist(), strict=True))]
    )


UPSIDE_DOWN = {
    "probes": (genes_in_rows([f"{2000 + i}_s_at" for i in range(60)], [f"v{i}" for i in range(12)]), "2000_s_at"),
    "ensembl": (genes_in_rows([f"ENSG{i:011d}.3" for i in range(60)], [f"v{i}" for i in range(12)]), "ENSG"),
    "symbols": (genes_in_rows(["ACTB", "TP53", "Gapdh", *(f"x{i}" for i in range(57))], list("abcdefghijkl")), "ACTB"),
    "a head": (
        genes_in_rows([f"x{i}" for i in range(60)], list("abcdefghijkl"), "Gene_Symbol"),
        "headed 'Gene_Symbol'",
    ),
    "samples of GEO": (genes_in_rows([f"x{i}" for i in range(60)]), "such as 'GSM100'"),
    "dates": (genes_in_rows([f"x{i}" for i in range(60)], [f"{i + 1}.3.2024" for i in range(12)]), "headed by dates"),
    "patients": (genes_in_rows([f"x{i}" for i in range(60)], [f"Patient {i}" for i in range(12)]), "'Patient 0'"),
}


@pytest.mark.parametrize(("content", "said"), UPSIDE_DOWN.values(), ids=UPSIDE_DOWN)
def test_variables_in_rows_are_recognised(write, content, said):
    path = write(content)
    with pytest.warns(TableWarning, match="The 60 rows look like variables and the 12 columns like samples") as caught:
        table = read_table(path)
    assert said in str(caught[0].message)
    assert "--transpose" in caught[0].message.words
    assert table.shape == (60, 12)
    turned = read_table(path, transpose="auto")
    assert turned.shape == (12, 60)
    assert note_of(turned, "rows are variables and have been made columns")
    assert read_table(path, transpose=False).shape == (60, 12)  # said so: no warning
    assert "--no-transpose" in survey_file(path, ReadOptions(transpose=False)).command
    survey = survey_file(path)
    assert survey.table.shape == (12, 60)
    assert survey.rows_and_columns == (60, 12)
    assert "--transpose" in survey.command.split()


def samples_in_rows(names, head="sample", rows=None):
    rows = rows or [f"s{i}" for i in range(12)]
    return as_text([[head, *names], *([row, *values] for row, values in zip(rows, X.round(4).tolist(), strict=True))])


UPRIGHT = {
    "genes over columns": samples_in_rows([f"ENSG{i:011d}" for i in range(60)], "gene"),
    "samples of GEO in rows": samples_in_rows([f"x{i}" for i in range(60)], "", GSM),
    "symbols over columns": samples_in_rows(["ACTB", "TP53", "GAPDH", *(f"x{i}" for i in range(57))], "id", GSM),
    "tall, nothing known": as_text([list("abc"), *rng.normal(size=(900, 3)).round(3).tolist()]),
    "time series": as_text([["date", "a", "b"], *([f"2020-01-{i + 1:02d}", i * 1.1, -i] for i in range(28))]),
    "a few dates": samples_in_rows([f"2020-01-{i % 28 + 1:02d} {i}:00" for i in range(60)]),
    "German samples": as_text([["Probe", "a", "b"], *([f"P{i}", i * 1.1, -i] for i in range(28))]),
    "many German samples": as_text([["Probe", "a", "b"], *([i, i * 1.1, -i] for i in range(300))]),
    "numbered German samples": as_text([["Probe", "a", "b"], *([f"P{i:03d}", i * 1.1, -i] for i in range(1, 301))]),
}


@pytest.mark.parametrize("content", UPRIGHT.values(), ids=UPRIGHT)
def test_samples_in_rows_stay_there(write, content):
    path = write(content)
    shape = read_table(path).shape  # a warning would be an error
    assert read_table(path, transpose="auto").shape == shape
    assert "--transpose" not in survey_file(path).command


def series_matrix(tail="!series_matrix_table_end\n"):
    lines = [
        '!Series_title\t"A ""quoted"" title"',
        "",
        "!Sample_title\t" + "\t".join(f'"tumour {i}"' for i in range(12)),
        "!Sample_status\t" + "\t".join('"Public"' for _ in range(12)),
        "!Sample_characteristics_ch1\t" + "\t".join(f'"grade: {i % 3}"' for i in range(12)),
        "!series_matrix_table_begin",
    ]
    body = genes_in_rows([f"{2000 + i}_at" for i in range(60)], head="ID_REF").replace(",", "\t")
    return "\n".join(lines) + "\n" + body + tail


@pytest.mark.parametrize("packed", [False, True])
def test_a_series_matrix_of_geo(write, packed):
    text = series_matrix().encode()
    path = write(gzip.compress(text) if packed else text, "GSE1_series_matrix.txt" + ".gz" * packed)
    table = read_table(path, transpose="auto")
    np.testing.assert_array_equal(table.data, X.round(4))
    assert table.sample_names == GSM
    assert note_of(table, "5 lines before the table are skipped: they begin with '!'")
    assert note_of(table, "--label can be grade")
    labelled = read_table(path, label="grade")  # what only samples have is asked for
    assert labelled.shape == (12, 60)
    assert labelled.labels == [str(i % 3) for i in range(12)]
    with pytest.raises(TableError, match="The lines above the table name title, grade"):
        read_table(path, label="Grade", transpose=True)


def test_a_table_of_featurecounts(write):
    counts = rng.poisson(2.0 ** X.clip(0, 14))
    rows = [["Geneid", "Chr", "Start", "End", "Strand", "Length", *(f"/data/s{i}.bam" for i in range(12))]]
    for j in range(60):
        rows.append([f"ENSG{j:011d}", "1", 1000 * j, 1000 * j + 90, "+", 90, *counts[:, j].tolist()])
    path = write('# Program:featureCounts v2.0.1; Command:"featureCounts"\n' + as_text(rows, "\t"), "counts.txt")
    table = read_table(path, transpose=True, log=True)
    np.testing.assert_allclose(table.data, np.log2(1 + counts))
    assert table.sample_names[0] == "/data/s0.bam"
    assert note_of(table, "left out: 'Strand', 'Chr', 'Start', 'End', 'Length'")
    survey = survey_file(path)
    assert survey.is_raw
    assert survey.command.endswith("counts.txt --transpose --log --output results --report")
    assert survey.rows_and_columns == (60, 12)


def raw(n=40, p=120):
    return np.exp2(factor_table(n, p).clip(0))


RAW = {
    "counts": (rng.poisson(raw()), "raw counts"),
    "intensities": (raw().round(2), "raw intensities"),
    "logarithms": (factor_table(40, 120), None),
    "a picture": (rng.choice([0, 0, 0, 128, 255], size=(40, 120)) * (np.arange(120) % 10), None),
    "measurements in units": (rng.normal(size=(40, 12)) * 10.0 ** np.arange(12) + 4 * 10.0 ** np.arange(12), None),
    "spectra on a baseline": (np.linspace(100, 5000, 120) + rng.normal(size=(40, 120)), None),
    "small counts": (rng.poisson(3.0, size=(40, 120)), None),
    "all the same": (np.full((40, 120), 7000.0), None),
}


@pytest.mark.parametrize(("data", "said"), RAW.values(), ids=RAW)
def test_raw_numbers_are_remarked_on(tmp_path, data, said):
    np.save(tmp_path / "a.npy", data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(tmp_path / "a.npy")
        if said is None:
            assert not caught
        else:
            assert f"look like {said}" in str(caught[0].message)
            assert caught[0].message.words == ("--log",)
            assert len(caught) == 1
            caught.clear()
            read_table(tmp_path / "a.npy", log=True)
            assert not caught


def test_sparse_counts_are_remarked_on(tmp_path):
    import scipy.sparse as sp

    counts = sp.csr_array(rng.poisson(raw() / 4))
    sp.save_npz(tmp_path / "c.npz", counts)
    with pytest.warns(TableWarning, match="raw counts"):
        read_table(tmp_path / "c.npz")
    logged = read_table(tmp_path / "c.npz", log=True)
    np.testing.assert_allclose(logged.data.toarray(), np.log2(1 + counts.toarray()))


def test_a_label_among_the_numbers_is_remarked_on(write):
    data = np.c_[rng.normal(size=(30, 5)).round(3), np.arange(30) % 3]
    path = write(as_text([[*"abcde", "kind of"], *data.tolist()]))
    with pytest.warns(TableWarning, match="Column 'kind of' has only 3 different values") as caught:
        read_table(path)
    assert caught[0].message.words == ("--label", "kind of")
    assert "--label 'kind of'" in survey_file(path).command
    assert read_table(path, label="kind of").shape == (30, 5)
    # A table of such columns is one of measurements, unless one is headed as a label.
    pixels = rng.integers(0, 10, size=(40, 8))
    read_table(write(as_text([[f"p{i}" for i in range(8)], *pixels.tolist()])))
    for head in ("Class", "stage", "cell_type"):
        with pytest.warns(TableWarning, match=f"'{head}'"):
            read_table(write(as_text([[*(f"p{i}" for i in range(7)), head], *pixels.tolist()])))


def test_genes_that_became_dates_are_remarked_on(write):
    names = ["ACTB", "2-Sep", "1-Mar", *(f"x{i}" for i in range(57))]
    with pytest.warns(TableWarning, match="2 names are dates, such as '2-Sep'"):
        read_table(write(genes_in_rows(names, head="gene")), transpose=True)


def test_a_survey_takes_cells_that_are_no_numbers_for_missing(write):
    rows = [["name", "a", "b", "kind", "note", "site", "t1", "t2"]]
    for i in range(20):
        more = [f"n {i}", "ABC"[i % 3], "x", "y"]
        rows.append([f"r{i}", i * 1.1 if i != 4 else "n.d.", -i if i != 7 else "<1", "xy"[i % 2], *more])
    path = write(as_text(rows))
    survey = survey_file(path)
    assert survey.n_missing == 2
    words = survey.words
    assert words[:4] == ["--na", "n.d.", "--na", "<1"]
    assert words[4:] == ["--label", "kind", "--drop", "text", "--missing", "impute"]
    assert survey_file(path, ReadOptions(label="site")).words[4:6] == ["--drop", "text"]
    options = {"na": ("n.d.", "<1"), "label": "kind", "drop": ("text",), "missing": "mean"}
    assert read_table(path, **options).shape == (20, 2)
    # A column that is full of such cells is left out.
    rows = [["a", "b", "c"], *([i, i * 2.5, f"w{i}" if i % 2 else i] for i in range(20))]
    assert survey_file(write(as_text(rows))).words == ["--drop", "3"]


def test_only_some_columns_are_read_whatever_the_others_hold(write):
    path = write("sample,a,b,d,c,c\nr,1,x,n.d.,,\ns,2,inf,2,3,\n")
    table = read_table(path, only={"a"})
    assert (table.feature_names, table.data.tolist(), table.sample_names) == (["a"], [[1.0], [2.0]], ["r", "s"])
    assert read_table(path, only={"z"}, strict=False).shape == (2, 0)
    with pytest.raises(TableError, match="have the same name"):
        read_table(path, only={"c"}, strict=False)


@pytest.mark.parametrize("code", [-999, 9999, 99])
def test_codes_for_missing_values_are_remarked_on(write, code):
    data = rng.normal(size=(40, 6)).round(3)
    data[3:6, 2] = data[8, 4] = code
    path = write(as_text([list("abcdef"), *data.tolist()]))
    said = f"{code} occurs 4 times in 2 columns, such as 'c', far from all other values: if it means missing, use --na"
    with pytest.warns(TableWarning, match=re.escape(said)):
        read_table(path)
    command = survey_file(path).command
    assert f"--na={code}" in command or f"--na {code}" in command
    assert "--missing impute" in command
    assert "--scale" not in command  # the spread is that of the code
    read = read_table(path, na=(str(code),), missing="impute")  # no warning
    assert np.isnan(read.data).sum() == 4
    # Among numbers of its own size it is a number, as is a whole column of it.
    counted = np.c_[np.arange(990, 1030), rng.integers(0, 1500, size=40), np.full(40, -999), rng.normal(size=(40, 3))]
    read_table(write(as_text([list("abcdef"), *counted.tolist()])))


def test_spectra_are_not_to_be_scaled(write):
    """Wavelengths have one unit, however different their spreads; columns that are only counted may not."""
    spectra = rng.normal(size=(30, 40)) * np.where(np.arange(40) < 3, 50, 1)
    for heads, is_scaled in (
        ([f"{900 + 2 * k}" for k in range(40)], False),
        ([f"{1700 - 2.5 * k} nm" for k in range(40)], False),
        ([f"X{900 + 2 * k}" for k in range(40)], False),
        ([f"{k}" for k in range(40)], True),
        ([f"v{k}" for k in range(40)], True),
    ):
        survey = survey_file(write(as_text([heads, *spectra.round(3).tolist()])))
        assert survey.is_uneven
        assert ("--scale" in survey.command.split()) == is_scaled, heads[:2]


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_deviations_of_any_magnitude(tmp_path, unit):
    """Squares of such values cannot be held; numpy would warn, or take them for zero."""
    X = np.abs(np.random.default_rng(0).standard_normal((40, 120))) * np.geomspace(1, 50, 120) * 1e5
    X[3, 7] = np.nan
    np.save(tmp_path / "large.npy", X * unit)
    survey = survey_file(tmp_path / "large.npy")
    wanted = np.quantile(np.nanstd(X, axis=0), [0, 0.5, 1]) * unit
    np.testing.assert_allclose(survey.spread, wanted, rtol=1e-12)
    assert not survey.constant_columns
