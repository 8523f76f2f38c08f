"""What was typed: spelled so that it can be parsed, and corrected so that it works."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

# Options of the reader whose value may look like an option: --na -999, --na -, --separator -.
_ANY_VALUE = ("--na", "--separator", "--label", "--index", "--drop", "--thousands")
_TRANSPOSE = ("auto", "yes", "no", "true", "false")
_OUTPUT = ("--output", "-o")


def spelled(arguments: Sequence[str]) -> list[str]:
    """Spell out what the parser would not understand: --transpose with and without a value, - for standard input."""
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--transpose":
            words.append(f"{word}={rest.pop(0) if rest and rest[0] in _TRANSPOSE else 'yes'}")
        elif rest and (word == "--na" or (word in _ANY_VALUE and rest[0] == "-")):
            words.append(f"{word}={rest.pop(0)}")
        else:
            words.append("./-" if word == "-" else word)
    return words


def corrected(arguments: Sequence[str], additions: Sequence[str], *, has_written: bool = False) -> str:
    """Return the whole command to type instead.

    Parameters
    ----------
    arguments : sequence of str
        What was typed after ``gsppca``.
    additions : sequence of str
        Options to add.
    has_written : bool, default=False
        Whether results have been written, which the new command then replaces.
    """
    words = [*arguments]
    if "--log" in additions:
        # Logarithms have one unit.
        words = [word for word in words if word != "--scale"]
    words += additions
    if has_written and "--overwrite" not in words and any(word.split("=")[0] in _OUTPUT for word in words):
        words.append("--overwrite")
    return shlex.join(["gsppca", *words])
