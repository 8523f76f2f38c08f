"""Text files: what is found out by looking at them, and the one line that a wrong one gets."""

from __future__ import annotations

import bz2
import gzip

import numpy as np
import pytest

from gsppca.io import TableError, delimited, read_table
from gsppca.io.buffer import RowBuffer
from tests.needs import optional

pd = optional("pandas")
optional("pyarrow")


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


LAYOUTS = {
    "header": ("a,b,c\n1,2,3\n4,5,6\n", {}, ["a", "b", "c"], None),
    "no header": ("1,2,3\n4,5,6\n", {}, None, None),
    "no newline at the end": ("a,b,c\n1,2,3\n4,5,6", {}, ["a", "b", "c"], None),
    "windows": ("a,b,c\r\n1,2,3\r\n4,5,6\r\n", {}, ["a", "b", "c"], None),
    "blank lines": ("\n\na,b,c\n1,2,3\n\n4,5,6\n\n", {}, ["a", "b", "c"], None),
    "byte order mark": ("\ufeffa,b,c\n1,2,3\n4,5,6\n", {}, ["a", "b", "c"], None),
    "spaces": ("a, b, c\n1, 2, 3\n 4,5 ,6\n", {}, ["a", "b", "c"], None),
    "quotes": ('"a","b","c"\n"1","2","3"\n4,5,6\n', {}, ["a", "b", "c"], None),
    "comma in a name": ('"a,1",b,c\n1,2,3\n4,5,6\n', {}, ["a,1", "b", "c"], None),
    "row names": ("id,a,b,c\nr,1,2,3\ns,4,5,6\n", {}, ["a", "b", "c"], ["r", "s"]),
    "row names, no header": ("r,1,2,3\ns,4,5,6\n", {}, None, ["r", "s"]),
    "pandas": (",a,b,c\n0,1,2,3\n1,4,5,6\n", {}, ["a", "b", "c"], ["0", "1"]),
    "R": ('"a" "b" "c"\n"r" 1 2 3\n"s" 4 5 6\n', {}, ["a", "b", "c"], ["r", "s"]),
    "semicolons": ("a;b;c\n1;2;3\n4;5;6\n", {}, ["a", "b", "c"], None),
    "tabs": ("a\tb\tc\n1\t2\t3\n4\t5\t6\n", {}, ["a", "b", "c"], None),
    "decimal commas": ("a;b;c\n1,0;2;3\n4;5;6,0\n", {"decimal": ","}, ["a", "b", "c"], None),
    "other separator": ("a:b:c\n1:2:3\n4:5:6\n", {"separator": ":"}, ["a", "b", "c"], None),
    "header said": ("7,8,9\n1,2,3\n4,5,6\n", {"header": "yes"}, ["7", "8", "9"], None),
    "numeric names said": ("k,a,b,c\n7,1,2,3\n8,4,5,6\n", {"index": "k"}, ["a", "b", "c"], ["7", "8"]),
    "dropped": ("a,t,b,c\n1,x,2,3\n4,y,5,6\n", {"drop": ("t",)}, ["a", "b", "c"], None),
    "dropped by number": ("a,t,b,c\n1,x,2,3\n4,y,5,6\n", {"drop": ("2",)}, ["a", "b", "c"], None),
    "exponents and signs": ("a,b,c\n1e0,+2,.3e1\n4.,5E0,6\n", {}, ["a", "b", "c"], None),
}


@pytest.mark.parametrize(("content", "options", "names", "rows"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_are_found_out(write, content, options, names, rows):
    table = read_table(write(content), **options)
    np.testing.assert_array_equal(table.data, [[1, 2, 3], [4, 5, 6]])
    assert table.data.dtype == np.float64
    assert table.feature_names == names
    assert table.sample_names == rows


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(write, encoding):
    path = write("é,b\n1,2\n3,4\n".encode(encoding))
    table = read_table(path, encoding=encoding)
    assert table.feature_names == ["é", "b"]
    np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])


