"""From coverage.json to a table by room; fails where the numerics are covered less than the gate asks for.

python tests/coverage_table.py build/coverage.json tests/coverage.md
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

NUMERICS = ("components", "data", "evidence", "linalg", "rankings", "rules")
GATE = 94.0  # per cent of lines and branches together, of every room of the numerics
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def rooms(report: dict) -> dict[str, dict[str, int]]:
    """Counts of statements and branches of every folder and module of gsppca."""
    total: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for name, file in report["files"].items():
        room = name.partition("src/gsppca/")[2].split("/")[0]
        for count in COUNTS:
            total[room][count] += file["summary"][count]
            total["all"][count] += file["summary"][count]
    return dict(total)


def share(counts: dict[str, int]) -> float:
    """Per cent of lines and branches that were run."""
    possible = counts["num_statements"] + counts["num_branches"]
    return 100.0 * (counts["covered_lines"] + counts["covered_branches"]) / possible if possible else 100.0


def table(total: dict[str, dict[str, int]]) -> str:
    """The page; rooms of the numerics are bold."""
    text = (
        "# Coverage\n\n"
        "Lines and branches that `make coverage` runs; subprocesses and workers of clusters are not seen. "
        f"The rooms of the numerics, in bold, must each reach {GATE:g} %.\n\n"
        "| room | lines | branches | both, % |\n|---|---|---|---|\n"
    )
    for room, counts in sorted(total.items(), key=lambda item: (item[0] == "all", item[0])):
        name = f"**{room}**" if room in NUMERICS else room
        lines = f"{counts['covered_lines']} of {counts['num_statements']}"
        branches = f"{counts['covered_branches']} of {counts['num_branches']}"
        text += f"| {name} | {lines} | {branches} | {share(counts):.1f} |\n"
    return text


def main(source: str, target: str) -> int:
    """Write the table; the exit code is the number of rooms below the gate."""
    total = rooms(json.loads(Path(source).read_text()))
    Path(target).write_text(table(total))
    poor = [room for room in NUMERICS if room in total and share(total[room]) < GATE]
    for room in poor:
        sys.stderr.write(f"coverage: {room} has {share(total[room]):.1f} %, less than {GATE:g} %\n")
    return len(poor)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
