"""Which tests are slow, by measurement: `make tiers` times all of them and rewrites tests/slow.txt.

A test function whose cases take more than LIMIT seconds together gets the marker `slow`: `make quick` leaves it out.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LIMIT = 0.4
LIST = Path(__file__).with_name("slow.txt")
NIGHTLY = Path(__file__).with_name("nightly.txt")


def slow_tests() -> set[str]:
    """Names of the form tests/data/test_matrix.py::test_grams."""
    return {line.split()[0] for line in LIST.read_text().splitlines() if line and not line.startswith("#")}


def nightly_cases() -> list[tuple[str, str]]:
    """Names of tests that have cases for the night, and part of the names of these; nothing for all cases."""
    lines = [line.split(maxsplit=2) for line in NIGHTLY.read_text().splitlines() if not line.startswith("#")]
    return [(test, "" if part == "-" else part) for test, part, _ in lines]


def seconds_of_functions(report: Path) -> Counter[str]:
    """Seconds of each test function, all its cases together, from a JUnit file."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = case.attrib["classname"], case.attrib["name"]
        if module.startswith("tests."):
            seconds[f"{module.replace('.', '/')}.py::{name.split('[')[0]}"] += float(case.attrib["time"])
    return seconds


def write_list(reports: Iterable[Path]) -> None:
    """Write the list from JUnit files; a test that is in several counts by its longest time."""
    seconds: Counter[str] = Counter()
    for report in reports:
        seconds |= seconds_of_functions(report)
    slow = sorted((name, spent) for name, spent in seconds.items() if spent > LIMIT)
    head = f"# Test functions that take more than {LIMIT} s, and their seconds. Written by `make tiers`.\n"
    LIST.write_text(head + "".join(f"{name}  {spent:.1f}\n" for name, spent in slow))


if __name__ == "__main__":
    write_list(map(Path, sys.argv[1:]))
