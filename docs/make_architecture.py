"""Draw docs/architecture.md: which room of the package imports which, read from the source.

python docs/make_architecture.py [--check]
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gsppca"
PAGE = ROOT / "docs" / "architecture.md"

HEAD = """# Architecture

Written by `make architecture` from the imports of the source; a test fails when this page is out of date.

A *room* is a folder or a module of `gsppca`. Every room imports only rooms of lower levels, or of its own level where
two import each other. To read the code, start at level 0; to see what a change may break, look at the levels below it
in this table. Imports in functions (they keep `import gsppca` light) are counted; imports for type checkers are not.
What a room may import is stated, and tested, in `tests/test_architecture.py`.

"""


def room_of(module: str) -> str:
    """The first part after gsppca of a dotted name; "" for the package itself."""
    return module.removeprefix("gsppca").lstrip(".").partition(".")[0]


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names of gsppca that a file imports when it is run."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    package = "gsppca" + "".join(f".{part}" for part in path.relative_to(SOURCE).parent.parts)
    while waiting:
        node = waiting.pop()
        if _is_for_type_checkers(node):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module or ''}".rstrip(".") if node.level else node.module or ""
            if module == "gsppca":
                yield from (f"gsppca.{_home(alias.name)}" for alias in node.names)
            elif module.startswith("gsppca."):
                yield module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "gsppca")


def _home(name: str) -> str:
    """Where a name that the package hands out lives: a room itself, or a module by the type checkers' imports."""
    if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file():
        return name
    for node in ast.walk(ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
            return (node.module or "").removeprefix("gsppca.")
    return ""  # of the package itself: __version__


def import_table() -> dict[str, Counter[str]]:
    """For every room the rooms it imports, and in how many places."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        room = "" if parts == ("__init__",) else parts[0]
        table[room] += Counter(room_of(name) for name in imports_of(path) if room_of(name) != room)
    return dict(table)


def summary_of(room: str) -> str:
    """First line of the docstring of a room."""
    folder = SOURCE / room
    path = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{room}.py"
    documented = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return documented.split("\n")[0].replace("|", "\\|")


def levels(table: dict[str, Counter[str]]) -> list[list[str]]:
    """Rooms in groups that import each other, each group after those it imports; then stacked as low as possible."""
    reach = {room: _reachable(room, table) for room in table}
    group = {room: frozenset(r for r in reach[room] if room in reach[r]) | {room} for room in table}
    height: dict[frozenset[str], int] = {}
    for cluster in sorted(set(group.values()), key=lambda c: len(c.union(*(reach[r] for r in c)))):
        below = {group[r] for room in cluster for r in table[room] if r in group} - {cluster}
        height[cluster] = 1 + max((height[c] for c in below), default=-1)
    stacked: dict[int, list[str]] = defaultdict(list)
    for cluster, level in height.items():
        stacked[level].extend(cluster)
    return [sorted(stacked[level]) for level in sorted(stacked)]


def _reachable(room: str, table: dict[str, Counter[str]]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = [r for r in table[room] if r in table]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting.extend(r for r in table[one] if r in table)
    return frozenset(seen)


def page() -> str:
    """The page as it should be."""
    whole = import_table()
    # The package itself hands out names from everywhere and imports nothing before they are asked for: it has no level.
    table = {room: Counter({r: n for r, n in row.items() if r}) for room, row in whole.items() if room}
    text = HEAD + "| level | room | what it is | imports (places) |\n|---|---|---|---|\n"
    for level, rooms in enumerate(levels(table)):
        for room in rooms:
            is_folder = (SOURCE / room).is_dir()
            used = ", ".join(f"{name} ({n})" for name, n in sorted(table[room].items()))
            text += f"| {level} | `{room}{'/' if is_folder else '.py'}` | {summary_of(room)} | {used or '–'} |\n"
    return text


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page() else "run `make architecture`")
    PAGE.write_text(page(), encoding="utf-8")
