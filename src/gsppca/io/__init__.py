"""Tables in files: one function reads all formats, another says what is in a file."""

from gsppca.io.options import ReadOptions
from gsppca.io.read import read_table
from gsppca.io.survey import Survey, survey_file
from gsppca.io.table import Table, TableError

__all__ = ["ReadOptions", "Survey", "Table", "TableError", "read_table", "survey_file"]
