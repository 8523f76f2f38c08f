"""Sheets of Excel workbooks."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.io import TableError, read_table
from tests.needs import optional

optional("pyarrow")
openpyxl = optional("openpyxl")


def save_book(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_sheets_of_excel(tmp_path):
    import datetime

    rows = [["Table 1"], [], ["sample", "a", "b", "kind", None], ["r", 1, 2.5, "x"], ["s", 1 / 3, True, "y"]]
    day = datetime.datetime(2020, 1, 2)
    path = save_book(tmp_path / "t.xlsx", {"empty": [], "first": rows, "other": [["a", "b"], [1, day], [2, day]]})
    table = read_table(path, label="kind")
    np.testing.assert_array_equal(table.data, [[1, 2.5], [1 / 3, 1]])
    assert (table.feature_names, table.sample_names, table.labels) == (["a", "b"], ["r", "s"], ["x", "y"])
    assert table.format == "Excel, sheet 'first'"
    assert table.path == path
    assert table.notes[0] == "sheet 'first' is read; --key can be empty, other"
    with pytest.raises(
        TableError, match=r"t.xlsx, sheet 'other': row 1, column 2 \('b'\): '2020-01-02' is not a number"
    ):
        read_table(path, key="other")
    with pytest.raises(TableError, match=r"there is no such sheet\. The file has 'empty', 'first', 'other'"):
        read_table(path, key="third")
    with pytest.raises(TableError, match="no sheet has values"):
        read_table(path, key="empty")


def test_wrong_workbooks(tmp_path):
    path = save_book(tmp_path / "t.xlsx", {"a": [["a", "b"], [1, 2]]})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match="not a readable Excel file"):
        read_table(path)
    (tmp_path / "t.csv").write_bytes(whole)
    with pytest.raises(TableError, match="the content is an Excel workbook"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    with pytest.raises(TableError, match="Save the sheet as xlsx or CSV"):
        read_table(tmp_path / "t.xls")
    (tmp_path / "t.xls").write_text("a\tb\n1\t2\n3\t4\n")
    assert read_table(tmp_path / "t.xls").shape == (2, 2)