def test_spectra_have_numbers_for_names(write):
    """Wave lengths rise all the way, measurements do not."""
    path = write("sample,400,402,404,406,408,410\nr,1,3,2,5,4,1\ns,2,1,3,1,2,2\n")
    assert read_table(path).feature_names == ["400", "402", "404", "406", "408", "410"]
    assert read_table(path, header="no", index="1").shape == (3, 6)


def test_labels_are_kept_apart(write):
    table = read_table(write("a,kind,b\n1,NA,2\n3,y,4\n"), label="kind")
    assert table.labels == ["NA", "y"]
    assert table.feature_names == ["a", "b"]


def test_transposed(write):
    table = read_table(write("gene,s1,s2,s3\ng,1,2,3\nh,4,5,6\n"), transpose=True)
    np.testing.assert_array_equal(table.data, [[1, 4], [2, 5], [3, 6]])
    assert table.feature_names == ["g", "h"]
    assert table.sample_names == ["s1", "s2", "s3"]


@pytest.mark.parametrize(
    ("name", "pack"), [("t.csv.gz", gzip.compress), ("t.csv", gzip.compress), ("t.csv.bz2", bz2.compress)]
)
def test_compressed(write, name, pack):
    np.testing.assert_array_equal(read_table(write(pack(b"a,b\n1,2\n3,4\n"), name)).data, [[1, 2], [3, 4]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("packed", [False, True])
def test_many_blocks_give_what_pandas_reads(write, monkeypatch, dtype, packed):
    monkeypatch.setattr(delimited, "BLOCK", 2**12)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(500, 30)) * 10.0 ** rng.integers(-20, 20, 30), columns=[f"v{i}" for i in range(30)]
    )
    frame.index = [f"row {i}" for i in range(500)]
    text = frame.to_csv().encode()
    path = write(gzip.compress(text) if packed else text, "t.csv.gz" if packed else "t.csv")
    table = read_table(path, dtype=dtype)
    np.testing.assert_array_equal(table.data, frame.to_numpy().astype(dtype))
    assert table.data.dtype == dtype
    assert table.sample_names == list(frame.index)


