"""Errors as one line: what is wrong, where, and what to do."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from inspect import BoundArguments
from typing import Any

INTERRUPTED, TERMINATED = 130, 143  # 128 plus the number of the signal, as shells have it

# What the library calls a parameter, and what the command line calls it.
OPTIONS = {
    "n_features_to_select": "--size",
    "n_components": "--n-components",
    "n_subsamples": "--halves",
    "random_state": "--seed",
    "method": "--method",
    "include": "--include",
    "exclude": "--exclude",
    "scale": "--scale",
}


class UsageError(Exception):
    """The command was not understood: exit code 2."""


def one_line(error: BaseException) -> str:
    """Put an error in one line, for someone who has not read the program."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"{error.filename}: there is no such file.{_near(str(error.filename))} Check the path."
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename}: no right to read or write it. Change its permissions, or use a copy."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing'}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"not enough memory ({_flat(error) or 'no more is known'}). Try --dtype float32, or fewer columns."
    if isinstance(error, ValueError):
        return in_options(_flat(error))
    if isinstance(error, OSError | ImportError | UsageError):
        return _flat(error)
    if type(error).__module__.startswith("cyclopts"):
        return _flat(error)
    return f"this should not happen ({type(error).__name__}: {_flat(error)}). Run again with --debug, and report it."


def with_command(error: BaseException, arguments: Sequence[str], bound: BoundArguments | None) -> str:
    """Put an error in one line, followed by the whole command that reads the file, if options are what is missing."""
    from gsppca.cli.arguments import corrected
    from gsppca.io.table import FixableError, TableError

    given = {} if bound is None else bound.arguments
    if not isinstance(error, FixableError) or "file" not in given or arguments[0] == "transform":
        return one_line(error)
    from gsppca.io import survey_file

    try:
        survey = survey_file(given["file"], given.get("reading"))
    except (TableError, OSError):
        return one_line(error)
    # Other methods than ours know no missing values.
    known = {"impute": "mean"} if arguments[0] == "compare" else {}
    words = [known.get(word, word) for word in survey.words]
    hints = "".join(f"\n{hint.text}" for hint in survey.hints)
    if not words:
        return one_line(error)
    return f"{error.fact}{hints}\nThis command reads the file as it is:\n  {corrected(arguments, words)}"


def left_over(word: str, arguments: Sequence[str]) -> str:
    """Say of a word that nothing takes what it was probably meant for."""
    before = arguments[arguments.index(word) - 1] if word in arguments else ""
    see = f"See: gsppca {arguments[0]} --help"
    if before.startswith("-"):
        return f"{before} takes no value, got {word!r}: leave it out. {see}"
    return f"{word!r} is more than gsppca {arguments[0]} takes: leave it out, or run it once for each file. {see}"


def for_terminal(text: str, stream: Any, indent: int = 0) -> str:
    """Break lines between words on a terminal; commands, which are indented by two spaces, stay in one piece."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = [
        line
        if line.startswith("  ")
        else textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


def in_options(message: str) -> str:
    """Call parameters by the names of their options."""
    name = message.split(" ", 1)[0]
    if name not in OPTIONS:
        return message
    return message.replace(name, OPTIONS[name])


def _flat(error: BaseException) -> str:
    return " ".join(str(error).split())


def _near(path: str) -> str:
    """A file of a similar name in the same folder."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        near = get_close_matches(name, os.listdir(folder or "."), n=1)
    except OSError:
        return ""
    return f" Did you mean {os.path.join(folder, near[0])}?" if near else ""
