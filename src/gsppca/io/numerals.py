"""How a text file writes numbers: its decimal sign, and the sign between thousands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from gsppca.io.options import ReadOptions
from gsppca.io.table import TableError

_ROWS = 50  # looked at
_SPACES = (" ", "\u00a0", "\u202f")
_GROUPING = (",", ".", *_SPACES, "'", "\u2019")
_IN_WORDS = {" ": "a space", "\u00a0": "a space", "\u202f": "a space"}
_SHAPE = re.compile(r"[+-]?[\d.,'\u2019 \u00a0\u202f]*\d[\d.,'\u2019 \u00a0\u202f]*(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Numerals:
    """A way to write numbers.

    Attributes
    ----------
    decimal : str
        Decimal sign.
    thousands : str
        Sign between groups of three digits; empty if there is none.
    """

    decimal: str = "."
    thousands: str = ""

    def is_number(self, cell: str) -> bool:
        """Whether the text is a number, written this way."""
        if self == PLAIN:
            try:
                float(cell)
            except ValueError:
                return False
            return "_" not in cell
        return _pattern(self.decimal, self.thousands).fullmatch(cell.strip()) is not None

    @property
    def pattern(self) -> str:
        """Regular expression of a whole cell."""
        return f"^(?i:{_pattern(self.decimal, self.thousands).pattern})$"

    def value(self, cell: str) -> float:
        """The number that a text means."""
        text = cell.strip().replace(self.thousands, "") if self.thousands else cell
        return float(text.replace(self.decimal, "."))

    def in_words(self, example: str) -> str:
        """What was decided, with an example."""
        name = {".": "point", ",": "comma"}[self.decimal]
        meant = f"{example.strip()!r} is read as {self.value(example):.15g}"
        if self.thousands:
            sign = _IN_WORDS.get(self.thousands, repr(self.thousands))
            return f"numbers have {sign} between thousands and a decimal {name}: {meant}"
        return f"numbers have a decimal {name}: {meant}"


PLAIN = Numerals()


def looks_numeric(cell: str) -> bool:
    """Whether the text is a number in some way of writing."""
    return PLAIN.is_number(cell) or _SHAPE.fullmatch(cell.strip()) is not None


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point = f"[{decimal}]"
    whole = r"\d+"
    if thousands:
        # A group of digits never begins with a lone zero: 0.123 has three decimals.
        whole = rf"(?:[1-9]\d{{0,2}}(?:[{thousands}]\d{{3}})+|\d+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.I)


def find_numerals(
    columns: Sequence[Sequence[str]], separator: str, missing: Collection[str], options: ReadOptions
) -> tuple[Numerals, str | None]:
    """Find out how numbers are written, from the first cells of the columns.

    The way that makes most cells numbers is taken, the usual one if it does as well. Thousands need a column that no
    way without them explains: 1.234 alone is a number with three decimals.

    Returns
    -------
    numerals : Numerals
    example : str or None
        A cell that only this way of writing makes the number it is; None for the usual way.
    """
    candidates = _candidates(separator, options)
    if len(candidates) == 1:
        return candidates[0], None
    known = [[cell for cell in column[:_ROWS] if cell.strip() not in missing] for column in columns]
    odd = [
        column
        for column in known
        if any(not PLAIN.is_number(cell) and _SHAPE.fullmatch(cell.strip()) for cell in column)
    ]
    if not odd:
        return candidates[0], None
    best, most = candidates[0], _understood(candidates[0], known)
    for one in candidates[1:]:
        if one.thousands and not any(_needs_thousands(one, column, separator) for column in odd):
            continue
        count = _understood(one, known)
        is_tie_won = count == most and best.decimal == one.thousands == ","
        if count > most or is_tie_won:
            best, most = one, count
    usual = Numerals(best.decimal) if best.thousands else PLAIN
    odd_cells = (cell for column in odd for cell in column if best.is_number(cell) and not usual.is_number(cell))
    return best, next(odd_cells, None)


def adapted(numerals: Numerals, cell: str, separator: str, options: ReadOptions) -> Numerals | None:
    """Return another way of writing that a cell far into the file shows, one that still fits what was seen before."""
    if numerals.thousands:
        return None
    comma = Numerals(",")
    candidates = _candidates(separator, options)
    ways = [one for one in candidates if one.thousands and one.decimal == numerals.decimal]
    if numerals == PLAIN and comma in candidates:
        ways.insert(0 if separator == ";" else len(ways), comma)
    return next((one for one in ways if one.is_number(cell)), None)


def _candidates(separator: str, options: ReadOptions) -> list[Numerals]:
    """Ways of writing that the options leave open, the usual ones first."""
    decimals = (".", ",") if options.decimal == "auto" else (options.decimal,)
    named = {"none": "", "space": " "}.get(options.thousands, options.thousands)
    if options.thousands != "auto" and (len(named) > 1 or named.isalnum()):
        raise TableError(f"--thousands must be one sign, 'space', 'none' or 'auto', got {options.thousands!r}.")
    groups = ("", *_GROUPING) if options.thousands == "auto" else (named,)
    found = [Numerals(d, t) for t in groups for d in decimals if d != t and (t != separator or t == ",")]
    if not found:
        raise TableError(f"--decimal and --thousands are both {options.decimal!r}. Use two different signs.")
    return found


def _understood(numerals: Numerals, columns: Sequence[Sequence[str]]) -> int:
    return sum(numerals.is_number(cell) for column in columns for cell in column)


def _needs_thousands(numerals: Numerals, column: Sequence[str], separator: str) -> bool:
    """Whether a column is one of numbers with thousands, and of nothing else."""

    def all_are(one: Numerals) -> bool:
        return all(one.is_number(cell) for cell in column)

    if not all_are(numerals) or all_are(Numerals(numerals.decimal)):
        return False
    if numerals.thousands not in ",." or not all_are(Numerals(numerals.thousands)):
        return True
    # Three digits after each comma, or none: 532 beside 1,234 means thousands; 1,234 throughout means decimals. Where
    # the comma is decimal, the separator is most often a semicolon.
    plain = [cell for cell in column if PLAIN.is_number(cell)]
    return separator != ";" and numerals.thousands == "," and bool(plain) and all(abs(float(c)) < 1000 for c in plain)