WRONG = {
    "ragged, long": (
        "a,b\n1,2\n3,4,5\n",
        {},
        r"row 2 \(line 3\) has 3 columns instead of 2: it is ragged from column 3",
    ),
    "ragged, short": ("a,b\n1,2\n3\n", {}, r"row 2 \(line 3\) has 1 columns instead of 2"),
    "ragged, no header": ("1,2\n3,4\n5\n", {}, r"row 3 has 1 columns instead of 2"),
    "text among numbers": ("a,b\n1,2\n3,4\n5,abc\n", {}, r"row 3 \(line 4\), column 2 \('b'\): 'abc' is not a number"),
    "text after an empty line": ("a,b\n1,2\n\n\r\n5,abc\n", {}, r"row 2 \(line 5\), column 2 \('b'\): 'abc'"),
    "ragged after an empty line": ("a,b\n1,2\n\n5\n", {}, r"row 2 \(line 4\) has 1 columns"),
    "an empty line first": ("\na,b\n1,2\n\n5\n", {}, r"row 2 \(line 5\) has 1 columns"),
    "text in the first row": ("a,b\n1,x\n3,4\n", {}, r"row 1 \(line 2\), column 2 \('b'\): 'x' is not a number"),
    "label": (
        "a,k\n1,x\n3,x\n",
        {},
        r"column 2 \('k'\): 'x' is not a number. If the column holds a label, use --label k",
    ),
    "names": ("a,k\n1,x\n3,y\n", {}, r"If the column holds names, use --index k; to leave it out, --drop k"),
    "missing": ("i,a,b\nr,1,2\ns,3,\n", {}, r"row 2 \('s'\), column 3 \('b'\): the value is missing \(NaN\); 1 are"),
    "NaN": ("a,b\n1,NaN\n3,NA\n", {}, r"row 1, column 2 \('b'\): the value is missing \(NaN\); 2 are missing"),
    "infinite": ("a,b\n1,2\n-inf,4\n", {}, r"row 2, column 1 \('a'\): the value is infinite"),
    "infinite stays wrong": (
        "a,b\n1,\n-inf,4\n",
        {"missing": "mean"},
        r"row 2, column 1 \('a'\): the value is infinite",
    ),
    "empty": ("", {}, "the file is empty"),
    "blank": ("\n \n", {}, "the file is empty"),
    "header only": ("a,b\n", {}, "has a header, and no rows"),
    "same names": ("a,b,a\n1,2,3\n4,5,6\n", {}, "columns 1 and 3 have the same name, 'a'"),
    "no such label": (
        "height,b\n1,2\n3,4\n",
        {"label": "hieght"},
        "--label hieght: there is no such column. Give a name, such as 'height'",
    ),
    "no such number": ("a,b\n1,2\n3,4\n", {"drop": ("3",)}, "--drop 3: there is no such column"),
    "label of a transposed": (
        "i,a,k\nr,1,x\ns,2,y\n",
        {"label": "k", "transpose": True},
        "a label is one value per sample",
    ),
    "not UTF-8": (b"a,\xe9\n1,2\n3,4\n", {"encoding": "utf-8"}, "the text is not utf-8. Save it as UTF-8, or name its"),
    "not UTF-8 later": (
        b"i,a\n" + b"r,1\n" * 400_000 + b"\xe9,2\n",
        {"index": "i", "encoding": "utf-8"},
        "not UTF-8",
    ),
    "no encoding": ("a,b\n1,2\n", {"encoding": "klingon"}, "--encoding klingon: there is no such encoding"),
    "zero bytes": (b"a,b\n1,\0\n", {}, "not a text file"),
    "separator": ("a,b\n1,2\n", {"separator": "::"}, "--separator must be one character"),
    "nothing left": ("a,b\n1,\n,2\n", {"missing": "drop-rows"}, "nothing is left"),
    "empty column": ("a,b\n1,\n3,\n", {"missing": "mean"}, "column 'b' has no value at all"),
    "decimal points said": ("a;b\n1,5;2,5\n3;4\n", {"decimal": "."}, "'1,5' is not a number"),
    "mixed decimals": ("a;b\n1,5;2,5\n3,5;4.55\n", {}, r"column 2 \('b'\): '4.55' is not a number"),
    "thousands": ("a,b\n1,2\n", {"thousands": "xy"}, "--thousands must be one sign"),
    "the same sign twice": ("a;b\n1;2\n", {"thousands": ",", "decimal": ","}, "Use two different signs"),
    "label, none alike": (",b\nr,1\ns,3\n", {"label": "zzz"}, "no such column. Give a name, such as 'b'"),
    "text without a head": (",b,c\nr,1,2\ns,3,4\n", {"index": "none"}, "use --index 1; to leave it out, --drop 1"),
    "a layer of text": ("a,b\n1,2\n3,4\n", {"layer": "counts"}, "--layer counts is for h5ad and zarr files"),
    "a key of text": ("a,b\n1,2\n3,4\n", {"key": "X"}, "--key X is for npz, zarr and xlsx files, this is csv"),
    "GEO without table": (
        '!Series_title\t"x"\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\n!series_matrix_table_end\n',
        {},
        "the table is empty, as in all GEO series of sequencing data",
    ),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", {}, "not a text file|not utf-8"),
}


@pytest.mark.parametrize(("content", "options", "said"), WRONG.values(), ids=WRONG)
def test_wrong_files_get_one_line_that_says_where(write, content, options, said):
    path = write(content)
    with pytest.raises(TableError, match=said) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)
    if not str(caught.value).startswith("--"):
        assert str(path) in str(caught.value)


