"""Files as people have them: what is in front of the table, how numbers are written, names that occur twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gsppca.io import TableError, delimited, read_table
from gsppca.io.numerals import Numerals, find_numerals
from gsppca.io.options import ReadOptions
from gsppca.io.sniff import MISSING
from gsppca.io.table import Table, made_unique
from gsppca.io.values import with_logarithms
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


WRITTEN = {
    "German": ("a;b\n1.234,5;2\n-3,25;4,5\n", [[1234.5, 2], [-3.25, 4.5]], "'1.234,5' is read as 1234.5"),
    "German, no header": ("1,5;2,5\n3;4,5\n", [[1.5, 2.5], [3, 4.5]], "'4,5' is read as 4.5"),
    "German, tabs": ("a\tb\n1,5\t2\n3\t4,25\n", [[1.5, 2], [3, 4.25]], "a decimal comma"),
    "three decimals": ("a;b\n1,234;2,5\n3,500;4,5\n", [[1.234, 2.5], [3.5, 4.5]], "'1,234' is read as 1.234"),
    "English, quoted": ('a,b\n"1,234",5\n999,"2,000,000.5"\n', [[1234, 5], [999, 2000000.5]], "between thousands"),
    "English, tabs": ("a\tb\n1,234\t5\n999\t12,345\n", [[1234, 5], [999, 12345]], "'1,234' is read as 1234"),
    "French": ("a;b\n1\u202f234,5;2\n3;4\u00a0000,5\n", None, "1\u202f234,5"),
    "Swiss": ("a;b\n1'234.5;2\n3;4\n", [[1234.5, 2], [3, 4]], "is read as 1234.5"),
    "quoted decimal commas": ('a,b\n"1,5","2,25"\n3,4\n', [[1.5, 2.25], [3, 4]], "a decimal comma"),
    "points are decimals": ("a;b\n1.234;2\n3.345;4\n", [[1.234, 2], [3.345, 4]], None),
    "exponents": ("a;b\n1,5e3;2E-1\n3;4,5\n", [[1500, 0.2], [3, 4.5]], "a decimal comma"),
}


@pytest.mark.parametrize(("content", "values", "said"), WRITTEN.values(), ids=WRITTEN)
def test_numbers_are_read_as_they_are_written(write, content, values, said):
    if values is None:
        # Two kinds of space in one file: only one sign is between thousands, and the other is no number.
        with pytest.raises(TableError, match="is not a number"):
            read_table(write(content))
        return
    table = read_table(write(content))
    np.testing.assert_array_equal(table.data, values)
    assert said is None or note_of(table, said)
    assert said is not None or not note_of(table, "is read as")


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("thousands", ["", ".", ",", " ", "'", "\u00a0"])
def test_any_number_comes_back_however_it_is_written(write, decimal, thousands):
    """Law: write with a sign, read, get the same numbers."""
    if decimal == thousands:
        return
    numbers = np.round(rng.normal(size=(40, 3)) * 10.0 ** rng.integers(0, 7, 3), 2)

    def written(value):
        return f"{value:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands)

    lines = ["a\tb\tc", *("\t".join(map(written, row)) for row in numbers.tolist())]
    table = read_table(write("\n".join(lines) + "\n", "t.txt"))
    np.testing.assert_array_equal(table.data, numbers)


def test_three_digits_after_a_comma_are_decided_by_what_stands_beside():
    def found(columns, separator):
        return find_numerals(columns, separator, MISSING, ReadOptions())[0]

    assert found([["1,234", "532"]], "\t") == Numerals(".", ",")
    assert found([["1,234", "2,345"]], "\t") == Numerals(",")
    assert found([["1,234", "5320"]], "\t") == Numerals(",")
    assert found([["1,234", "0,532"]], "\t") == Numerals(",")
    assert found([["1,234", "532"]], ";") == Numerals(",")
    # A label such as 1,5 does not turn 1.234 into thousands.
    assert found([["1.234", "2.345"], ["1,5", "1,5"]], "\t") == Numerals()
    assert found([["01.02.2020", "03.04.2021"], ["1", "2"]], ";") == Numerals()


def test_what_later_rows_show_is_heard(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 2**12)
    many = "1\t2\n" * 5000
    assert read_table(write(f"a\tb\n{many}1\t2,5\n", "t.txt")).data[-1].tolist() == [1, 2.5]
    table = read_table(write(f"a\tb\n0.5\t2\n{many}1\t2,500.5\n", "t.txt"))
    assert table.data[-1].tolist() == [1, 2500.5]
    assert note_of(table, "'2,500.5' is read as 2500.5")
    # Where nothing fits, the first place is the one to look at.
    with pytest.raises(TableError, match=r"row 5002 \(line 5003\), column 2 \('b'\): '2;5'"):
        read_table(write(f"a\tb\n0.5\t2\n{many}1\t2;5\n", "t.txt"))
    latin = b"i,a\n" + b"r,1\n" * 400_000 + b"\xe9,2\n"
    table = read_table(write(latin), index="i")
    assert table.sample_names[-1] == "é"
    assert note_of(table, "not UTF-8")


def test_thousands_far_into_a_file_name_the_right_cell(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 2**10)
    rows = "1.234,5;2\n" * 900
    with pytest.raises(TableError, match=r"row 901, column 2 \('b'\): '1.23' is not a number"):
        read_table(write(f"a;b\n{rows}1;1.23\n"))
    table = read_table(write(f"a;b\n{rows}NA;2\n"), missing="drop-rows")
    assert table.shape == (900, 2)


def test_latin_1_is_read_and_said(write):
    table = read_table(write("Größe;Ärger\n1,5;2\n3;4\n".encode("latin-1")))
    assert table.feature_names == ["Größe", "Ärger"]
    assert note_of(table, "latin-1")
    assert read_table(write("a,…\n1,2\n3,4\n".encode("cp1252"))).feature_names == ["a", "…"]
    assert read_table(write("a,\x81\n1,2\n3,4\n".encode("latin-1"))).feature_names == ["a", "\x81"]
    with pytest.raises(TableError, match="not a text file"):
        read_table(write(b"\x1f\x01\x02\xff,\xfe\n\x03\x04"))


COMMENTS = {
    "hash": (
        "# made today\n# by me, you, them\na,b,c\n1,2,3\n4,5,6\n",
        "2 lines before the table are skipped",
        list("abc"),
    ),
    "one": (
        "# made today\na,b,c\n1,2,3\n4,5,6\n",
        "1 line before the table is skipped: it begins with '#'",
        list("abc"),
    ),
    "blank lines between": ("!A\n\n!B\n\na,b,c\n1,2,3\n4,5,6\n", "2 lines before the table are skipped", list("abc")),
    "header in the last": ("## v1\n#a,b,c\n1,2,3\n4,5,6\n", "1 line before the table is skipped", ["#a", "b", "c"]),
    "as many words as columns": ("# x, y, z\na,b,c\n1,2,3\n4,5,6\n", "1 line before", list("abc")),
    "after the table": ("!x\na,b,c\n1,2,3\n4,5,6\n!end\n", "1 line before", list("abc")),
    "a title": ("Table 1. Things\n\na,b,c\n1,2,3\n4,5,6\n", "1 line above the header left out", list("abc")),
    "a title of a spreadsheet": ("Table 1,,\n,,\na,b,c\n1,2,3\n4,5,6\n", "2 lines above the header", list("abc")),
}


@pytest.mark.parametrize(("content", "said", "names"), COMMENTS.values(), ids=COMMENTS)
def test_lines_before_the_table_are_skipped_and_counted(write, content, said, names):
    table = read_table(write(content))
    np.testing.assert_array_equal(table.data, [[1, 2, 3], [4, 5, 6]])
    assert table.feature_names == names
    assert note_of(table, said)


def test_rows_behind_comments_are_counted_in_lines_of_the_file(write):
    with pytest.raises(TableError, match=r"row 2 \(line 6\), column 2 \('b'\): 'x'"):
        read_table(write("# one\n# two\n\na,b\n1,2\n3,x\n"))
    # Longer than what is looked at first.
    comments = "#" + "x" * 1000 + "\n"
    assert read_table(write(comments * 3000 + "a,b\n1,2\n3,4\n")).feature_names == ["a", "b"]
    with pytest.raises(TableError, match=r"row 2 \(line 3003\), column 2 \('b'\): 'x'"):
        read_table(write(comments * 3000 + "a,b\n1,2\n3,x\n"))


def test_lines_may_be_long(write):
    """Taken for one cell, as with a wrong separator, a line is longer than the csv module allows."""
    names = [f"a long name of a gene {i}" for i in range(8000)]
    numbers = rng.normal(size=(3, 8000)).round(3)
    table = read_table(write("\n".join([",".join(names), *(",".join(map(str, row)) for row in numbers.tolist())])))
    assert table.feature_names == names
    np.testing.assert_array_equal(table.data, numbers)


def test_data_may_begin_with_a_hash(write):
    table = read_table(write("#1,5,6\n#2,7,8\n"), header="no")
    assert table.sample_names == ["#1", "#2"]


HOSTILE = {
    "separators at the ends": ("a,b,c,\n1,2,3,\n4,5,6,\n", list("abc")),
    "separators at the ends of rows": ("a,b,c\n1,2,3,\n4,5,6,\n", list("abc")),
    "empty columns": ("a,,b,,c\n1,,2,,3\n4,,5,,6\n", list("abc")),
    "line break in a head": ('"a\nz",b,c\n1,2,3\n4,5,6\n', ["a\nz", "b", "c"]),
    "old Mac": ("a,b,c\r1,2,3\r4,5,6\r", list("abc")),
    "signs that Python takes for line breaks": ("a\x0b,b\u2028,c\x85\n1,2,3\n4,5,6\n", ["a", "b", "c"]),
    "aligned by spaces": ("  a   b  c\n  1   2  3\r\n 4   5  6", list("abc")),
    "commas in a tsv": ("a,b,c\n1,2,3\n4,5,6\n", list("abc")),
}


@pytest.mark.parametrize(("content", "names"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_tables(write, content, names):
    table = read_table(write(content, "t.tsv"))
    np.testing.assert_array_equal(table.data, [[1, 2, 3], [4, 5, 6]])
    assert table.feature_names == names


def test_repeated_names_of_samples_are_made_unique(write):
    table = read_table(write("sample,a,b\nr,1,2\ns,2,3\nr,3,4\nr-1,5,6\n"))
    assert table.sample_names == ["r", "s", "r-2", "r-1"]
    assert note_of(table, "1 sample has the name of another one and gets a number, such as 'r-2'")
    # Names of variables come from heads, where the same twice is a mistake, or from rows, where it is usual.
    with pytest.raises(TableError, match="have the same name"):
        read_table(write("a,a\n1,2\n3,4\n"))
    genes = read_table(write("gene,s,s\nA,1,2\nB,3,4\nA,5,7\n"), transpose=True)
    assert (genes.feature_names, genes.sample_names) == (["A", "B", "A-1"], ["s", "s-1"])


def test_many_repeated_names_take_no_time():
    names, _ = made_unique(["a"] * 50_000 + ["a-7"], "samples")
    assert len(set(names)) == 50_001
    assert names[-1] == "a-7"


def test_values_that_mean_missing(write, tmp_path):
    path = write("a,b\n1,-999\n3,4\nnd,5\n-999.0,6\n")
    table = read_table(path, na=("-999", "nd"), missing="mean")
    np.testing.assert_array_equal(table.data, [[1, 5], [3, 4], [2, 5], [2, 6]])
    np.save(tmp_path / "a.npy", np.array([[1.0, -9], [3, 4]]))
    assert np.isnan(read_table(tmp_path / "a.npy", na=("-9",), strict=False).data[0, 1])
    assert np.load(tmp_path / "a.npy")[0, 1] == -9


def test_logarithms(write):
    path = write("a,b\n0,3\n1,7\n")
    table = read_table(path, log=True)
    np.testing.assert_allclose(table.data, [[0, 2], [1, 3]], rtol=1e-15)
    assert note_of(table, "log2(1 + x)")
    with pytest.raises(TableError, match="--log needs numbers from 0 up, but 1 are negative"):
        read_table(write("a,b\n0,-3\n1,7\n"), log=True)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_are_those_of_base_two(make, dtype):
    """Counts 0, 1, 3, 7 become 0, 1, 2, 3, sparse or dense; negative numbers, however small, are no counts."""
    table = Table(make(np.array([[0, 1], [3, 7]], dtype=dtype)), None, None, None, Path("t.npy"), "npy", ())
    data = with_logarithms(table).data
    dense = data if isinstance(data, np.ndarray) else data.toarray()
    np.testing.assert_allclose(dense, [[0, 1], [2, 3]], rtol=1e-6)
    assert data.dtype == dtype
    wrong = replace(table, data=make(np.array([[0, 1], [-0.25, 7]], dtype=dtype)))
    with pytest.raises(TableError, match=r"1 are negative, the smallest -0\.25"):
        with_logarithms(wrong)
