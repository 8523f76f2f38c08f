"""Do the tests notice a bug? Put each of mutations.toml into a copy of the source, and run the tests that must fail."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "pyproject.toml", "docs", "examples", "mkdocs.yml")


def mutations() -> list[dict[str, str]]:
    """What to change, and which tests must fail."""
    return tomllib.loads((ROOT / "tests" / "mutations.toml").read_text())["mutation"]


def is_caught(mutation: dict[str, str], folder: Path) -> bool:
    """Whether the tests fail with the bug in the copy; the copy is mended again."""
    path = folder / mutation["file"]
    good = path.read_text()
    if mutation["old"] not in good:
        raise ValueError(f"{mutation['what']}: {mutation['file']} has no {mutation['old']!r}; mend mutations.toml.")
    path.write_text(good.replace(mutation["old"], mutation["new"], 1))
    try:
        return not pass_in(folder, mutation["tests"])
    finally:
        path.write_text(good)


def pass_in(folder: Path, tests: str) -> bool:
    """Whether these tests, as pytest is told of them, pass with the source of the folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *shlex.split(tests)]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"{tests}: pytest did not run them\n{result.stdout}{result.stderr}")
    return result.returncode == 0


def main() -> int:
    """Try them all; the exit code is the number of bugs that no test noticed."""
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        for tests in dict.fromkeys(mutation["tests"] for mutation in mutations()):
            if not pass_in(folder, tests):
                raise RuntimeError(f"{tests}: they fail without any bug put in; mend that first.")
        for mutation in mutations():
            caught = is_caught(mutation, folder)
            missed += not caught
            sys.stdout.write(f"{'caught' if caught else 'MISSED'}  {mutation['what']}  ({mutation['tests']})\n")
            sys.stdout.flush()
    return missed


if __name__ == "__main__":
    sys.exit(main())