def test_errors_far_into_a_file_name_the_right_row(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 2**10)
    for bad, said in (("1,x\n", "column 2"), ("1\n", "1 columns instead of 2")):
        path = write("a,b\n" + "1,2\n" * 5000 + bad + "1,2\n")
        with pytest.raises(TableError, match=rf"row 5001 \(line 5002\).*{said}"):
            read_table(path)


def test_a_cut_off_archive_is_said_to_be_one(write):
    rng = np.random.default_rng(0)
    text = "a,b\n" + "\n".join(f"{x},{y}" for x, y in rng.normal(size=(20_000, 2)))
    packed = gzip.compress(text.encode())
    for keep in (len(packed) // 2, len(packed) - 4, 11):
        with pytest.raises(TableError, match=r"damaged( or cut off)?"):
            read_table(write(packed[:keep], "t.csv.gz"))
    with pytest.raises(TableError, match="the name says gzip, but the content is not"):
        read_table(write(text, "t.csv.gz"))


def test_missing_values_are_dealt_with_as_asked(write):
    path = write("i,a,b,c\nr,1,2,3\ns,4,,6\nt,7,8,8\n")
    rows = read_table(path, missing="drop-rows")
    np.testing.assert_array_equal(rows.data, [[1, 2, 3], [7, 8, 8]])
    assert rows.sample_names == ["r", "t"]
    columns = read_table(path, missing="drop-columns")
    assert columns.feature_names == ["a", "c"]
    np.testing.assert_array_equal(columns.data, [[1, 3], [4, 6], [7, 8]])
    np.testing.assert_array_equal(read_table(path, missing="mean").data[1], [4, 5, 6])


def test_the_buffer_grows_to_any_size():
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(n, 3)) for n in (1, 50, 2, 700, 1, 0, 3)]
    for share in (0.0, 0.01, 0.5, 1.0):
        buffer = RowBuffer(3, np.float64)
        for block in blocks:
            buffer.append(block, share)
        np.testing.assert_array_equal(buffer.finish(), np.concatenate(blocks))


def test_reading_takes_little_more_memory_than_the_numbers(tmp_path):
    """A child process reads 64 MB of numbers: beyond them and a fixed part, little may be needed."""
    import subprocess
    import sys

    path = tmp_path / "t.csv"
    line = ",".join(["0.1234567"] * 800) + "\n"
    with path.open("w") as file:
        file.write(",".join(f"v{i}" for i in range(800)) + "\n")
        file.writelines([line] * 10_000)
    code = (
        "import resource, sys, pyarrow.csv, scipy.sparse\n"
        "from gsppca.io import read_table\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); table = read_table(sys.argv[1]); print((peak() - before) * 1024 / table.data.nbytes)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    # 64 MB of numbers and a fixed 70 MB or so of blocks read ahead; a list of blocks joined in the end needs over 3.
    assert float(result.stdout) < 2.6


def test_semicolons_without_decimal_commas_are_read(write):
    table = read_table(write("a;b\n1.5;2\n3;4.5\n"))
    assert table.data.tolist() == [[1.5, 2.0], [3.0, 4.5]]
    names = read_table(write("name;a;b\nx,y;1;2\nz,w;3;4\n"))
    assert names.sample_names == ["x,y", "z,w"]


def test_numbers_that_name_the_samples_are_not_analysed(write):
    table = read_table(write("id,a,b\n1,5,6\n2,7,9\n"))
    assert (table.feature_names, table.sample_names) == (["a", "b"], ["1", "2"])
    # Not if they occur twice: then they are a measurement that is called so.
    assert read_table(write("id,a,b\n1,5,6\n1,7,9\n")).feature_names == ["id", "a", "b"]
    assert read_table(write("id,a,b\n1,5,6\n2,7,9\n"), index="none").feature_names == ["id", "a", "b"]


def test_a_header_may_begin_with_a_hash(write):
    assert read_table(write("#a,b,c\n1,2,3\n4,5,6\n")).feature_names == ["#a", "b", "c"]
