"""Errors as one line: what is wrong, where, and what to do."""

from __future__ import annotations

import os

INTERRUPTED, TERMINATED = 130, 143  # 128 plus the number of the signal, as shells have it

# What the library calls a parameter, and what the command line calls it.
OPTIONS = {
    "n_features_to_select": "--size",
    "n_components": "--n-components",
    "noise_variance": "--noise-variance",
    "random_state": "--seed",
    "ranking": "--ranking",
    "evidence": "--evidence",
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
