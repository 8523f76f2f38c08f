"""The command line: a leaf, each command calls a few functions of the library.

Nothing heavy is imported before the arguments are parsed: ``gsppca --help`` does not load numpy.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 not understood, 130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        What was typed after ``gsppca``; that of this process by default.
    """
    import sys

    from gsppca._optional import optional_import

    try:
        for package in ("cyclopts", "rich"):
            optional_import(package, "The command line", "cli")
    except ImportError as error:
        sys.stderr.write(f"gsppca: {error}\n")
        return 1
    try:
        from gsppca.cli.app import run

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before the command has begun, or after it has ended
        return 130
